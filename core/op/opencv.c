#include "opencv.h"

#include <float.h>
#include <math.h>
#include <string.h>

#include "stage.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

enum { COEFFICIENT = 1 << 11 }; /* INTER_RESIZE_COEF_SCALE */

/* How OpenCV computes a factor: by the inverse of its inverse. */
static double factor(int32_t in, int32_t out) {
    return 1.0 / ((double)out / in);
}

/* The factor if it is whole, else 0. */
static int32_t whole_factor(int32_t in, int32_t out) {
    const double scale = factor(in, out), whole = rint(scale);
    return fabs(scale - whole) < DBL_EPSILON ? (int32_t)whole : 0;
}

void gl_opencv_nearest_map(int32_t *map, int32_t in, int32_t out, int32_t from, int32_t n) {
    const double scale = factor(in, out);
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = (int32_t)floor((from + i) * scale);
        map[i] = at < in ? at : in - 1;
    }
}

void gl_opencv_grey(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = (uint8_t)((9798u * red[i] + 19235u * green[i] + 3735u * blue[i] + 16384u) >> 15);
}

/* The inputs [low, high). */
typedef struct span {
    int32_t low, high;
} span;

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t clamp(int32_t at, int32_t n) {
    return at < 0 ? 0 : at < n ? at : n - 1;
}

static int upside_down(const gl_stage *stage) {
    return (stage->pass->flip & GL_FLIP_VERTICAL) != 0;
}

static int mirrored(const gl_stage *stage) {
    return (stage->pass->flip & GL_FLIP_HORIZONTAL) != 0;
}

/* ---- INTER_LINEAR */

/* One axis of a resize: outputs [from, from + pairs->n) of in -> out, last one first if flip.  Indices become relative
 * to the first input they need.
 *   area  the weights are those of an INTER_AREA that enlarges
 *   down  an axis of rows: beyond the edge both inputs are the same row, and keep their weights */
static span pair_up(gl_pairs *pairs, int32_t in, int32_t out, int32_t from, int flip, int area, int down) {
    const double inverse = (double)out / in, scale = 1.0 / inverse;
    span need = {in, 0};
    for (int32_t i = 0; i < pairs->n; i++) {
        const int32_t o = from + (flip ? pairs->n - 1 - i : i);
        int32_t at;
        float part;
        if (area) {
            at = (int32_t)floor(o * scale);
            part = (float)((o + 1) - (at + 1) * inverse);
            part = part <= 0 ? 0.0f : part - floorf(part);
        } else {
            part = (float)((o + 0.5) * scale - 0.5);
            at = (int32_t)floorf(part);
            part -= (float)at;
        }
        if (!down && (at < 0 || at >= in - 1)) {
            at = clamp(at, in);
            part = 0.0f;
        }
        const int32_t second = clamp(at + 1, in);
        pairs->first[i] = clamp(at, in);
        if (down)
            pairs->second[i] = second;
        const int32_t low = (int32_t)lrintf((1.0f - part) * COEFFICIENT), high = (int32_t)lrintf(part * COEFFICIENT);
        pairs->weight[i] = low | (int32_t)((uint32_t)high << 16);
        need.low = smaller(need.low, pairs->first[i]);
        need.high = second + 1 > need.high ? second + 1 : need.high;
    }
    for (int32_t i = 0; i < pairs->n; i++) {
        pairs->first[i] -= need.low;
        if (down)
            pairs->second[i] -= need.low;
    }
    return need;
}

void gl_plain_linear_across(const gl_pairs *across, const uint8_t *src, int16_t *dst) {
    for (int32_t x = 0; x < across->n; x++) {
        const uint8_t *from = src + across->first[x];
        const int32_t weight = across->weight[x];
        dst[x] = (int16_t)((from[0] * (int16_t)weight + from[1] * (weight >> 16)) >> 4);
    }
}

void gl_plain_linear_down(const int16_t *upper, const int16_t *lower, int32_t weight, int32_t width, uint8_t *dst) {
    const int16_t low = (int16_t)weight, high = (int16_t)(weight >> 16);
    for (int32_t x = 0; x < width; x++) {
        const int16_t a = (int16_t)((upper[x] * low) >> 16), b = (int16_t)((lower[x] * high) >> 16);
        dst[x] = (uint8_t)((int16_t)(a + b + 2) >> 2);
    }
}

/* Numbers from a row across to the next. */
static size_t across_stride(const gl_stage *stage) {
    return gl_round_up((size_t)stage->pass->out.width + 16, GL_ALIGN / sizeof(int16_t));
}

static int16_t *across_row(const gl_stage *stage, int32_t plane, int32_t y) {
    const size_t row = (size_t)plane * (size_t)stage->want.height + (size_t)y;
    return (int16_t *)stage->scratch->middle.data + row * across_stride(stage);
}

static void take_linear(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    for (int32_t p = 0; p < stage->in_planes; p++)
        for (int32_t i = 0; i < rows; i++)
            stage->kernels->linear_across(&stage->opencv.across, plane[p] + i * stride, across_row(stage, p, y + i));
}

static void finish_linear(gl_stage *stage) {
    const gl_target *target = &stage->target;
    const gl_pairs *down = &stage->opencv.down;
    for (int32_t p = 0; p < stage->in_planes; p++)
        for (int32_t y = 0; y < target->height; y += GL_BATCH) {
            const int32_t n = smaller(target->height - y, GL_BATCH);
            uint8_t *built = gl_target_rows(target, p, y);
            for (int32_t i = 0; i < n; i++)
                stage->kernels->linear_down(across_row(stage, p, down->first[y + i]),
                                            across_row(stage, p, down->second[y + i]), down->weight[y + i],
                                            target->width, built + i * target->stride);
            gl_target_put(target, p, y, n, built, target->stride);
        }
}

static int begin_linear(gl_stage *stage, int area) {
    const gl_pass *pass = stage->pass;
    const gl_window src = pass->src, out = pass->out;
    gl_pairs *across = &stage->opencv.across, *down = &stage->opencv.down;
    if (gl_buffer_grow(&stage->scratch->maps,
                       (2 * (size_t)out.width + 3 * (size_t)out.height) * sizeof(int32_t) + GL_ALIGN) != 0)
        return -1;
    int32_t *at = (int32_t *)stage->scratch->maps.data;
    *across = (gl_pairs){.n = out.width, .first = at, .weight = at + out.width};
    at += 2 * (ptrdiff_t)out.width;
    *down = (gl_pairs){.n = out.height, .first = at, .second = at + out.height};
    down->weight = down->second + out.height;
    const span x = pair_up(across, src.width, pass->width, out.x, mirrored(stage), area, 0);
    const span y = pair_up(down, src.height, pass->height, out.y, upside_down(stage), area, 1);
    stage->want = (gl_window){src.x + x.low, src.y + y.low, x.high - x.low, y.high - y.low};
    stage->take = take_linear;
    stage->finish = finish_linear;
    const size_t rows = (size_t)stage->in_planes * (size_t)stage->want.height;
    return gl_buffer_grow(&stage->scratch->middle, rows * across_stride(stage) * sizeof(int16_t));
}

int gl_opencv_linear_begin(gl_stage *stage) {
    const gl_pass *pass = stage->pass;
    if (whole_factor(pass->src.width, pass->width) == 2 && whole_factor(pass->src.height, pass->height) == 2)
        return gl_opencv_area_begin(stage);
    return begin_linear(stage, 0);
}

/* ---- INTER_AREA */

/* A finished row of sums, mirrored if need be, to its place. */
static void put_row(gl_stage *stage, int32_t plane, int32_t y, const uint8_t *row) {
    const gl_target *target = &stage->target;
    gl_target_put(target, plane, upside_down(stage) ? target->height - 1 - y : y, 1, row, target->stride);
}

static uint8_t rounded(float value) {
    const long whole = lrintf(value);
    return whole < 0 ? 0 : whole > 255 ? 255 : (uint8_t)whole;
}

/* Where rows wait: sums of each plane, a row across, and the bytes that come of them. */
static void *sums_of(const gl_stage *stage, int32_t plane) {
    return stage->scratch->middle.data + (size_t)plane * gl_round_up((size_t)stage->want.width * 4, GL_ALIGN);
}

static uint8_t *bytes_of(const gl_stage *stage) {
    return sums_of(stage, stage->in_planes + 1);
}

static int grow_sums(gl_stage *stage) {
    const size_t row = gl_round_up((size_t)stage->want.width * 4, GL_ALIGN);
    return gl_buffer_grow(&stage->scratch->middle,
                          row * ((size_t)stage->in_planes + 1) + gl_round_up((size_t)stage->target.width, GL_ALIGN));
}

/* Boxes of whole pixels: sums down while rows come, sums across once a row of boxes is complete. */
static void take_boxes(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_opencv *opencv = &stage->opencv;
    const int32_t width = stage->want.width, box_width = opencv->box_width, box_height = opencv->box_height;
    const float scale = 1.0f / (float)(box_width * box_height);
    uint8_t *bytes = bytes_of(stage);
    for (int32_t i = 0; i < rows; i++)
        for (int32_t p = 0; p < stage->in_planes; p++) {
            uint32_t *sums = sums_of(stage, p);
            const uint8_t *row = plane[p] + i * stride;
            if ((y + i) % box_height == 0)
                memset(sums, 0, (size_t)width * sizeof *sums);
            for (int32_t x = 0; x < width; x++)
                sums[x] += row[x];
            if ((y + i) % box_height != box_height - 1)
                continue;
            const int32_t n = stage->target.width;
            for (int32_t o = 0; o < n; o++, sums += box_width) {
                uint32_t sum = 0;
                for (int32_t x = 0; x < box_width; x++)
                    sum += sums[x];
                bytes[mirrored(stage) ? n - 1 - o : o] = box_width == 2 && box_height == 2
                                                             ? (uint8_t)((sum + 2) >> 2)
                                                             : rounded((float)(int32_t)sum * scale);
            }
            put_row(stage, p, (y + i) / box_height, bytes);
        }
}

static void take_shares(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    gl_opencv *opencv = &stage->opencv;
    const gl_shares *wide = &opencv->wide, *tall = &opencv->tall;
    const int32_t n = stage->target.width;
    float *across = sums_of(stage, stage->in_planes);
    uint8_t *bytes = bytes_of(stage);
    for (int32_t i = 0; i < rows; i++) {
        int32_t output = opencv->output;
        for (int32_t p = 0; p < stage->in_planes; p++) {
            const uint8_t *row = plane[p] + i * stride;
            for (int32_t o = 0; o < n; o++) {
                const uint8_t *from = row + wide->first[o];
                const float *share = wide->share + wide->start[o];
                float sum = 0.0f;
                for (int32_t j = 0; j < wide->count[o]; j++)
                    sum += (float)from[j] * share[j];
                across[o] = sum;
            }
            float *sums = sums_of(stage, p);
            /* A row may be the last of one output and the first of the next. */
            for (output = opencv->output; output < tall->n && y + i >= tall->first[output]; output++) {
                const int32_t tap = y + i - tall->first[output];
                const float share = tall->share[tall->start[output] + tap];
                if (tap == 0)
                    memset(sums, 0, (size_t)n * sizeof *sums);
                for (int32_t o = 0; o < n; o++)
                    sums[o] += share * across[o];
                if (tap < tall->count[output] - 1)
                    break;
                for (int32_t o = 0; o < n; o++)
                    bytes[mirrored(stage) ? n - 1 - o : o] = rounded(sums[o]);
                put_row(stage, p, output, bytes);
            }
        }
        opencv->output = output;
    }
}

/* One axis of an INTER_AREA that makes smaller; says how many shares there are. */
static size_t share_out(gl_shares *shares, int32_t in, int32_t out, int32_t from, int count_only) {
    const double scale = factor(in, out);
    size_t used = 0;
    for (int32_t i = 0; i < shares->n; i++) {
        const double low = (from + i) * scale, high = low + scale;
        const double cell = scale < in - low ? scale : in - low;
        int32_t first = (int32_t)ceil(low), last = smaller((int32_t)floor(high), in - 1);
        first = smaller(first, last);
        const int before = first - low > 1e-3, behind = high - last > 1e-3;
        const size_t n = (size_t)(before + last - first + behind);
        if (!count_only) {
            float *share = shares->share + used;
            shares->first[i] = first - before;
            shares->count[i] = (int32_t)n;
            shares->start[i] = (int32_t)used;
            if (before)
                *share++ = (float)((first - low) / cell);
            for (int32_t at = first; at < last; at++)
                *share++ = (float)(1.0 / cell);
            const double rest = high - last < 1.0 ? high - last : 1.0;
            if (behind)
                *share = (float)((rest < cell ? rest : cell) / cell);
        }
        used += n;
    }
    return used;
}

/* Makes the indices relative to the first input that is needed. */
static span extent_of(gl_shares *shares) {
    const int32_t last = shares->n - 1;
    const span need = {shares->first[0], shares->first[last] + shares->count[last]};
    for (int32_t i = 0; i <= last; i++)
        shares->first[i] -= need.low;
    return need;
}

static int begin_shares(gl_stage *stage) {
    const gl_pass *pass = stage->pass;
    const gl_window src = pass->src, out = pass->out;
    gl_shares *wide = &stage->opencv.wide, *tall = &stage->opencv.tall;
    wide->n = out.width;
    tall->n = out.height;
    const size_t wide_shares = share_out(wide, src.width, pass->width, out.x, 1);
    const size_t tall_shares = share_out(tall, src.height, pass->height, out.y, 1);
    const size_t numbers = 3 * ((size_t)out.width + (size_t)out.height) + wide_shares + tall_shares;
    if (gl_buffer_grow(&stage->scratch->maps, numbers * sizeof(int32_t)) != 0)
        return -1;
    wide->first = (int32_t *)stage->scratch->maps.data;
    wide->count = wide->first + out.width;
    wide->start = wide->count + out.width;
    tall->first = wide->start + out.width;
    tall->count = tall->first + out.height;
    tall->start = tall->count + out.height;
    wide->share = (float *)(tall->start + out.height);
    tall->share = wide->share + wide_shares;
    share_out(wide, src.width, pass->width, out.x, 0);
    share_out(tall, src.height, pass->height, out.y, 0);
    const span x = extent_of(wide), y = extent_of(tall);
    stage->want = (gl_window){src.x + x.low, src.y + y.low, x.high - x.low, y.high - y.low};
    stage->take = take_shares;
    return grow_sums(stage);
}

int gl_opencv_area_begin(gl_stage *stage) {
    const gl_pass *pass = stage->pass;
    const gl_window src = pass->src, out = pass->out;
    if (factor(src.width, pass->width) < 1.0 || factor(src.height, pass->height) < 1.0)
        return begin_linear(stage, 1);
    const int32_t box_width = whole_factor(src.width, pass->width), box_height = whole_factor(src.height, pass->height);
    if (box_width == 0 || box_height == 0)
        return begin_shares(stage);
    stage->opencv.box_width = box_width;
    stage->opencv.box_height = box_height;
    stage->want = (gl_window){src.x + out.x * box_width, src.y + out.y * box_height, out.width * box_width,
                              out.height * box_height};
    stage->take = take_boxes;
    return grow_sums(stage);
}
