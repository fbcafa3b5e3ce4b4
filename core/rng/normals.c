#include "normals.h"

#include "../cpu.h"
#include "../libm/libm.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Products and sums are fused where torch's are, and nowhere else. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

static const double turn = 6.283185307179586;

#if defined(__x86_64__)
/* The AVX2 kernels have the Cephes library's polynomials (Stephen Moshier's logf.c and sinf.c), each step of Horner's scheme
 * rounded once. */
#define AVX2 __attribute__((target("avx2,fma"))) static inline
#define ALL(x) _mm256_set1_ps(x)
#define BITS(x) _mm256_castps_si256(x)
#define FLOATS(x) _mm256_castsi256_ps(x)
#define FMA(a, b, c) _mm256_fmadd_ps((a), (b), (c))

/* The logarithms of normal numbers. */
AVX2 __m256 log_of(__m256 x) {
    const __m256i bits = BITS(x);
    __m256 exponent = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_srli_epi32(bits, 23), _mm256_set1_epi32(126)));
    x = FLOATS(_mm256_or_si256(_mm256_and_si256(bits, _mm256_set1_epi32(0x007fffff)), _mm256_set1_epi32(0x3f000000)));
    const __m256 small = _mm256_cmp_ps(x, ALL(0.707106781186547524F), _CMP_LT_OS); /* of 0.5 <= x < 1 */
    exponent = _mm256_sub_ps(exponent, _mm256_and_ps(small, ALL(1)));
    x = _mm256_add_ps(_mm256_sub_ps(x, ALL(1)), _mm256_and_ps(small, x));
    const __m256 z = _mm256_mul_ps(x, x);
    __m256 y = ALL(7.0376836292e-2F);
    y = FMA(y, x, ALL(-1.1514610310e-1F));
    y = FMA(y, x, ALL(1.1676998740e-1F));
    y = FMA(y, x, ALL(-1.2420140846e-1F));
    y = FMA(y, x, ALL(1.4249322787e-1F));
    y = FMA(y, x, ALL(-1.6668057665e-1F));
    y = FMA(y, x, ALL(2.0000714765e-1F));
    y = FMA(y, x, ALL(-2.4999993993e-1F));
    y = FMA(y, x, ALL(3.3333331174e-1F));
    y = FMA(_mm256_mul_ps(y, x), z, _mm256_mul_ps(exponent, ALL(-2.12194440e-4F)));
    y = _mm256_fnmadd_ps(z, ALL(0.5F), y);
    return FMA(exponent, ALL(0.693359375F), _mm256_add_ps(x, y));
}

/* The sines and cosines of numbers from 0 on. */
AVX2 void sines_and_cosines(__m256 x, __m256 *sine, __m256 *cosine) {
    __m256i octant = _mm256_cvttps_epi32(_mm256_mul_ps(x, ALL(1.27323954473516F)));
    octant = _mm256_and_si256(_mm256_add_epi32(octant, _mm256_set1_epi32(1)), _mm256_set1_epi32(~1));
    const __m256 turns = _mm256_cvtepi32_ps(octant);
    x = FMA(turns, ALL(-0.78515625F), x);
    x = FMA(turns, ALL(-2.4187564849853515625e-4F), x);
    x = FMA(turns, ALL(-3.77489497744594108e-8F), x);
    const __m256 z = _mm256_mul_ps(x, x);
    __m256 even = ALL(2.443315711809948e-5F);
    even = FMA(even, z, ALL(-1.388731625493765e-3F));
    even = FMA(even, z, ALL(4.166664568298827e-2F));
    even = _mm256_add_ps(_mm256_fmsub_ps(_mm256_mul_ps(even, z), z, _mm256_mul_ps(z, ALL(0.5F))), ALL(1));
    __m256 odd = ALL(-1.9515295891e-4F);
    odd = FMA(odd, z, ALL(8.3321608736e-3F));
    odd = FMA(odd, z, ALL(-1.6666654611e-1F));
    odd = FMA(_mm256_mul_ps(odd, z), x, x);
    const __m256i two = _mm256_set1_epi32(2), four = _mm256_set1_epi32(4);
    const __m256 swapped = FLOATS(_mm256_cmpeq_epi32(_mm256_and_si256(octant, two), two));
    const __m256i turned = _mm256_andnot_si256(_mm256_sub_epi32(octant, two), four);
    *sine = _mm256_xor_ps(_mm256_blendv_ps(odd, even, swapped),
                          FLOATS(_mm256_slli_epi32(_mm256_and_si256(octant, four), 29)));
    *cosine = _mm256_xor_ps(_mm256_blendv_ps(even, odd, swapped), FLOATS(_mm256_slli_epi32(turned, 29)));
}

AVX2 void by_polynomials(float *data) {
    const __m256 share = _mm256_sub_ps(ALL(1), _mm256_loadu_ps(data));
    const __m256 radius = _mm256_sqrt_ps(_mm256_mul_ps(ALL(-2), log_of(share)));
    __m256 sine, cosine;
    sines_and_cosines(_mm256_mul_ps(ALL((float)turn), _mm256_loadu_ps(data + 8)), &sine, &cosine);
    /* No zero is negative. */
    _mm256_storeu_ps(data, _mm256_add_ps(_mm256_mul_ps(radius, cosine), ALL(0)));
    _mm256_storeu_ps(data + 8, _mm256_add_ps(_mm256_mul_ps(radius, sine), ALL(0)));
}

__attribute__((target("avx2,fma"))) static void all_by_polynomials(float *data, size_t blocks) {
    for (size_t i = 0; i < blocks; i++)
        by_polynomials(data + 16 * i);
}
#endif

static void by_library(float *data) {
    for (int k = 0; k < 8; k++) {
        const float radius = sqrtf(-2 * gl_logf(1 - data[k]));
        const float angle = (float)(turn * data[k + 8]);
        data[k] = radius * gl_cosf(angle) + 0.0F;
        data[k + 8] = radius * gl_sinf(angle) + 0.0F;
    }
}

void gl_rng_normals(float *data, size_t blocks, int wide) {
#if defined(__x86_64__)
    if (wide && gl_cpu_has(GL_CPU_AVX2 | GL_CPU_FMA)) {
        all_by_polynomials(data, blocks);
        return;
    }
#endif
    (void)wide;
    for (size_t i = 0; i < blocks; i++)
        by_library(data + 16 * i);
}
