/* finish.h: arithmetic on a finished sample's numbers. */
#ifndef GOLOADER_FINISH_H
#define GOLOADER_FINISH_H

#include "../rng/noise.h"
#include "buffer.h"

enum { GL_TERMS_MAX = 64, GL_NOISES_MAX = 4, GL_STACK_MAX = 4 };

/* What a term does to a stack of numbers; in those of two of them the upper one is the right one. */
typedef enum gl_term_kind {
    GL_PUSH_SAMPLE, /* the sample's number */
    GL_PUSH_NOISE,  /* the noise's */
    GL_ADD,
    GL_SUBTRACT,
    GL_MULTIPLY,
    GL_DIVIDE,
    GL_ADD_WITH, /* `value`, the channel's, on the right */
    GL_SUBTRACT_WITH,
    GL_SUBTRACT_FROM, /* on the left */
    GL_MULTIPLY_WITH,
    GL_DIVIDE_WITH,
    GL_AT_LEAST,
    GL_AT_MOST,
    GL_SET, /* the sample's number becomes the stack's only one */
    GL_TERM_KINDS
} gl_term_kind;

typedef struct gl_term {
    int32_t does;
    int32_t noise;
    float value[3];
} gl_term;

/* Each term rounds to float32.  Noises that no term pushes are those of passes (passes.h). */
typedef struct gl_finish {
    int32_t terms; /* 0: nothing is done */
    int32_t noises;
    gl_term term[GL_TERMS_MAX];
    gl_noise noise[GL_NOISES_MAX];
} gl_finish;

/* What is wrong with it for a sample of so many numbers, or NULL. */
const char *gl_finish_check(const gl_finish *finish, size_t numbers);

/* Whether so many numbers of a noise can be made. */
int gl_noise_is_of(const gl_noise *noise, size_t numbers);

/* gl_finish_run changes [channels, pixels] numbers; 0, or -1 if out of memory.  It uses the noises up. */
int gl_finish_run(gl_finish *finish, gl_buffer *scratch, float *sample, int32_t channels, size_t pixels);

#endif
