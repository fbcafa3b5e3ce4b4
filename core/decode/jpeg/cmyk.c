/* cmyk.c: CMYK to RGB as Pillow does it.
 *
 * Pillow takes every CMYK JPEG for one of Adobe's, which are stored inverted: its C is 255 minus libjpeg's.  Its
 * convert("RGB") is R = K' - C K' / 255 with K' = 255 - K, rounded as below (libImaging/Convert.c, cmyk2rgb). */
#include "jpeg.h"

static inline uint8_t channel(uint32_t stored, uint32_t stored_k) {
    uint32_t product = (255 - stored) * stored_k + 128;
    return (uint8_t)(stored_k - (((product >> 8) + product) >> 8));
}

void gl_jpeg_cmyk_to_rgb(const uint8_t *restrict cmyk, size_t n, uint8_t *restrict r, uint8_t *restrict g,
                         uint8_t *restrict b) {
    for (size_t i = 0; i < n; i++) {
        uint32_t k = cmyk[4 * i + 3];
        r[i] = channel(cmyk[4 * i], k);
        g[i] = channel(cmyk[4 * i + 1], k);
        b[i] = channel(cmyk[4 * i + 2], k);
    }
}
