/* idct_wide.h: idct.c for several blocks at a time, one in each 128 bits of a vector. */
#include "wide.h"

/* The pair (a, b) in every 32 bits. */
INLINE vector pair(int a, int b) {
    return V(set1_epi32)((int)((uint32_t)(uint16_t)a | (uint32_t)(uint16_t)b << 16));
}

/* Half of one dimension; names as in idct.c.  The inputs are pairs of rows, interleaved; out: the eight sums. */
INLINE void half(vector v26, vector v17, vector v35, vector z34, vector sum16, vector difference16, int shift,
                 vector out[8]) {
    const vector rounding = V(set1_epi32)(1 << (shift - 1));
    /* sum16 and difference16 hold a value in the upper half of each 32 bits: times 2^16, and 2^13 is wanted. */
    const vector sum = V(add_epi32)(V(srai_epi32)(sum16, 3), rounding);
    const vector difference = V(add_epi32)(V(srai_epi32)(difference16, 3), rounding);
    const vector odd26 = V(madd_epi16)(v26, pair(4433, 4433 - 15137));
    const vector even26 = V(madd_epi16)(v26, pair(4433 + 6270, 4433));
    const vector a0 = V(add_epi32)(sum, even26), a3 = V(sub_epi32)(sum, even26);
    const vector a1 = V(add_epi32)(difference, odd26), a2 = V(sub_epi32)(difference, odd26);
    const vector y3 = V(madd_epi16)(z34, pair(9633 - 16069, 9633));
    const vector y4 = V(madd_epi16)(z34, pair(9633, 9633 - 3196));
    const vector b0 = V(add_epi32)(V(madd_epi16)(v17, pair(-7373, 2446 - 7373)), y3);
    const vector b1 = V(add_epi32)(V(madd_epi16)(v35, pair(-20995, 16819 - 20995)), y4);
    const vector b2 = V(add_epi32)(V(madd_epi16)(v35, pair(25172 - 20995, -20995)), y3);
    const vector b3 = V(add_epi32)(V(madd_epi16)(v17, pair(12299 - 7373, -7373)), y4);
    out[0] = V(srai_epi32)(V(add_epi32)(a0, b3), shift);
    out[1] = V(srai_epi32)(V(add_epi32)(a1, b2), shift);
    out[2] = V(srai_epi32)(V(add_epi32)(a2, b1), shift);
    out[3] = V(srai_epi32)(V(add_epi32)(a3, b0), shift);
    out[4] = V(srai_epi32)(V(sub_epi32)(a3, b0), shift);
    out[5] = V(srai_epi32)(V(sub_epi32)(a2, b1), shift);
    out[6] = V(srai_epi32)(V(sub_epi32)(a1, b2), shift);
    out[7] = V(srai_epi32)(V(sub_epi32)(a0, b3), shift);
}

/* One dimension, down the columns: v[i] is row i. */
INLINE void transform(vector v[8], int shift) {
    const vector zero = BITS(setzero)();
    const vector z3 = V(add_epi16)(v[7], v[3]), z4 = V(add_epi16)(v[5], v[1]);
    const vector sum = V(add_epi16)(v[0], v[4]), difference = V(sub_epi16)(v[0], v[4]);
    vector low[8], high[8];
    half(V(unpacklo_epi16)(v[2], v[6]), V(unpacklo_epi16)(v[1], v[7]), V(unpacklo_epi16)(v[3], v[5]),
         V(unpacklo_epi16)(z3, z4), V(unpacklo_epi16)(zero, sum), V(unpacklo_epi16)(zero, difference), shift, low);
    half(V(unpackhi_epi16)(v[2], v[6]), V(unpackhi_epi16)(v[1], v[7]), V(unpackhi_epi16)(v[3], v[5]),
         V(unpackhi_epi16)(z3, z4), V(unpackhi_epi16)(zero, sum), V(unpackhi_epi16)(zero, difference), shift, high);
    for (int i = 0; i < 8; i++) {
        v[i] = V(packs_epi32)(low[i], high[i]);
    }
}

/* Rows to columns, in each block. */
INLINE void transpose(vector v[8]) {
    vector a[8], b[8];
    for (int i = 0; i < 4; i++) {
        a[i] = V(unpacklo_epi16)(v[2 * i], v[2 * i + 1]);
        a[4 + i] = V(unpackhi_epi16)(v[2 * i], v[2 * i + 1]);
    }
    for (int i = 0; i < 4; i++) {
        b[i] = V(unpacklo_epi32)(a[2 * i], a[2 * i + 1]);
        b[4 + i] = V(unpackhi_epi32)(a[2 * i], a[2 * i + 1]);
    }
    for (int i = 0; i < 2; i++) {
        v[4 * i] = V(unpacklo_epi64)(b[2 * i], b[2 * i + 1]);
        v[4 * i + 1] = V(unpackhi_epi64)(b[2 * i], b[2 * i + 1]);
        v[4 * i + 2] = V(unpacklo_epi64)(b[4 + 2 * i], b[4 + 2 * i + 1]);
        v[4 * i + 3] = V(unpackhi_epi64)(b[4 + 2 * i], b[4 + 2 * i + 1]);
    }
}

typedef struct samples {
    vector rows[4];
} samples;

/* Rows of blocks, dequantised, to bytes: two rows a vector, 64 bits of each by turns. */
INLINE samples to_samples(vector v[8]) {
    transform(v, 11);
    transpose(v);
    transform(v, 18);

    /* v[i] is column i of each block.  To bytes, two columns a vector, then rows again. */
    const vector centre = V(set1_epi8)((char)0x80);
    const vector interleave = BROADCAST(_mm_setr_epi8(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15));
    vector c[4];
    for (int i = 0; i < 4; i++) {
        c[i] = V(shuffle_epi8)(BITS(xor)(V(packs_epi16)(v[2 * i], v[2 * i + 1]), centre), interleave);
    }
    const vector d0 = V(unpacklo_epi16)(c[0], c[1]), d1 = V(unpackhi_epi16)(c[0], c[1]);
    const vector d2 = V(unpacklo_epi16)(c[2], c[3]), d3 = V(unpackhi_epi16)(c[2], c[3]);
    return (samples){
        {V(unpacklo_epi32)(d0, d2), V(unpackhi_epi32)(d0, d2), V(unpacklo_epi32)(d1, d3), V(unpackhi_epi32)(d1, d3)}};
}
