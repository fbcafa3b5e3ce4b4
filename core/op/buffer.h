/* buffer.h: memory a worker keeps and only ever grows, so that steady state allocates nothing. */
#ifndef GOLOADER_BUFFER_H
#define GOLOADER_BUFFER_H

#include <stddef.h>
#include <stdint.h>

enum { GL_ALIGN = 64 }; /* a cache line, and the widest vector */

/* Zeroed memory is an empty buffer. data is aligned to GL_ALIGN; growing loses what was in it. */
typedef struct gl_buffer {
    uint8_t *data;
    size_t size;
} gl_buffer;

/* gl_buffer_grow makes room for at least size bytes; 0, or -1 if out of memory (the buffer is then empty). */
int gl_buffer_grow(gl_buffer *buffer, size_t size);
void gl_buffer_free(gl_buffer *buffer);

/* Bytes in all buffers of the process. */
size_t gl_buffer_bytes_live(void);

static inline size_t gl_round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}

#endif
