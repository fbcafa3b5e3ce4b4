/* idct.c: the inverse DCT, in plain C.
 *
 * The algorithm is libjpeg's "islow": C. Loeffler, A. Ligtenberg and G. Moschytz, "Practical Fast 1-D DCT Algorithms
 * with 11 Multiplications" (ICASSP 1989), with 13 bits of fraction.  The arithmetic is that of libjpeg-turbo's vector
 * code (simd/x86_64/jidctint-*.asm), which Pillow runs: products and sums in 32 bits, what goes in and what comes out
 * in 16 bits, where sums wrap and results saturate.  For the coefficients of sound files that makes no difference.
 *
 * One difference is left out: if all coefficients but the first row are zero, libjpeg-turbo takes a shortcut that
 * shifts them left by two bits within 16.  Coefficients that would overflow there are reported instead. */
#include "engine.h"

enum {
    FRACTION = 13,
    PASS1 = FRACTION - 2, /* the first pass leaves two bits of fraction to the second */
    PASS2 = FRACTION + 2 + 3
};

/* The constants of the paper times 2^13. */
enum {
    F_0_298 = 2446,
    F_0_390 = 3196,
    F_0_541 = 4433,
    F_0_765 = 6270,
    F_0_899 = 7373,
    F_1_175 = 9633,
    F_1_501 = 12299,
    F_1_847 = 15137,
    F_1_961 = 16069,
    F_2_053 = 16819,
    F_2_562 = 20995,
    F_3_072 = 25172
};

/* a * x + b * y.  Unsigned, because it may wrap. */
static uint32_t dot(int16_t x, int32_t a, int16_t y, int32_t b) {
    return (uint32_t)(x * a) + (uint32_t)(y * b);
}

static int16_t settle(uint32_t sum, int shift) {
    const int32_t v = (int32_t)sum >> shift;
    return (int16_t)(v > INT16_MAX ? INT16_MAX : v < INT16_MIN ? INT16_MIN : v);
}

/* One dimension over eight values that lie `step` apart. */
static void transform(int16_t *v, int step, int shift) {
    const int16_t v0 = v[0], v1 = v[step], v2 = v[2 * step], v3 = v[3 * step], v4 = v[4 * step], v5 = v[5 * step],
                  v6 = v[6 * step], v7 = v[7 * step];
    const uint32_t rounding = 1u << (shift - 1);
    /* even part */
    const uint32_t sum = (uint32_t)(int16_t)(v0 + v4) << FRACTION, difference = (uint32_t)(int16_t)(v0 - v4)
                                                                                << FRACTION;
    const uint32_t odd26 = dot(v2, F_0_541, v6, F_0_541 - F_1_847), even26 = dot(v2, F_0_541 + F_0_765, v6, F_0_541);
    const uint32_t a0 = sum + even26 + rounding, a3 = sum - even26 + rounding;
    const uint32_t a1 = difference + odd26 + rounding, a2 = difference - odd26 + rounding;
    /* odd part */
    const int16_t z3 = (int16_t)(v7 + v3), z4 = (int16_t)(v5 + v1);
    const uint32_t y3 = dot(z3, F_1_175 - F_1_961, z4, F_1_175), y4 = dot(z3, F_1_175, z4, F_1_175 - F_0_390);
    const uint32_t b0 = dot(v1, -F_0_899, v7, F_0_298 - F_0_899) + y3;
    const uint32_t b1 = dot(v3, -F_2_562, v5, F_2_053 - F_2_562) + y4;
    const uint32_t b2 = dot(v3, F_3_072 - F_2_562, v5, -F_2_562) + y3;
    const uint32_t b3 = dot(v1, F_1_501 - F_0_899, v7, -F_0_899) + y4;
    v[0] = settle(a0 + b3, shift);
    v[step] = settle(a1 + b2, shift);
    v[2 * step] = settle(a2 + b1, shift);
    v[3 * step] = settle(a3 + b0, shift);
    v[4 * step] = settle(a3 - b0, shift);
    v[5 * step] = settle(a2 - b1, shift);
    v[6 * step] = settle(a1 - b2, shift);
    v[7 * step] = settle(a0 - b3, shift);
}

static uint8_t sample(int16_t v) {
    return (uint8_t)(v > 127 ? 255 : v < -128 ? 0 : v + 128);
}

int gl_jpeg_idct_plain(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out,
                       ptrdiff_t stride) {
    int overflows = 0;
    for (int b = 0; b < 4; b++) {
        int16_t v[GL_JPEG_BLOCK];
        for (int i = 0; i < GL_JPEG_BLOCK; i++) {
            const int place = gl_jpeg_zigzag[i];
            v[place] = (int16_t)((uint32_t)block[b][i] * quant[place]);
        }
        for (int i = 0; i < 8; i++) {
            overflows |= v[i] < -8192 || v[i] > 8191;
        }
        for (int i = 0; i < 8; i++) {
            transform(v + i, 8, PASS1);
        }
        for (int i = 0; i < 8; i++) {
            transform(v + 8 * i, 1, PASS2);
        }
        for (int y = 0; y < 8; y++) {
            for (int x = 0; x < 8; x++) {
                out[y * stride + 8 * b + x] = sample(v[8 * y + x]);
            }
        }
    }
    return overflows;
}
