/* idct_avx512.c: idct.c for four blocks at a time, one in each quarter of a vector. */
#include "engine.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define INLINE TARGET static inline __attribute__((always_inline))

/* Where the coefficients of rows 0 to 3 and 4 to 7 lie in a zigzag block: the inverse of gl_jpeg_zigzag. */
static const uint16_t gather[2][32] __attribute__((aligned(64))) = {
    {0, 1, 5,  6,  14, 15, 27, 28, 2, 4,  7,  13, 16, 26, 29, 42,
     3, 8, 12, 17, 25, 30, 41, 43, 9, 11, 18, 24, 31, 40, 44, 53},
    {10, 19, 23, 32, 39, 45, 52, 54, 20, 22, 33, 38, 46, 51, 55, 60,
     21, 34, 37, 47, 50, 56, 59, 61, 35, 36, 48, 49, 57, 58, 62, 63},
};

/* The pair (a, b) in every 32 bits. */
INLINE __m512i pair(int a, int b) {
    return _mm512_set1_epi32((int)((uint32_t)(uint16_t)a | (uint32_t)(uint16_t)b << 16));
}

/* Half of one dimension; names as in idct.c.  The inputs are pairs of rows, interleaved; out: the eight sums. */
INLINE void half(__m512i v26, __m512i v17, __m512i v35, __m512i z34, __m512i sum16, __m512i difference16, int shift,
                 __m512i out[8]) {
    const __m512i rounding = _mm512_set1_epi32(1 << (shift - 1));
    /* sum16 and difference16 hold a value in the upper half of each 32 bits: times 2^16, and 2^13 is wanted. */
    const __m512i sum = _mm512_add_epi32(_mm512_srai_epi32(sum16, 3), rounding);
    const __m512i difference = _mm512_add_epi32(_mm512_srai_epi32(difference16, 3), rounding);
    const __m512i odd26 = _mm512_madd_epi16(v26, pair(4433, 4433 - 15137));
    const __m512i even26 = _mm512_madd_epi16(v26, pair(4433 + 6270, 4433));
    const __m512i a0 = _mm512_add_epi32(sum, even26), a3 = _mm512_sub_epi32(sum, even26);
    const __m512i a1 = _mm512_add_epi32(difference, odd26), a2 = _mm512_sub_epi32(difference, odd26);
    const __m512i y3 = _mm512_madd_epi16(z34, pair(9633 - 16069, 9633));
    const __m512i y4 = _mm512_madd_epi16(z34, pair(9633, 9633 - 3196));
    const __m512i b0 = _mm512_add_epi32(_mm512_madd_epi16(v17, pair(-7373, 2446 - 7373)), y3);
    const __m512i b1 = _mm512_add_epi32(_mm512_madd_epi16(v35, pair(-20995, 16819 - 20995)), y4);
    const __m512i b2 = _mm512_add_epi32(_mm512_madd_epi16(v35, pair(25172 - 20995, -20995)), y3);
    const __m512i b3 = _mm512_add_epi32(_mm512_madd_epi16(v17, pair(12299 - 7373, -7373)), y4);
    out[0] = _mm512_srai_epi32(_mm512_add_epi32(a0, b3), shift);
    out[1] = _mm512_srai_epi32(_mm512_add_epi32(a1, b2), shift);
    out[2] = _mm512_srai_epi32(_mm512_add_epi32(a2, b1), shift);
    out[3] = _mm512_srai_epi32(_mm512_add_epi32(a3, b0), shift);
    out[4] = _mm512_srai_epi32(_mm512_sub_epi32(a3, b0), shift);
    out[5] = _mm512_srai_epi32(_mm512_sub_epi32(a2, b1), shift);
    out[6] = _mm512_srai_epi32(_mm512_sub_epi32(a1, b2), shift);
    out[7] = _mm512_srai_epi32(_mm512_sub_epi32(a0, b3), shift);
}

/* One dimension, down the columns: v[i] is row i. */
INLINE void transform(__m512i v[8], int shift) {
    const __m512i zero = _mm512_setzero_si512();
    const __m512i z3 = _mm512_add_epi16(v[7], v[3]), z4 = _mm512_add_epi16(v[5], v[1]);
    const __m512i sum = _mm512_add_epi16(v[0], v[4]), difference = _mm512_sub_epi16(v[0], v[4]);
    __m512i low[8], high[8];
    half(_mm512_unpacklo_epi16(v[2], v[6]), _mm512_unpacklo_epi16(v[1], v[7]), _mm512_unpacklo_epi16(v[3], v[5]),
         _mm512_unpacklo_epi16(z3, z4), _mm512_unpacklo_epi16(zero, sum), _mm512_unpacklo_epi16(zero, difference),
         shift, low);
    half(_mm512_unpackhi_epi16(v[2], v[6]), _mm512_unpackhi_epi16(v[1], v[7]), _mm512_unpackhi_epi16(v[3], v[5]),
         _mm512_unpackhi_epi16(z3, z4), _mm512_unpackhi_epi16(zero, sum), _mm512_unpackhi_epi16(zero, difference),
         shift, high);
    for (int i = 0; i < 8; i++) {
        v[i] = _mm512_packs_epi32(low[i], high[i]);
    }
}

/* Rows to columns, in each quarter. */
INLINE void transpose(__m512i v[8]) {
    __m512i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[i] = _mm512_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
        a[4 + i] = _mm512_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++) {
        b[i] = _mm512_unpacklo_epi32(a[2 * i], a[2 * i + 1]);
        b[4 + i] = _mm512_unpackhi_epi32(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        v[4 * i] = _mm512_unpacklo_epi64(b[2 * i], b[2 * i + 1]);
        v[4 * i + 1] = _mm512_unpackhi_epi64(b[2 * i], b[2 * i + 1]);
        v[4 * i + 2] = _mm512_unpacklo_epi64(b[4 + 2 * i], b[4 + 2 * i + 1]);
        v[4 * i + 3] = _mm512_unpackhi_epi64(b[4 + 2 * i], b[4 + 2 * i + 1]);
    }
}

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
    transform(v, 11);
    transpose(v);
    transform(v, 18);

    /* v[i] is column i of each block.  To bytes, two columns a vector, then rows again. */
    const __m512i centre = _mm512_set1_epi8((char)0x80);
    const __m512i interleave =
        _mm512_broadcast_i32x4(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    __m512i c[4];
    for (int i = 0; i < 4; i++) {
        c[i] = _mm512_shuffle_epi8(_mm512_xor_si512(_mm512_packs_epi16(v[2 * i], v[2 * i + 1]), centre), interleave);
    }
    const __m512i d0 = _mm512_unpacklo_epi16(c[0], c[1]), d1 = _mm512_unpackhi_epi16(c[0], c[1]);
    const __m512i d2 = _mm512_unpacklo_epi16(c[2], c[3]), d3 = _mm512_unpackhi_epi16(c[2], c[3]);
    const __m512i rows[4] = {_mm512_unpacklo_epi32(d0, d2), _mm512_unpackhi_epi32(d0, d2),
                             _mm512_unpacklo_epi32(d1, d3), _mm512_unpackhi_epi32(d1, d3)};
    const __m512i even_then_odd = _mm512_setr_epi64(0, 2, 4, 6, 1, 3, 5, 7);
    for (int i = 0; i < 4; i++) {
        const __m512i two = _mm512_permutexvar_epi64(even_then_odd, rows[i]);
        _mm256_storeu_si256((__m256i *)(out + 2 * i * stride), _mm512_castsi512_si256(two));
        _mm256_storeu_si256((__m256i *)(out + (2 * i + 1) * stride), _mm512_extracti64x4_epi64(two, 1));
    }
    return overflows != 0;
}
#endif
