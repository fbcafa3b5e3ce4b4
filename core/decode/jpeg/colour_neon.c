/* colour_neon.c: colour.c, 8 pixels at a time.
 *
 * Factors beyond 1 or below -1/2 do not fit 16 bits of fraction: R = Y + Cr + 0.402 Cr, G = Y - Cr + (0.28586 Cr -
 * 0.34414 Cb), B = Y + 2 Cb - 0.228 Cb. */
#include "engine.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))

enum { R_CR = 26345, G_CB = -22554, G_CR = 18734, B_CB = -14942 };

/* (u * a + v * b) / 2^16, rounded. */
INLINE int16x8_t weigh(int16x8_t u, int16_t a, int16x8_t v, int16_t b) {
    const int32x4_t low = vmlal_n_s16(vmull_n_s16(vget_low_s16(u), a), vget_low_s16(v), b);
    const int32x4_t high = vmlal_n_s16(vmull_n_s16(vget_high_s16(u), a), vget_high_s16(v), b);
    return vcombine_s16(vrshrn_n_s32(low, 16), vrshrn_n_s32(high, 16));
}

/* Bytes less 128. */
INLINE int16x8_t centred(const uint8_t *p) {
    return vreinterpretq_s16_u16(vsubl_u8(vld1_u8(p), vdup_n_u8(128)));
}

void gl_jpeg_colour_neon(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r, uint8_t *g,
                         uint8_t *b) {
    for (int32_t i = 0; i < n; i += 8) {
        const int16x8_t luma = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(y + i)));
        const int16x8_t u = centred(cb + i), v = centred(cr + i);
        const int16x8_t red = vaddq_s16(vaddq_s16(luma, v), weigh(v, R_CR, v, 0));
        const int16x8_t green = vaddq_s16(vsubq_s16(luma, v), weigh(u, G_CB, v, G_CR));
        const int16x8_t blue = vaddq_s16(vaddq_s16(luma, vaddq_s16(u, u)), weigh(u, B_CB, u, 0));
        vst1_u8(r + i, vqmovun_s16(red));
        vst1_u8(g + i, vqmovun_s16(green));
        vst1_u8(b + i, vqmovun_s16(blue));
    }
}
#endif
