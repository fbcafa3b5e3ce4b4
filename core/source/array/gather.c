#include "gather.h"

#include <string.h>

/* So many bytes are asked for ahead of the copy: no processor foresees rows in random order, and each would be a wait for
 * memory and for its page's address. What lies further on in a row it foresees by itself. */
enum { AHEAD = 2048, LINE = 64 };

typedef struct array {
    const uint8_t *src;
    int64_t first, stride;
    const int64_t *rows, *index;
} array;

static inline const uint8_t *row_at(const array *a, int64_t i) {
    int64_t row = a->index ? a->index[a->rows[i]] : a->rows[i];
    return a->src + a->stride * (row - a->first);
}

void gl_gather(uint8_t *dst, const uint8_t *src, int64_t first, int64_t stride, const int64_t *rows,
               const int64_t *index, int64_t n, int64_t bytes) {
    const array a = {src, first, stride, rows, index};
    int64_t distance = AHEAD / bytes + 1, ahead = bytes < AHEAD ? bytes : AHEAD;
    for (int64_t i = 0; i < n; i++, dst += bytes) {
        if (i + distance < n) {
            const uint8_t *next = row_at(&a, i + distance);
            for (int64_t at = 0; at < ahead; at += LINE)
                __builtin_prefetch(next + at);
        }
        if (bytes == 8) /* labels, and one call less for each */
            memcpy(dst, row_at(&a, i), 8);
        else
            memcpy(dst, row_at(&a, i), bytes);
    }
}
