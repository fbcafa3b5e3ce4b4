/* upsample.c: fancy upsampling, in plain C.
 *
 * A chroma sample lies in the middle of the two or four pixels it belongs to; each pixel takes 3/4 of the nearer and
 * 1/4 of the farther sample in each direction ("triangle filter", libjpeg-turbo's jdsample.c).  The odd rounding
 * constants are libjpeg's, and so is that samples beyond the edge of the image equal the ones at the edge. */
#include "engine.h"

void gl_jpeg_h2v1_plain(const uint8_t *near, int32_t n, uint8_t *out) {
    for (int32_t i = 0; i < n; i++) {
        out[2 * i] = (uint8_t)((3 * near[i] + near[i - 1] + 1) >> 2);
        out[2 * i + 1] = (uint8_t)((3 * near[i] + near[i + 1] + 2) >> 2);
    }
}

void gl_jpeg_h2v2_plain(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out) {
    int32_t left = 3 * near[-1] + far[-1], here = 3 * near[0] + far[0];
    for (int32_t i = 0; i < n; i++) {
        const int32_t right = 3 * near[i + 1] + far[i + 1];
        out[2 * i] = (uint8_t)((3 * here + left + 8) >> 4);
        out[2 * i + 1] = (uint8_t)((3 * here + right + 7) >> 4);
        left = here;
        here = right;
    }
}

void gl_jpeg_h1v2_plain(const uint8_t *near, const uint8_t *far, int32_t bias, int32_t n, uint8_t *out) {
    for (int32_t i = 0; i < n; i++) {
        out[i] = (uint8_t)((3 * near[i] + far[i] + bias) >> 2);
    }
}
