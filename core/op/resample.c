/* Crop, resize, crop, flip in one pass over the pixels. */
#include "resample.h"

#include <string.h>

#include "stage.h"

/* Rows of the input to rows of the output's width. */
static void across(const gl_stage *stage, const uint8_t *src, ptrdiff_t src_stride, int32_t rows, uint8_t *dst,
                   ptrdiff_t dst_stride) {
    const int32_t n = stage->pass->out.width;
    if (stage->columns == GL_AXIS_TAPS) {
        stage->kernels->horizontal(stage->column_table, src, src_stride, rows, dst, dst_stride);
        return;
    }
    for (int32_t y = 0; y < rows; y++, src += src_stride, dst += dst_stride) {
        if (stage->columns == GL_AXIS_MAP)
            for (int32_t x = 0; x < n; x++)
                dst[x] = src[stage->column_map[x]];
        else if (stage->pass->flip & GL_FLIP_HORIZONTAL)
            for (int32_t x = 0; x < n; x++)
                dst[x] = src[n - 1 - x];
        else
            memcpy(dst, src, (size_t)n);
    }
}

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

/* No row depends on another: each strip is finished as it comes. */
static void take_direct(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const int upside_down = stage->pass->flip & GL_FLIP_VERTICAL;
    const int copy = stage->columns == GL_AXIS_SAME && !(stage->pass->flip & GL_FLIP_HORIZONTAL);
    for (int32_t p = 0; p < stage->in_planes; p++)
        for (int32_t done = 0; done < rows; done += GL_BATCH) {
            const int32_t n = smaller(rows - done, GL_BATCH);
            const int32_t to = upside_down ? target->height - (y + done) - n : y + done;
            const uint8_t *from = plane[p] + done * stride;
            ptrdiff_t from_stride = stride;
            if (upside_down) {
                from += (n - 1) * stride;
                from_stride = -stride;
            }
            if (copy) {
                gl_target_put(target, p, to, n, from, from_stride);
                continue;
            }
            uint8_t *built = gl_target_rows(target, p, to);
            across(stage, from, from_stride, n, built, target->stride);
            gl_target_put(target, p, to, n, built, target->stride);
        }
}

static uint8_t *middle_plane(const gl_stage *stage, int32_t plane) {
    return stage->scratch->middle.data + plane * gl_stride(stage->pass->out.width) * stage->want.height;
}

/* Horizontal first: strips become rows of the output's width, which wait in `middle` for the vertical pass. */
static void take_across(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    const ptrdiff_t middle_stride = gl_stride(stage->pass->out.width);
    for (int32_t p = 0; p < stage->in_planes; p++)
        across(stage, plane[p], stride, rows, middle_plane(stage, p) + y * middle_stride, middle_stride);
}

static void finish_down(gl_stage *stage) {
    const gl_target *target = &stage->target;
    const ptrdiff_t middle_stride = gl_stride(target->width);
    for (int32_t p = 0; p < stage->in_planes; p++)
        for (int32_t y = 0; y < target->height; y += GL_BATCH) {
            const int32_t n = smaller(target->height - y, GL_BATCH);
            uint8_t *built = gl_target_rows(target, p, y);
            stage->kernels->vertical(stage->row_table, y, n, middle_plane(stage, p), middle_stride, target->width,
                                     built, target->stride);
            gl_target_put(target, p, y, n, built, target->stride);
        }
}

/* Nearest: the rows that outputs take are kept in `middle`, at their own place; then each output copies its row. */
static void take_mapped(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    const ptrdiff_t middle_stride = gl_stride(stage->pass->out.width);
    const int32_t n = stage->target.height;
    /* row_map never falls; skip to the first output of this strip. */
    int32_t from = 0, to = n;
    while (from < to) {
        const int32_t at = from + (to - from) / 2;
        if (stage->row_map[at] < y)
            from = at + 1;
        else
            to = at;
    }
    int32_t last = -1;
    for (int32_t i = from; i < n && stage->row_map[i] < y + rows; i++) {
        const int32_t row = stage->row_map[i];
        if (row == last)
            continue;
        last = row;
        for (int32_t p = 0; p < stage->in_planes; p++)
            across(stage, plane[p] + (row - y) * stride, stride, 1, middle_plane(stage, p) + row * middle_stride,
                   middle_stride);
    }
}

static void finish_mapped(gl_stage *stage) {
    const gl_target *target = &stage->target;
    const ptrdiff_t middle_stride = gl_stride(target->width);
    const int upside_down = stage->pass->flip & GL_FLIP_VERTICAL;
    for (int32_t p = 0; p < stage->in_planes; p++)
        for (int32_t y = 0; y < target->height; y++) {
            const int32_t row = stage->row_map[upside_down ? target->height - 1 - y : y];
            gl_target_put(target, p, y, 1, middle_plane(stage, p) + row * middle_stride, middle_stride);
        }
}

/* Vertical first: all rows of the input are there. */
static void whole_down(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const int32_t width = stage->want.width;
    const ptrdiff_t middle_stride = gl_stride(width);
    const int same = stage->columns == GL_AXIS_SAME && !(stage->pass->flip & GL_FLIP_HORIZONTAL);
    for (int32_t p = 0; p < stage->in_planes; p++)
        for (int32_t y = 0; y < target->height; y += GL_BATCH) {
            const int32_t n = smaller(target->height - y, GL_BATCH);
            uint8_t *built = gl_target_rows(target, p, y);
            if (same) {
                stage->kernels->vertical(stage->row_table, y, n, plane[p], stride, width, built, target->stride);
            } else {
                uint8_t *middle = stage->scratch->middle.data;
                stage->kernels->vertical(stage->row_table, y, n, plane[p], stride, width, middle, middle_stride);
                across(stage, middle, middle_stride, n, built, target->stride);
            }
            gl_target_put(target, p, y, n, built, target->stride);
        }
}

/* Pillow's choice, by its version; see op.h. torch never has it so. */
static int vertical_first(const gl_stage *stage) {
    const gl_pass *pass = stage->pass;
    if (pass->filter > GL_HAMMING)
        return 0;
    const int64_t w = pass->src.width, h = pass->src.height;
    switch (stage->pass_order) {
    case GL_TALL_FIRST:
        return h > 100 * w && pass->height < h;
    case GL_SHRINK_FIRST:
        return h > pass->height && h - pass->height > 2 * (w - pass->width);
    default:
        return 0;
    }
}

/* The inputs [low, low + count) that an axis of the output needs. */
typedef struct extent {
    int32_t low, count;
} extent;

static extent extent_of(gl_axis_kind kind, const gl_table *table, int32_t *map, int32_t from, int32_t n) {
    if (kind == GL_AXIS_SAME)
        return (extent){from, n};
    if (kind == GL_AXIS_TAPS)
        return (extent){table->low, table->high - table->low};
    const extent e = {map[0], map[n - 1] - map[0] + 1};
    for (int32_t i = 0; i < n; i++)
        map[i] -= e.low;
    return e;
}

static void reverse(int32_t *map, int32_t n) {
    for (int32_t i = 0, j = n - 1; i < j; i++, j--) {
        const int32_t kept = map[i];
        map[i] = map[j];
        map[j] = kept;
    }
}

static gl_axis_kind kind_of(int32_t in, int32_t out, int32_t filter) {
    if (in == out)
        return GL_AXIS_SAME;
    return filter == GL_NEAREST || filter == GL_TORCH_NEAREST || filter == GL_OPENCV_NEAREST ? GL_AXIS_MAP
                                                                                             : GL_AXIS_TAPS;
}

static int sums_floats(int32_t filter) {
    return gl_resizes_floats(filter) || gl_resizes_by_floats(filter);
}

static int is_filter(int32_t filter) {
    return (filter >= GL_NEAREST && filter <= GL_HAMMING) || filter == GL_TORCH_BILINEAR ||
           filter == GL_TORCH_BICUBIC || filter == GL_TORCH_NEAREST ||
           (filter >= GL_OPENCV_NEAREST && filter <= GL_OPENCV_AREA) || sums_floats(filter);
}

const char *gl_resample_check(const gl_pass *pass, gl_shape *shape) {
    if (!gl_is_inside(pass->src, shape->width, shape->height))
        return "the window to resize is not inside the image";
    if (!is_filter(pass->filter))
        return "no such filter";
    const char *wrong = gl_keep_check(pass->out, pass->width, pass->height, shape);
    if (wrong == NULL && !gl_is_size((int64_t)pass->out.width * pass->src.height, 1))
        wrong = "an image on the way has more than 2^31 - 4096 pixels";
    return wrong;
}

int gl_resample_begin(gl_stage *stage) {
    const gl_pass *pass = stage->pass;
    const gl_window src = pass->src, out = pass->out;
    if (src.width != pass->width || src.height != pass->height) {
        if (pass->filter == GL_OPENCV_LINEAR)
            return gl_opencv_linear_begin(stage);
        if (pass->filter == GL_OPENCV_AREA)
            return gl_opencv_area_begin(stage);
        if (sums_floats(pass->filter))
            return gl_torch_float_begin(stage);
    }
    stage->columns = kind_of(src.width, pass->width, pass->filter);
    stage->rows = kind_of(src.height, pass->height, pass->filter);

    const gl_axis_key column_key = {.in = src.width,
                                    .out = pass->width,
                                    .filter = pass->filter,
                                    .from = out.x,
                                    .n = out.width,
                                    .flip = (pass->flip & GL_FLIP_HORIZONTAL) != 0};
    const gl_axis_key row_key = {.in = src.height,
                                 .out = pass->height,
                                 .filter = pass->filter,
                                 .from = out.y,
                                 .n = out.height,
                                 .flip = (pass->flip & GL_FLIP_VERTICAL) != 0,
                                 .vertical = 1};
    if (gl_table_cache_get(stage->tables, stage->columns == GL_AXIS_TAPS ? &column_key : NULL, &stage->column_table,
                           stage->rows == GL_AXIS_TAPS ? &row_key : NULL, &stage->row_table) != 0)
        return -1;
    if (stage->columns == GL_AXIS_MAP || stage->rows == GL_AXIS_MAP) {
        if (gl_buffer_grow(&stage->scratch->maps, ((size_t)out.width + (size_t)out.height) * sizeof(int32_t)) != 0)
            return -1;
        stage->column_map = (int32_t *)stage->scratch->maps.data;
        stage->row_map = stage->column_map + out.width;
        void (*const map)(int32_t *, int32_t, int32_t, int32_t, int32_t) = pass->filter == GL_NEAREST ? gl_nearest_map
                                                                           : pass->filter == GL_TORCH_NEAREST
                                                                               ? gl_torch_nearest_map
                                                                               : gl_opencv_nearest_map;
        map(stage->column_map, src.width, pass->width, out.x, out.width);
        map(stage->row_map, src.height, pass->height, out.y, out.height);
    }
    const extent x = extent_of(stage->columns, stage->column_table, stage->column_map, out.x, out.width);
    const extent y = extent_of(stage->rows, stage->row_table, stage->row_map, out.y, out.height);
    if (stage->columns == GL_AXIS_MAP && column_key.flip)
        reverse(stage->column_map, out.width);
    stage->want = (gl_window){src.x + x.low, src.y + y.low, x.count, y.count};

    gl_buffer *middle = &stage->scratch->middle;
    if (stage->rows == GL_AXIS_SAME) {
        stage->take = take_direct;
        return 0;
    }
    if (stage->rows == GL_AXIS_MAP) {
        stage->take = take_mapped;
        stage->finish = finish_mapped;
        return gl_planes_grow(middle, stage->in_planes, out.width, y.count);
    }
    if (stage->columns == GL_AXIS_TAPS && !vertical_first(stage)) {
        stage->take = take_across;
        stage->finish = finish_down;
        return gl_planes_grow(middle, stage->in_planes, out.width, y.count);
    }
    stage->take = gl_stage_collect;
    stage->whole = whole_down;
    return gl_planes_grow(middle, 1, x.count, GL_BATCH);
}
