/* Pillow's ImageFilter.RankFilter of 3 x 3: each pixel becomes one of itself and its neighbours, in the order of their size. */
#include <string.h>

#include "stage.h"

enum { PIXELS = 9 };

/* Pairs to be put in order, the smaller one first, one after the other: then all nine are. */
static const uint8_t pairs[][2] = {{0, 3}, {1, 7}, {2, 5}, {4, 8}, {0, 7}, {2, 4}, {3, 8}, {5, 6}, {0, 2},
                                   {1, 3}, {4, 5}, {7, 8}, {1, 4}, {3, 6}, {5, 7}, {0, 1}, {2, 4}, {3, 5},
                                   {6, 8}, {2, 3}, {4, 5}, {6, 7}, {1, 2}, {3, 4}, {5, 6}};

static void put_in_order(uint8_t *restrict small, uint8_t *restrict large) {
    for (int i = 0; i < GL_ALIGN; i++) {
        const uint8_t a = small[i], b = large[i];
        small[i] = a < b ? a : b;
        large[i] = a < b ? b : a;
    }
}

/* Rows with a pixel more at either end; n of the result. */
static void rank_row(int rank, const uint8_t *const row[3], int32_t n, uint8_t *out) {
    uint8_t sorted[PIXELS][GL_ALIGN];
    for (int32_t x = 0; x < n; x += GL_ALIGN) {
        const size_t some = (size_t)(n - x < GL_ALIGN ? n - x : GL_ALIGN);
        for (int i = 0; i < PIXELS; i++)
            memcpy(sorted[i], row[i / 3] + x + i % 3, GL_ALIGN);
        for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
            put_in_order(sorted[pairs[i][0]], sorted[pairs[i][1]]);
        memcpy(out + x, sorted[rank], some);
    }
}

/* Bytes of a row with what is beside it. */
static size_t row_bytes(int32_t width) {
    return gl_round_up((size_t)width, GL_ALIGN) + GL_ALIGN;
}

/* The nearest pixels of the image are taken for those outside. */
static void widen(const uint8_t *row, int32_t width, uint8_t *out) {
    out[0] = row[0];
    memcpy(out + 1, row, (size_t)width);
    out[1 + width] = row[width - 1];
}

static void whole_rank(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const int32_t width = target->width, height = target->height;
    memset(stage->scratch->words.data, 0, 3 * row_bytes(width)); /* what is behind a row's end is sorted as well */
    for (int32_t p = 0; p < target->planes; p++) {
        uint8_t *row[3]; /* above, of the pixel, below */
        for (int i = 0; i < 3; i++) {
            row[i] = stage->scratch->words.data + (size_t)i * row_bytes(width);
            widen(plane[p] + (i == 2 && height > 1 ? stride : 0), width, row[i]);
        }
        for (int32_t y = 0; y < height; y++) {
            uint8_t *built = gl_target_rows(target, p, y);
            rank_row(stage->pass->shift, (const uint8_t *const *)row, width, built);
            gl_target_put(target, p, y, 1, built, target->stride);
            uint8_t *above = row[0];
            row[0] = row[1];
            row[1] = row[2];
            row[2] = above;
            widen(plane[p] + (y + 2 < height ? y + 2 : height - 1) * stride, width, row[2]);
        }
    }
}

const char *gl_rank_check(const gl_pass *pass, gl_shape *shape) {
    (void)shape;
    return pass->shift >= 0 && pass->shift < PIXELS ? NULL : "a rank is 0 to 8";
}

int gl_rank_begin(gl_stage *stage) {
    if (gl_buffer_grow(&stage->scratch->words, 3 * row_bytes(stage->in_width)) != 0)
        return -1;
    return gl_whole_begin(stage, whole_rank);
}
