#include "pairs.h"

#include "../cpu.h"
#include "../libm/libm.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

/* Products and sums are fused nowhere but where it is said. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

static const double full_turn = 2.0 * 3.14159265358979323846;

/* Two words as a number of [0, 1). */
static double share(const uint32_t *words) {
    return (double)(int64_t)(((uint64_t)words[0] << 32 | words[1]) & ((1ULL << 53) - 1)) * 0x1p-53;
}

static void by_library(const uint32_t *words, float *dst, size_t n) {
    for (size_t i = 0; i < n; i += 2, words += 4) {
        const double radius = sqrt(-2.0 * gl_log1p(-share(words + 2)));
        const double angle = full_turn * share(words);
        dst[i] = (float)(radius * gl_cos(angle) + 0.0); /* no zero is negative */
        dst[i + 1] = (float)(radius * gl_sin(angle) + 0.0);
    }
}

#if defined(__x86_64__)
/* Four pairs at a time, with functions of our own.  These and the C library's are right to a few units in the last of 53 bits,
 * and 24 bits are wanted: both round to the same float32, but where it lies between two of them (NEAR).  There, once in a
 * million numbers, the C library decides. */
#define AVX2 __attribute__((target("avx2,fma"))) static inline
#define ALL(x) _mm256_set1_pd(x)
#define FMA(a, b, c) _mm256_fmadd_pd((a), (b), (c))
#define NEAR 0x1p-46

/* The numbers of [0, 1) of two times 4 words each: 53 bits, of which the high 21 and the low 32 become a double's by
 * themselves. */
AVX2 __m256d shares_of(const uint32_t *words) {
    const __m256i pairs = _mm256_loadu_si256((const void *)words);
    const __m256i exponent = _mm256_set1_epi64x(0x4330000000000000LL); /* of 2^52 */
    const __m256i high = _mm256_and_si256(pairs, _mm256_set1_epi64x(0x1fffff)), low = _mm256_srli_epi64(pairs, 32);
    const __m256d upper = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(high, exponent)), ALL(0x1p52));
    const __m256d lower = _mm256_sub_pd(_mm256_castsi256_pd(_mm256_or_si256(low, exponent)), ALL(0x1p52));
    return _mm256_add_pd(_mm256_mul_pd(upper, ALL(0x1p-21)), _mm256_mul_pd(lower, ALL(0x1p-53)));
}

/* The logarithms of normal numbers up to 1 (e_log.c of fdlibm). */
AVX2 __m256d log_of(__m256d x) {
    const __m256i bits = _mm256_castpd_si256(x);
    const __m256i mantissa = _mm256_and_si256(bits, _mm256_set1_epi64x(0x000fffffffffffffLL));
    x = _mm256_castsi256_pd(_mm256_or_si256(mantissa, _mm256_set1_epi64x(0x3ff0000000000000LL))); /* 1 <= x < 2 */
    const __m256i biased = _mm256_or_si256(_mm256_srli_epi64(bits, 52), _mm256_set1_epi64x(0x4330000000000000LL));
    __m256d k = _mm256_sub_pd(_mm256_castsi256_pd(biased), ALL(0x1p52 + 1023));
    const __m256d large = _mm256_cmp_pd(x, ALL(1.41421356237309504880), _CMP_GT_OQ);
    x = _mm256_blendv_pd(x, _mm256_mul_pd(x, ALL(0.5)), large);
    k = _mm256_add_pd(k, _mm256_and_pd(large, ALL(1)));
    const __m256d f = _mm256_sub_pd(x, ALL(1));
    const __m256d s = _mm256_div_pd(f, _mm256_add_pd(f, ALL(2))), z = _mm256_mul_pd(s, s);
    __m256d r = ALL(1.479819860511658591e-01);
    r = FMA(r, z, ALL(1.531383769920937332e-01));
    r = FMA(r, z, ALL(1.818357216161805012e-01));
    r = FMA(r, z, ALL(2.222219843214978396e-01));
    r = FMA(r, z, ALL(2.857142874366239149e-01));
    r = FMA(r, z, ALL(3.999999999940941908e-01));
    r = FMA(r, z, ALL(6.666666666666735130e-01));
    r = _mm256_mul_pd(r, z);
    const __m256d half = _mm256_mul_pd(_mm256_mul_pd(f, f), ALL(0.5));
    const __m256d rest = FMA(s, _mm256_add_pd(half, r), _mm256_mul_pd(k, ALL(1.90821492927058770002e-10)));
    return FMA(k, ALL(6.93147180369123816490e-01), _mm256_sub_pd(f, _mm256_sub_pd(half, rest)));
}

/* The sines and cosines of numbers from 0 to a full turn (k_sin.c and k_cos.c of fdlibm). */
AVX2 void sines_and_cosines(__m256d x, __m256d *sine, __m256d *cosine) {
    const __m256d magic = ALL(0x1.8p52); /* with which a sum's last bits are the integer next to it */
    const __m256d sum = FMA(x, ALL(6.36619772367581382433e-01), magic), quarters = _mm256_sub_pd(sum, magic);
    const __m256i q = _mm256_castpd_si256(sum);
    __m256d y = _mm256_fnmadd_pd(quarters, ALL(1.57079632679489655800e+00), x); /* exact */
    y = _mm256_fnmadd_pd(quarters, ALL(6.12323399573676603587e-17), y);
    const __m256d z = _mm256_mul_pd(y, y);
    __m256d odd = ALL(1.58969099521155010221e-10);
    odd = FMA(odd, z, ALL(-2.50507602534068634195e-08));
    odd = FMA(odd, z, ALL(2.75573137070700676789e-06));
    odd = FMA(odd, z, ALL(-1.98412698298579493134e-04));
    odd = FMA(odd, z, ALL(8.33333333332248946124e-03));
    odd = FMA(odd, z, ALL(-1.66666666666666324348e-01));
    odd = FMA(_mm256_mul_pd(odd, z), y, y);
    __m256d even = ALL(-1.13596475577881948265e-11);
    even = FMA(even, z, ALL(2.08757232129817482790e-09));
    even = FMA(even, z, ALL(-2.75573143513906633035e-07));
    even = FMA(even, z, ALL(2.48015872894767294178e-05));
    even = FMA(even, z, ALL(-1.38888888888741095749e-03));
    even = FMA(even, z, ALL(4.16666666666666019037e-02));
    even = _mm256_sub_pd(ALL(1), _mm256_mul_pd(z, _mm256_fnmadd_pd(even, z, ALL(0.5))));
    const __m256d swapped = _mm256_castsi256_pd(_mm256_slli_epi64(q, 63));
    const __m256i two = _mm256_set1_epi64x(2), next = _mm256_add_epi64(q, _mm256_set1_epi64x(1));
    const __m256d minus_sine = _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_and_si256(q, two), 62));
    const __m256d minus_cosine = _mm256_castsi256_pd(_mm256_slli_epi64(_mm256_and_si256(next, two), 62));
    *sine = _mm256_xor_pd(_mm256_blendv_pd(odd, even, swapped), minus_sine);
    *cosine = _mm256_xor_pd(_mm256_blendv_pd(even, odd, swapped), minus_cosine);
}

/* Rounds four numbers; says whether all of them lie near one float32 alone. */
AVX2 int rounded(__m256d x, float *dst) {
    const __m128 one = _mm256_cvtpd_ps(_mm256_mul_pd(x, ALL(1 - NEAR)));
    const __m128 other = _mm256_cvtpd_ps(_mm256_mul_pd(x, ALL(1 + NEAR)));
    _mm_storeu_ps(dst, _mm_add_ps(one, _mm_setzero_ps())); /* no zero is negative */
    return _mm_movemask_ps(_mm_cmpeq_ps(one, other)) == 0xf;
}

__attribute__((target("avx2,fma"))) static void by_fours(const uint32_t *words, float *dst, size_t n) {
    enum { NUMBERS = 8 };
    size_t i = 0;
    for (; i + NUMBERS <= n; i += NUMBERS) {
        const uint32_t *const from = words + 2 * i;
        /* [turn, share] of pairs 0 and 1, and of pairs 2 and 3: the same sides, of pairs 0, 2, 1, 3. */
        const __m256d a = shares_of(from), b = shares_of(from + 8);
        const __m256d turn = _mm256_unpacklo_pd(a, b), of_radius = _mm256_unpackhi_pd(a, b);
        const __m256d log = log_of(_mm256_sub_pd(ALL(1), of_radius)); /* the difference is exact */
        const __m256d radius = _mm256_sqrt_pd(_mm256_mul_pd(log, ALL(-2)));
        __m256d sine, cosine;
        sines_and_cosines(_mm256_mul_pd(turn, ALL(full_turn)), &sine, &cosine);
        sine = _mm256_mul_pd(radius, sine);
        cosine = _mm256_mul_pd(radius, cosine);
        const int sure = rounded(_mm256_unpacklo_pd(cosine, sine), dst + i);
        if (!(rounded(_mm256_unpackhi_pd(cosine, sine), dst + i + NUMBERS / 2) && sure))
            by_library(from, dst + i, NUMBERS);
    }
    by_library(words + 2 * i, dst + i, n - i);
}
#endif

void gl_rng_pairs(const uint32_t *words, float *dst, size_t n) {
#if defined(__x86_64__)
    if (gl_cpu_has(GL_CPU_AVX2 | GL_CPU_FMA)) {
        by_fours(words, dst, n);
        return;
    }
#endif
    by_library(words, dst, n);
}
