/* colour.c: YCbCr to RGB, in plain C [JFIF 1.02, section "RGB to/from YCbCr conversion"; ITU-T T.871].
 *
 * Factors have 16 bits of fraction and are rounded as in libjpeg's jdcolor.c. */
#include "engine.h"

enum { R_CR = 91881, G_CB = 22554, G_CR = 46802, B_CB = 116130, HALF = 32768 };

static uint8_t clamp(int32_t v) {
    return (uint8_t)(v < 0 ? 0 : v > 255 ? 255 : v);
}

void gl_jpeg_colour_plain(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r, uint8_t *g,
                          uint8_t *b) {
    for (int32_t i = 0; i < n; i++) {
        const int32_t u = cb[i] - 128, v = cr[i] - 128;
        r[i] = clamp(y[i] + ((R_CR * v + HALF) >> 16));
        g[i] = clamp(y[i] + ((-G_CB * u - G_CR * v + HALF) >> 16));
        b[i] = clamp(y[i] + ((B_CB * u + HALF) >> 16));
    }
}
