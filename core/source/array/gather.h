/* gather.h: rows that lie anywhere in memory, copied one after the other. */
#ifndef GL_GATHER_H
#define GL_GATHER_H

#include <stdint.h>

/* gl_gather copies n rows of `bytes` bytes each to dst. Row i is number index ? index[rows[i]] : rows[i] of an array whose
 * first row has the number `first` and lies at src; `stride` bytes are from one to the next. */
void gl_gather(uint8_t *dst, const uint8_t *src, int64_t first, int64_t stride, const int64_t *rows,
               const int64_t *index, int64_t n, int64_t bytes);

#endif
