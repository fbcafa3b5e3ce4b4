/* buffer.c: memory that only grows. */
#include <stdlib.h>

#include "engine.h"

int gl_jpeg_buffer_grow(gl_jpeg_buffer *buffer, size_t bytes) {
    if (bytes <= buffer->size) {
        return 0;
    }
    free(buffer->data);
    /* A quarter more, so that images of growing size do not allocate each time. */
    buffer->size = (bytes + bytes / 4 + 63) / 64 * 64;
    buffer->data = aligned_alloc(64, buffer->size);
    if (!buffer->data) {
        buffer->size = 0;
        return -1;
    }
    return 0;
}

void gl_jpeg_buffer_free(gl_jpeg_buffer *buffer) {
    free(buffer->data);
    *buffer = (gl_jpeg_buffer){NULL, 0};
}
