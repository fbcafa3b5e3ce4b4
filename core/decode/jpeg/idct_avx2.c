/* idct_avx2.c: idct.c for two blocks at a time, one in each half of a vector. */
#include "engine.h"

#if defined(__x86_64__)
#include <immintrin.h>

#define TARGET __attribute__((target("avx2")))
#define INLINE TARGET static inline __attribute__((always_inline))

/* Zigzag to rows: row r takes its coefficients from three to five of the eight vectors a block comes in; a mask for
 * each of them moves those coefficients to their columns, with zeros (Z) elsewhere.  load_rows says which is which. */
#define Z -128
static const int8_t masks[36][16] __attribute__((aligned(16))) = {
    {0, 1, 2, 3, 10, 11, 12, 13, Z, Z, Z, Z, Z, Z, Z, Z}, {Z, Z, Z, Z, Z, Z, Z, Z, 12, 13, 14, 15, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 6, 7, 8, 9},     {4, 5, 8, 9, 14, 15, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, 10, 11, Z, Z, Z, Z, Z, Z, Z, Z},   {Z, Z, Z, Z, Z, Z, Z, Z, 0, 1, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 4, 5, 10, 11, Z, Z},   {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 4, 5},
    {6, 7, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},     {Z, Z, 0, 1, 8, 9, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, 2, 3, Z, Z, Z, Z, Z, Z, Z, Z},     {Z, Z, Z, Z, Z, Z, Z, Z, 2, 3, 12, 13, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 2, 3, 6, 7},     {2, 3, 6, 7, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, 4, 5, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},     {Z, Z, Z, Z, Z, Z, 0, 1, 14, 15, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 0, 1, 8, 9, Z, Z},     {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 10, 11},
    {4, 5, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},     {Z, Z, 6, 7, 14, 15, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, 0, 1, 14, 15, Z, Z, Z, Z, Z, Z},   {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 10, 11, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 8, 9, 12, 13},   {8, 9, 12, 13, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, 2, 3, 12, 13, Z, Z, Z, Z, Z, Z, Z, Z},   {Z, Z, Z, Z, Z, Z, Z, Z, 12, 13, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 6, 7, 14, 15, Z, Z},   {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 8, 9},
    {10, 11, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},   {Z, Z, 4, 5, 10, 11, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, 14, 15, Z, Z, Z, Z, Z, Z, Z, Z},   {Z, Z, Z, Z, Z, Z, Z, Z, 4, 5, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 0, 1, 6, 7, 10, 11},   {6, 7, 8, 9, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
    {Z, Z, Z, Z, 0, 1, 2, 3, Z, Z, Z, Z, Z, Z, Z, Z},     {Z, Z, Z, Z, Z, Z, Z, Z, 2, 3, 4, 5, 12, 13, 14, 15},
};
#undef Z

INLINE __m256i pick(__m256i from, int mask) {
    return _mm256_shuffle_epi8(from, _mm256_broadcastsi128_si256(_mm_load_si128((const __m128i *)masks[mask])));
}

/* Rows of two blocks, not yet dequantised. */
INLINE void load_rows(const int16_t *block0, const int16_t *block1, __m256i v[8]) {
    __m256i in[8];
    for (int i = 0; i < 8; i++) {
        in[i] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i *)block0 + i)),
                                        _mm_loadu_si128((const __m128i *)block1 + i), 1);
    }
    v[0] = _mm256_or_si256(_mm256_or_si256(pick(in[0], 0), pick(in[1], 1)), pick(in[3], 2));
    v[1] = _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(pick(in[0], 3), pick(in[1], 4)),
                                           _mm256_or_si256(pick(in[2], 5), pick(in[3], 6))),
                           pick(in[5], 7));
    v[2] = _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(pick(in[0], 8), pick(in[1], 9)),
                                           _mm256_or_si256(pick(in[2], 10), pick(in[3], 11))),
                           pick(in[5], 12));
    v[3] = _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(pick(in[1], 13), pick(in[2], 14)),
                                           _mm256_or_si256(pick(in[3], 15), pick(in[5], 16))),
                           pick(in[6], 17));
    v[4] = _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(pick(in[1], 18), pick(in[2], 19)),
                                           _mm256_or_si256(pick(in[4], 20), pick(in[5], 21))),
                           pick(in[6], 22));
    v[5] = _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(pick(in[2], 23), pick(in[4], 24)),
                                           _mm256_or_si256(pick(in[5], 25), pick(in[6], 26))),
                           pick(in[7], 27));
    v[6] = _mm256_or_si256(_mm256_or_si256(_mm256_or_si256(pick(in[2], 28), pick(in[4], 29)),
                                           _mm256_or_si256(pick(in[5], 30), pick(in[6], 31))),
                           pick(in[7], 32));
    v[7] = _mm256_or_si256(_mm256_or_si256(pick(in[4], 33), pick(in[6], 34)), pick(in[7], 35));
}

/* The pair (a, b) in every 32 bits. */
INLINE __m256i pair(int a, int b) {
    return _mm256_set1_epi32((int)((uint32_t)(uint16_t)a | (uint32_t)(uint16_t)b << 16));
}

/* Half of one dimension; names as in idct.c.  The inputs are pairs of rows, interleaved; out: the eight sums. */
INLINE void half(__m256i v26, __m256i v17, __m256i v35, __m256i z34, __m256i sum16, __m256i difference16, int shift,
                 __m256i out[8]) {
    const __m256i rounding = _mm256_set1_epi32(1 << (shift - 1));
    /* sum16 and difference16 hold a value in the upper half of each 32 bits: times 2^16, and 2^13 is wanted. */
    const __m256i sum = _mm256_add_epi32(_mm256_srai_epi32(sum16, 3), rounding);
    const __m256i difference = _mm256_add_epi32(_mm256_srai_epi32(difference16, 3), rounding);
    const __m256i odd26 = _mm256_madd_epi16(v26, pair(4433, 4433 - 15137));
    const __m256i even26 = _mm256_madd_epi16(v26, pair(4433 + 6270, 4433));
    const __m256i a0 = _mm256_add_epi32(sum, even26), a3 = _mm256_sub_epi32(sum, even26);
    const __m256i a1 = _mm256_add_epi32(difference, odd26), a2 = _mm256_sub_epi32(difference, odd26);
    const __m256i y3 = _mm256_madd_epi16(z34, pair(9633 - 16069, 9633));
    const __m256i y4 = _mm256_madd_epi16(z34, pair(9633, 9633 - 3196));
    const __m256i b0 = _mm256_add_epi32(_mm256_madd_epi16(v17, pair(-7373, 2446 - 7373)), y3);
    const __m256i b1 = _mm256_add_epi32(_mm256_madd_epi16(v35, pair(-20995, 16819 - 20995)), y4);
    const __m256i b2 = _mm256_add_epi32(_mm256_madd_epi16(v35, pair(25172 - 20995, -20995)), y3);
    const __m256i b3 = _mm256_add_epi32(_mm256_madd_epi16(v17, pair(12299 - 7373, -7373)), y4);
    out[0] = _mm256_srai_epi32(_mm256_add_epi32(a0, b3), shift);
    out[1] = _mm256_srai_epi32(_mm256_add_epi32(a1, b2), shift);
    out[2] = _mm256_srai_epi32(_mm256_add_epi32(a2, b1), shift);
    out[3] = _mm256_srai_epi32(_mm256_add_epi32(a3, b0), shift);
    out[4] = _mm256_srai_epi32(_mm256_sub_epi32(a3, b0), shift);
    out[5] = _mm256_srai_epi32(_mm256_sub_epi32(a2, b1), shift);
    out[6] = _mm256_srai_epi32(_mm256_sub_epi32(a1, b2), shift);
    out[7] = _mm256_srai_epi32(_mm256_sub_epi32(a0, b3), shift);
}

/* One dimension, down the columns: v[i] is row i. */
INLINE void transform(__m256i v[8], int shift) {
    const __m256i zero = _mm256_setzero_si256();
    const __m256i z3 = _mm256_add_epi16(v[7], v[3]), z4 = _mm256_add_epi16(v[5], v[1]);
    const __m256i sum = _mm256_add_epi16(v[0], v[4]), difference = _mm256_sub_epi16(v[0], v[4]);
    __m256i low[8], high[8];
    half(_mm256_unpacklo_epi16(v[2], v[6]), _mm256_unpacklo_epi16(v[1], v[7]), _mm256_unpacklo_epi16(v[3], v[5]),
         _mm256_unpacklo_epi16(z3, z4), _mm256_unpacklo_epi16(zero, sum), _mm256_unpacklo_epi16(zero, difference),
         shift, low);
    half(_mm256_unpackhi_epi16(v[2], v[6]), _mm256_unpackhi_epi16(v[1], v[7]), _mm256_unpackhi_epi16(v[3], v[5]),
         _mm256_unpackhi_epi16(z3, z4), _mm256_unpackhi_epi16(zero, sum), _mm256_unpackhi_epi16(zero, difference),
         shift, high);
    for (int i = 0; i < 8; i++) {
        v[i] = _mm256_packs_epi32(low[i], high[i]);
    }
}

/* Rows to columns, in each half. */
INLINE void transpose(__m256i v[8]) {
    __m256i a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[i] = _mm256_unpacklo_epi16(v[2 * i], v[2 * i + 1]);
        a[4 + i] = _mm256_unpackhi_epi16(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++) {
        b[i] = _mm256_unpacklo_epi32(a[2 * i], a[2 * i + 1]);
        b[4 + i] = _mm256_unpackhi_epi32(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        v[4 * i] = _mm256_unpacklo_epi64(b[2 * i], b[2 * i + 1]);
        v[4 * i + 1] = _mm256_unpackhi_epi64(b[2 * i], b[2 * i + 1]);
        v[4 * i + 2] = _mm256_unpacklo_epi64(b[4 + 2 * i], b[4 + 2 * i + 1]);
        v[4 * i + 3] = _mm256_unpackhi_epi64(b[4 + 2 * i], b[4 + 2 * i + 1]);
    }
}

/* Two blocks to 8 rows of 16 samples; nonzero if a coefficient of the first row is too large (idct.c). */
INLINE int two_blocks(const int16_t *block0, const int16_t *block1, const uint16_t *quant, uint8_t *out,
                      ptrdiff_t stride) {
    __m256i v[8];
    load_rows(block0, block1, v);
    for (int i = 0; i < 8; i++) {
        const __m128i row = _mm_loadu_si128((const __m128i *)quant + i);
        v[i] = _mm256_mullo_epi16(v[i], _mm256_broadcastsi128_si256(row));
    }
    const int fits =
        _mm256_testz_si256(_mm256_add_epi16(v[0], _mm256_set1_epi16(8192)), _mm256_set1_epi16((short)0xC000));
    transform(v, 11);
    transpose(v);
    transform(v, 18);

    /* v[i] is column i of each block.  To bytes, two columns a vector, then rows again. */
    const __m256i centre = _mm256_set1_epi8((char)0x80);
    const __m256i interleave =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    __m256i c[4];
    for (int i = 0; i < 4; i++) {
        c[i] = _mm256_shuffle_epi8(_mm256_xor_si256(_mm256_packs_epi16(v[2 * i], v[2 * i + 1]), centre), interleave);
    }
    const __m256i d0 = _mm256_unpacklo_epi16(c[0], c[1]), d1 = _mm256_unpackhi_epi16(c[0], c[1]);
    const __m256i d2 = _mm256_unpacklo_epi16(c[2], c[3]), d3 = _mm256_unpackhi_epi16(c[2], c[3]);
    const __m256i rows[4] = {_mm256_unpacklo_epi32(d0, d2), _mm256_unpackhi_epi32(d0, d2),
                             _mm256_unpacklo_epi32(d1, d3), _mm256_unpackhi_epi32(d1, d3)};
    for (int i = 0; i < 4; i++) {
        const __m256i two = _mm256_permute4x64_epi64(rows[i], 0xD8); /* the even rows, then the odd ones */
        _mm_storeu_si128((__m128i *)(out + 2 * i * stride), _mm256_castsi256_si128(two));
        _mm_storeu_si128((__m128i *)(out + (2 * i + 1) * stride), _mm256_extracti128_si256(two, 1));
    }
    return !fits;
}

TARGET int gl_jpeg_idct_avx2(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out,
                             ptrdiff_t stride) {
    const int first = two_blocks(block[0], block[1], quant, out, stride);
    return two_blocks(block[2], block[3], quant, out + 16, stride) | first;
}
#endif
