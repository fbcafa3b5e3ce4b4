/* OpenCV's INTER_LINEAR for AVX2. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels.h"

#define TARGET __attribute__((target("avx2")))

/* Eight outputs, in 32 bits. */
TARGET static inline __m256i eight(const uint8_t *src, const int32_t *first, const int32_t *weight) {
    const __m256i spread = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1)); /* two bytes to 16 bits each */
    const __m256i at = _mm256_loadu_si256((const __m256i *)first);
    const __m256i pairs = _mm256_shuffle_epi8(_mm256_i32gather_epi32((const int *)src, at, 1), spread);
    const __m256i sums = _mm256_madd_epi16(pairs, _mm256_loadu_si256((const __m256i *)weight));
    return _mm256_srai_epi32(sums, 4);
}

TARGET void gl_avx2_linear_across(const gl_pairs *across, const uint8_t *src, int16_t *dst) {
    const int32_t n = across->n;
    int32_t x = 0;
    for (; x + 16 <= n; x += 16) {
        const __m256i low = eight(src, across->first + x, across->weight + x);
        const __m256i high = eight(src, across->first + x + 8, across->weight + x + 8);
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
        _mm256_storeu_si256((__m256i *)(dst + x), packed);
    }
    const gl_pairs rest = {.n = n - x, .first = across->first + x, .weight = across->weight + x};
    gl_plain_linear_across(&rest, src, dst + x);
}

TARGET static inline __m256i blend(const int16_t *upper, const int16_t *lower, __m256i low, __m256i high) {
    const __m256i a = _mm256_mulhi_epi16(_mm256_loadu_si256((const __m256i *)upper), low);
    const __m256i b = _mm256_mulhi_epi16(_mm256_loadu_si256((const __m256i *)lower), high);
    return _mm256_srai_epi16(_mm256_add_epi16(_mm256_add_epi16(a, b), _mm256_set1_epi16(2)), 2);
}

TARGET void gl_avx2_linear_down(const int16_t *upper, const int16_t *lower, int32_t weight, int32_t width,
                                uint8_t *dst) {
    const __m256i low = _mm256_set1_epi16((int16_t)weight), high = _mm256_set1_epi16((int16_t)(weight >> 16));
    int32_t x = 0;
    for (; x + 32 <= width; x += 32) {
        const __m256i left = blend(upper + x, lower + x, low, high);
        const __m256i right = blend(upper + x + 16, lower + x + 16, low, high);
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(left, right), 0xD8);
        _mm256_storeu_si256((__m256i *)(dst + x), packed);
    }
    gl_plain_linear_down(upper + x, lower + x, weight, width - x, dst + x);
}

#endif
