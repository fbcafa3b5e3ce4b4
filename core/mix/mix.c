#include "mix.h"

#include <string.h>

/* A fused multiply-add would round differently. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

/* Items that are mixed of all images before the next are: each is read twice, and is in the cache the second time. */
enum { BLOCK = 1024 };

#define MIX_UP(name, type)                                                                                             \
    void name(type *images, int64_t n, int64_t items, type rest, type share) {                                         \
        type last[BLOCK];                                                                                              \
        for (int64_t from = 0; n > 0 && from < items; from += BLOCK) {                                                 \
            const int64_t count = items - from < BLOCK ? items - from : BLOCK;                                         \
            memcpy(last, images + (n - 1) * items + from, (size_t)count * sizeof *last);                               \
            for (int64_t i = n - 1; i >= 0; i--) {                                                                     \
                type *restrict image = images + i * items + from;                                                      \
                const type *restrict before = i > 0 ? images + (i - 1) * items + from : last;                          \
                for (int64_t k = 0; k < count; k++)                                                                    \
                    image[k] = before[k] * rest + image[k] * share;                                                    \
            }                                                                                                          \
        }                                                                                                              \
    }

MIX_UP(gl_mix_up_float32, float)
MIX_UP(gl_mix_up_float64, double)

void gl_mix_box(uint8_t *images, int64_t n, int64_t planes, int64_t height, int64_t width, int64_t item,
                const int64_t box[4]) {
    const int64_t row = width * item, image = planes * height * row, most = 4096;
    uint8_t last[4096];
    for (int64_t plane = 0; n > 0 && plane < planes; plane++)
        for (int64_t y = box[1]; y < box[3]; y++) {
            uint8_t *line = images + (plane * height + y) * row;
            for (int64_t from = box[0] * item; from < box[2] * item; from += most) {
                const int64_t left = box[2] * item - from;
                const size_t bytes = (size_t)(left < most ? left : most);
                memcpy(last, line + (n - 1) * image + from, bytes);
                for (int64_t i = n - 1; i > 0; i--)
                    memcpy(line + i * image + from, line + (i - 1) * image + from, bytes);
                memcpy(line + from, last, bytes);
            }
        }
}
