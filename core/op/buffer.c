#include "buffer.h"

#include <stdlib.h>

/* More than any image of 2^31 pixels needs at once; a larger wish is a mistake that must not meet an overcommitting
 * malloc. */
static const size_t buffer_bytes_max = (size_t)1 << 33;

static size_t bytes_live; /* atomic */

size_t gl_buffer_bytes_live(void) {
    return __atomic_load_n(&bytes_live, __ATOMIC_RELAXED);
}

void gl_buffer_free(gl_buffer *buffer) {
    free(buffer->data);
    __atomic_fetch_sub(&bytes_live, buffer->size, __ATOMIC_RELAXED);
    buffer->data = NULL;
    buffer->size = 0;
}

int gl_buffer_grow(gl_buffer *buffer, size_t size) {
    if (size <= buffer->size)
        return 0;
    gl_buffer_free(buffer);
    if (size > buffer_bytes_max)
        return -1;
    /* An eighth more, so that images of slowly growing size do not allocate one by one. */
    size = gl_round_up(size + size / 8, GL_ALIGN);
    void *data = NULL;
    if (posix_memalign(&data, GL_ALIGN, size) != 0)
        return -1;
    buffer->data = data;
    buffer->size = size;
    __atomic_fetch_add(&bytes_live, size, __ATOMIC_RELAXED);
    return 0;
}
