#include "noise.h"

#include "../cpu.h"
#include "normals.h"
#include "pairs.h"

/* Products and sums are fused nowhere. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

/* The words that are left before the next refill, at least one. */
static const uint32_t *ahead(gl_noise *noise) {
    if (noise->left <= 0) {
        gl_twister_refill(noise->state);
        noise->next = 0;
        noise->left = GL_TWISTER_WORDS;
    }
    return noise->state + noise->next;
}

/* Draws some of these. */
static void take(gl_noise *noise, size_t n) {
    noise->next += (int32_t)n;
    noise->left -= (int32_t)n;
}

static inline __attribute__((always_inline)) uint32_t temper(uint32_t y) {
    y ^= y >> 11;
    y ^= y << 7 & 0x9d2c5680U;
    y ^= y << 15 & 0xefc60000U;
    return y ^ y >> 18;
}

/* ---- uniform */

static inline __attribute__((always_inline)) void shares_of(const uint32_t *words, float *dst, size_t n) {
    for (size_t i = 0; i < n; i++)
        dst[i] = (float)(int32_t)(temper(words[i]) & 0xffffffU) * 0x1p-24F;
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void shares_of_avx2(const uint32_t *words, float *dst, size_t n) {
    shares_of(words, dst, n);
}
#endif

static void uniform(gl_noise *noise, float *dst, size_t n) {
    while (n > 0) {
        const uint32_t *words = ahead(noise);
        const size_t some = n < (size_t)noise->left ? n : (size_t)noise->left;
#if defined(__x86_64__)
        if (gl_cpu_has(GL_CPU_AVX2))
            shares_of_avx2(words, dst, some);
        else
#endif
            shares_of(words, dst, some);
        take(noise, some);
        dst += some;
        n -= some;
    }
}

/* ---- normals (normal_fill in ATen/native/cpu/DistributionTemplates.h) */

static void normals(gl_noise *noise, float *dst, size_t n, int wide) {
    enum { BLOCK = GL_NOISE_NORMALS_MIN };
    uniform(noise, dst, n);
    gl_rng_normals(dst, n / BLOCK, wide);
    if (n % BLOCK != 0) { /* the last ones are drawn again */
        uniform(noise, dst + n - BLOCK, BLOCK);
        gl_rng_normals(dst + n - BLOCK, 1, wide);
    }
}

/* ---- pairs */

static inline __attribute__((always_inline)) void temper_all(const uint32_t *words, uint32_t *dst, size_t n) {
    for (size_t i = 0; i < n; i++)
        dst[i] = temper(words[i]);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void temper_avx2(const uint32_t *words, uint32_t *dst, size_t n) {
    temper_all(words, dst, n);
}
#endif

static void pairs(gl_noise *noise, float *dst, size_t n) {
    enum { AT_ONCE = 512 };
    uint32_t words[2 * AT_ONCE];
    for (size_t at = 0; at < n; at += AT_ONCE) {
        const size_t some = n - at < AT_ONCE ? n - at : AT_ONCE;
        for (size_t k = 0; k < 2 * some;) {
            const uint32_t *const next = ahead(noise);
            const size_t left = 2 * some - k < (size_t)noise->left ? 2 * some - k : (size_t)noise->left;
#if defined(__x86_64__)
            if (gl_cpu_has(GL_CPU_AVX2))
                temper_avx2(next, words + k, left);
            else
#endif
                temper_all(next, words + k, left);
            take(noise, left);
            k += left;
        }
        gl_rng_pairs(words, dst + at, some);
    }
}

void gl_noise_fill(gl_noise *noise, float *dst, size_t n) {
    switch (noise->kind) {
    case GL_NOISE_UNIFORM:
        uniform(noise, dst, n);
        break;
    case GL_NOISE_PAIRS:
        pairs(noise, dst, n);
        break;
    default:
        normals(noise, dst, n, noise->kind == GL_NOISE_NORMALS_AVX2);
    }
}
