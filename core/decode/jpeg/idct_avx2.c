/* idct_avx2.c: idct.c for two blocks at a time, one in each half of a vector. */
#if defined(__x86_64__)
#define WIDTH 256
#include "idct_wide.h"

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
    const samples made = to_samples(v);
    for (int i = 0; i < 4; i++) {
        const __m256i two = _mm256_permute4x64_epi64(made.rows[i], 0xD8); /* the even rows, then the odd ones */
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
