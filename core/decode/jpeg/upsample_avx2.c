/* upsample_avx2.c: upsample.c, 16 chroma samples at a time. */
#if defined(__x86_64__)
#define WIDTH 256
#include "upsample_wide.h"

TARGET void gl_jpeg_h1v2_avx2(const uint8_t *near, const uint8_t *far, int32_t bias, int32_t n, uint8_t *out) {
    const __m256i rounding = _mm256_set1_epi16((short)bias);
    for (int32_t i = 0; i < n; i += 16) {
        const __m256i sum = _mm256_srli_epi16(_mm256_add_epi16(blend(near + i, far + i), rounding), 2);
        const __m256i bytes = _mm256_permute4x64_epi64(_mm256_packus_epi16(sum, sum), 0xD8);
        _mm_storeu_si128((__m128i *)(out + i), _mm256_castsi256_si128(bytes));
    }
}
#endif
