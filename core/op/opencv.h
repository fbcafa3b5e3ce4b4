/* opencv.h: resizes and grey as OpenCV makes them of 8-bit images (modules/imgproc/src/resize.cpp, color_rgb).
 *
 * INTER_LINEAR: weights in float, rounded to 11 bits; rows across in integers, of which 4 bits are dropped; the two
 * products down lose 16 bits each before they are added.  INTER_AREA: means of whole boxes in integers where both
 * factors are whole, else sums in float, in OpenCV's order; where a side grows it is INTER_LINEAR with weights of its
 * own.  INTER_LINEAR to exactly half of both sides is INTER_AREA. */
#ifndef GOLOADER_OPENCV_H
#define GOLOADER_OPENCV_H

#include "buffer.h"

/* Two neighbouring inputs of each output, for INTER_LINEAR.
 *   first   the left one, or the upper one; the other follows it, but for rows: second[i]
 *   weight  two signed 16-bit weights, the first one's in the low half */
typedef struct gl_pairs {
    int32_t n;
    int32_t *first, *second, *weight;
} gl_pairs;

/* The inputs of each output, for INTER_AREA. */
typedef struct gl_shares {
    int32_t n;
    int32_t *first, *count;
    float *share; /* output i has share[start[i]] and those that follow */
    int32_t *start;
} gl_shares;

/* What a stage keeps of a resize. */
typedef struct gl_opencv {
    gl_pairs across, down;
    gl_shares wide, tall;
    int32_t box_width, box_height; /* whole factors, or 0 */
    int32_t output;                /* row that is being summed up */
} gl_opencv;

/* Rows of across->n 16-bit numbers.  Up to GL_ROW_SLACK bytes behind the last input are read, up to 31 bytes more than
 * 2n written. */
typedef void gl_linear_across(const gl_pairs *across, const uint8_t *src, int16_t *dst);
/* One row of width bytes, of two rows across and the pair of their weights; exactly width are written. */
typedef void gl_linear_down(const int16_t *upper, const int16_t *lower, int32_t weight, int32_t width, uint8_t *dst);
gl_linear_across gl_plain_linear_across;
gl_linear_down gl_plain_linear_down;

void gl_opencv_grey(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst);
/* INTER_NEAREST: map[i] is the input of output [from + i] of in -> out. */
void gl_opencv_nearest_map(int32_t *map, int32_t in, int32_t out, int32_t from, int32_t n);

#endif
