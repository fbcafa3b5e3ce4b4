/* colour_avx512.c: colour.c, 64 pixels at a time, in 16 bits.
 *
 * Factors beyond 1 or below -1/2 do not fit a product of 16 bits: R = Y + Cr + 0.402 Cr, G = Y - Cr + (0.28586 Cr -
 * 0.34414 Cb), B = Y + 2 Cb - 0.228 Cb.  A high product of (Cr * 2^7) is rounded by hand (as in libjpeg-turbo's
 * jdcolext-*.asm). */
#include "engine.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define INLINE TARGET static inline __attribute__((always_inline))

enum { R_CR = 26345, G_CB = -22554, G_CR = 18734, B_CB = -14942 };

/* chroma * factor / 2^16, rounded. */
INLINE __m512i scale(__m512i chroma, int factor) {
    const __m512i product = _mm512_mulhi_epi16(_mm512_slli_epi16(chroma, 7), _mm512_set1_epi16((short)factor));
    return _mm512_srai_epi16(_mm512_add_epi16(product, _mm512_set1_epi16(64)), 7);
}

/* The part of green that is not Y - Cr, of half the pixels: u and v are interleaved. */
INLINE __m512i green(__m512i uv) {
    const __m512i factors = _mm512_set1_epi32((int)((uint32_t)(uint16_t)G_CB | (uint32_t)G_CR << 16));
    return _mm512_srai_epi32(_mm512_add_epi32(_mm512_madd_epi16(uv, factors), _mm512_set1_epi32(32768)), 16);
}

typedef struct colours {
    __m512i r, g, b;
} colours;

/* Half of the pixels, 16 bits each. */
INLINE colours convert(__m512i y, __m512i cb, __m512i cr) {
    const __m512i centre = _mm512_set1_epi16(128);
    const __m512i u = _mm512_sub_epi16(cb, centre), v = _mm512_sub_epi16(cr, centre);
    const __m512i rest = _mm512_packs_epi32(green(_mm512_unpacklo_epi16(u, v)), green(_mm512_unpackhi_epi16(u, v)));
    return (colours){
        .r = _mm512_add_epi16(_mm512_add_epi16(y, v), scale(v, R_CR)),
        .g = _mm512_add_epi16(_mm512_sub_epi16(y, v), rest),
        .b = _mm512_add_epi16(_mm512_add_epi16(y, _mm512_add_epi16(u, u)), scale(u, B_CB)),
    };
}

TARGET void gl_jpeg_colour_avx512(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r,
                                  uint8_t *g, uint8_t *b) {
    const __m512i zero = _mm512_setzero_si512();
    for (int32_t i = 0; i < n; i += 64) {
        const __m512i y8 = _mm512_loadu_si512((y + i));
        const __m512i cb8 = _mm512_loadu_si512((cb + i));
        const __m512i cr8 = _mm512_loadu_si512((cr + i));
        const colours low =
            convert(_mm512_unpacklo_epi8(y8, zero), _mm512_unpacklo_epi8(cb8, zero), _mm512_unpacklo_epi8(cr8, zero));
        const colours high =
            convert(_mm512_unpackhi_epi8(y8, zero), _mm512_unpackhi_epi8(cb8, zero), _mm512_unpackhi_epi8(cr8, zero));
        _mm512_storeu_si512((r + i), _mm512_packus_epi16(low.r, high.r));
        _mm512_storeu_si512((g + i), _mm512_packus_epi16(low.g, high.g));
        _mm512_storeu_si512((b + i), _mm512_packus_epi16(low.b, high.b));
    }
}
#endif
