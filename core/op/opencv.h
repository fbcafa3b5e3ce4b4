/* opencv.h: resizes, affine transforms, HSV and grey as OpenCV makes them of 8-bit images (modules/imgproc/src/resize.cpp, color_rgb).
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

/* Affine transforms: n outputs of a row come from fma(step, i, start), along x and along y.  INTER_LINEAR takes its whole
 * and the part behind that; INTER_NEAREST rounds it to even, and wants at = y * stride + x, where both are inside. */
typedef void gl_warp_along(float step, float start, int32_t n, int32_t *whole, float *part);
typedef struct gl_line {
    float step, start;
} gl_line;
typedef void gl_warp_nearest(gl_line along_x, gl_line along_y, int32_t n, ptrdiff_t stride, int32_t *x, int32_t *y,
                             int32_t *at);
enum { GL_WARP_BLOCK = 16 }; /* outputs; n is so many, or a multiple */
#define GL_WARP_FAR 0x1p30f  /* places are cut off there */
/* Pixels of three planes as words, and back: n, and up to 7 more, for which there is room. */
typedef void gl_warp_pack(const uint8_t *const plane[3], int32_t n, uint32_t *dst);
typedef void gl_warp_unpack(const uint32_t *src, int32_t n, uint8_t *const plane[3]);
/* n words, each a blend of four: at[0] is the place of the upper left one, then come the upper right and the two below;
 * right and down are how far it is from the first. */
typedef void gl_warp_blend(const uint32_t *src, const int32_t *const at[4], const float *right, const float *down,
                           int32_t n, uint32_t *dst);
/* The same where they are neighbours, and those below `stride` words behind. */
typedef void gl_warp_inside(const uint32_t *src, ptrdiff_t stride, const int32_t *at, const float *right,
                            const float *down, int32_t n, uint32_t *dst);
gl_warp_along gl_plain_warp_along;
gl_warp_nearest gl_plain_warp_nearest;
gl_warp_pack gl_plain_warp_pack;
gl_warp_unpack gl_plain_warp_unpack;
gl_warp_blend gl_plain_warp_blend;
gl_warp_inside gl_plain_warp_inside;

/* RGB to HSV, H in 0 ... 179, of n pixels. */
typedef void gl_to_hsv(const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]);
/* Back, of a whole row: OpenCV cuts off in blocks of GL_HSV_BLOCK pixels, and rounds in what is left behind them. */
typedef void gl_from_hsv(const uint8_t *const hsv[3], size_t n, uint8_t *const out[3]);
enum { GL_HSV_BLOCK = 32 };
gl_to_hsv gl_plain_to_hsv;
gl_from_hsv gl_plain_from_hsv;

void gl_opencv_grey(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst);
/* INTER_NEAREST: map[i] is the input of output [from + i] of in -> out. */
void gl_opencv_nearest_map(int32_t *map, int32_t in, int32_t out, int32_t from, int32_t n);

#endif
