/* torch's antialiased bilinear resize of float32 (aten/src/ATen/native/cpu/UpSampleKernel.cpp).  Either of the numbers that
 * bytes have become, with the Normalize behind it: the last pass over a sample.  Or of bytes as torchvision's v1 does it,
 * which rounds the sums to bytes again.
 *
 * Weights are float32, made by double where C's rules say so.  Each axis sums its products in order, from the first on.  Of
 * those behind it whole groups of as many as a vector of torch's has are rounded before they are added; the rest are added
 * with one rounding. */
#include "torch.h"

#include <string.h>

#include "square.h"
#include "stage.h"

/* Only what is spelled out is fused. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

enum { LANES = GL_TORCH_LANES }; /* rows that are summed across at a time */

/* One axis: output i sums weight[i * taps + j] * input[first[i] + j], j < count[i]. */
typedef struct axis {
    int32_t taps;
    int32_t *first, *count;
    float *weight;
} axis;

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static float scale_of(int32_t in, int32_t out) {
    return (float)in / (float)out;
}

static size_t taps_of(int32_t in, int32_t out) {
    const float scale = scale_of(in, out);
    const size_t taps = (size_t)ceilf(scale < 1.0f ? 1.0f : scale) * 2 + 1;
    return taps < (size_t)in ? taps : (size_t)in;
}

static size_t axis_bytes(int32_t in, int32_t out, int32_t n) {
    return gl_round_up((size_t)n * (2 + taps_of(in, out)) * sizeof(float), GL_ALIGN);
}

static axis axis_in(void *room, int32_t in, int32_t out, int32_t n) {
    axis made = {.taps = (int32_t)taps_of(in, out), .first = room};
    made.count = made.first + n;
    made.weight = (float *)(made.count + n);
    return made;
}

/* Fills an axis: outputs [from, from + n) of in -> out, the last one first if flip. */
static void weigh(const axis *made, int32_t in, int32_t out, int32_t from, int32_t n, int flip) {
    const float scale = scale_of(in, out), support = scale < 1.0f ? 1.0f : scale;
    const float inverse = scale < 1.0f ? 1.0f : (float)(1.0 / scale);
    for (int32_t i = 0; i < n; i++) {
        const float centre = (float)(scale * ((flip ? from + n - 1 - i : from + i) + 0.5));
        const double left = centre - support + 0.5, right = centre + support + 0.5;
        const int32_t low = left < 0 ? 0 : (int32_t)left, end = right > in ? in : (int32_t)right;
        float *weight = made->weight + (ptrdiff_t)i * made->taps, total = 0.0f;
        made->first[i] = low;
        made->count[i] = end - low < made->taps ? end - low : made->taps;
        for (int32_t j = 0; j < made->count[i]; j++) {
            const float x = fabsf((float)(((float)(j + low) - centre + 0.5) * inverse));
            total += weight[j] = x < 1.0f ? 1.0f - x : 0.0f;
        }
        for (int32_t j = 0; j < made->count[i] && total != 0.0f; j++)
            weight[j] /= total;
    }
}

/* The inputs that an axis needs, the first of which its outputs count from then on; says how many. */
static int32_t cut(const axis *of, int32_t n, int32_t *low) {
    int32_t end = 0;
    *low = INT32_MAX;
    for (int32_t i = 0; i < n; i++) {
        *low = of->first[i] < *low ? of->first[i] : *low;
        end = of->first[i] + of->count[i] > end ? of->first[i] + of->count[i] : end;
    }
    for (int32_t i = 0; i < n; i++)
        of->first[i] -= *low;
    return end - *low;
}

/* Where the pass keeps what: its axes, the rows across, one row more, and LANES rows of numbers that lie a pixel beside the
 * other. */
typedef struct places {
    axis columns, rows;
    float *middle, *row, *turned;
    size_t stride; /* numbers from a row of `middle` to the next */
    int32_t group;
} places;

static places places_of(const gl_stage *stage) {
    const gl_pass *pass = stage->pass;
    const gl_window src = pass->src, out = pass->out;
    uint8_t *room = stage->scratch->maps.data;
    places made = {.stride = gl_round_up((size_t)out.width, GL_ALIGN / sizeof(float)),
                   .group = 1 << (pass->filter - (gl_resizes_floats(pass->filter) ? GL_TORCH_FLOAT : GL_TORCH_CAST))};
    made.columns = axis_in(room, src.width, pass->width, out.width);
    room += axis_bytes(src.width, pass->width, out.width);
    made.rows = axis_in(room, src.height, pass->height, out.height);
    made.middle = (float *)stage->scratch->middle.data;
    made.row = made.middle + made.stride * (size_t)src.height;
    made.turned = made.row + made.stride;
    return made;
}

/* LANES rows, or the first `rows`, a pixel beside the other: as `numbers`, or as themselves without. */
static void turn(const float *numbers, const uint8_t *plane, ptrdiff_t stride, int32_t rows, int32_t width,
                 float *turned) {
    _Static_assert((int)LANES == (int)GL_SQUARE, "a square has as many rows");
    gl_square square = {{0}};
    for (int32_t x = 0; x < width; x += LANES) {
        const int32_t columns = smaller(LANES, width - x);
        for (int32_t r = 0; r < rows; r++)
            memcpy(&square[r], plane + r * stride + x, (size_t)columns);
        gl_square_transpose(square);
        for (int32_t i = 0; i < columns; i++, turned += LANES) {
            uint8_t bytes[LANES];
            memcpy(bytes, &square[i], sizeof bytes);
            for (int32_t r = 0; r < LANES; r++)
                turned[r] = numbers == NULL ? (float)bytes[r] : numbers[bytes[r]];
        }
    }
}

/* Rows across, of a plane of bytes. */
static void across(const gl_stage *stage, const places *at, const float *numbers, const uint8_t *plane,
                   ptrdiff_t stride) {
    for (int32_t y = 0; y < stage->want.height; y += LANES) {
        const int32_t rows = smaller(LANES, stage->want.height - y);
        turn(numbers, plane + y * stride, stride, rows, stage->want.width, at->turned);
        for (int32_t x = 0; x < stage->target.width; x += LANES) {
            const int32_t columns = smaller(LANES, stage->target.width - x);
            float sums[LANES][LANES];
            stage->kernels->torch->sum_lanes(at->columns.weight + (ptrdiff_t)x * at->columns.taps, at->columns.taps,
                                             at->columns.first + x, at->columns.count + x, at->group, at->turned,
                                             columns, sums[0]);
            float *row = at->middle + (size_t)y * at->stride + x;
            for (int32_t r = 0; r < rows; r++, row += at->stride)
                for (int32_t i = 0; i < columns; i++)
                    row[i] = sums[i][r];
        }
    }
}

/* Row y of the result, of such rows. */
static void down(const gl_stage *stage, const places *at, int32_t y, float *row) {
    stage->kernels->torch->sum(at->rows.weight + (ptrdiff_t)y * at->rows.taps, at->rows.count[y], at->group,
                               at->middle + (size_t)at->rows.first[y] * at->stride, (ptrdiff_t)at->stride,
                               stage->target.width, row);
}

static void whole_numbers(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const int32_t width = target->width, height = target->height;
    const places at = places_of(stage);
    for (int32_t p = 0; p < target->planes; p++) {
        const float *before = target->numbers + 256 * p, *behind = before + 256 * target->planes;
        const float mean = behind[0], deviation = behind[1];
        across(stage, &at, before, plane[p], stride);
        float *dst = (float *)(void *)target->sample + (size_t)p * (size_t)height * (size_t)width;
        for (int32_t y = 0; y < height; y++, dst += width) {
            down(stage, &at, y, dst);
            for (int32_t x = 0; x < width; x++)
                dst[x] = (dst[x] - mean) / deviation;
        }
    }
}

static void whole_bytes(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const places at = places_of(stage);
    for (int32_t p = 0; p < target->planes; p++) {
        across(stage, &at, NULL, plane[p], stride);
        for (int32_t y = 0; y < target->height; y++) {
            uint8_t *built = gl_target_rows(target, p, y);
            down(stage, &at, y, at.row);
            for (int32_t x = 0; x < target->width; x++)
                built[x] = gl_torch_rounded(at.row[x]);
            gl_target_put(target, p, y, 1, built, target->stride);
        }
    }
}

int gl_torch_float_begin(gl_stage *stage) {
    const gl_pass *pass = stage->pass;
    const gl_window src = pass->src, out = pass->out;
    const size_t axes =
        axis_bytes(src.width, pass->width, out.width) + axis_bytes(src.height, pass->height, out.height);
    const size_t stride = gl_round_up((size_t)out.width, GL_ALIGN / sizeof(float));
    const size_t numbers = stride * (size_t)(src.height + 1) + gl_round_up((size_t)src.width, LANES) * LANES;
    if (gl_buffer_grow(&stage->scratch->maps, axes) != 0 ||
        gl_buffer_grow(&stage->scratch->middle, numbers * sizeof(float)) != 0 ||
        gl_whole_begin(stage, gl_resizes_floats(pass->filter) ? whole_numbers : whole_bytes) != 0)
        return -1;
    const places at = places_of(stage);
    weigh(&at.columns, src.width, pass->width, out.x, out.width, pass->flip & GL_FLIP_HORIZONTAL);
    weigh(&at.rows, src.height, pass->height, out.y, out.height, pass->flip & GL_FLIP_VERTICAL);
    stage->want.width = cut(&at.columns, out.width, &stage->want.x);
    stage->want.height = cut(&at.rows, out.height, &stage->want.y);
    stage->want.x += src.x;
    stage->want.y += src.y;
    return 0;
}
