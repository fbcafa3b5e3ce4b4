/* op.h: the fixed half of transforms, for a run of images in one call: decode, geometry, store.
 *
 * Each image of a run has a job: where its bytes are, the passes over its pixels with every number known, and where its
 * finished sample goes.  Arithmetic is Pillow's, bit for bit (resample.h says how); between passes pixels are planar
 * 8-bit, 1 or 3 planes.  The last step is a table look-up, since a pixel takes one of 256 values: whatever the tail of
 * the transforms computes (ToTensor, ConvertImageDtype, Normalize ...) is one table of 256 entries a channel.  Rectangles
 * that were erased, or changed otherwise, have a table of their own. */
#ifndef GOLOADER_OP_H
#define GOLOADER_OP_H

#include "../decode/decoder.h"
#include "convolve.h"

enum {
    GL_PASSES_MAX = 16,
    GL_PATCHES_MAX = 8,
    GL_TORCH_MEAN_MAX = (1 << 24) / 255,
    /* Pixels of any image on the way, and of what is between the two passes of a resize.  Pillow refuses far smaller
     * files as bombs, and has no memory for larger images on most machines.  So far below 2^31 that a loop that takes many
     * pixels at a time, and a place that was rounded to float32, stay within 32 bits. */
    GL_PIXELS_MAX = INT32_MAX - 4095,
    /* Of a box blur: far more than is of use, and sums still fit 32 bits. */
    GL_RADIUS_MAX = 1 << 20,
    GL_TIMES_MAX = 16,
    /* Rows and columns of a stencil, and weights that cannot make a sum overflow. */
    GL_STENCIL_MAX = 5,
    GL_STENCIL_WEIGHT_MAX = 1 << 20
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
    GL_OPENCV_AREA = 34
};

/* gl_pass.kind */
enum {
    GL_RESAMPLE = 0,
    GL_PAD = 1,
    GL_GREY = 2,
    GL_LOOKUP = 3,
    GL_CONTRAST = 4,
    GL_SATURATION = 5,
    GL_SHARPNESS = 6,
    GL_HUE = 7,
    GL_AUTOCONTRAST = 8,
    GL_EQUALIZE = 9,
    GL_AFFINE = 10,
    GL_PERSPECTIVE = 11,
    GL_TURN = 12,
    GL_SELECT = 13,
    GL_BOX_BLUR = 14,
    GL_CONVOLVE = 15,
    GL_STENCIL = 16,
    GL_TO_HSV = 17,
    GL_FROM_HSV = 18,
    GL_TORCH_COLOUR = 19
};
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

/* Which of the two passes of a resize Pillow does first; it depends on Pillow's version and changes the result.
 * w and h are src's, out_w and out_h the whole resize's (gl_pass.width, height), whatever part of it is kept.
 * Seen with 9.5, 10.4, 12.0, 12.1.1, 12.2.0, 12.3 and 13.0; no other version was tried. */
enum {
    GL_HORIZONTAL_FIRST = 0, /* up to 12.1: always horizontal first */
    GL_TALL_FIRST = 1,       /* 12.2 and 12.3: vertical first if h > 100 * w and out_h < h (in Image.py) */
    GL_SHRINK_FIRST = 2      /* 13.0: vertical first if h > out_h and h - out_h > 2 * (w - out_w) */
};

/* One pass over an image; fields a kind does not name are not looked at.
 *   GL_RESAMPLE  take `src` of the input; resize it to width x height with `filter` (none if that is src's size);
 *                keep `out` of the result; flip that.  Only what `out` needs is computed.
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
 *                GL_TORCH_CONTRAST has at most GL_TORCH_MEAN_MAX pixels: torch's mean of more is rounded on the way. */
typedef struct gl_pass {
    int32_t kind;
    gl_window src;
    int32_t width, height, filter;
    gl_window out;
    int32_t flip;
    int32_t left, top, right, bottom, mode;
    uint8_t fill[4];
    int32_t planes;
    float factor;
    int32_t shift; /* 0 to 255 */
    float radius[2];
    int32_t times;
    float weight[2][GL_TAPS_MAX];
    float rest;
    int32_t fused;
    double matrix[8];
    uint8_t table[3][256];
} gl_pass;

/* How finished pixels are stored: dst[c][y][x] = table[0][c][pixel], contiguous, or dst[y][x][c] if interleaved. */
typedef struct gl_store {
    int32_t channels; /* 1 or 3: what the last pass leaves */
    int32_t itemsize; /* bytes an element: 1, 2, 4 or 8 */
    int32_t interleaved;
    int32_t tables;    /* at least 1; those behind the first are for patches */
    const void *table; /* tables x channels x 256 elements, the caller's */
} gl_store;

/* A rectangle of the sample whose pixels go by another of the store's tables. */
typedef struct gl_patch {
    gl_window window;
    int32_t table;
} gl_patch;

/* How pixels that are decoded already lie in data, without gaps. */
enum {
    GL_RAW_RGB = 0,    /* [height, width, 3] */
    GL_RAW_PLANAR = 1, /* [3, height, width] */
    GL_RAW_GREY = 2    /* [height, width]; such an image has one plane */
};

typedef struct gl_job {
    const gl_decoder *decoder; /* NULL: data is raw pixels, as `raw` says */
    const uint8_t *data;
    size_t size;
    int32_t width, height; /* of the image in data */
    int32_t raw;           /* without a decoder: GL_RAW_RGB, ... */
    int32_t is_one_plane;  /* with one: its planes are all the same, and only the first is taken */
    gl_seek seek;          /* the file's seek index (decoder.h); room 0: none is kept */
    int32_t npass;
    int32_t status;  /* out: GL_DECODED, GL_REFUSED, GL_NO_MEMORY, GL_CANCELLED or GL_BAD_JOB */
    void *dst;       /* the sample's place; undefined unless GL_DECODED */
    size_t dst_size; /* its bytes: exactly channels * out_h * out_w * itemsize */
    const gl_store *store;
    gl_pass pass[GL_PASSES_MAX];
    int32_t npatch;
    gl_patch patch[GL_PATCHES_MAX]; /* where they overlap the last counts */
    char why[GL_WHY_BYTES];         /* out: the reason for GL_REFUSED or GL_BAD_JOB */
} gl_job;

/* Further values of a job's status. */
enum {
    GL_CANCELLED = 100, /* the run was cancelled before this image */
    GL_BAD_JOB = 101    /* the job contradicts itself (a window outside its image ...): a mistake of the caller */
};

/* What one worker keeps: decoder states, planes, resampling tables.  One thread at a time. */
typedef struct gl_worker gl_worker;

/* gl_worker_open makes a worker; NULL if out of memory.  pass_order is one of the three above. */
gl_worker *gl_worker_open(int32_t pass_order);
void gl_worker_close(gl_worker *worker);
/* Bytes the worker holds, decoder states aside; for the memory counters. */
size_t gl_worker_bytes(const gl_worker *worker);
/* The same over all workers that are open; any thread. */
size_t gl_worker_bytes_live(void);

/* gl_worker_run does n jobs, and looks at *cancel (may be NULL) before each: non-zero leaves the rest GL_CANCELLED.
 * Neighbours with a decoder that takes many images (gl_decoder.decode_all) are decoded by turns; all others in order. */
void gl_worker_run(gl_worker *worker, gl_job *jobs, int32_t n, const volatile int32_t *cancel);

/* gl_kernels_name says which instruction set the kernels use: "avx512", "avx2", "neon" or "plain".  Chosen at the first
 * call by what the processor has; the environment variable GOLOADER_KERNELS names another (tests only). */
const char *gl_kernels_name(void);

#endif
