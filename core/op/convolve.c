/* Convolutions in float32 of an image with its border mirrored: torchvision's Gaussian blur, and two of torch's, down and
 * across. */
#include <float.h>
#include <math.h>
#include <string.h>

#include "stage.h"

enum {
    ROWS_MAX = GL_TAPS_MAX + GL_ZERO_ROWS,
    /* From so many weights on, most sums are found by axes. */
    BY_AXES_MIN = 81,
    /* How many sums of GL_BATCH rows may be in doubt, a pixel of a row; of more, all are worked out in full. */
    DOUBTS_EACH = 2
};

/* A product of two weights each, rounded to float32 before it is scaled. */
static gl_taps taps_of(const gl_pass *pass) {
    gl_taps taps = {.across = pass->width, .down = pass->height};
    for (int32_t i = 0; i < taps.down; i++)
        for (int32_t j = 0; j < taps.across; j++)
            taps.weight[(GL_ZERO_ROWS + i) * taps.across + j] = pass->weight[1][i] * pass->weight[0][j] * GL_TAPS_SCALE;
    return taps;
}

/* Torch's sums are of the products of all weights, one after the other. Sums down and then across take far fewer products and
 * differ from them by no more than what both round; where even that leaves no doubt which integer is nearest, that is the
 * byte. Others, 1 in 100 or fewer of a photo, are worked out as torch does it. */
typedef struct by_axes {
    float weight[2][GL_TAPS_MAX];
    float sure; /* a sum that is no further from an integer is surely nearest to it in torch's order, too */
} by_axes;

/* What sums of weighted bytes in turn round at most: each a half unit in the last place of what was summed, and never more than
 * what was added. */
static double rounded(const float *weights, int32_t n) {
    double sum = 0, error = 0;
    for (int32_t i = 0; i < n; i++) {
        sum += weights[i];
        error += fmin(sum * (FLT_EPSILON / 2), weights[i]);
    }
    return 255 * error;
}

static by_axes by_axes_of(const gl_pass *pass, const gl_taps *taps) {
    /* Smaller weights are left out, so that no product of two and a byte is a denormal number. */
    const float least = 1e-18f;
    by_axes made;
    float whole[GL_TAPS_MAX * GL_TAPS_MAX];
    const int32_t count[2] = {taps->across, taps->down};
    double sum[2] = {0}, left_out[2] = {0};
    for (int32_t k = 0; k < taps->across * taps->down; k++)
        whole[k] = taps->weight[GL_ZERO_ROWS * taps->across + k] / GL_TAPS_SCALE;
    for (int axis = 0; axis < 2; axis++)
        for (int32_t i = 0; i < count[axis]; i++) {
            const float weight = pass->weight[axis][i];
            made.weight[axis][i] = weight < least ? 0 : weight;
            sum[axis] += weight;
            left_out[axis] += weight < least ? weight : 0;
        }
    double error = rounded(whole, taps->across * taps->down);
    for (int axis = 0; axis < 2; axis++)
        error += (rounded(made.weight[axis], count[axis]) + 255 * left_out[axis]) * sum[1 - axis];
    /* The product of two weights is rounded, too; 1 in 100 is for what is rounded of rounded numbers. */
    error = (error + 255 * sum[0] * sum[1] * FLT_EPSILON) * 1.01;
    made.sure = (float)(0.5 - error) - FLT_EPSILON;
    return made;
}

/* The integer next to a number of bytes' size, even where two are. */
static inline float nearest(float value) {
    const float whole = 0x1.8p23f; /* of which the last place is 1 */
    return (value + whole) - whole;
}

/* Where an axis of n goes on, less than n beyond its ends. */
static int32_t mirrored(int32_t at, int32_t n) {
    return at < 0 ? -at : at < n ? at : n - 1 - (at - (n - 1));
}

/* Numbers from a row to the next. */
static size_t row_numbers(const gl_stage *stage) {
    return gl_round_up((size_t)stage->in_width + GL_TAPS_MAX, GL_ALIGN / sizeof(float));
}

/* A batch's sums that are in doubt. */
typedef struct doubts {
    int32_t n, max;
    int32_t *y, *x;
    float *sum;
} doubts;

/* Works out all doubts as torch does it. */
static void settle(const gl_stage *stage, const gl_taps *taps, const doubts *of, const float *const *row,
                   uint8_t *built) {
    stage->kernels->convolve_apart(taps, row, of->y, of->x, of->n, of->sum);
    for (int32_t i = 0; i < of->n; i++) {
        const float value = nearest(of->sum[i] / GL_TAPS_SCALE);
        built[of->y[i] * stage->target.stride + of->x[i]] = value < 255 ? (uint8_t)(int32_t)value : 255;
    }
}

/* Rounds row y's sums by axes, and notes which are in doubt. */
static void round_sums(const float *sum, int32_t width, float sure, int32_t y, uint8_t *dst, doubts *found) {
    enum { CHUNK = 16 };
    for (int32_t x = 0; x < width; x += CHUNK) {
        const int32_t n = width - x < CHUNK ? width - x : CHUNK;
        float off[CHUNK];
        int unsure = 0;
        for (int32_t k = 0; k < n; k++) {
            const float value = nearest(sum[x + k]);
            off[k] = fabsf(sum[x + k] - value);
            unsure |= off[k] > sure;
            dst[x + k] = (uint8_t)(int32_t)(value < 255 ? value : 255);
        }
        for (int32_t k = 0; k < n && unsure; k++)
            if (off[k] > sure && found->n++ < found->max) {
                found->y[found->n - 1] = y;
                found->x[found->n - 1] = x + k;
            }
    }
}

static void whole_convolve(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const int32_t width = target->width, height = target->height;
    const gl_taps taps = taps_of(stage->pass);
    float *const numbers = (float *)stage->scratch->middle.data;
    const size_t step = row_numbers(stage);
    const int is_by_axes = taps.across * taps.down >= BY_AXES_MIN;
    by_axes axes;
    doubts found = {0};
    float *const down = numbers + (size_t)height * step, *const sums = down + step;
    if (is_by_axes) {
        axes = by_axes_of(stage->pass, &taps);
        found.max = DOUBTS_EACH * width;
        found.sum = sums + step;
        found.y = (int32_t *)(found.sum + found.max);
        found.x = found.y + found.max;
    }
    for (int32_t p = 0; p < target->planes; p++) {
        for (int32_t y = 0; y < height; y++) {
            const uint8_t *from = plane[p] + y * stride;
            float *to = numbers + (size_t)y * step + taps.across / 2;
            for (int32_t x = 0; x < width; x++)
                to[x] = from[x];
            for (int32_t x = 1; x <= taps.across / 2; x++) {
                to[-x] = from[x];
                to[width - 1 + x] = from[width - 1 - x];
            }
        }
        for (int32_t y = 0; y < height; y += GL_BATCH) {
            const int32_t rows = height - y < GL_BATCH ? height - y : GL_BATCH;
            const float *row[GL_BATCH + ROWS_MAX];
            for (int32_t i = 0; i < GL_BATCH + ROWS_MAX; i++) {
                const int32_t last = height - 1 + taps.down / 2, at = y + i - taps.down / 2;
                row[i] = numbers + (size_t)mirrored(at < last ? at : last, height) * step;
            }
            uint8_t *built = gl_target_rows(target, p, y);
            found.n = 0;
            for (int32_t r = 0; r < rows && is_by_axes && found.n <= found.max; r++) {
                const float *across[GL_TAPS_MAX];
                for (int32_t j = 0; j < taps.across; j++)
                    across[j] = down + j;
                stage->kernels->weigh(axes.weight[1], taps.down, row + r, width + taps.across - 1, down);
                stage->kernels->weigh(axes.weight[0], taps.across, across, width, sums);
                round_sums(sums, width, axes.sure, r, built + r * target->stride, &found);
            }
            if (is_by_axes && found.n <= found.max)
                settle(stage, &taps, &found, row, built);
            else
                for (int32_t r = 0; r < rows; r += GL_CONVOLVE_ROWS)
                    stage->kernels->convolve(&taps, row + r, rows - r < GL_CONVOLVE_ROWS ? rows - r : GL_CONVOLVE_ROWS,
                                             width, built + r * target->stride, target->stride);
            gl_target_put(target, p, y, rows, built, target->stride);
        }
    }
}

/* Whether so many weights go over an axis of n: the mirrored border is narrower than that. */
static int is_odd_taps(int32_t taps, int32_t n) {
    return taps >= 1 && taps <= GL_TAPS_MAX && taps % 2 == 1 && taps / 2 < n;
}

const char *gl_convolve_check(const gl_pass *pass, gl_shape *shape) {
    if (!is_odd_taps(pass->width, shape->width) || !is_odd_taps(pass->height, shape->height))
        return "weights are 1, 3, ... 31 each way, and the image has more pixels than half of that";
    for (int32_t i = 0; i < pass->width + pass->height; i++) {
        const float weight = i < pass->width ? pass->weight[0][i] : pass->weight[1][i - pass->width];
        if (!(weight >= 0 && weight <= 1))
            return "a weight that is not between 0 and 1";
    }
    return NULL;
}

int gl_convolve_begin(gl_stage *stage) {
    const size_t rows = ((size_t)stage->in_height + 2) * row_numbers(stage) * sizeof(float);
    const size_t doubts = DOUBTS_EACH * (size_t)stage->in_width * (sizeof(float) + 2 * sizeof(int32_t));
    if (gl_buffer_grow(&stage->scratch->middle, rows + doubts + GL_CONVOLVE_SLACK) != 0)
        return -1;
    return gl_whole_begin(stage, whole_convolve);
}

static void whole_convolve_unit(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const gl_pass *pass = stage->pass;
    const int32_t width = target->width, height = target->height, across = pass->width, down = pass->height;
    const size_t step = row_numbers(stage);
    float *const numbers = (float *)stage->scratch->middle.data;
    float *const whole = numbers + (size_t)height * step; /* a row of sums, */
    float *const made = whole + step;                     /* and one of theirs */
    float *const middle = whole + across / 2;
    float table[256];
    for (int i = 0; i < 256; i++)
        table[i] = (float)i / 255.0f;
    for (int32_t p = 0; p < target->planes; p++) {
        for (int32_t y = 0; y < height; y++)
            for (int32_t x = 0; x < width; x++)
                numbers[(size_t)y * step + (size_t)x] = table[plane[p][y * stride + x]];
        for (int32_t y = 0; y < height; y++) {
            const float *row[GL_TAPS_MAX];
            for (int32_t i = 0; i < down; i++)
                row[i] = numbers + (size_t)mirrored(y + i - down / 2, height) * step;
            stage->kernels->weigh(pass->weight[1], down, row, width, middle);
            for (int32_t x = 1; x <= across / 2; x++) {
                middle[-x] = middle[x];
                middle[width - 1 + x] = middle[width - 1 - x];
            }
            for (int32_t j = 0; j < across; j++)
                row[j] = whole + j;
            stage->kernels->weigh(pass->weight[0], across, row, width, made);
            uint8_t *built = gl_target_rows(target, p, y);
            for (int32_t x = 0; x < width; x++) {
                const float value = made[x] * 255.0f;
                built[x] = value < 255.0f ? (uint8_t)(int32_t)value : 255;
            }
            gl_target_put(target, p, y, 1, built, target->stride);
        }
    }
}

int gl_convolve_unit_begin(gl_stage *stage) {
    const size_t rows = ((size_t)stage->in_height + 2) * row_numbers(stage) * sizeof(float);
    if (gl_buffer_grow(&stage->scratch->middle, rows) != 0)
        return -1;
    return gl_whole_begin(stage, whole_convolve_unit);
}
