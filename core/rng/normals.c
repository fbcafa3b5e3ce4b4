#include "normals.h"

#include <math.h>
#include <string.h>

#include "../libm/libm.h"

/* Products and sums are fused where torch's are, and nowhere else. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

/* The AVX2 kernels have the Cephes library's polynomials (Stephen Moshier's logf.c and sinf.c), each step of Horner's scheme
 * rounded once. */
#if defined(__x86_64__)
#define GL_FUSED __attribute__((target("fma")))
#else
#define GL_FUSED
#endif

#define FMA(a, b, c) __builtin_fmaf((a), (b), (c))

static const float two_pi = 6.283185307179586F;

static inline uint32_t bits_of(float x) {
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float float_of(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline float with_sign(float x, uint32_t flip) {
    return float_of(bits_of(x) ^ flip);
}

/* The logarithm of a normal number. */
static inline GL_FUSED float log_of(float x) {
    const uint32_t bits = bits_of(x);
    float exponent = (float)((int32_t)(bits >> 23) - 126);
    x = float_of((bits & 0x007fffffU) | 0x3f000000U); /* 0.5 <= x < 1 */
    if (x < 0.707106781186547524F) {
        exponent -= 1;
        x = (x - 1) + x;
    } else {
        x -= 1;
    }
    const float z = x * x;
    float y = 7.0376836292e-2F;
    y = FMA(y, x, -1.1514610310e-1F);
    y = FMA(y, x, 1.1676998740e-1F);
    y = FMA(y, x, -1.2420140846e-1F);
    y = FMA(y, x, 1.4249322787e-1F);
    y = FMA(y, x, -1.6668057665e-1F);
    y = FMA(y, x, 2.0000714765e-1F);
    y = FMA(y, x, -2.4999993993e-1F);
    y = FMA(y, x, 3.3333331174e-1F);
    y = FMA(y * x, z, exponent * -2.12194440e-4F);
    y = FMA(-z, 0.5F, y);
    return FMA(exponent, 0.693359375F, x + y);
}

/* The sine and the cosine of a number from 0 on. */
static inline GL_FUSED void sine_and_cosine(float x, float *sine, float *cosine) {
    const int32_t octant = ((int32_t)(x * 1.27323954473516F) + 1) & ~1;
    const float turns = (float)octant;
    x = FMA(turns, -0.78515625F, x);
    x = FMA(turns, -2.4187564849853515625e-4F, x);
    x = FMA(turns, -3.77489497744594108e-8F, x);
    const float z = x * x;
    float even = 2.443315711809948e-5F;
    even = FMA(even, z, -1.388731625493765e-3F);
    even = FMA(even, z, 4.166664568298827e-2F);
    even = FMA(even * z, z, -(z * 0.5F)) + 1;
    float odd = -1.9515295891e-4F;
    odd = FMA(odd, z, 8.3321608736e-3F);
    odd = FMA(odd, z, -1.6666654611e-1F);
    odd = FMA(odd * z, x, x);
    const int swapped = (octant & 2) != 0;
    *sine = with_sign(swapped ? even : odd, (uint32_t)(octant & 4) << 29);
    *cosine = with_sign(swapped ? odd : even, (uint32_t)(~(octant - 2) & 4) << 29);
}

static GL_FUSED void by_polynomials(float *data) {
    for (int k = 0; k < 8; k++) {
        const float radius = sqrtf(-2 * log_of(1 - data[k]));
        float sine, cosine;
        sine_and_cosine(two_pi * data[k + 8], &sine, &cosine);
        data[k] = radius * cosine + 0.0F; /* no zero is negative */
        data[k + 8] = radius * sine + 0.0F;
    }
}

static void by_library(float *data) {
    for (int k = 0; k < 8; k++) {
        const float radius = sqrtf(-2 * gl_logf(1 - data[k]));
        const float angle = (float)(6.283185307179586 * data[k + 8]);
        data[k] = radius * gl_cosf(angle) + 0.0F;
        data[k + 8] = radius * gl_sinf(angle) + 0.0F;
    }
}

void gl_rng_normals(float *data, int wide) {
    if (wide)
        by_polynomials(data);
    else
        by_library(data);
}
