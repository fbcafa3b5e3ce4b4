/* upsample_avx2.c: upsample.c, 16 chroma samples at a time. */
#include "engine.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))
#define INLINE TARGET static inline __attribute__((always_inline))

INLINE __m256i widen(const uint8_t *p) {
    return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)p));
}

INLINE __m256i times3(__m256i v) {
    return _mm256_add_epi16(v, _mm256_add_epi16(v, v));
}

/* Pixels by turns: even ones and odd ones, 16 bits each, to bytes. */
INLINE void store(uint8_t *out, __m256i even, __m256i odd) {
    _mm256_storeu_si256((__m256i *)out, _mm256_or_si256(even, _mm256_slli_epi16(odd, 8)));
}

TARGET void gl_jpeg_h2v1_avx2(const uint8_t *near, int32_t n, uint8_t *out) {
    const __m256i one = _mm256_set1_epi16(1), two = _mm256_set1_epi16(2);
    for (int32_t i = 0; i < n; i += 16) {
        const __m256i here = times3(widen(near + i));
        const __m256i even = _mm256_add_epi16(_mm256_add_epi16(here, widen(near + i - 1)), one);
        const __m256i odd = _mm256_add_epi16(_mm256_add_epi16(here, widen(near + i + 1)), two);
        store(out + 2 * i, _mm256_srli_epi16(even, 2), _mm256_srli_epi16(odd, 2));
    }
}

/* 3/4 near, 1/4 far, times 4. */
INLINE __m256i blend(const uint8_t *near, const uint8_t *far) {
    return _mm256_add_epi16(times3(widen(near)), widen(far));
}

TARGET void gl_jpeg_h2v2_avx2(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out) {
    const __m256i seven = _mm256_set1_epi16(7), eight = _mm256_set1_epi16(8);
    for (int32_t i = 0; i < n; i += 16) {
        const __m256i here = times3(blend(near + i, far + i));
        const __m256i even = _mm256_add_epi16(_mm256_add_epi16(here, blend(near + i - 1, far + i - 1)), eight);
        const __m256i odd = _mm256_add_epi16(_mm256_add_epi16(here, blend(near + i + 1, far + i + 1)), seven);
        store(out + 2 * i, _mm256_srli_epi16(even, 4), _mm256_srli_epi16(odd, 4));
    }
}

TARGET void gl_jpeg_h1v2_avx2(const uint8_t *near, const uint8_t *far, int32_t bias, int32_t n, uint8_t *out) {
    const __m256i rounding = _mm256_set1_epi16((short)bias);
    for (int32_t i = 0; i < n; i += 16) {
        const __m256i sum = _mm256_srli_epi16(_mm256_add_epi16(blend(near + i, far + i), rounding), 2);
        const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(sum, sum), 0xD8);
        _mm_storeu_si128((__m128i *)(out + i), _mm256_castsi256_si128(bytes));
    }
}
#endif
