/* colour_wide.h: colour.c, a pixel for each byte of a vector at a time, in 16 bits.
 *
 * Factors beyond 1 or below -1/2 do not fit a product of 16 bits: R = Y + Cr + 0.402 Cr, G = Y - Cr + (0.28586 Cr -
 * 0.34414 Cb), B = Y + 2 Cb - 0.228 Cb.  A high product of (Cr * 2^7) is rounded by hand (as in libjpeg-turbo's
 * jdcolext-*.asm). */
#include "wide.h"

enum { R_CR = 26345, G_CB = -22554, G_CR = 18734, B_CB = -14942 };

/* chroma * factor / 2^16, rounded. */
INLINE vector scale(vector chroma, int factor) {
    const vector product = V(mulhi_epi16)(V(slli_epi16)(chroma, 7), V(set1_epi16)((short)factor));
    return V(srai_epi16)(V(add_epi16)(product, V(set1_epi16)(64)), 7);
}

/* The part of green that is not Y - Cr, of half the pixels: u and v are interleaved. */
INLINE vector green(vector uv) {
    const vector factors = V(set1_epi32)((int)((uint32_t)(uint16_t)G_CB | (uint32_t)G_CR << 16));
    return V(srai_epi32)(V(add_epi32)(V(madd_epi16)(uv, factors), V(set1_epi32)(32768)), 16);
}

typedef struct colours {
    vector r, g, b;
} colours;

/* Half of the pixels, 16 bits each. */
INLINE colours convert(vector y, vector cb, vector cr) {
    const vector centre = V(set1_epi16)(128);
    const vector u = V(sub_epi16)(cb, centre), v = V(sub_epi16)(cr, centre);
    const vector rest = V(packs_epi32)(green(V(unpacklo_epi16)(u, v)), green(V(unpackhi_epi16)(u, v)));
    return (colours){
        .r = V(add_epi16)(V(add_epi16)(y, v), scale(v, R_CR)),
        .g = V(add_epi16)(V(sub_epi16)(y, v), rest),
        .b = V(add_epi16)(V(add_epi16)(y, V(add_epi16)(u, u)), scale(u, B_CB)),
    };
}

TARGET void NAMED(gl_jpeg_colour)(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r,
                                  uint8_t *g, uint8_t *b) {
    const vector zero = BITS(setzero)();
    for (int32_t i = 0; i < n; i += VECTOR_BYTES) {
        const vector y8 = load(y + i);
        const vector cb8 = load(cb + i);
        const vector cr8 = load(cr + i);
        const colours low =
            convert(V(unpacklo_epi8)(y8, zero), V(unpacklo_epi8)(cb8, zero), V(unpacklo_epi8)(cr8, zero));
        const colours high =
            convert(V(unpackhi_epi8)(y8, zero), V(unpackhi_epi8)(cb8, zero), V(unpackhi_epi8)(cr8, zero));
        store(r + i, V(packus_epi16)(low.r, high.r));
        store(g + i, V(packus_epi16)(low.g, high.g));
        store(b + i, V(packus_epi16)(low.b, high.b));
    }
}
