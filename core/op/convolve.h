/* convolve.h: torch's convolution of one channel in float32, as oneDNN does it where there is a fused multiply-add: from 0
 * on, a tap at a time, row by row. */
#ifndef GOLOADER_CONVOLVE_H
#define GOLOADER_CONVOLVE_H

#include <stddef.h>
#include <stdint.h>

enum {
    GL_TAPS_MAX = 31,        /* across and down */
    GL_CONVOLVE_ROWS = 4,    /* that are made at a time */
    GL_CONVOLVE_SLACK = 128, /* bytes that may be read behind a row's last number */
    /* Rows of zeros before and behind the weights: what they add to a sum does not change it, and all rows of a batch then
     * take the same inputs. */
    GL_ZERO_ROWS = GL_CONVOLVE_ROWS - 1
};

/* Weights are taken 2^64 times as large, and sums by that much smaller before they are rounded. Products of two small weights
 * are no normal numbers, for which processors take a hundred times as long. The sums are the same: those that are not normal
 * are of integers times 2^-149, and never rounded. */
#define GL_TAPS_SCALE 0x1p64f

/* Weights [GL_ZERO_ROWS + down + GL_ZERO_ROWS][across], times GL_TAPS_SCALE. */
typedef struct gl_taps {
    int32_t across, down;
    float weight[(GL_TAPS_MAX + 2 * GL_ZERO_ROWS) * GL_TAPS_MAX];
} gl_taps;

/* `rows` (at most GL_CONVOLVE_ROWS) rows of width sums, rounded to even and clipped.  Row y is of row[y] to row[y + down - 1],
 * each of width + across - 1 numbers; there are down + GL_ZERO_ROWS of these.  Touches nothing behind width. */
typedef void gl_convolve(const gl_taps *taps, const float *const *row, int32_t rows, int32_t width, uint8_t *dst,
                         ptrdiff_t stride);

/* n sums of gl_convolve's, not rounded and GL_TAPS_SCALE times as large: sum i is of row[y[i]] to row[y[i] + down - 1], each
 * from its number x[i] on. */
typedef void gl_convolve_apart(const gl_taps *taps, const float *const *row, const int32_t *y, const int32_t *x,
                               int32_t n, float *sum);

/* n sums of `taps` weighted numbers, one of each row: in turn, each added with one rounding. Touches nothing behind n. */
typedef void gl_weigh(const float *weights, int32_t taps, const float *const *row, int32_t n, float *dst);

#endif
