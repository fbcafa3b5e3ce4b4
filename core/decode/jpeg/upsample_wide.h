/* upsample_wide.h: upsample.c, a chroma sample for each 16 bits of a vector at a time. */
#include "wide.h"

INLINE vector widen(const uint8_t *p) {
    return V(cvtepu8_epi16)(LOAD_HALF(p));
}

INLINE vector times3(vector v) {
    return V(add_epi16)(v, V(add_epi16)(v, v));
}

/* Pixels by turns: even ones and odd ones, 16 bits each, to bytes. */
INLINE void store_turns(uint8_t *out, vector even, vector odd) {
    store(out, BITS(or)(even, V(slli_epi16)(odd, 8)));
}

TARGET void NAMED(gl_jpeg_h2v1)(const uint8_t *near, int32_t n, uint8_t *out) {
    const vector one = V(set1_epi16)(1), two = V(set1_epi16)(2);
    for (int32_t i = 0; i < n; i += VECTOR_BYTES / 2) {
        const vector here = times3(widen(near + i));
        const vector even = V(add_epi16)(V(add_epi16)(here, widen(near + i - 1)), one);
        const vector odd = V(add_epi16)(V(add_epi16)(here, widen(near + i + 1)), two);
        store_turns(out + 2 * i, V(srli_epi16)(even, 2), V(srli_epi16)(odd, 2));
    }
}

/* 3/4 near, 1/4 far, times 4. */
INLINE vector blend(const uint8_t *near, const uint8_t *far) {
    return V(add_epi16)(times3(widen(near)), widen(far));
}

TARGET void NAMED(gl_jpeg_h2v2)(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out) {
    const vector seven = V(set1_epi16)(7), eight = V(set1_epi16)(8);
    for (int32_t i = 0; i < n; i += VECTOR_BYTES / 2) {
        const vector here = times3(blend(near + i, far + i));
        const vector even = V(add_epi16)(V(add_epi16)(here, blend(near + i - 1, far + i - 1)), eight);
        const vector odd = V(add_epi16)(V(add_epi16)(here, blend(near + i + 1, far + i + 1)), seven);
        store_turns(out + 2 * i, V(srli_epi16)(even, 4), V(srli_epi16)(odd, 4));
    }
}
