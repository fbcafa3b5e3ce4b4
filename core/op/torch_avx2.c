/* torch.h's and torch_grid.h's loops for processors with AVX2 and FMA. */
#if defined(__x86_64__)

#include "torch_grid.h"

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

/* ---- torch_grid.h's */

TWICE static void along_twice(const gl_grid *grid, int32_t x, float y, int32_t n, gl_grid_block *block) {
    gl_grid_along_loop(grid, x, y, 0, 0, n, block);
}

ONCE static void along_once(const gl_grid *grid, int32_t x, float y, int32_t n, gl_grid_block *block) {
    gl_grid_along_loop(grid, x, y, 1, 0, n, block);
}

static void along(const gl_grid *grid, int32_t x, float y, int fused, int32_t n, gl_grid_block *block) {
    (fused ? along_once : along_twice)(grid, x, y, n, block);
}

TWICE static void deep_twice(const gl_grid *grid, int32_t x, float y, int32_t n, gl_grid_block *block) {
    gl_grid_along_loop(grid, x, y, 0, 1, n, block);
}

ONCE static void deep_once(const gl_grid *grid, int32_t x, float y, int32_t n, gl_grid_block *block) {
    gl_grid_along_loop(grid, x, y, 1, 1, n, block);
}

static void deep(const gl_grid *grid, int32_t x, float y, int fused, int32_t n, gl_grid_block *block) {
    (fused ? deep_once : deep_twice)(grid, x, y, n, block);
}

TWICE static void scale_twice(const gl_grid *grid, int32_t n, gl_grid_block *block) {
    gl_grid_scale_loop(grid, 0, n, block);
}

ONCE static void scale_once(const gl_grid *grid, int32_t n, gl_grid_block *block) {
    gl_grid_scale_loop(grid, 1, n, block);
}

static void scale(const gl_grid *grid, int fused, int32_t n, gl_grid_block *block) {
    (fused ? scale_once : scale_twice)(grid, n, block);
}

TWICE static void nearest(const gl_grid *grid, int32_t n, gl_grid_block *block) {
    gl_grid_nearest_loop(grid, n, block);
}

TWICE static void corners(const gl_grid *grid, int32_t n, gl_grid_block *block) {
    gl_grid_corners_loop(grid, n, block);
}

TWICE static void bytes_twice(int c, int32_t n, const gl_grid_block *block, float *dst) {
    gl_grid_sum_loop(c, 0, n, block, dst);
}

ONCE static void bytes_once(int c, int32_t n, const gl_grid_block *block, float *dst) {
    gl_grid_sum_loop(c, 1, n, block, dst);
}

static void sum_bytes(int c, int fused, int32_t n, const gl_grid_block *block, float *dst) {
    (fused ? bytes_once : bytes_twice)(c, n, block, dst);
}

TWICE static void to_bytes(int32_t n, const gl_grid_block *block, uint8_t *dst) {
    gl_grid_round_loop(n, block, dst);
}

TWICE static void numbers_twice(int32_t n, const gl_grid_block *block, float *dst) {
    gl_grid_sum_numbers_loop(0, n, block, dst);
}

ONCE static void numbers_once(int32_t n, const gl_grid_block *block, float *dst) {
    gl_grid_sum_numbers_loop(1, n, block, dst);
}

static void sum_numbers(int fused, int32_t n, const gl_grid_block *block, float *dst) {
    (fused ? numbers_once : numbers_twice)(n, block, dst);
}

TWICE static void blend_v1(float fill, int32_t n, gl_grid_block *block) {
    gl_grid_blend_v1_loop(fill, n, block);
}

TWICE static void blend_v2(float fill, int32_t n, gl_grid_block *block) {
    gl_grid_blend_v2_loop(fill, n, block);
}

const gl_grid_loops gl_avx2_grid = {.along = along,
                                    .deep = deep,
                                    .scale = scale,
                                    .nearest = nearest,
                                    .corners = corners,
                                    .sum = sum_bytes,
                                    .sum_numbers = sum_numbers,
                                    .blend_v1 = blend_v1,
                                    .blend_v2 = blend_v2,
                                    .round = to_bytes};

#endif
