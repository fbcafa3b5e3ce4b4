/* passes.h: the table of passes, and the numbers of one.  All else is made of it: the enum that op.go takes its constants
 * from, what run.c calls to check and to begin a pass, the struct, and the places of its fields that op.go compares with
 * its own. */
#ifndef GOLOADER_PASSES_H
#define GOLOADER_PASSES_H

#include <stddef.h>

#include "../decode/decoder.h"
#include "convolve.h"

/* A row a pass: its kind, the function that checks one, the function that begins one over bytes, and the function that does one
 * over numbers (stage.h). */
#define GL_PASSES(ROW)                                                                                                 \
    ROW(RESAMPLE, gl_resample_check, gl_resample_begin, gl_move_numbers)                                               \
    ROW(PAD, gl_pad_check, gl_pad_begin, gl_move_numbers)                                                              \
    ROW(GREY, gl_grey_check, gl_grey_begin, gl_no_numbers)                                                             \
    ROW(LOOKUP, gl_any_check, gl_lookup_begin, gl_no_numbers)                                                          \
    ROW(CONTRAST, gl_factor_check, gl_contrast_begin, gl_no_numbers)                                                   \
    ROW(SATURATION, gl_factor_check, gl_saturation_begin, gl_no_numbers)                                               \
    ROW(SHARPNESS, gl_factor_check, gl_sharpness_begin, gl_no_numbers)                                                 \
    ROW(HUE, gl_hue_check, gl_hue_begin, gl_no_numbers)                                                                \
    ROW(AUTOCONTRAST, gl_any_check, gl_autocontrast_begin, gl_no_numbers)                                              \
    ROW(EQUALIZE, gl_any_check, gl_equalize_begin, gl_no_numbers)                                                      \
    ROW(AFFINE, gl_transform_check, gl_transform_begin, gl_no_numbers)                                                 \
    ROW(PERSPECTIVE, gl_transform_check, gl_transform_begin, gl_no_numbers)                                            \
    ROW(TURN, gl_turn_check, gl_turn_begin, gl_turn_numbers)                                                           \
    ROW(SELECT, gl_select_check, gl_select_begin, gl_no_numbers)                                                       \
    ROW(BOX_BLUR, gl_blur_check, gl_blur_begin, gl_no_numbers)                                                         \
    ROW(CONVOLVE, gl_convolve_check, gl_convolve_begin, gl_no_numbers)                                                 \
    ROW(STENCIL, gl_stencil_check, gl_stencil_begin, gl_no_numbers)                                                    \
    ROW(TO_HSV, gl_any_check, gl_opencv_to_hsv_begin, gl_no_numbers)                                                   \
    ROW(FROM_HSV, gl_any_check, gl_opencv_from_hsv_begin, gl_no_numbers)                                               \
    ROW(TORCH_COLOUR, gl_torch_check, gl_torch_begin, gl_no_numbers)                                                   \
    ROW(RANK, gl_rank_check, gl_rank_begin, gl_no_numbers)                                                             \
    ROW(TO_YCBCR, gl_to_ycbcr_check, gl_to_ycbcr_begin, gl_no_numbers)                                                 \
    ROW(CONVOLVE_UNIT, gl_convolve_check, gl_convolve_unit_begin, gl_no_numbers)                                       \
    ROW(ZOOM, gl_zoom_check, gl_zoom_begin, gl_no_numbers)                                                             \
    ROW(TORCH_AFFINE, gl_torch_grid_check, gl_torch_grid_begin, gl_torch_grid_numbers)                                 \
    ROW(TORCH_PERSPECTIVE, gl_torch_grid_check, gl_torch_grid_begin, gl_torch_grid_numbers)                            \
    ROW(NORMALIZE, gl_any_check, gl_no_bytes, gl_normalize_numbers)                                                    \
    ROW(ERASE, gl_erase_check, gl_no_bytes, gl_erase_numbers)

/* gl_pass.kind */
enum {
#define GL_KIND(name, check, begin, over_numbers) GL_##name,
    GL_PASSES(GL_KIND)
#undef GL_KIND
        GL_PASS_KINDS
};

enum {
    GL_TORCH_MEAN_MAX = (1 << 24) / 255,
    /* Of a box blur: far more than is of use, and sums still fit 32 bits. */
    GL_RADIUS_MAX = 1 << 20,
    GL_TIMES_MAX = 16,
    /* Rows and columns of a stencil, and weights that cannot make a sum overflow. */
    GL_STENCIL_MAX = 5,
    GL_STENCIL_WEIGHT_MAX = 1 << 20,
    /* Weights of a zoom on one side, the middle one included: of images that become 16 times smaller. */
    GL_SMOOTH_MAX = 32
};

/* Filters: Pillow's by its numbers (Image.Resampling), and those whose arithmetic is another library's. */
enum {
    GL_NEAREST = 0,
    GL_LANCZOS = 1,
    GL_BILINEAR = 2,
    GL_BICUBIC = 3,
    GL_BOX = 4,
    GL_HAMMING = 5,
    GL_TORCH_BILINEAR = 16, /* torch's interpolate(..., antialias=True) of bytes */
    GL_TORCH_BICUBIC = 17,
    GL_TORCH_NEAREST = 18,  /* torch's interpolate(..., mode="nearest"), of any numbers */
    GL_OPENCV_NEAREST = 32, /* cv2.resize, by its flag INTER_... */
    GL_OPENCV_LINEAR = 33,
    GL_OPENCV_AREA = 34,
    /* As 16, by sums of float32: of the numbers that bytes become, and of bytes, which the sums are rounded to.  There is one
     * for each power of two of products that torch rounds at a time (torch_float.c): GL_TORCH_FLOAT + 3 is for 8. */
    GL_TORCH_FLOAT = 64,
    GL_TORCH_CAST = 96,
    GL_TORCH_GROUPS = 21
};

static inline int gl_resizes_floats(int32_t filter) {
    return filter >= GL_TORCH_FLOAT && filter < GL_TORCH_FLOAT + GL_TORCH_GROUPS;
}

static inline int gl_resizes_by_floats(int32_t filter) {
    return filter >= GL_TORCH_CAST && filter < GL_TORCH_CAST + GL_TORCH_GROUPS;
}

/* Of the matrix of a GL_AFFINE by OpenCV's rules. */
#define GL_MATRIX_MAX 2147483648.0
enum { GL_FLIP_HORIZONTAL = 1, GL_FLIP_VERTICAL = 2 }; /* gl_pass.flip, bits */
/* gl_pass.mode of a border, as numpy.pad and torchvision name them. */
enum { GL_CONSTANT = 0, GL_EDGE = 1, GL_REFLECT = 2, GL_SYMMETRIC = 3 };
/* gl_pass.mode of grey: whose weights. */
enum { GL_GREY_PILLOW = 0, GL_GREY_OPENCV = 1 };
/* gl_pass.mode of torch's colours. */
enum {
    GL_TORCH_GREY = 0,
    GL_TORCH_CONTRAST = 1,
    GL_TORCH_SATURATION = 2,
    GL_TORCH_SHARPNESS = 3,
    GL_TORCH_HUE = 4,
    GL_TORCH_AUTOCONTRAST = 5
};

/* gl_pass.mode of torch's affine and perspective transforms: what is outside.  The fill is blended in as torchvision's v1 and
 * its v2 do. */
enum { GL_OUTSIDE_ZEROS = 0, GL_OUTSIDE_V1 = 1, GL_OUTSIDE_V2 = 2 };
/* gl_pass.fused of these, bits: whether torch's grid_sample adds a product with one rounding, and whether its bmm does. */
enum { GL_FUSED_SAMPLE = 1, GL_FUSED_GRID = 2 };

/* One pass over an image; fields a kind does not name are not looked at.
 *   GL_RESAMPLE  take `src` of the input; resize it to width x height with `filter` (none if that is src's size);
 *                keep `out` of the result; flip that.  Only what `out` needs is computed.  GL_TORCH_FLOAT is for the last
 *                pass alone, and writes to the sample: its store has a table of float32 that bytes become in place of the
 *                first, and then one whose first numbers are what is subtracted of each number at the end, and by what it
 *                is divided then.
 *   GL_PAD       add left, top, right, bottom pixels (>= 0) of kind `mode`; `fill` is used by GL_CONSTANT, a byte a
 *                plane; keep `out` of the padded image; flip that.
 *   GL_GREY      L = (19595 R + 38470 G + 7471 B + 32768) >> 16 (ITU-R 601, as Pillow's convert("L")), or with mode
 *                GL_GREY_OPENCV (9798 R + 19235 G + 3735 B + 16384) >> 15 (cv2.cvtColor); `planes` says whether one
 *                plane or three equal ones come out.  One plane goes through unchanged.
 *   GL_LOOKUP    replace each byte of plane p by table[p][byte].
 *   GL_CONTRAST, GL_SATURATION, GL_SHARPNESS
 *                Image.blend(degenerate, image, factor), as ImageEnhance.Contrast, .Color and .Sharpness have it; factor
 *                is finite.  Saturation leaves one plane as it is.
 *   GL_HUE       RGB to Pillow's HSV, H + shift modulo 256, and back; leaves one plane as it is.
 *   GL_AUTOCONTRAST, GL_EQUALIZE
 *                each plane by itself, as ImageOps.autocontrast and .equalize do without further arguments.
 *   GL_AFFINE, GL_PERSPECTIVE
 *                Image.transform to width x height with GL_NEAREST, GL_BILINEAR or GL_BICUBIC as `filter`: matrix is its
 *                data (6 or 8 numbers, finite), which leads from a pixel of the output to one of the input; pixels from
 *                outside are `fill`, a byte a plane.  GL_AFFINE with GL_OPENCV_NEAREST or GL_OPENCV_LINEAR is
 *                cv2.warpAffine by a matrix that is inverted already, of numbers up to GL_MATRIX_MAX; `mode` says what is
 *                outside, and a plane of the input, in rows of whole GL_ALIGN bytes, has less than 2^31 bytes.
 *   GL_TURN      by 90 degrees counter-clockwise, as Image.transpose(ROTATE_90) does; then flip.
 *   GL_SELECT    `planes` (1 or 3) planes come out: those of the input that `fill` names.
 *   GL_BOX_BLUR  ImageFilter.BoxBlur with radius[0] across and then radius[1] down (0 to GL_RADIUS_MAX), each `times`
 *                times (1 to GL_TIMES_MAX).
 *   GL_CONVOLVE  torchvision's gaussian_blur of bytes, as convolve.h says: width and height are the weights across and
 *                down, weight[0] and weight[1] their float32; the border is mirrored.
 *   GL_STENCIL   ImageFilter.Kernel of width x width (3 or 5) weights, row by row in weight[0], and the offset factor; none
 *                is beyond +-GL_STENCIL_WEIGHT_MAX.
 *   GL_TO_HSV, GL_FROM_HSV
 *                cv2.cvtColor from RGB to HSV, with H in 0 to 179, and back; one plane goes through unchanged.
 *   GL_TORCH_COLOUR
 *                what torchvision does to a uint8 tensor, by `mode`: GL_TORCH_GREY leaves one plane, blends with `factor`
 *                and `rest`, the shares of the image and of what it is blended with; GL_TORCH_HUE adds factor, -0.5 to
 *                0.5.  `fused` says how torch adds (torch.h).  Grey, saturation and hue are of three planes; an image for
 *                GL_TORCH_CONTRAST has at most GL_TORCH_MEAN_MAX pixels: torch's mean of more is rounded on the way.
 *   GL_RANK      each pixel becomes one of the 3 x 3 around it: number `shift` (0 to 8) in the order of their size, as
 *                ImageFilter.RankFilter has it; the nearest pixels are taken for those outside.
 *   GL_TO_YCBCR  Pillow's convert("YCbCr"), in three planes; of one plane it is Y.
 *   GL_CONVOLVE_UNIT
 *                torch's convolutions of an image / 255 in float32 down and then across, with weights and a border as
 *                GL_CONVOLVE has them; what comes of that times 255, cut off.
 *   GL_ZOOM      scikit-image's resize to width x height of each byte times matrix[0] (0 to 1), in double; keep `out` of the
 *                result; flip that.  smooth[0] and smooth[1] are the weights across and down, the middle one first and then
 *                those to either side; zeros behind them.  For the last pass alone, and writes to the sample: items of 4
 *                bytes are float, of 8 double.
 *   GL_TORCH_AFFINE, GL_TORCH_PERSPECTIVE
 *                what torchvision does to a tensor by a grid (torch_grid.h), with GL_NEAREST or GL_BILINEAR as
 *                `filter`: matrix is its 6 or 8 numbers, which float32 can hold, and `mode` says what is outside.
 * Passes behind the others may be `over_numbers`: those float32 that bytes have become by the store's table.  `number[0]` then is
 * the fill, a number a plane.
 *   GL_NORMALIZE over numbers alone: number[0] is taken off each, a number a plane, and number[1] divides what is left.
 *   GL_ERASE     over numbers alone: `out` becomes number[0] or, where `noise` is not 0, that noise of the job's, from 1 on. */
#define GL_PASS_FIELDS(FIELD)                                                                                          \
    FIELD(int32_t, kind, )                                                                                             \
    FIELD(gl_window, src, )                                                                                            \
    FIELD(int32_t, width, )                                                                                            \
    FIELD(int32_t, height, )                                                                                           \
    FIELD(int32_t, filter, )                                                                                           \
    FIELD(gl_window, out, )                                                                                            \
    FIELD(int32_t, flip, )                                                                                             \
    FIELD(int32_t, left, )                                                                                             \
    FIELD(int32_t, top, )                                                                                              \
    FIELD(int32_t, right, )                                                                                            \
    FIELD(int32_t, bottom, )                                                                                           \
    FIELD(int32_t, mode, )                                                                                             \
    FIELD(uint8_t, fill, [4])                                                                                          \
    FIELD(int32_t, planes, )                                                                                           \
    FIELD(float, factor, )                                                                                             \
    FIELD(int32_t, shift, ) /* 0 to 255 */                                                                             \
    FIELD(float, radius, [2])                                                                                          \
    FIELD(int32_t, times, )                                                                                            \
    FIELD(float, weight, [2][GL_TAPS_MAX])                                                                             \
    FIELD(float, rest, )                                                                                               \
    FIELD(int32_t, fused, )                                                                                            \
    FIELD(int32_t, over_numbers, )                                                                                     \
    FIELD(float, number, [2][3])                                                                                       \
    FIELD(int32_t, noise, )                                                                                            \
    FIELD(double, matrix, [8])                                                                                         \
    FIELD(double, smooth, [2][GL_SMOOTH_MAX])                                                                          \
    FIELD(uint8_t, table, [3][256])

typedef struct gl_pass {
#define GL_MEMBER(type, name, count) type name count;
    GL_PASS_FIELDS(GL_MEMBER)
#undef GL_MEMBER
} gl_pass;

/* Where each field is: GL_AT_kind, GL_AT_src ... */
enum {
#define GL_AT(type, name, count) GL_AT_##name = offsetof(gl_pass, name),
    GL_PASS_FIELDS(GL_AT)
#undef GL_AT
};

#endif
