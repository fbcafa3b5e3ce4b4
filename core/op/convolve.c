/* Convolutions in float32 of an image with its border mirrored: torchvision's Gaussian blur, and two of torch's, down and
 * across. */
#include <string.h>

#include "stage.h"

enum { ROWS_MAX = GL_TAPS_MAX + GL_ZERO_ROWS };

/* A product of two weights each, rounded to float32 before it is scaled. */
static gl_taps taps_of(const gl_pass *pass) {
    gl_taps taps = {.across = pass->width, .down = pass->height};
    for (int32_t i = 0; i < taps.down; i++)
        for (int32_t j = 0; j < taps.across; j++)
            taps.weight[(GL_ZERO_ROWS + i) * taps.across + j] =
                pass->weight[1][i] * pass->weight[0][j] * GL_TAPS_SCALE;
    return taps;
}

/* Where an axis of n goes on, less than n beyond its ends. */
static int32_t mirrored(int32_t at, int32_t n) {
    return at < 0 ? -at : at < n ? at : n - 1 - (at - (n - 1));
}

/* Numbers from a row to the next. */
static size_t row_numbers(const gl_stage *stage) {
    return gl_round_up((size_t)stage->in_width + GL_TAPS_MAX, GL_ALIGN / sizeof(float));
}

static void whole_convolve(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const int32_t width = target->width, height = target->height;
    const gl_taps taps = taps_of(stage->pass);
    float *const numbers = (float *)stage->scratch->middle.data;
    const size_t step = row_numbers(stage);
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
        for (int32_t y = 0; y < height; y += GL_CONVOLVE_ROWS) {
            const float *row[ROWS_MAX];
            for (int32_t i = 0; i < taps.down + GL_ZERO_ROWS; i++) {
                const int32_t last = height - 1 + taps.down / 2, at = y + i - taps.down / 2;
                row[i] = numbers + (size_t)mirrored(at < last ? at : last, height) * step;
            }
            uint8_t *built = gl_target_rows(target, p, y);
            const int32_t rows = height - y < GL_CONVOLVE_ROWS ? height - y : GL_CONVOLVE_ROWS;
            stage->kernels->convolve(&taps, row, rows, width, built, target->stride);
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
    const size_t rows = (size_t)stage->in_height * row_numbers(stage) * sizeof(float);
    if (gl_buffer_grow(&stage->scratch->middle, rows + GL_CONVOLVE_SLACK) != 0)
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
