/* op.h: the fixed half of transforms, for a run of images in one call: decode, geometry, store.
 *
 * Each image of a run has a job: where its bytes are, the passes over its pixels with every number known, and where its
 * finished sample goes.  Arithmetic is Pillow's, bit for bit (resample.h says how); between passes pixels are planar
 * 8-bit, 1 or 3 planes.  The last step is a table look-up, since a pixel takes one of 256 values: whatever the tail of
 * the transforms computes (ToTensor, ConvertImageDtype, Normalize ...) is one table of 256 entries a channel.  Rectangles
 * that were erased, or changed otherwise, have a table of their own.  What no table can say, as noise, is arithmetic on the
 * finished sample. */
#ifndef GOLOADER_OP_H
#define GOLOADER_OP_H

#include "../decode/decoder.h"
#include "finish.h"
#include "passes.h"

enum {
    GL_PASSES_MAX = 32,
    GL_PATCHES_MAX = 8,
    /* Pixels of any image on the way, and of what is between the two passes of a resize.  Pillow refuses far smaller
     * files as bombs, and has no memory for larger images on most machines.  So far below 2^31 that a loop that takes many
     * pixels at a time, and a place that was rounded to float32, stay within 32 bits. */
    GL_PIXELS_MAX = INT32_MAX - 4095
};

/* Which of the two passes of a resize Pillow does first; it depends on Pillow's version and changes the result.
 * w and h are src's, out_w and out_h the whole resize's (gl_pass.width, height), whatever part of it is kept.
 * Seen with 9.5, 10.4, 12.0, 12.1.1, 12.2.0, 12.3 and 13.0; no other version was tried. */
enum {
    GL_HORIZONTAL_FIRST = 0, /* up to 12.1: always horizontal first */
    GL_TALL_FIRST = 1,       /* 12.2 and 12.3: vertical first if h > 100 * w and out_h < h (in Image.py) */
    GL_SHRINK_FIRST = 2      /* 13.0: vertical first if h > out_h and h - out_h > 2 * (w - out_w) */
};

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
    gl_finish finish;               /* of the sample's numbers, which are float32 then and not interleaved */
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

/* gl_worker_run does n jobs, and looks at *cancel (may be NULL) before each: non-zero leaves the rest GL_CANCELLED.  It
 * says how many nanoseconds went into passes: all of it, but for decoders.
 * Neighbours with a decoder that takes many images (gl_decoder.decode_all) are decoded by turns; all others in order. */
int64_t gl_worker_run(gl_worker *worker, gl_job *jobs, int32_t n, const volatile int32_t *cancel);

/* gl_kernels_name says which instruction set the kernels use: "avx512", "avx2", "neon" or "plain".  Chosen at the first
 * call by what the processor has; the environment variable GOLOADER_KERNELS names another (tests only). */
const char *gl_kernels_name(void);

#endif
