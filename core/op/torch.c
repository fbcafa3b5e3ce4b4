/* The pass that does to colours what torchvision does to those of uint8 tensors. */
#include "torch.h"

#include <string.h>

#include "stage.h"

/* A fused multiply-add would round differently. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

static void plain_grey(const uint8_t *const rgb[3], int fused, size_t n, uint8_t *dst) {
    gl_torch_grey_loop(rgb, fused, n, dst);
}

static void plain_blend(const uint8_t *from, const uint8_t *to, float factor, float rest, int fused, size_t n,
                        uint8_t *dst) {
    gl_torch_blend_loop(from, to, factor, rest, fused, n, dst);
}

static void plain_sharpen(const uint8_t *from, const uint8_t *to, float rest, int fused, size_t n, uint8_t *dst) {
    gl_torch_sharpen_loop(from, to, rest, fused, n, dst);
}

static void plain_hue(float add, const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]) {
    gl_torch_hue_loop(add, rgb, n, out);
}

static void plain_sum_twice(const float *weight, int32_t from, int32_t to, const float *src, ptrdiff_t step,
                            int columns, float *sum) {
    gl_torch_sum_loop(weight, from, to, src, step, columns, 0, sum);
}

static void plain_sum_once(const float *weight, int32_t from, int32_t to, const float *src, ptrdiff_t step, int columns,
                           float *sum) {
    gl_torch_sum_loop(weight, from, to, src, step, columns, 1, sum);
}

static void plain_sum(const float *weight, int32_t count, int32_t group, const float *src, ptrdiff_t step, int32_t n,
                      float *dst) {
    gl_torch_sum_parts(weight, count, group, src, step, n, dst, plain_sum_twice, plain_sum_once);
}

static void plain_sum_lanes(const float *weight, int32_t taps, const int32_t *first, const int32_t *count,
                            int32_t group, const float *src, int32_t n, float *dst) {
    gl_torch_lanes_loop(weight, taps, first, count, group, src, n, dst, plain_sum_twice);
}

const gl_torch gl_plain_torch = {.grey = plain_grey,
                                 .blend = plain_blend,
                                 .sharpen = plain_sharpen,
                                 .hue = plain_hue,
                                 .sum = plain_sum,
                                 .sum_lanes = plain_sum_lanes};

static void take_grey(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    for (int32_t i = 0; i < rows; i++) {
        const uint8_t *const rgb[3] = {plane[0] + i * stride, plane[1] + i * stride, plane[2] + i * stride};
        uint8_t *built = gl_target_rows(target, 0, y + i);
        stage->kernels->torch->grey(rgb, stage->pass->fused, (size_t)target->width, built);
        gl_target_put(target, 0, y + i, 1, built, target->stride);
    }
}

static void saturation_row(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]) {
    const gl_pass *pass = stage->pass;
    uint8_t *grey = stage->scratch->region.data;
    stage->kernels->torch->grey(in, pass->fused, n, grey);
    for (int32_t p = 0; p < 3; p++)
        stage->kernels->torch->blend(grey, in[p], pass->factor, pass->rest, pass->fused, n, out[p]);
}

static void hue_row(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]) {
    stage->kernels->torch->hue(stage->pass->factor, in, n, out);
}

/* The mean of an integer at each pixel, exact up to the last division: no sum of GL_TORCH_MEAN_MAX bytes is rounded. */
static float mean(const gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const size_t width = (size_t)stage->want.width;
    uint32_t sum = 0;
    for (int32_t y = 0; y < stage->want.height; y++) {
        const uint8_t *row = plane[0] + y * stride;
        if (stage->in_planes == 3) {
            const uint8_t *const rgb[3] = {row, plane[1] + y * stride, plane[2] + y * stride};
            stage->kernels->torch->grey(rgb, stage->pass->fused, width, stage->scratch->middle.data);
            row = stage->scratch->middle.data;
        }
        for (size_t x = 0; x < width; x++)
            sum += row[x];
    }
    return (float)sum / ((float)stage->want.width * (float)stage->want.height);
}

static void look_up(const gl_stage *stage, int32_t plane, const uint8_t table[256], const uint8_t *src,
                    ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    for (int32_t y = 0; y < target->height; y++) {
        uint8_t *built = gl_target_rows(target, plane, y);
        stage->kernels->lookup(table, src + y * stride, (size_t)target->width, built);
        gl_target_put(target, plane, y, 1, built, target->stride);
    }
}

static void whole_contrast(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_pass *pass = stage->pass;
    const float middle = mean(stage, plane, stride);
    uint8_t table[256];
    for (int v = 0; v < 256; v++)
        table[v] = gl_torch_byte(gl_torch_add((float)v * pass->factor, middle, pass->rest, pass->fused));
    for (int32_t p = 0; p < stage->target.planes; p++)
        look_up(stage, p, table, plane[p], stride);
}

static void whole_autocontrast(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    for (int32_t p = 0; p < stage->target.planes; p++) {
        uint8_t low = 255, high = 0;
        for (int32_t y = 0; y < stage->want.height; y++) {
            const uint8_t *row = plane[p] + y * stride;
            for (int32_t x = 0; x < stage->want.width; x++) {
                low = row[x] < low ? row[x] : low;
                high = row[x] > high ? row[x] : high;
            }
        }
        const float below = low == high ? 0.0f : (float)low;
        const float scale = low == high ? 1.0f : (float)(high - low) * (float)(1.0 / 255.0);
        uint8_t table[256];
        for (int v = 0; v < 256; v++)
            table[v] = gl_torch_byte(((float)v - below) / scale);
        look_up(stage, p, table, plane[p], stride);
    }
}

static void whole_sharpness(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const size_t width = (size_t)target->width;
    uint8_t *smooth = stage->scratch->middle.data;
    for (int32_t p = 0; p < target->planes; p++)
        for (int32_t y = 0; y < target->height; y++) {
            const uint8_t *row = plane[p] + y * stride;
            uint8_t *built = gl_target_rows(target, p, y);
            memcpy(smooth, row, width); /* the outermost pixels stay */
            if (y > 0 && y < target->height - 1 && width > 2)
                /* torch's convolution rounds to the same: a sum of bytes over 13 is never near a half. */
                stage->kernels->smooth(row + 1 - stride, row + 1, row + 1 + stride, width - 2, smooth + 1);
            stage->kernels->torch->sharpen(smooth, row, stage->pass->rest, stage->pass->fused, width, built);
            gl_target_put(target, p, y, 1, built, target->stride);
        }
}

const char *gl_torch_check(const gl_pass *pass, gl_shape *shape) {
    if (pass->mode < GL_TORCH_GREY || pass->mode > GL_TORCH_AUTOCONTRAST)
        return "no such colour of torch's";
    if (!isfinite(pass->factor) || !isfinite(pass->rest))
        return "a factor that is not finite";
    if (pass->mode == GL_TORCH_HUE && !(pass->factor >= -0.5f && pass->factor <= 0.5f))
        return "torch shifts hue by -0.5 to 0.5";
    if ((pass->mode == GL_TORCH_GREY || pass->mode == GL_TORCH_SATURATION || pass->mode == GL_TORCH_HUE) &&
        shape->planes != 3)
        return "torch's grey, saturation and hue are of three planes";
    if (pass->mode == GL_TORCH_CONTRAST && (int64_t)shape->width * shape->height > GL_TORCH_MEAN_MAX)
        return "an image too large for torch's contrast";
    if (pass->mode == GL_TORCH_GREY)
        shape->planes = 1;
    return NULL;
}

int gl_torch_begin(gl_stage *stage) {
    if (gl_buffer_grow(&stage->scratch->middle, (size_t)stage->in_width) != 0)
        return -1;
    switch (stage->pass->mode) {
    case GL_TORCH_GREY:
        stage->want = (gl_window){0, 0, stage->in_width, stage->in_height};
        stage->take = take_grey;
        return 0;
    case GL_TORCH_SATURATION:
        if (gl_buffer_grow(&stage->scratch->region, (size_t)stage->in_width) != 0)
            return -1;
        return gl_rows_begin(stage, saturation_row);
    case GL_TORCH_HUE:
        return gl_rows_begin(stage, hue_row);
    case GL_TORCH_CONTRAST:
        return gl_whole_begin(stage, whole_contrast);
    case GL_TORCH_AUTOCONTRAST:
        return gl_whole_begin(stage, whole_autocontrast);
    default:
        return gl_whole_begin(stage, whole_sharpness);
    }
}
