/* colour_avx2.c: colour.c, 32 pixels at a time, in 16 bits.
 *
 * Factors beyond 1 or below -1/2 do not fit a product of 16 bits: R = Y + Cr + 0.402 Cr, G = Y - Cr + (0.28586 Cr -
 * 0.34414 Cb), B = Y + 2 Cb - 0.228 Cb.  A high product of (Cr * 2^7) is rounded by hand (as in libjpeg-turbo's
 * jdcolext-*.asm). */
#include "engine.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))
#define INLINE TARGET static inline __attribute__((always_inline))

enum { R_CR = 26345, G_CB = -22554, G_CR = 18734, B_CB = -14942 };

/* chroma * factor / 2^16, rounded. */
INLINE __m256i scale(__m256i chroma, int factor) {
    const __m256i product = _mm256_mulhi_epi16(_mm256_slli_epi16(chroma, 7), _mm256_set1_epi16((short)factor));
    return _mm256_srai_epi16(_mm256_add_epi16(product, _mm256_set1_epi16(64)), 7);
}

/* The part of green that is not Y - Cr, of half the pixels: u and v are interleaved. */
INLINE __m256i green(__m256i uv) {
    const __m256i factors = _mm256_set1_epi32((int)((uint32_t)(uint16_t)G_CB | (uint32_t)G_CR << 16));
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_madd_epi16(uv, factors), _mm256_set1_epi32(32768)), 16);
}

typedef struct colours {
    __m256i r, g, b;
} colours;

/* Half of the pixels, 16 bits each. */
INLINE colours convert(__m256i y, __m256i cb, __m256i cr) {
    const __m256i centre = _mm256_set1_epi16(128);
    const __m256i u = _mm256_sub_epi16(cb, centre), v = _mm256_sub_epi16(cr, centre);
    const __m256i rest = _mm256_packs_epi32(green(_mm256_unpacklo_epi16(u, v)), green(_mm256_unpackhi_epi16(u, v)));
    return (colours){
        .r = _mm256_add_epi16(_mm256_add_epi16(y, v), scale(v, R_CR)),
        .g = _mm256_add_epi16(_mm256_sub_epi16(y, v), rest),
        .b = _mm256_add_epi16(_mm256_add_epi16(y, _mm256_add_epi16(u, u)), scale(u, B_CB)),
    };
}

TARGET void gl_jpeg_colour_avx2(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r,
                                uint8_t *g, uint8_t *b) {
    const __m256i zero = _mm256_setzero_si256();
    for (int32_t i = 0; i < n; i += 32) {
        const __m256i y8 = _mm256_loadu_si256((const __m256i *)(y + i));
        const __m256i cb8 = _mm256_loadu_si256((const __m256i *)(cb + i));
        const __m256i cr8 = _mm256_loadu_si256((const __m256i *)(cr + i));
        const colours low =
            convert(_mm256_unpacklo_epi8(y8, zero), _mm256_unpacklo_epi8(cb8, zero), _mm256_unpacklo_epi8(cr8, zero));
        const colours high =
            convert(_mm256_unpackhi_epi8(y8, zero), _mm256_unpackhi_epi8(cb8, zero), _mm256_unpackhi_epi8(cr8, zero));
        _mm256_storeu_si256((__m256i *)(r + i), _mm256_packus_epi16(low.r, high.r));
        _mm256_storeu_si256((__m256i *)(g + i), _mm256_packus_epi16(low.g, high.g));
        _mm256_storeu_si256((__m256i *)(b + i), _mm256_packus_epi16(low.b, high.b));
    }
}
#endif
