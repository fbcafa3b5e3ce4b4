/* Pillow's weights (precompute_coeffs and normalize_coeffs_8bpc in src/libImaging/Resample.c), in double, and torch's
 * (aten/src/ATen/native/cpu/UpSampleKernel.cpp), which are the same before they are rounded: to 16 bits, with as many
 * of fraction as the largest weight leaves room for. Shifted up they are weights for the same kernels, whose sums then
 * round as torch's do.
 *
 * A fused multiply-add would round differently.  x86-64 without target attributes has none, so this file has no such
 * attribute; elsewhere the compiler is told not to contract. */
#include "resample.h"

#include <math.h>

#include "../libm/libm.h"
#include "op.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

#ifndef M_PI
#define M_PI 3.14159265358979323846
#endif

static double bilinear(double x) {
    x = fabs(x);
    return x < 1.0 ? 1.0 - x : 0.0;
}

static double bicubic(double x) {
    const double a = -0.5;
    x = fabs(x);
    if (x < 1.0)
        return ((a + 2.0) * x - (a + 3.0)) * x * x + 1;
    if (x < 2.0)
        return (((x - 5) * x + 8) * x - 4) * a;
    return 0.0;
}

static double sinc(double x) {
    if (x == 0.0)
        return 1.0;
    x *= M_PI;
    return gl_sin(x) / x;
}

static double lanczos(double x) {
    return -3.0 <= x && x < 3.0 ? sinc(x) * sinc(x / 3) : 0.0;
}

static double box(double x) {
    return x > -0.5 && x <= 0.5 ? 1.0 : 0.0;
}

static double hamming(double x) {
    x = fabs(x);
    if (x == 0.0)
        return 1.0;
    if (x >= 1.0)
        return 0.0;
    x *= M_PI;
    return gl_sin(x) / x * (0.54f + 0.46f * gl_cos(x)); /* float constants, as Pillow has them */
}

static const struct {
    double (*weight)(double);
    double support;
} filters[] = {
    [GL_LANCZOS] = {lanczos, 3.0}, [GL_BILINEAR] = {bilinear, 1.0}, [GL_BICUBIC] = {bicubic, 2.0},
    [GL_BOX] = {box, 0.5},         [GL_HAMMING] = {hamming, 1.0},
};

/* What an axis' weights are made by. */
typedef struct rule {
    int32_t in, filter;
    double scale, support, inverse;
} rule;

/* The inputs of one output, from *first on, and their weights; says how many. */
static int32_t weigh(const rule *rule, int32_t output, int32_t *first, double *weights) {
    const double centre = (output + 0.5) * rule->scale;
    /* Bounded before they become integers, since they may not fit. */
    const double left = centre - rule->support + 0.5, right = centre + rule->support + 0.5;
    const int32_t low = left < 0 ? 0 : (int32_t)left, end = right > rule->in ? rule->in : (int32_t)right;
    if (low >= end) { /* the box of a wide input, a float32, may reach beyond it: Pillow sums up nothing there */
        weights[0] = 0.0;
        *first = end - 1;
        return 1;
    }
    double sum = 0.0;
    for (int32_t j = low; j < end; j++) {
        const double weight = filters[rule->filter].weight((j - centre + 0.5) * rule->inverse);
        weights[j - low] = weight;
        sum += weight;
    }
    if (sum != 0.0)
        for (int32_t j = 0; j < end - low; j++)
            weights[j] /= sum;
    *first = low;
    return end - low;
}

/* Bits of fraction that torch gives its 16-bit weights: by the largest of all outputs, whichever are wanted. */
static int torch_bits(const rule *rule, int32_t out, double *weights) {
    double most = 0.0;
    for (int32_t o = 0; o < out; o++) {
        int32_t first;
        const int32_t count = weigh(rule, o, &first, weights);
        for (int32_t j = 0; j < count; j++)
            most = weights[j] > most ? weights[j] : most;
    }
    int bits = 0;
    while (bits < GL_WEIGHT_BITS && (int32_t)(0.5 + most * (1 << (bits + 1))) < 1 << 15)
        bits++;
    return bits;
}

static int32_t filter_of(int32_t filter) {
    return filter == GL_TORCH_BILINEAR ? GL_BILINEAR : filter == GL_TORCH_BICUBIC ? GL_BICUBIC : filter;
}

int gl_axis_build(gl_axis *axis, gl_buffer *room, const gl_axis_key *key) {
    const double scale = (double)(float)key->in / key->out; /* Pillow's box is float */
    const double filter_scale = scale < 1.0 ? 1.0 : scale;
    const int32_t filter = filter_of(key->filter);
    const double support = filters[filter].support * filter_scale;
    const rule rule = {key->in, filter, scale, support, 1.0 / filter_scale};
    const double taps_wide = ceil(support) * 2 + 1;
    const size_t taps = taps_wide < key->in ? (size_t)taps_wide : (size_t)key->in;
    const size_t n = (size_t)key->n;

    if (gl_buffer_grow(room, taps * sizeof(double) + (2 + taps) * n * sizeof(int32_t)) != 0)
        return -1;
    double *weights = (double *)room->data;
    axis->n = key->n;
    axis->taps = (int32_t)taps;
    axis->first = (int32_t *)(weights + taps);
    axis->count = axis->first + n;
    axis->weight = axis->count + n;

    const int bits = filter == key->filter ? GL_WEIGHT_BITS : torch_bits(&rule, key->out, weights);
    int32_t low = INT32_MAX, high = 0;
    for (size_t i = 0; i < n; i++) {
        const int32_t o = key->flip ? key->from + key->n - 1 - (int32_t)i : key->from + (int32_t)i;
        int32_t first;
        const int32_t count = weigh(&rule, o, &first, weights);
        int32_t *fixed = axis->weight + i * taps;
        for (int32_t j = 0; j < count; j++)
            fixed[j] =
                (int32_t)((weights[j] < 0 ? -0.5 : 0.5) + weights[j] * (1 << bits)) * (1 << (GL_WEIGHT_BITS - bits));
        axis->first[i] = first;
        axis->count[i] = count;
        low = first < low ? first : low;
        high = first + count > high ? first + count : high;
    }
    for (size_t i = 0; i < n; i++)
        axis->first[i] -= low;
    axis->low = low;
    axis->high = high;
    return 0;
}

void gl_torch_nearest_map(int32_t *map, int32_t in, int32_t out, int32_t from, int32_t n) {
    /* ATen/native/UpSample.h, nearest_neighbor_compute_source_index */
    const float scale = (float)in / (float)out;
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = (int32_t)floorf((float)(from + i) * scale);
        map[i] = at < in ? at : in - 1;
    }
}

void gl_nearest_map(int32_t *map, int32_t in, int32_t out, int32_t from, int32_t n) {
    /* Pillow adds the step up instead of multiplying (ImagingScaleAffine), so its rounding errors are part of the
     * result. */
    const double step = (double)(float)in / out;
    double at = step * 0.5;
    for (int32_t o = 0; o < from + n; o++) {
        if (o >= from)
            map[o - from] = (int32_t)at < in ? (int32_t)at : in - 1;
        at += step;
    }
}
