/* idct_avx512.c: idct.c for four blocks at a time, one in each quarter of a vector. */
#if defined(__x86_64__)
#define WIDTH 512
#include "idct_wide.h"

/* Where the coefficients of rows 0 to 3 and 4 to 7 lie in a zigzag block: the inverse of gl_jpeg_zigzag. */
static const uint16_t gather[2][32] __attribute__((aligned(64))) = {
    {0, 1, 5,  6,  14, 15, 27, 28, 2, 4,  7,  13, 16, 26, 29, 42,
     3, 8, 12, 17, 25, 30, 41, 43, 9, 11, 18, 24, 31, 40, 44, 53},
    {10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38, 46, 51, 55, 60,
     21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63},
};

/* in[b]: four rows of block b; out[i]: row i of all four blocks. */
INLINE void gather_rows(const __m512i in[4], __m512i out[4]) {
    const __m512i a = _mm512_shuffle_i32x4(in[0], in[1], 0x88), b = _mm512_shuffle_i32x4(in[0], in[1], 0xDD);
    const __m512i c = _mm512_shuffle_i32x4(in[2], in[3], 0x88), d = _mm512_shuffle_i32x4(in[2], in[3], 0xDD);
    out[0] = _mm512_shuffle_i32x4(a, c, 0x88);
    out[1] = _mm512_shuffle_i32x4(b, d, 0x88);
    out[2] = _mm512_shuffle_i32x4(a, c, 0xDD);
    out[3] = _mm512_shuffle_i32x4(b, d, 0xDD);
}

TARGET int gl_jpeg_idct_avx512(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out,
                               ptrdiff_t stride) {
    const __m512i upper_at = _mm512_load_si512(gather[0]), lower_at = _mm512_load_si512(gather[1]);
    const __m512i upper_quant = _mm512_loadu_si512(quant), lower_quant = _mm512_loadu_si512(quant + 32);
    __m512i upper[4], lower[4], v[8];
    for (int b = 0; b < 4; b++) {
        const __m512i first = _mm512_loadu_si512(block[b]), second = _mm512_loadu_si512(block[b] + 32);
        upper[b] = _mm512_mullo_epi16(_mm512_permutex2var_epi16(first, upper_at, second), upper_quant);
        lower[b] = _mm512_mullo_epi16(_mm512_permutex2var_epi16(first, lower_at, second), lower_quant);
    }
    gather_rows(upper, v);
    gather_rows(lower, v + 4);
    const __mmask32 overflows =
        _mm512_test_epi16_mask(_mm512_add_epi16(v[0], _mm512_set1_epi16(8192)), _mm512_set1_epi16((short)0xC000));
    const samples made = to_samples(v);
    const __m512i even_then_odd = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (int i = 0; i < 4; i++) {
        const __m512i two = _mm512_permutexvar_epi64(even_then_odd, made.rows[i]);
        _mm256_storeu_si256((__m256i *)(out + 2 * i * stride), _mm512_castsi512_si256(two));
        _mm256_storeu_si256((__m256i *)(out + (2 * i + 1) * stride), _mm512_extracti64x4_epi64(two, 1));
    }
    return overflows != 0;
}
#endif
