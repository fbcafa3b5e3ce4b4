/* colour_loops.h: loops over pixels that a compiler turns into vectors by itself; each set of kernels compiles them for its
 * instructions.  Where those have a fused multiply-add it must not be used for the blend: it would round differently. */
#ifndef GOLOADER_COLOUR_LOOPS_H
#define GOLOADER_COLOUR_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#include "blur.h"
#include "convolve.h"

#define GL_LOOP static inline __attribute__((always_inline))

GL_LOOP void gl_blend_loop(const uint8_t *from, const uint8_t *to, float factor, size_t n, uint8_t *dst) {
    for (size_t i = 0; i < n; i++) {
        const float part = factor * (float)(to[i] - from[i]);
        float value = (float)from[i] + part;
        value = value < 0.0f ? 0.0f : value;
        value = value > 255.0f ? 255.0f : value;
        dst[i] = (uint8_t)(int32_t)value;
    }
}

GL_LOOP void gl_smooth_loop(const uint8_t *above, const uint8_t *src, const uint8_t *below, size_t n, uint8_t *dst) {
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
        const ptrdiff_t left = i - 1, right = i + 1;
        const uint32_t sum = (uint32_t)above[left] + above[i] + above[right] + src[left] + 5u * src[i] + src[right] +
                             below[left] + below[i] + below[right];
        /* Pillow rounds sum / 13 in float32. 13 is odd, so that no sum is near enough to a half for that to matter. */
        dst[i] = (uint8_t)((sum + 6) * 5042 >> 16);
    }
}

/* The sums of gl_weigh (convolve.h). */
GL_LOOP void gl_weigh_loop(const float *weights, int32_t taps, const float *const *row, int32_t n, float *dst) {
    enum { CHUNK = 64 };
    for (int32_t at = 0; at < n; at += CHUNK) {
        const int columns = n - at < CHUNK ? n - at : CHUNK;
        float sum[CHUNK] = {0};
        for (int32_t i = 0; i < taps; i++)
            for (int x = 0; x < columns; x++)
                sum[x] = __builtin_fmaf(weights[i], row[i][at + x], sum[x]);
        for (int x = 0; x < columns; x++)
            dst[at + x] = sum[x];
    }
}

/* The sums of gl_convolve_apart: eight at a time, as each waits for its product before. */
GL_LOOP void gl_convolve_apart_loop(const gl_taps *taps, const float *const *row, const int32_t *y, const int32_t *x,
                                    int32_t n, float *sum) {
    enum { LANES = 8 };
    for (int32_t first = 0; first < n; first += LANES) {
        int32_t at[LANES]; /* the last one again where there are fewer */
        for (int l = 0; l < LANES; l++)
            at[l] = first + l < n ? first + l : n - 1;
        float s0 = 0, s1 = 0, s2 = 0, s3 = 0, s4 = 0, s5 = 0, s6 = 0, s7 = 0;
        for (int32_t i = 0; i < taps->down; i++) {
            const float *weight = taps->weight + (GL_ZERO_ROWS + i) * taps->across;
            const float *from[LANES];
            for (int l = 0; l < LANES; l++)
                from[l] = row[y[at[l]] + i] + x[at[l]];
            for (int32_t j = 0; j < taps->across; j++) {
                s0 = __builtin_fmaf(weight[j], from[0][j], s0);
                s1 = __builtin_fmaf(weight[j], from[1][j], s1);
                s2 = __builtin_fmaf(weight[j], from[2][j], s2);
                s3 = __builtin_fmaf(weight[j], from[3][j], s3);
                s4 = __builtin_fmaf(weight[j], from[4][j], s4);
                s5 = __builtin_fmaf(weight[j], from[5][j], s5);
                s6 = __builtin_fmaf(weight[j], from[6][j], s6);
                s7 = __builtin_fmaf(weight[j], from[7][j], s7);
            }
        }
        const float made[LANES] = {s0, s1, s2, s3, s4, s5, s6, s7};
        for (int l = 0; l < LANES && first + l < n; l++)
            sum[first + l] = made[l];
    }
}

GL_LOOP const uint8_t *gl_line_loop(const uint8_t *lines, int64_t at, int32_t n) {
    return lines + gl_strip_offset(at < 0 ? 0 : at < n ? at : n - 1);
}

GL_LOOP void gl_blur_loop(const gl_box *box, const uint8_t *src, int32_t n, uint8_t *dst) {
    const int64_t radius = box->radius;
    uint32_t sum[GL_STRIP]; /* of a box: first of the one around pixel -1, of which radius + 1 are copies of pixel 0 */
    const int64_t whole = radius < n ? radius : n;
    const uint8_t *end = gl_line_loop(src, n - 1, n);
    for (int i = 0; i < GL_STRIP; i++)
        sum[i] = src[i] * (uint32_t)(radius + 1) + end[i] * (uint32_t)(radius - whole);
    for (int64_t at = 0; at < whole; at++)
        for (int i = 0; i < GL_STRIP; i++)
            sum[i] += src[gl_strip_offset(at) + i];
    for (int32_t at = 0; at < n; at++, dst += GL_STRIP) {
        const uint8_t *before = gl_line_loop(src, at - radius - 1, n), *last = gl_line_loop(src, at + radius, n);
        const uint8_t *behind = gl_line_loop(src, at + radius + 1, n);
        for (int i = 0; i < GL_STRIP; i++) {
            sum[i] += (uint32_t)last[i] - before[i];
            const uint32_t ends = (uint32_t)before[i] + behind[i];
            dst[i] = (uint8_t)((sum[i] * box->inner + ends * box->outer + (1u << 23)) >> 24);
        }
    }
}

/* n sums of `side` rows and columns of pixels, the last row first as Pillow has them (src/libImaging/Filter.c).  The rows have
 * side / 2 pixels more at both ends; weights are [side][side]. */
GL_LOOP void gl_stencil_loop(int side, const float *weights, float offset, const uint8_t *const *rows, size_t n,
                             uint8_t *dst) {
    enum { CHUNK = 64 };
    for (size_t at = 0; at < n; at += CHUNK) {
        const int columns = n - at < CHUNK ? (int)(n - at) : CHUNK;
        float sum[CHUNK], part[CHUNK];
        for (int x = 0; x < columns; x++)
            sum[x] = offset + 0.5f;
        for (int i = 0; i < side; i++) {
            const uint8_t *from = rows[side - 1 - i] + at - side / 2;
            const float *weight = weights + i * side;
            for (int x = 0; x < columns; x++)
                part[x] = (float)from[x] * weight[0];
            for (int j = 1; j < side; j++)
                for (int x = 0; x < columns; x++)
                    part[x] += (float)from[x + j] * weight[j];
            for (int x = 0; x < columns; x++)
                sum[x] += part[x];
        }
        for (int x = 0; x < columns; x++) {
            float value = sum[x] < 0.0f ? 0.0f : sum[x];
            value = value > 255.0f ? 255.0f : value;
            dst[at + (size_t)x] = (uint8_t)(int32_t)value;
        }
    }
}

#endif
