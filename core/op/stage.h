/* stage.h: one pass while it runs.  Rows come in as strips from a decoder or from the pass before; finished rows go to
 * a target, which is either planes for the next pass or the sample itself. */
#ifndef GOLOADER_STAGE_H
#define GOLOADER_STAGE_H

#include "../rng/noise.h"
#include "kernels.h"
#include "opencv.h"

enum {
    /* Rows handled at a time: enough to keep a kernel's weights in registers, few enough for the first-level cache. */
    GL_BATCH = 16
};

/* Where the rows of a pass go. */
typedef struct gl_target {
    int32_t planes, width, height;
    uint8_t *plane[3]; /* planes for the next pass; NULL if this is the sample */
    ptrdiff_t stride;
    const gl_kernels *kernels;
    const gl_shelf *shelf;
    const gl_patch *patch; /* `patches` of them, each with a shelf */
    const gl_shelf *patch_shelf;
    int32_t patches;
    uint8_t *sample;
    const float *numbers; /* of a store's tables, those of a GL_TORCH_FLOAT */
    uint8_t *batch;       /* where up to GL_BATCH rows wait to be looked up, `stride` apart */
    int stream;
} gl_target;

/* gl_target_rows gives a place to build rows y ... y + GL_BATCH of a plane in, target->stride apart; each has room for
 * width rounded up to 16, and rows written in order may spill 63 bytes over their end. */
uint8_t *gl_target_rows(const gl_target *target, int32_t plane, int32_t y);
/* gl_target_put finishes rows [y, y + rows), wherever they were built. */
void gl_target_put(const gl_target *target, int32_t plane, int32_t y, int32_t rows, const uint8_t *src,
                   ptrdiff_t stride);

typedef enum gl_axis_kind {
    GL_AXIS_SAME, /* neither resized nor moved, but for a flip */
    GL_AXIS_MAP,  /* nearest: each output is a copy of one input */
    GL_AXIS_TAPS  /* weighted sums */
} gl_axis_kind;

/* Memory of a worker's that stages use in turn. */
typedef struct gl_scratch {
    gl_buffer region; /* input rows, where a pass needs them all at once */
    gl_buffer middle; /* between the two passes of a resize */
    gl_buffer maps;
    gl_buffer words; /* a pixel each */
} gl_scratch;

typedef struct gl_stage gl_stage;
struct gl_stage {
    gl_sink sink;
    const gl_kernels *kernels;
    gl_table_cache *tables;
    gl_scratch *scratch;
    const gl_pass *pass;
    int32_t pass_order;
    int32_t in_planes, in_width, in_height;
    gl_target target;

    /* Set by a pass's begin. */
    gl_window want; /* of the input */
    /* Takes rows [y, y + rows) of the wanted window. */
    void (*take)(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride);
    /* Takes the whole wanted window; for passes whose take is gl_stage_collect. */
    void (*whole)(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride);
    /* Makes a row; for passes whose take is gl_stage_rows.  in and out do not overlap. */
    void (*row)(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]);
    /* Runs when all rows were taken; may be NULL. */
    void (*finish)(gl_stage *stage);

    int32_t rows_taken;
    int no_memory;

    /* Resample. */
    gl_axis_kind columns, rows;
    const gl_table *column_table, *row_table;
    /* Resample by nearest: the inputs; pad: the inputs, or -1 for the fill. */
    int32_t *column_map, *row_map;
    /* Resample by OpenCV's rules. */
    gl_opencv opencv;

    gl_noise *noise; /* the job's */
};

/* An image between two passes. */
typedef struct gl_shape {
    int32_t planes, width, height;
} gl_shape;

/* What the table of passes (passes.h) names.
 *   check  what is wrong with a pass over an image of shape *shape, or NULL: then *shape is what comes out
 *   begin  makes a stage ready for rows; 0, or -1 if out of memory
 *   over_numbers  does a pass over planes of float32 without gaps, and leaves such; 0, or -1 if out of memory */
typedef const char *gl_check(const gl_pass *pass, gl_shape *shape);
typedef int gl_begin(gl_stage *stage);
typedef int gl_over_numbers(gl_stage *stage, const float *src, float *dst);
#define GL_DECLARE(name, check, begin, over_numbers)                                                                   \
    gl_check check;                                                                                                    \
    gl_begin begin;                                                                                                    \
    gl_over_numbers over_numbers;
GL_PASSES(GL_DECLARE)
#undef GL_DECLARE
/* gl_changes_in_place says whether the same pass gets as dst what is src. */
int gl_changes_in_place(const gl_pass *pass);
/* The parts of a pass that go by OpenCV's rules. */
gl_check gl_opencv_affine_check;
gl_begin gl_opencv_linear_begin, gl_opencv_area_begin, gl_opencv_affine_begin;
/* And a resize of numbers, into the sample. */
gl_begin gl_torch_float_begin;

/* Whether a window has pixels and they are all in an image; whether an image of that size is possible. */
int gl_is_inside(gl_window w, int64_t width, int64_t height);
int gl_is_size(int64_t width, int64_t height);
/* The end of some checks: *shape becomes what is kept, or all, of an image of that size. */
const char *gl_keep_check(gl_window kept, int64_t width, int64_t height, gl_shape *shape);
const char *gl_size_check(int64_t width, int64_t height, gl_shape *shape);

/* gl_stage_rows is the take of a pass that changes each pixel by itself, with gl_rows_begin for its begin. */
void gl_stage_rows(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride);
int gl_rows_begin(gl_stage *stage,
                  void (*row)(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]));

/* gl_stage_places gives places to build row y of all planes in at the same time, for gl_target_put. A pass that uses it has
 * grown scratch->middle by gl_places_grow. */
void gl_stage_places(const gl_stage *stage, int32_t y, uint8_t *out[3]);
int gl_places_grow(gl_stage *stage);

/* gl_stage_collect is the take of a pass that needs all rows at once, with gl_whole_begin for its begin. It copies none if
 * they come in one strip. */
int gl_whole_begin(gl_stage *stage, void (*whole)(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride));
void gl_stage_collect(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride);

/* The stride of rows that kernels may fill a vector beyond width. */
static inline ptrdiff_t gl_stride(int32_t width) {
    return (ptrdiff_t)gl_round_up((size_t)width, GL_ALIGN);
}

/* gl_planes_grow lays `planes` planes out in buffer, each `height` rows of gl_stride(width), with slack behind the
 * last. */
static inline int gl_planes_grow(gl_buffer *buffer, int32_t planes, int32_t width, int64_t height) {
    return gl_buffer_grow(buffer, (size_t)planes * (size_t)height * (size_t)gl_stride(width) + GL_ROW_SLACK + GL_ALIGN);
}

#endif
