/* noise.h: as many random numbers as a sample has, made by whoever needs them of where the generator stood. */
#ifndef GL_RNG_NOISE_H
#define GL_RNG_NOISE_H

#include <stddef.h>

#include "twister.h"

/* What torch draws, as float32. */
typedef enum gl_noise_kind {
    GL_NOISE_UNIFORM,      /* rand */
    GL_NOISE_NORMALS,      /* randn of contiguous memory, GL_NOISE_NORMALS_MIN numbers and more */
    GL_NOISE_NORMALS_AVX2, /* the same by its kernels for AVX2 */
    GL_NOISE_PAIRS,        /* randn of other memory: two numbers at a time, in double */
    GL_NOISE_KINDS
} gl_noise_kind;

enum { GL_NOISE_NORMALS_MIN = 16 };

typedef struct gl_noise gl_noise;
struct gl_noise {
    /* Makes the next n numbers: of normals all that there are, of pairs an even count. */
    void (*fill)(gl_noise *noise, float *dst, size_t n);
    int32_t kind;
    int32_t pixels; /* numbers follow each other pixel by pixel, as in torch's channels_last; else plane by plane */
    int32_t next;   /* word of state */
    int32_t left;   /* how many are to be drawn from there on, before a refill */
    uint32_t state[GL_TWISTER_WORDS];
};

void gl_noise_fill(gl_noise *noise, float *dst, size_t n);

#endif
