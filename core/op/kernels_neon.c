/* The kernels for NEON.
 *
 * As in kernels_avx2.c a weight is split into high * 2^11 + low, so that vmlal multiplies 16-bit halves into 32-bit
 * sums. */
#if defined(__aarch64__)

#include <arm_neon.h>

#include "kernels.h"

enum { SPLIT_BITS = 11, STEP = 8, SPLIT_LAYOUT = 1 };

static int16_t low_half(int32_t weight) {
    return (int16_t)(weight & ((1 << SPLIT_BITS) - 1));
}
static int16_t high_half(int32_t weight) {
    return (int16_t)(weight >> SPLIT_BITS);
}

/* Both axes alike: [n][steps][8 low halves, 8 high halves], first[n], count[n]. */
static size_t pack(const gl_axis *axis, gl_table *table, uint8_t *room) {
    const int32_t limit = INT16_MAX << SPLIT_BITS;
    int32_t most = 0;
    for (int32_t i = 0; i < axis->n; i++) {
        most = axis->count[i] > most ? axis->count[i] : most;
        for (int32_t j = 0; j < axis->count[i]; j++) {
            const int32_t weight = axis->weight[(size_t)i * (size_t)axis->taps + (size_t)j];
            if (weight > limit || weight < -limit)
                return gl_plain_pack(axis, table, room);
        }
    }
    const int32_t steps = (most + STEP - 1) / STEP;
    const size_t n = (size_t)axis->n, weights = n * (size_t)steps * 2 * STEP * sizeof(int16_t);
    if (room == NULL)
        return weights + 2 * n * sizeof(int32_t);
    int16_t *weight = (int16_t *)room;
    int32_t *first = (int32_t *)(room + weights), *count = first + n;
    *table = (gl_table){.n = axis->n, .low = axis->low, .high = axis->high, .layout = SPLIT_LAYOUT, .taps = steps};
    table->weight = weight;
    table->first = first;
    table->count = count;
    for (int32_t i = 0; i < axis->n; i++) {
        first[i] = axis->first[i];
        count[i] = axis->count[i];
        for (int32_t tap = 0; tap < steps * STEP; tap++) {
            const int32_t value = tap < count[i] ? axis->weight[(size_t)i * (size_t)axis->taps + (size_t)tap] : 0;
            weight[tap / STEP * 2 * STEP + tap % STEP] = low_half(value);
            weight[tap / STEP * 2 * STEP + STEP + tap % STEP] = high_half(value);
        }
        weight += steps * 2 * STEP;
    }
    return weights + 2 * n * sizeof(int32_t);
}

static void horizontal(const gl_table *table, const uint8_t *src, ptrdiff_t src_stride, int32_t rows, uint8_t *dst,
                       ptrdiff_t dst_stride) {
    if (table->layout == GL_PLAIN_LAYOUT) {
        gl_plain_horizontal(table, src, src_stride, rows, dst, dst_stride);
        return;
    }
    for (int32_t y = 0; y < rows; y++, src += src_stride, dst += dst_stride)
        for (int32_t i = 0; i < table->n; i++) {
            const int16_t *weight = (const int16_t *)table->weight + (size_t)i * (size_t)table->taps * 2 * STEP;
            const uint8_t *from = src + table->first[i];
            int32x4_t low = vdupq_n_s32(0), high = low;
            for (int32_t tap = 0; tap < table->count[i]; tap += STEP, weight += 2 * STEP) {
                const int16x8_t pixels = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(from + tap)));
                const int16x8_t weight_low = vld1q_s16(weight), weight_high = vld1q_s16(weight + STEP);
                low = vmlal_s16(low, vget_low_s16(pixels), vget_low_s16(weight_low));
                low = vmlal_high_s16(low, pixels, weight_low);
                high = vmlal_s16(high, vget_low_s16(pixels), vget_low_s16(weight_high));
                high = vmlal_high_s16(high, pixels, weight_high);
            }
            const int32x4_t both = vaddq_s32(low, vshlq_n_s32(high, SPLIT_BITS));
            const int32_t sum = (int32_t)((uint32_t)vaddvq_s32(both) + GL_HALF) >> GL_WEIGHT_BITS;
            dst[i] = sum < 0 ? 0 : sum > 255 ? 255 : (uint8_t)sum;
        }
}

static void vertical(const gl_table *table, int32_t from, int32_t rows, const uint8_t *src, ptrdiff_t src_stride,
                     int32_t width, uint8_t *dst, ptrdiff_t dst_stride) {
    if (table->layout == GL_PLAIN_LAYOUT) {
        gl_plain_vertical(table, from, rows, src, src_stride, width, dst, dst_stride);
        return;
    }
    for (int32_t i = from; i < from + rows; i++, dst += dst_stride) {
        const int16_t *weights = (const int16_t *)table->weight + (size_t)i * (size_t)table->taps * 2 * STEP;
        const uint8_t *top = src + table->first[i] * src_stride;
        for (int32_t x = 0; x < width; x += 8) {
            int32x4_t low0 = vdupq_n_s32(GL_HALF), low1 = low0, high0 = vdupq_n_s32(0), high1 = high0;
            for (int32_t tap = 0; tap < table->count[i]; tap++) {
                const int16_t *weight = weights + tap / STEP * 2 * STEP + tap % STEP;
                const int16x8_t pixels = vreinterpretq_s16_u16(vmovl_u8(vld1_u8(top + tap * src_stride + x)));
                low0 = vmlal_n_s16(low0, vget_low_s16(pixels), weight[0]);
                low1 = vmlal_n_s16(low1, vget_high_s16(pixels), weight[0]);
                high0 = vmlal_n_s16(high0, vget_low_s16(pixels), weight[STEP]);
                high1 = vmlal_n_s16(high1, vget_high_s16(pixels), weight[STEP]);
            }
            const int32x4_t sum0 = vshrq_n_s32(vaddq_s32(low0, vshlq_n_s32(high0, SPLIT_BITS)), GL_WEIGHT_BITS);
            const int32x4_t sum1 = vshrq_n_s32(vaddq_s32(low1, vshlq_n_s32(high1, SPLIT_BITS)), GL_WEIGHT_BITS);
            vst1_u8(dst + x, vqmovun_s16(vcombine_s16(vqmovn_s32(sum0), vqmovn_s32(sum1))));
        }
    }
}

static void split(const uint8_t *rgb, size_t n, uint8_t *red, uint8_t *green, uint8_t *blue) {
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const uint8x16x3_t pixels = vld3q_u8(rgb + 3 * i);
        vst1q_u8(red + i, pixels.val[0]);
        vst1q_u8(green + i, pixels.val[1]);
        vst1q_u8(blue + i, pixels.val[2]);
    }
    gl_plain_split(rgb + 3 * i, n - i, red + i, green + i, blue + i);
}

const gl_kernels gl_neon_kernels = {
    .name = "neon",
    .torch = &gl_plain_torch,
    .pack_horizontal = pack,
    .pack_vertical = pack,
    .horizontal = horizontal,
    .vertical = vertical,
    .put = gl_plain_put,
    .linear_across = gl_plain_linear_across,
    .linear_down = gl_plain_linear_down,
    .grey = gl_plain_grey,
    .split = split,
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

#endif
