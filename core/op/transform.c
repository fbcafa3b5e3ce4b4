/* Affine and perspective transforms, as Pillow has them (src/libImaging/Geometry.c), in double; nearest neighbours of an
 * affine one in one of three arithmetics, whose rounding errors are part of the result. */
#include <math.h>
#include <string.h>

#include "stage.h"

/* A fused multiply-add would round differently. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

enum { OUTSIDE = -1 };

/* Where the pixels of a row come from: x and y of each, in the input's coordinates. */
static void positions(const gl_pass *pass, int32_t row, double *restrict xs, double *restrict ys) {
    const double *a = pass->matrix, y = row + 0.5;
    for (int32_t i = 0; i < pass->width; i++) {
        const double x = i + 0.5;
        xs[i] = a[0] * x + a[1] * y + a[2];
        ys[i] = a[3] * x + a[4] * y + a[5];
    }
    if (pass->kind == GL_AFFINE)
        return;
    for (int32_t i = 0; i < pass->width; i++) {
        const double depth = a[6] * (i + 0.5) + a[7] * y + 1;
        xs[i] /= depth;
        ys[i] /= depth;
    }
}

static int is_within(double at, int32_t n) {
    return at >= 0.0 && at < n; /* false for NaN */
}

/* The input, and where Pillow has come to at the start of a row: it adds the steps up. */
typedef struct source {
    const uint8_t *const *plane;
    ptrdiff_t stride;
    int32_t width, height;
    double x, y;
} source;

/* ---- nearest: each output is a copy of the input at an offset, or the fill */

static ptrdiff_t offset_at(const source *src, double x, double y) {
    return is_within(x, src->width) && is_within(y, src->height) ? (int32_t)y * src->stride + (int32_t)x : OUTSIDE;
}

static int32_t fixed(double v) {
    return (int32_t)(int64_t)floor(v * 65536.0 + 0.5);
}

/* Whether 16.16 bits hold where a pixel of the output comes from. */
static int is_fixed(const double *a, int32_t x, int32_t y) {
    return fabs(x * a[0] + y * a[1] + a[2]) < 32768.0 && fabs(x * a[3] + y * a[4] + a[5]) < 32768.0;
}

static void in_fixed_point(const source *src, const double *a, int32_t row, int32_t n, ptrdiff_t *offsets) {
    /* Unsigned, since the last step may go beyond 32 bits. */
    const uint32_t a0 = (uint32_t)fixed(a[0]), a3 = (uint32_t)fixed(a[3]);
    uint32_t x = (uint32_t)fixed(a[2] + a[0] * 0.5 + a[1] * 0.5) + (uint32_t)row * (uint32_t)fixed(a[1]);
    uint32_t y = (uint32_t)fixed(a[5] + a[3] * 0.5 + a[4] * 0.5) + (uint32_t)row * (uint32_t)fixed(a[4]);
    for (int32_t i = 0; i < n; i++, x += a0, y += a3) {
        const int32_t column = (int32_t)x >> 16, line = (int32_t)y >> 16;
        const int inside = (uint32_t)column < (uint32_t)src->width && (uint32_t)line < (uint32_t)src->height;
        offsets[i] = inside ? line * src->stride + column : OUTSIDE;
    }
}

/* From the row's start, step by step. */
static void in_steps(const source *src, double right, double down, int32_t n, ptrdiff_t *offsets) {
    double x = src->x, y = src->y;
    for (int32_t i = 0; i < n; i++, x += right, y += down)
        offsets[i] = offset_at(src, x, y);
}

static void nearest_row(const gl_stage *stage, source *src, int32_t row, uint8_t *const out[3]) {
    const gl_pass *pass = stage->pass;
    const double *a = pass->matrix;
    const int32_t n = pass->width, height = pass->height;
    ptrdiff_t *offsets = (ptrdiff_t *)stage->scratch->maps.data;
    if (pass->kind == GL_PERSPECTIVE) {
        double *xs = (double *)(offsets + n), *ys = xs + n;
        positions(pass, row, xs, ys);
        for (int32_t i = 0; i < n; i++)
            offsets[i] = offset_at(src, xs[i], ys[i]);
    } else if (a[1] == 0 && a[3] == 0) { /* neither rotated nor sheared */
        if (row == 0) {
            src->x = a[2] + a[0] * 0.5;
            src->y = a[5] + a[4] * 0.5;
        }
        in_steps(src, a[0], 0, n, offsets);
        src->y += a[4];
    } else if (is_fixed(a, 0, 0) && is_fixed(a, n, height) && is_fixed(a, 0, height) && is_fixed(a, n, 0)) {
        in_fixed_point(src, a, row, n, offsets);
    } else {
        if (row == 0) {
            src->x = a[2] + a[1] * 0.5 + a[0] * 0.5;
            src->y = a[5] + a[4] * 0.5 + a[3] * 0.5;
        }
        in_steps(src, a[0], a[3], n, offsets);
        src->x += a[1];
        src->y += a[4];
    }
    /* A line meets the image in one piece. */
    int32_t first = 0, end = n;
    while (first < n && offsets[first] == OUTSIDE)
        first++;
    while (end > first && offsets[end - 1] == OUTSIDE)
        end--;
    for (int32_t p = 0; p < stage->in_planes; p++) {
        const uint8_t *from = src->plane[p], fill = pass->fill[p];
        uint8_t *restrict to = out[p];
        memset(to, fill, (size_t)first);
        for (int32_t i = first; i < end; i++)
            to[i] = offsets[i] == OUTSIDE ? fill : from[offsets[i]];
        memset(to + end, fill, (size_t)(n - end));
    }
}

/* ---- bilinear and bicubic: weighted sums of neighbours; beyond an edge its pixels go on */

static int32_t clipped(int32_t i, int32_t n) {
    return i < 0 ? 0 : i < n ? i : n - 1;
}

static double mixed(double one, double other, double at) {
    return one + (other - one) * at;
}

/* Differences of bytes are exact as integers, and cheaper. */
static double mixed_bytes(int32_t one, int32_t other, double at) {
    return one + (other - one) * at;
}

static uint8_t bilinear(const uint8_t *plane, const ptrdiff_t *rows, const int32_t *columns, double dx, double dy) {
    const uint8_t *top = plane + rows[0], *bottom = plane + rows[1];
    return (uint8_t)(int32_t)mixed(mixed_bytes(top[columns[0]], top[columns[1]], dx),
                                   mixed_bytes(bottom[columns[0]], bottom[columns[1]], dx), dy);
}

static double cubic(double one, double two, double three, double four, double at) {
    const double p2 = -one + three, p3 = 2 * (one - two) + three - four, p4 = -one + two - three + four;
    return two + at * (p2 + at * (p3 + at * p4));
}

static double cubic_bytes(int32_t one, int32_t two, int32_t three, int32_t four, double at) {
    const double p2 = -one + three, p3 = 2 * (one - two) + three - four, p4 = -one + two - three + four;
    return two + at * (p2 + at * (p3 + at * p4));
}

static uint8_t bicubic(const uint8_t *plane, const ptrdiff_t *rows, const int32_t *columns, double dx, double dy) {
    double v[4];
    for (int32_t i = 0; i < 4; i++) {
        const uint8_t *row = plane + rows[i];
        v[i] = cubic_bytes(row[columns[0]], row[columns[1]], row[columns[2]], row[columns[3]], dx);
    }
    const double value = cubic(v[0], v[1], v[2], v[3], dy);
    return value <= 0.0 ? 0 : value >= 255.0 ? 255 : (uint8_t)(int32_t)value;
}

/* A row by one of the two; is_cubic is a constant where this is inlined. */
static inline __attribute__((always_inline)) void smooth_row(const gl_stage *stage, source *src, int32_t row,
                                                             uint8_t *const out[3], int is_cubic) {
    const int32_t n = stage->pass->width, taps = is_cubic ? 4 : 2, planes = stage->in_planes;
    /* Bytes that are written may be anything to a compiler: what does not change is kept out of their reach. */
    const int32_t width = src->width, height = src->height;
    const ptrdiff_t stride = src->stride;
    const uint8_t *const plane[3] = {src->plane[0], src->plane[planes == 3 ? 1 : 0], src->plane[planes == 3 ? 2 : 0]};
    uint8_t *const to[3] = {out[0], out[planes == 3 ? 1 : 0], out[planes == 3 ? 2 : 0]};
    const uint8_t fill[3] = {stage->pass->fill[0], stage->pass->fill[1], stage->pass->fill[2]};
    double *xs = (double *)stage->scratch->maps.data, *ys = xs + n;
    positions(stage->pass, row, xs, ys);
    for (int32_t i = 0; i < n; i++) {
        if (!is_within(xs[i], width) || !is_within(ys[i], height)) {
            const int is_nowhere = isnan(xs[i]) || isnan(ys[i]); /* 0 / 0: Pillow makes a zero of it */
            for (int32_t p = 0; p < planes; p++)
                to[p][i] = is_nowhere ? 0 : fill[p];
            continue;
        }
        const double x = xs[i] - 0.5, y = ys[i] - 0.5;
        const int32_t column = x < 0.0 ? -1 : (int32_t)x, line = y < 0.0 ? -1 : (int32_t)y;
        const double dx = x - column, dy = y - line;
        int32_t columns[4];
        ptrdiff_t rows[4];
        for (int32_t t = 0; t < taps; t++) {
            columns[t] = clipped(column + t - is_cubic, width);
            rows[t] = clipped(line + t - is_cubic, height) * stride;
        }
        for (int32_t p = 0; p < planes; p++)
            to[p][i] = is_cubic ? bicubic(plane[p], rows, columns, dx, dy) : bilinear(plane[p], rows, columns, dx, dy);
    }
}

static void bilinear_row(const gl_stage *stage, source *src, int32_t row, uint8_t *const out[3]) {
    smooth_row(stage, src, row, out, 0);
}

static void bicubic_row(const gl_stage *stage, source *src, int32_t row, uint8_t *const out[3]) {
    smooth_row(stage, src, row, out, 1);
}

static void whole_transform(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    source src = {plane, stride, stage->in_width, stage->in_height, 0, 0};
    void (*const make)(const gl_stage *, source *, int32_t, uint8_t *const[3]) =
        stage->pass->filter == GL_NEAREST    ? nearest_row
        : stage->pass->filter == GL_BILINEAR ? bilinear_row
                                             : bicubic_row;
    for (int32_t y = 0; y < target->height; y++) {
        uint8_t *out[3];
        gl_stage_places(stage, y, out);
        make(stage, &src, y, out);
        for (int32_t p = 0; p < target->planes; p++)
            gl_target_put(target, p, y, 1, out[p], target->stride);
    }
}

static int is_opencv(int32_t filter) {
    return filter == GL_OPENCV_NEAREST || filter == GL_OPENCV_LINEAR;
}

const char *gl_transform_check(const gl_pass *pass, gl_shape *shape) {
    if (pass->kind == GL_AFFINE && is_opencv(pass->filter))
        return gl_opencv_affine_check(pass, shape);
    if (pass->filter != GL_NEAREST && pass->filter != GL_BILINEAR && pass->filter != GL_BICUBIC)
        return "no such filter";
    for (int32_t i = 0; i < (pass->kind == GL_AFFINE ? 6 : 8); i++)
        if (!isfinite(pass->matrix[i]))
            return "a matrix that is not finite";
    return gl_size_check(pass->width, pass->height, shape);
}

int gl_transform_begin(gl_stage *stage) {
    if (is_opencv(stage->pass->filter))
        return gl_opencv_affine_begin(stage);
    const size_t width = (size_t)stage->pass->width;
    if (gl_buffer_grow(&stage->scratch->maps, width * (sizeof(ptrdiff_t) + 2 * sizeof(double))) != 0)
        return -1;
    return gl_places_grow(stage) != 0 ? -1 : gl_whole_begin(stage, whole_transform);
}
