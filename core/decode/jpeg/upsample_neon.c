/* upsample_neon.c: upsample.c, 8 chroma samples at a time. */
#include "engine.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))

void gl_jpeg_h2v1_neon(const uint8_t *near, int32_t n, uint8_t *out) {
    const uint8x8_t three = vdup_n_u8(3);
    for (int32_t i = 0; i < n; i += 8) {
        const uint16x8_t here = vmull_u8(vld1_u8(near + i), three);
        const uint16x8_t left = vaddw_u8(here, vld1_u8(near + i - 1)), right = vaddw_u8(here, vld1_u8(near + i + 1));
        const uint8x8x2_t pixels = {{
            vshrn_n_u16(vaddq_u16(left, vdupq_n_u16(1)), 2),
            vshrn_n_u16(vaddq_u16(right, vdupq_n_u16(2)), 2),
        }};
        vst2_u8(out + 2 * i, pixels);
    }
}

/* 3/4 near, 1/4 far, times 4. */
INLINE uint16x8_t blend(const uint8_t *near, const uint8_t *far) {
    return vmlal_u8(vmovl_u8(vld1_u8(far)), vld1_u8(near), vdup_n_u8(3));
}

void gl_jpeg_h2v2_neon(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out) {
    for (int32_t i = 0; i < n; i += 8) {
        const uint16x8_t here = vmulq_n_u16(blend(near + i, far + i), 3);
        const uint16x8_t left = vaddq_u16(here, blend(near + i - 1, far + i - 1));
        const uint16x8_t right = vaddq_u16(here, blend(near + i + 1, far + i + 1));
        const uint8x8x2_t pixels = {{
            vshrn_n_u16(vaddq_u16(left, vdupq_n_u16(8)), 4),
            vshrn_n_u16(vaddq_u16(right, vdupq_n_u16(7)), 4),
        }};
        vst2_u8(out + 2 * i, pixels);
    }
}

void gl_jpeg_h1v2_neon(const uint8_t *near, const uint8_t *far, int32_t bias, int32_t n, uint8_t *out) {
    for (int32_t i = 0; i < n; i += 8) {
        vst1_u8(out + i, vshrn_n_u16(vaddq_u16(blend(near + i, far + i), vdupq_n_u16((uint16_t)bias)), 2));
    }
}
#endif
