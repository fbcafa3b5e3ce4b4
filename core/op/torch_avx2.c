/* torch.h's loops for processors with AVX2 and FMA. */
#if defined(__x86_64__)

#include "torch.h"

/* The two ways apart: where FMA is at hand the compiler would fuse what torch does not. */
#define TWICE __attribute__((target("avx2")))
#define ONCE __attribute__((target("avx2,fma")))

TWICE static void grey_twice(const uint8_t *const rgb[3], size_t n, uint8_t *dst) {
    gl_torch_grey_loop(rgb, 0, n, dst);
}

ONCE static void grey_once(const uint8_t *const rgb[3], size_t n, uint8_t *dst) {
    gl_torch_grey_loop(rgb, 1, n, dst);
}

static void grey(const uint8_t *const rgb[3], int fused, size_t n, uint8_t *dst) {
    (fused ? grey_once : grey_twice)(rgb, n, dst);
}

TWICE static void blend_twice(const uint8_t *from, const uint8_t *to, float factor, float rest, size_t n,
                              uint8_t *dst) {
    gl_torch_blend_loop(from, to, factor, rest, 0, n, dst);
}

ONCE static void blend_once(const uint8_t *from, const uint8_t *to, float factor, float rest, size_t n, uint8_t *dst) {
    gl_torch_blend_loop(from, to, factor, rest, 1, n, dst);
}

static void blend(const uint8_t *from, const uint8_t *to, float factor, float rest, int fused, size_t n, uint8_t *dst) {
    (fused ? blend_once : blend_twice)(from, to, factor, rest, n, dst);
}

TWICE static void sharpen_twice(const uint8_t *from, const uint8_t *to, float rest, size_t n, uint8_t *dst) {
    gl_torch_sharpen_loop(from, to, rest, 0, n, dst);
}

ONCE static void sharpen_once(const uint8_t *from, const uint8_t *to, float rest, size_t n, uint8_t *dst) {
    gl_torch_sharpen_loop(from, to, rest, 1, n, dst);
}

static void sharpen(const uint8_t *from, const uint8_t *to, float rest, int fused, size_t n, uint8_t *dst) {
    (fused ? sharpen_once : sharpen_twice)(from, to, rest, n, dst);
}

TWICE static void hue(float add, const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]) {
    gl_torch_hue_loop(add, rgb, n, out);
}

TWICE static void sum_twice(const float *weight, int32_t from, int32_t to, const float *src, ptrdiff_t step,
                            int columns, float *sum) {
    gl_torch_sum_loop(weight, from, to, src, step, columns, 0, sum);
}

ONCE static void sum_once(const float *weight, int32_t from, int32_t to, const float *src, ptrdiff_t step, int columns,
                          float *sum) {
    gl_torch_sum_loop(weight, from, to, src, step, columns, 1, sum);
}

static void sum(const float *weight, int32_t count, int32_t group, const float *src, ptrdiff_t step, int32_t n,
                float *dst) {
    gl_torch_sum_parts(weight, count, group, src, step, n, dst, sum_twice, sum_once);
}

ONCE static void sum_lanes(const float *weight, int32_t taps, const int32_t *first, const int32_t *count, int32_t group,
                           const float *src, int32_t n, float *dst) {
    gl_torch_lanes_loop(weight, taps, first, count, group, src, n, dst, sum_twice);
}

const gl_torch gl_avx2_torch = {
    .grey = grey, .blend = blend, .sharpen = sharpen, .hue = hue, .sum = sum, .sum_lanes = sum_lanes};

#endif
