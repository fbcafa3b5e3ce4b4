/* upsample_avx512.c: upsample.c, 32 chroma samples at a time. */
#include "engine.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define INLINE TARGET static inline __attribute__((always_inline))

INLINE __m512i widen(const uint8_t *p) {
    return _mm512_cvtepu8_epi16(_mm256_loadu_si256((const __m256i *)p));
}

INLINE __m512i times3(__m512i v) {
    return _mm512_add_epi16(v, _mm512_add_epi16(v, v));
}

/* Pixels by turns: even ones and odd ones, 16 bits each, to bytes. */
INLINE void store(uint8_t *out, __m512i even, __m512i odd) {
    _mm512_storeu_si512(out, _mm512_or_si512(even, _mm512_slli_epi16(odd, 8)));
}

TARGET void gl_jpeg_h2v1_avx512(const uint8_t *near, int32_t n, uint8_t *out) {
    const __m512i one = _mm512_set1_epi16(1), two = _mm512_set1_epi16(2);
    for (int32_t i = 0; i < n; i += 32) {
        const __m512i here = times3(widen(near + i));
        const __m512i even = _mm512_add_epi16(_mm512_add_epi16(here, widen(near + i - 1)), one);
        const __m512i odd = _mm512_add_epi16(_mm512_add_epi16(here, widen(near + i + 1)), two);
        store(out + 2 * i, _mm512_srli_epi16(even, 2), _mm512_srli_epi16(odd, 2));
    }
}

/* 3/4 near, 1/4 far, times 4. */
INLINE __m512i blend(const uint8_t *near, const uint8_t *far) {
    return _mm512_add_epi16(times3(widen(near)), widen(far));
}

TARGET void gl_jpeg_h2v2_avx512(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out) {
    const __m512i seven = _mm512_set1_epi16(7), eight = _mm512_set1_epi16(8);
    for (int32_t i = 0; i < n; i += 32) {
        const __m512i here = times3(blend(near + i, far + i));
        const __m512i even = _mm512_add_epi16(_mm512_add_epi16(here, blend(near + i - 1, far + i - 1)), eight);
        const __m512i odd = _mm512_add_epi16(_mm512_add_epi16(here, blend(near + i + 1, far + i + 1)), seven);
        store(out + 2 * i, _mm512_srli_epi16(even, 4), _mm512_srli_epi16(odd, 4));
    }
}
#endif
