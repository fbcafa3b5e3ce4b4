/* Affine transforms as OpenCV makes them of 8-bit images (modules/imgproc/src/warp_kernels.simd.hpp): places and blends
 * in float32, by fused multiply-adds. */
#include <math.h>
#include <string.h>

#include "stage.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

enum { OUTSIDE = -1 };

static float within_reach(float at) {
    return fminf(fmaxf(at, -GL_WARP_FAR), GL_WARP_FAR);
}

static void take_whole(float at, int32_t *whole, float *part) {
    const float before = floorf(within_reach(at));
    *whole = (int32_t)before;
    *part = within_reach(at) - before;
}

static int32_t nearest(float at) {
    return (int32_t)rintf(within_reach(at));
}

/* Of places that are not inside it may be anything. */
static int32_t place_at(int32_t x, int32_t y, ptrdiff_t stride) {
    return (int32_t)((uint32_t)y * (uint32_t)stride + (uint32_t)x);
}

void gl_plain_warp_along(float step, float start, int32_t n, int32_t *whole, float *part) {
    for (int32_t i = 0; i < n; i++)
        take_whole(fmaf(step, (float)i, start), &whole[i], &part[i]);
}

void gl_plain_warp_nearest(gl_line along_x, gl_line along_y, int32_t n, ptrdiff_t stride, int32_t *x, int32_t *y,
                           int32_t *at) {
    for (int32_t i = 0; i < n; i++) {
        x[i] = nearest(fmaf(along_x.step, (float)i, along_x.start));
        y[i] = nearest(fmaf(along_y.step, (float)i, along_y.start));
        at[i] = place_at(x[i], y[i], stride);
    }
}

void gl_plain_warp_pack(const uint8_t *const plane[3], int32_t n, uint32_t *dst) {
    for (int32_t i = 0; i < n; i++)
        dst[i] = plane[0][i] | (uint32_t)plane[1][i] << 8 | (uint32_t)plane[2][i] << 16;
}

void gl_plain_warp_unpack(const uint32_t *src, int32_t n, uint8_t *const plane[3]) {
    for (int32_t i = 0; i < n; i++)
        for (int32_t c = 0; c < 3; c++)
            plane[c][i] = (uint8_t)(src[i] >> 8 * c);
}

static int32_t byte_of(uint32_t word, int32_t c) {
    return word >> 8 * c & 0xFF;
}

static uint32_t blend(const uint32_t tap[4], float right, float down) {
    uint32_t made = 0;
    for (int32_t c = 0; c < 3; c++) {
        const int32_t first = byte_of(tap[0], c), third = byte_of(tap[2], c);
        const float upper = fmaf(right, (float)(byte_of(tap[1], c) - first), (float)first);
        const float lower = fmaf(right, (float)(byte_of(tap[3], c) - third), (float)third);
        made |= (uint32_t)lrintf(fmaf(down, lower - upper, upper)) << 8 * c;
    }
    return made;
}

void gl_plain_warp_blend(const uint32_t *src, const int32_t *const at[4], const float *right, const float *down,
                         int32_t n, uint32_t *dst) {
    for (int32_t i = 0; i < n; i++) {
        const uint32_t tap[4] = {src[at[0][i]], src[at[1][i]], src[at[2][i]], src[at[3][i]]};
        dst[i] = blend(tap, right[i], down[i]);
    }
}

void gl_plain_warp_inside(const uint32_t *src, ptrdiff_t stride, const int32_t *at, const float *right,
                          const float *down, int32_t n, uint32_t *dst) {
    for (int32_t i = 0; i < n; i++) {
        const uint32_t *from = src + at[i];
        const uint32_t tap[4] = {from[0], from[1], from[stride], from[stride + 1]};
        dst[i] = blend(tap, right[i], down[i]);
    }
}

/* The input that a border of this kind shows at place i, or OUTSIDE. */
static int32_t beyond(int32_t i, int32_t n, int32_t mode) {
    if ((uint32_t)i < (uint32_t)n)
        return i;
    if (mode == GL_CONSTANT)
        return OUTSIDE;
    if (mode == GL_EDGE || n == 1)
        return i < 0 ? 0 : n - 1;
    const int64_t once = mode == GL_REFLECT, period = 2 * ((int64_t)n - once);
    const int64_t mirrored = i < 0 ? -(int64_t)i - !once : period - i - !once;
    if (mirrored >= 0 && mirrored < n)
        return (int32_t)mirrored;
    const int64_t at = ((int64_t)i % period + period) % period;
    return (int32_t)(at < n ? at : period - at - !once);
}

/* A row of the output: where it comes from, and its pixels. */
typedef struct row {
    int32_t *x, *y, *at[4];
    float *right, *down;
    uint32_t *made;
} row;

static row row_of(const gl_stage *stage) {
    const size_t n = gl_round_up((size_t)stage->pass->width, 16);
    int32_t *const first = (int32_t *)stage->scratch->maps.data;
    return (row){.x = first,
                 .y = first + n,
                 .at = {first + 2 * n, first + 3 * n, first + 4 * n, first + 5 * n},
                 .right = (float *)(first + 6 * n),
                 .down = (float *)(first + 7 * n),
                 .made = (uint32_t *)(first + 8 * n)};
}

/* For INTER_LINEAR, the input as words: the fill, then the pixels of row 0, of row 1 ... So a pixel's neighbours are
 * two loads for all of its planes.  Places are counted from the first pixel. */
enum { FILL = 0, FIRST = 1 };

static void pack(const gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride, uint32_t *words) {
    const uint8_t *const fill = stage->pass->fill;
    words[FILL] = fill[0] | (uint32_t)fill[1] << 8 | (uint32_t)fill[2] << 16;
    for (int32_t y = 0; y < stage->in_height; y++) {
        const uint8_t *const from[3] = {plane[0] + y * stride, plane[1] + y * stride, plane[2] + y * stride};
        stage->kernels->warp_pack(from, stage->in_width, words + FIRST + (size_t)y * (size_t)stage->in_width);
    }
}

/* Outputs [first, end) of a row. */
typedef struct span {
    int32_t first, end;
} span;

static int is_within(const row *r, int32_t i, int32_t low, int32_t columns, int32_t rows) {
    return (uint32_t)(r->x[i] - low) < (uint32_t)columns && (uint32_t)(r->y[i] - low) < (uint32_t)rows;
}

/* Those of `all` that come from columns and rows low, low + 1, ...: neighbours, as the way through the input is
 * straight. */
static span span_within(const row *r, span all, int32_t low, int32_t columns, int32_t rows) {
    span found = all;
    while (found.first < found.end && !is_within(r, found.first, low, columns, rows))
        found.first++;
    while (found.end > found.first && !is_within(r, found.end - 1, low, columns, rows))
        found.end--;
    return found;
}

static void nearest_edge(const gl_stage *stage, const row *r, span edge, const uint8_t *const plane[3],
                         ptrdiff_t stride, uint8_t *const out[3]) {
    const gl_pass *pass = stage->pass;
    if (pass->mode == GL_CONSTANT) {
        for (int32_t c = 0; c < stage->in_planes; c++)
            memset(out[c] + edge.first, pass->fill[c], (size_t)(edge.end - edge.first));
        return;
    }
    for (int32_t i = edge.first; i < edge.end; i++) {
        const int32_t column = beyond(r->x[i], stage->in_width, pass->mode);
        const int32_t line = beyond(r->y[i], stage->in_height, pass->mode);
        for (int32_t c = 0; c < stage->in_planes; c++)
            out[c][i] = plane[c][place_at(column, line, stride)];
    }
}

static void nearest_span(const gl_stage *stage, const row *r, span all, const uint8_t *const plane[3], ptrdiff_t stride,
                         uint8_t *const out[3]) {
    const span inside = span_within(r, all, 0, stage->in_width, stage->in_height);
    nearest_edge(stage, r, (span){all.first, inside.first}, plane, stride, out);
    nearest_edge(stage, r, (span){inside.end, all.end}, plane, stride, out);
    const int32_t *restrict at = r->at[0];
    for (int32_t c = 0; c < stage->in_planes; c++) {
        const uint8_t *from = plane[c];
        uint8_t *restrict to = out[c];
        for (int32_t i = inside.first; i < inside.end; i++)
            to[i] = from[at[i]];
    }
}

/* The place of a column and a line among words, of the fill if one of them is outside. */
static int32_t word_of(int32_t column, int32_t line, int32_t width) {
    return column == OUTSIDE || line == OUTSIDE ? FILL - FIRST : place_at(column, line, width);
}

/* Outputs near the edge, or beyond it. */
static void linear_edge(const gl_stage *stage, const row *r, span edge, const uint32_t *pixels) {
    const int32_t first = edge.first, mode = stage->pass->mode;
    for (int32_t i = first; i < edge.end; i++) {
        int32_t column[2], line[2];
        for (int32_t t = 0; t < 2; t++) {
            column[t] = beyond(r->x[i] + t, stage->in_width, mode);
            line[t] = beyond(r->y[i] + t, stage->in_height, mode);
        }
        for (int32_t t = 0; t < 4; t++)
            r->at[t][i] = word_of(column[t % 2], line[t / 2], stage->in_width);
    }
    const int32_t *const at[4] = {r->at[0] + first, r->at[1] + first, r->at[2] + first, r->at[3] + first};
    stage->kernels->warp_blend(pixels, at, r->right + first, r->down + first, edge.end - first, r->made + first);
}

static void linear_span(const gl_stage *stage, const row *r, span all, const uint32_t *words) {
    const int32_t width = stage->in_width, height = stage->in_height;
    const uint32_t *pixels = words + FIRST;
    /* Beyond `shown` there is nothing but the fill. */
    const span shown = stage->pass->mode == GL_CONSTANT ? span_within(r, all, -1, width + 1, height + 1) : all;
    const span inside = span_within(r, shown, 0, width - 1, height - 1);
    for (int32_t i = all.first; i < shown.first; i++)
        r->made[i] = words[FILL];
    linear_edge(stage, r, (span){shown.first, inside.first}, pixels);
    for (int32_t i = inside.first; i < inside.end; i++)
        r->at[0][i] = place_at(r->x[i], r->y[i], width);
    stage->kernels->warp_inside(pixels, width, r->at[0] + inside.first, r->right + inside.first, r->down + inside.first,
                                inside.end - inside.first, r->made + inside.first);
    linear_edge(stage, r, (span){inside.end, shown.end}, pixels);
    for (int32_t i = shown.end; i < all.end; i++)
        r->made[i] = words[FILL];
}

/* The way of a row of the output through the input, along x or y.  Behind the last whole block OpenCV adds up
 * in another order. */
typedef struct way {
    float step, across, offset;
} way;

static way way_of(const double m[3], int32_t y) {
    return (way){(float)m[0], (float)y * (float)m[1], (float)m[2]};
}

static gl_line line_of(way w) {
    return (gl_line){w.step, w.across + w.offset};
}

static float behind(way w, int32_t x) {
    return fmaf((float)x, w.step, w.across) + w.offset;
}

static void find_nearest(const gl_stage *stage, const way w[2], span whole, span rest, ptrdiff_t stride, const row *r) {
    stage->kernels->warp_nearest(line_of(w[0]), line_of(w[1]), whole.end, stride, r->x, r->y, r->at[0]);
    for (int32_t i = rest.first; i < rest.end; i++) {
        r->x[i] = nearest(behind(w[0], i));
        r->y[i] = nearest(behind(w[1], i));
        r->at[0][i] = place_at(r->x[i], r->y[i], stride);
    }
}

static void find_wholes(const gl_stage *stage, way w, span whole, span rest, int32_t *to, float *part) {
    const gl_line line = line_of(w);
    stage->kernels->warp_along(line.step, line.start, whole.end, to, part);
    for (int32_t i = rest.first; i < rest.end; i++)
        take_whole(behind(w, i), &to[i], &part[i]);
}

static void whole_affine(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const double *m = stage->pass->matrix;
    const int32_t n = target->width, cut = n - n % GL_WARP_BLOCK;
    const span whole = {0, cut}, rest = {cut, n};
    const row r = row_of(stage);
    const int is_nearest = stage->pass->filter == GL_OPENCV_NEAREST;
    uint32_t *const words = (uint32_t *)stage->scratch->words.data;
    if (!is_nearest)
        pack(stage, plane, stride, words);
    for (int32_t y = 0; y < target->height; y++) {
        const way w[2] = {way_of(m, y), way_of(m + 3, y)};
        uint8_t *out[3];
        gl_stage_places(stage, y, out);
        if (is_nearest) {
            find_nearest(stage, w, whole, rest, stride, &r);
            nearest_span(stage, &r, whole, plane, stride, out);
            nearest_span(stage, &r, rest, plane, stride, out);
        } else {
            find_wholes(stage, w[0], whole, rest, r.x, r.right);
            find_wholes(stage, w[1], whole, rest, r.y, r.down);
            linear_span(stage, &r, whole, words);
            linear_span(stage, &r, rest, words);
            for (int32_t c = target->planes; c < 3; c++)
                out[c] = (uint8_t *)r.at[3]; /* words of one plane have it three times */
            stage->kernels->warp_unpack(r.made, n, out);
        }
        for (int32_t c = 0; c < target->planes; c++)
            gl_target_put(target, c, y, 1, out[c], target->stride);
    }
}

const char *gl_opencv_affine_check(const gl_pass *pass, gl_shape *shape) {
    if (pass->mode < GL_CONSTANT || pass->mode > GL_SYMMETRIC)
        return "no such border";
    if (gl_stride(shape->width) * (int64_t)shape->height >= INT32_MAX)
        return "an image of 2^31 bytes a plane is transformed";
    for (int32_t i = 0; i < 6; i++)
        if (!(fabs(pass->matrix[i]) <= GL_MATRIX_MAX))
            return "a matrix of numbers beyond 2^31";
    return gl_size_check(pass->width, pass->height, shape);
}

int gl_opencv_affine_begin(gl_stage *stage) {
    const size_t n = gl_round_up((size_t)stage->pass->width, 16);
    const size_t pixels =
        stage->pass->filter == GL_OPENCV_NEAREST ? 0 : (size_t)stage->in_width * (size_t)stage->in_height;
    if (gl_buffer_grow(&stage->scratch->maps, 9 * n * sizeof(int32_t)) != 0 ||
        gl_buffer_grow(&stage->scratch->words, (FIRST + pixels + 8) * sizeof(uint32_t)) != 0)
        return -1;
    return gl_places_grow(stage) != 0 ? -1 : gl_whole_begin(stage, whole_affine);
}
