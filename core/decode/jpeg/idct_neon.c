/* idct_neon.c: idct.c for one block at a time, eight values of 16 bits a vector. */
#include "engine.h"

#if defined(__aarch64__)
#include <arm_neon.h>

#define INLINE static inline __attribute__((always_inline))

/* Byte in a zigzag block of each coefficient, row by row: twice the inverse of gl_jpeg_zigzag. */
static const uint8_t places[GL_JPEG_BLOCK] = {
    0,  2,   10,  12,  28, 30, 54, 56, 4,   8,   14,  26,  32, 52, 58, 84, 6,   16,  24,  34,  50, 60,
    82, 86,  18,  22,  36, 48, 62, 80, 88,  106, 20,  38,  46, 64, 78, 90, 104, 108, 40,  44,  66, 76,
    92, 102, 110, 120, 42, 68, 74, 94, 100, 112, 118, 122, 70, 72, 96, 98, 114, 116, 124, 126,
};

/* Rows of a block, not yet dequantised.  A table look-up has 64 bytes, half of a block, and gives zero beyond. */
INLINE void load_rows(const int16_t *block, int16x8_t v[8]) {
    const uint8x16x4_t first = vld1q_u8_x4((const uint8_t *)block), second = vld1q_u8_x4((const uint8_t *)(block + 32));
    for (int i = 0; i < 8; i++) {
        const uint8x8_t low = vld1_u8(places + 8 * i);
        const uint8x16_t at =
            vcombine_u8(vzip1_u8(low, vadd_u8(low, vdup_n_u8(1))), vzip2_u8(low, vadd_u8(low, vdup_n_u8(1))));
        v[i] = vreinterpretq_s16_u8(
            vorrq_u8(vqtbl4q_u8(first, at), vqtbl4q_u8(second, vsubq_u8(at, vdupq_n_u8(GL_JPEG_BLOCK)))));
    }
}

typedef struct wide {
    int32x4_t low, high;
} wide;

/* a * x + b * y; wraps as x86's does. */
INLINE wide dot(int16x8_t x, int16_t a, int16x8_t y, int16_t b) {
    return (wide){
        vmlal_n_s16(vmull_n_s16(vget_low_s16(x), a), vget_low_s16(y), b),
        vmlal_n_s16(vmull_n_s16(vget_high_s16(x), a), vget_high_s16(y), b),
    };
}

INLINE wide add(wide a, wide b) {
    return (wide){vaddq_s32(a.low, b.low), vaddq_s32(a.high, b.high)};
}

INLINE wide sub(wide a, wide b) {
    return (wide){vsubq_s32(a.low, b.low), vsubq_s32(a.high, b.high)};
}

/* v * 2^13, and the rounding of the shift to come. */
INLINE wide scale(int16x8_t v, int shift) {
    const int32x4_t rounding = vdupq_n_s32(1 << (shift - 1));
    return (wide){
        vaddq_s32(vshll_n_s16(vget_low_s16(v), 13), rounding),
        vaddq_s32(vshll_n_s16(vget_high_s16(v), 13), rounding),
    };
}

INLINE int16x8_t settle(wide sum, int shift) {
    const int32x4_t by = vdupq_n_s32(-shift);
    return vcombine_s16(vqmovn_s32(vshlq_s32(sum.low, by)), vqmovn_s32(vshlq_s32(sum.high, by)));
}

/* One dimension, down the columns: v[i] is row i; names as in idct.c. */
INLINE void transform(int16x8_t v[8], int shift) {
    const wide sum = scale(vaddq_s16(v[0], v[4]), shift), difference = scale(vsubq_s16(v[0], v[4]), shift);
    const wide odd26 = dot(v[2], 4433, v[6], 4433 - 15137), even26 = dot(v[2], 4433 + 6270, v[6], 4433);
    const wide a0 = add(sum, even26), a3 = sub(sum, even26);
    const wide a1 = add(difference, odd26), a2 = sub(difference, odd26);
    const int16x8_t z3 = vaddq_s16(v[7], v[3]), z4 = vaddq_s16(v[5], v[1]);
    const wide y3 = dot(z3, 9633 - 16069, z4, 9633), y4 = dot(z3, 9633, z4, 9633 - 3196);
    const wide b0 = add(dot(v[1], -7373, v[7], 2446 - 7373), y3);
    const wide b1 = add(dot(v[3], -20995, v[5], 16819 - 20995), y4);
    const wide b2 = add(dot(v[3], 25172 - 20995, v[5], -20995), y3);
    const wide b3 = add(dot(v[1], 12299 - 7373, v[7], -7373), y4);
    v[0] = settle(add(a0, b3), shift);
    v[1] = settle(add(a1, b2), shift);
    v[2] = settle(add(a2, b1), shift);
    v[3] = settle(add(a3, b0), shift);
    v[4] = settle(sub(a3, b0), shift);
    v[5] = settle(sub(a2, b1), shift);
    v[6] = settle(sub(a1, b2), shift);
    v[7] = settle(sub(a0, b3), shift);
}

/* Rows to columns. */
INLINE void transpose(int16x8_t v[8]) {
    int16x8_t a[8];
    int32x4_t b[8];
    for (int i = 0; i < 4; i++) {
        a[2 * i] = vtrn1q_s16(v[2 * i], v[2 * i + 1]);
        a[2 * i + 1] = vtrn2q_s16(v[2 * i], v[2 * i + 1]);
    }
    for (int half = 0; half < 8; half += 4) {
        for (int i = 0; i < 2; i++) {
            const int32x4_t top = vreinterpretq_s32_s16(a[half + i]), low = vreinterpretq_s32_s16(a[half + i + 2]);
            b[half + i] = vtrn1q_s32(top, low);
            b[half + i + 2] = vtrn2q_s32(top, low);
        }
    }
    for (int i = 0; i < 4; i++) {
        const int64x2_t top = vreinterpretq_s64_s32(b[i]), low = vreinterpretq_s64_s32(b[i + 4]);
        v[i] = vreinterpretq_s16_s64(vtrn1q_s64(top, low));
        v[i + 4] = vreinterpretq_s16_s64(vtrn2q_s64(top, low));
    }
}

/* A block to 8 rows of 8 samples; nonzero if a coefficient of the first row is too large (idct.c). */
INLINE int one_block(const int16_t *block, const uint16_t *quant, uint8_t *out, ptrdiff_t stride) {
    int16x8_t v[8];
    load_rows(block, v);
    for (int i = 0; i < 8; i++) {
        v[i] = vmulq_s16(v[i], vreinterpretq_s16_u16(vld1q_u16(quant + 8 * i)));
    }
    const uint16x8_t outside = vtstq_s16(vaddq_s16(v[0], vdupq_n_s16(8192)), vdupq_n_s16((int16_t)0xC000));
    transform(v, 11);
    transpose(v);
    transform(v, 18);
    transpose(v);
    for (int i = 0; i < 8; i++) {
        vst1_u8(out + i * stride, veor_u8(vreinterpret_u8_s8(vqmovn_s16(v[i])), vdup_n_u8(0x80)));
    }
    return vmaxvq_u16(outside) != 0;
}

int gl_jpeg_idct_neon(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out,
                      ptrdiff_t stride) {
    int overflows = 0;
    for (int b = 0; b < 4; b++) {
        overflows |= one_block(block[b], quant, out + 8 * b, stride);
    }
    return overflows;
}
#endif
