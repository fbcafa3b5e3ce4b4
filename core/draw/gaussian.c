#include "gaussian.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

/* Products and sums are fused where torch's are, and nowhere else. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#else
#pragma GCC optimize("fp-contract=off")
#endif

typedef void vmsexp(const int32_t *n, const float *x, float *y, const int64_t *mode);
/* High accuracy, numbers that are not normal as they are, no report of errors: as torch has it (ATen/cpu/vml.h). */
static const int64_t mkl_mode = 0x2 | 0x140000 | 0x100;
static vmsexp *mkl;

void gl_gaussian_use(void *found) {
    __atomic_store_n(&mkl, (vmsexp *)found, __ATOMIC_RELAXED);
}

int gl_gaussian_has_mkl(void) {
    return __atomic_load_n(&mkl, __ATOMIC_RELAXED) != NULL;
}

static float power_of_two(int32_t n) {
    const int32_t bits = (n + 127) << 23;
    float power;
    memcpy(&power, &bits, sizeof power);
    return power;
}

/* SLEEF's expf with an error of up to 1.0 ulp (sleefsimdsp.c), of numbers up to 0.  It is also tried on processors that do not
 * fuse, so that it is the C library which does. */
static float sleef_exp(float x) {
    if (x < -104.0f)
        return 0.0f;
    const float q = rintf(x * 1.44269504088896340736f);
    float s = __builtin_fmaf(q, -0.693145751953125f, x);
    s = __builtin_fmaf(q, -1.428606765330187045e-06f, s);
    float u = 0.000198527617612853646278381f;
    u = __builtin_fmaf(u, s, 0.00139304355252534151077271f);
    u = __builtin_fmaf(u, s, 0.00833336077630519866943359f);
    u = __builtin_fmaf(u, s, 0.0416664853692054748535156f);
    u = __builtin_fmaf(u, s, 0.166666671633720397949219f);
    u = __builtin_fmaf(u, s, 0.5f);
    u = 1.0f + __builtin_fmaf(s * s, u, s);
    const int32_t n = (int32_t)q;
    return u * power_of_two(n >> 1) * power_of_two(n - (n >> 1));
}

static void exponentials(const gl_gaussian *law, float *x) {
    vmsexp *const found = __atomic_load_n(&mkl, __ATOMIC_RELAXED);
    if (law->mkl && found != NULL) {
        float y[GL_GAUSSIAN_MAX];
        found(&law->n, x, y, &mkl_mode);
        memcpy(x, y, sizeof *x * (size_t)law->n);
        return;
    }
    for (int32_t i = 0; i < law->n; i++)
        x[i] = sleef_exp(x[i]);
}

/* Adds whole vectors of numbers; says how many numbers these are. */
static int32_t add_vectors(const float *x, int32_t n, int32_t lanes, float *sums) {
    int32_t at = 0;
    for (; at + lanes <= n; at += lanes)
        for (int32_t k = 0; k < lanes; k++)
            sums[k] += x[at + k];
    return at;
}

/* Tensor.sum (SumKernel.cpp): by vectors, or by four numbers if there are too few for one. */
static float sum(const float *x, int32_t n, int32_t lanes) {
    float sums[16] = {0};
    if (n < lanes) {
        const int32_t at = add_vectors(x, n, 4, sums);
        for (int32_t i = at; i < n; i++)
            sums[0] += x[i];
        return sums[0] + sums[1] + sums[2] + sums[3];
    }
    const int32_t at = add_vectors(x, n, lanes, sums);
    float total = 0.0f;
    for (int32_t i = at; i < n; i++)
        total += x[i];
    for (int32_t k = 0; k < lanes; k++)
        total += sums[k];
    return total;
}

/* softmax's sum (vec::reduce_all): of a vector its halves, then halves of these. */
static float sum_by_halves(const float *x, int32_t n, int32_t lanes) {
    if (n < lanes) {
        float total = x[0];
        for (int32_t i = 1; i < n; i++)
            total += x[i];
        return total;
    }
    float sums[16] = {0};
    const int32_t at = add_vectors(x, n, lanes, sums);
    for (int32_t i = at; i < n; i++)
        sums[i - at] += x[i];
    for (int32_t half = lanes / 2; half > 0; half /= 2)
        for (int32_t k = 0; k < half; k++)
            sums[k] += sums[k + half];
    return sums[0];
}

void gl_gaussian_weights(const gl_gaussian *law, float sigma, float *weights) {
    const int32_t n = law->n;
    float x[GL_GAUSSIAN_MAX];
    for (int32_t i = 0; i < n; i++) {
        const float far = law->at[i] / sigma;
        x[i] = (law->softmax ? -1.0f : -0.5f) * (far * far);
    }
    if (law->softmax) {
        float largest = x[0];
        for (int32_t i = 1; i < n; i++)
            largest = x[i] > largest ? x[i] : largest;
        for (int32_t i = 0; i < n; i++)
            x[i] -= largest;
    }
    exponentials(law, x);
    if (law->softmax) {
        const float share = 1.0f / sum_by_halves(x, n, law->lanes);
        for (int32_t i = 0; i < n; i++)
            weights[i] = x[i] * share;
        return;
    }
    const float total = sum(x, n, law->lanes);
    for (int32_t i = 0; i < n; i++)
        weights[i] = x[i] / total;
}
