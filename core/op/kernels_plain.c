/* The kernels in plain C: what the others must equal, and what they fall back to. */
#include <math.h>
#include <string.h>

#include "colour_loops.h"
#include "kernels.h"

/* A fused multiply-add would round differently. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

static inline uint8_t clip(uint32_t sum) {
    const int32_t value = (int32_t)sum >> GL_WEIGHT_BITS;
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

size_t gl_plain_pack(const gl_axis *axis, gl_table *table, uint8_t *room) {
    const size_t n = (size_t)axis->n, weights = n * (size_t)axis->taps;
    if (room != NULL) {
        /* first, count and weight follow each other in an axis too. */
        memcpy(room, axis->first, (2 * n + weights) * sizeof(int32_t));
        *table = (gl_table){
            .n = axis->n, .low = axis->low, .high = axis->high, .layout = GL_PLAIN_LAYOUT, .taps = axis->taps};
        table->first = (const int32_t *)room;
        table->count = table->first + n;
        table->weight = table->count + n;
    }
    return (2 * n + weights) * sizeof(int32_t);
}

void gl_plain_horizontal(const gl_table *table, const uint8_t *src, ptrdiff_t src_stride, int32_t rows, uint8_t *dst,
                         ptrdiff_t dst_stride) {
    const int32_t *const weights = table->weight;
    for (int32_t y = 0; y < rows; y++, src += src_stride, dst += dst_stride)
        for (int32_t i = 0; i < table->n; i++) {
            const uint8_t *from = src + table->first[i];
            const int32_t *weight = weights + (size_t)i * (size_t)table->taps;
            uint32_t sum = GL_HALF;
            for (int32_t j = 0; j < table->count[i]; j++)
                sum += from[j] * (uint32_t)weight[j];
            dst[i] = clip(sum);
        }
}

void gl_plain_vertical(const gl_table *table, int32_t from, int32_t rows, const uint8_t *src, ptrdiff_t src_stride,
                       int32_t width, uint8_t *dst, ptrdiff_t dst_stride) {
    enum { CHUNK = 256 }; /* columns whose sums stay in the first-level cache */
    uint32_t sums[CHUNK];
    for (int32_t y = 0; y < rows; y++) {
        const int32_t *weight = (const int32_t *)table->weight + (size_t)(from + y) * (size_t)table->taps;
        const uint8_t *top = src + table->first[from + y] * src_stride;
        for (int32_t x = 0; x < width; x += CHUNK) {
            const int32_t columns = width - x < CHUNK ? width - x : CHUNK;
            for (int32_t i = 0; i < columns; i++)
                sums[i] = GL_HALF;
            for (int32_t j = 0; j < table->count[from + y]; j++) {
                const uint8_t *row = top + j * src_stride + x;
                const uint32_t w = (uint32_t)weight[j];
                for (int32_t i = 0; i < columns; i++)
                    sums[i] += row[i] * w;
            }
            for (int32_t i = 0; i < columns; i++)
                dst[y * dst_stride + x + i] = clip(sums[i]);
        }
    }
}

void gl_plain_grey(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = (uint8_t)((19595u * red[i] + 38470u * green[i] + 7471u * blue[i] + 32768u) >> 16);
}

void gl_plain_split(const uint8_t *rgb, size_t n, uint8_t *red, uint8_t *green, uint8_t *blue) {
    for (size_t i = 0; i < n; i++, rgb += 3) {
        red[i] = rgb[0];
        green[i] = rgb[1];
        blue[i] = rgb[2];
    }
}

void gl_plain_lookup(const uint8_t table[256], const uint8_t *src, size_t n, uint8_t *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = table[src[i]];
}

void gl_plain_blend(const uint8_t *from, const uint8_t *to, float factor, size_t n, uint8_t *dst) {
    gl_blend_loop(from, to, factor, n, dst);
}

void gl_plain_smooth(const uint8_t *above, const uint8_t *src, const uint8_t *below, size_t n, uint8_t *dst) {
    gl_smooth_loop(above, src, below, n, dst);
}

void gl_plain_stencil(int side, const float *weights, float offset, const uint8_t *const *rows, size_t n,
                      uint8_t *dst) {
    gl_stencil_loop(side, weights, offset, rows, n, dst);
}

void gl_plain_blur(const gl_box *box, const uint8_t *src, int32_t n, uint8_t *dst) {
    gl_blur_loop(box, src, n, dst);
}

void gl_plain_convolve(const gl_taps *taps, const float *const *row, int32_t rows, int32_t width, uint8_t *dst,
                       ptrdiff_t stride) {
    enum { CHUNK = 64 };
    const float *const weights = taps->weight + GL_ZERO_ROWS * taps->across;
    for (int32_t y = 0; y < rows; y++, dst += stride)
        for (int32_t x = 0; x < width; x += CHUNK) {
            const int32_t n = width - x < CHUNK ? width - x : CHUNK;
            float sum[CHUNK] = {0};
            for (int32_t i = 0; i < taps->down; i++)
                for (int32_t j = 0; j < taps->across; j++)
                    for (int32_t k = 0; k < n; k++)
                        sum[k] = fmaf(weights[i * taps->across + j], row[y + i][x + j + k], sum[k]);
            for (int32_t k = 0; k < n; k++) {
                const float value = sum[k] / GL_TAPS_SCALE;
                dst[x + k] = value > 255.0f ? 255 : (uint8_t)rintf(value);
            }
        }
}

void gl_plain_convolve_apart(const gl_taps *taps, const float *const *row, const int32_t *y, const int32_t *x,
                             int32_t n, float *sum) {
    gl_convolve_apart_loop(taps, row, y, x, n, sum);
}

void gl_plain_zoom_smooth(const double *weights, int32_t radius, const double *const *row, int32_t n, double *dst) {
    gl_zoom_smooth_loop(weights, radius, row, n, dst);
}

void gl_plain_zoom_row(const gl_zoom_place *down, const double *const row[2], const gl_zoom_place *across, int32_t n,
                       double low, double high, double *dst) {
    gl_zoom_row_loop(down, row, across, n, low, high, dst);
}

void gl_plain_weigh(const float *weights, int32_t taps, const float *const *row, int32_t n, float *dst) {
    gl_weigh_loop(weights, taps, row, n, dst);
}

/* Pillow (src/libImaging/Convert.c) follows Python's colorsys in float32 and double.  What is written here in float32 and
 * integers gives the same bytes for every colour and shift, which tests_py/kernels tries one by one. */
void gl_plain_hue(int32_t shift, const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]) {
    for (size_t i = 0; i < n; i++) {
        const int32_t r = rgb[0][i], g = rgb[1][i], b = rgb[2][i];
        const int32_t high = r > g ? (r > b ? r : b) : (g > b ? g : b);
        const int32_t low = r < g ? (r < b ? r : b) : (g < b ? g : b);
        const int32_t chroma = high - low;
        if (chroma == 0) {
            out[0][i] = out[1][i] = out[2][i] = (uint8_t)high;
            continue;
        }
        const float middle = (float)(2 * high + low - r - g - b) / (float)chroma; /* how far it is below the highest */
        float sixths;
        if (r == high)
            sixths = b <= g ? 1.0f - middle : middle - 1.0f;
        else if (g == high)
            sixths = b <= r ? 1.0f + middle : 3.0f - middle;
        else
            sixths = r <= g ? 3.0f + middle : 5.0f - middle;
        const float turn = sixths / 6.0f + (sixths < 0.0f ? 1.0f : 0.0f);
        const int32_t hue = ((int32_t)(turn * 255.0f) + shift) & 255;
        const int32_t saturation = 255 * chroma / high;
        const int32_t sector = 6 * hue / 255, rest = 6 * hue - 255 * sector;
        const uint8_t v = (uint8_t)high, p = (uint8_t)((high * (255 - saturation) + 127) / 255);
        const uint8_t q = (uint8_t)(high - (high * saturation * rest + 32512) / 65025);
        const uint8_t t = (uint8_t)(high - (high * saturation * (255 - rest) + 32512) / 65025);
        const uint8_t reds[7] = {v, q, p, p, t, v, v}, greens[7] = {t, v, v, q, p, p, t},
                      blues[7] = {p, p, t, v, v, q, p};
        out[0][i] = reds[sector];
        out[1][i] = greens[sector];
        out[2][i] = blues[sector];
    }
}

const gl_kernels gl_plain_kernels = {
    .name = "plain",
    .torch = &gl_plain_torch,
    .pack_horizontal = gl_plain_pack,
    .pack_vertical = gl_plain_pack,
    .horizontal = gl_plain_horizontal,
    .vertical = gl_plain_vertical,
    .put = gl_plain_put,
    .linear_across = gl_plain_linear_across,
    .linear_down = gl_plain_linear_down,
    .grey = gl_plain_grey,
    .split = gl_plain_split,
    .lookup = gl_plain_lookup,
    .blend = gl_plain_blend,
    .smooth = gl_plain_smooth,
    .hue = gl_plain_hue,
    .stencil = gl_plain_stencil,
    .blur = gl_plain_blur,
    .convolve = gl_plain_convolve,
    .convolve_apart = gl_plain_convolve_apart,
    .weigh = gl_plain_weigh,
    .warp_along = gl_plain_warp_along,
    .warp_nearest = gl_plain_warp_nearest,
    .warp_pack = gl_plain_warp_pack,
    .warp_unpack = gl_plain_warp_unpack,
    .warp_blend = gl_plain_warp_blend,
    .warp_inside = gl_plain_warp_inside,
    .to_hsv = gl_plain_to_hsv,
    .from_hsv = gl_plain_from_hsv,
    .zoom_smooth = gl_plain_zoom_smooth,
    .zoom_row = gl_plain_zoom_row,
    .grid = &gl_plain_grid,
};
