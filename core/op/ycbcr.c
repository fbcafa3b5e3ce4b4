/* Pillow's RGB to YCbCr (src/libImaging/ConvertYCbCr.c): sums of three products in 64ths, of which each is rounded by itself.
 * For every byte float32 gives the numbers of Pillow's tables, with a fused multiply-add or without. */
#include <string.h>

#include "stage.h"

enum { SUM_BITS = 6, MIDDLE = 128 };

static inline int32_t part(double weight, int32_t value) {
    return (int32_t)((float)(weight * (1 << SUM_BITS)) * (float)value + 0.5f);
}

/* Not a part of ycbcr_row, so that compilers see that nothing overlaps and make vectors of it. */
static void convert(const uint8_t *restrict red, const uint8_t *restrict green, const uint8_t *restrict blue, size_t n,
                    uint8_t *restrict y, uint8_t *restrict cb, uint8_t *restrict cr) {
    for (size_t i = 0; i < n; i++) {
        const int32_t r = red[i], g = green[i], b = blue[i];
        y[i] = (uint8_t)((part(0.299, r) + part(0.587, g) + part(0.114, b)) >> SUM_BITS);
        cb[i] = (uint8_t)(((part(-0.16874, r) + part(-0.33126, g) + part(0.5, b)) >> SUM_BITS) + MIDDLE);
        cr[i] = (uint8_t)(((part(0.5, r) + part(-0.41869, g) + part(-0.08131, b)) >> SUM_BITS) + MIDDLE);
    }
}

static void ycbcr_row(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]) {
    if (stage->in_planes == 1) {
        memcpy(out[0], in[0], n);
        memset(out[1], MIDDLE, n);
        memset(out[2], MIDDLE, n);
        return;
    }
    convert(in[0], in[1], in[2], n, out[0], out[1], out[2]);
}

const char *gl_to_ycbcr_check(const gl_pass *pass, gl_shape *shape) {
    (void)pass;
    shape->planes = 3;
    return NULL;
}

int gl_to_ycbcr_begin(gl_stage *stage) {
    return gl_rows_begin(stage, ycbcr_row);
}
