/* A quarter turn, in squares of SIDE x SIDE pixels. */
#include <string.h>

#include "stage.h"

enum { SIDE = 16 };

typedef uint8_t row16 __attribute__((vector_size(SIDE)));

/* One from a, one from b, by turns: of their first halves, and of their second ones. */
#if defined(__clang__)
#define FIRST_HALVES(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define SECOND_HALVES(a, b) __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#else
#define FIRST_HALVES(a, b) __builtin_shuffle(a, b, (row16){0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23})
#define SECOND_HALVES(a, b)                                                                                            \
    __builtin_shuffle(a, b, (row16){8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31})
#endif

/* Rows become columns: each of four rounds shuffles the 256 bytes as one deck of cards, which moves the four bits of a
 * byte's row number to the place of the four of its column's. */
static inline void transpose(row16 square[SIDE]) {
    for (int round = 0; round < 4; round++) {
        row16 shuffled[SIDE];
        for (int i = 0; i < SIDE / 2; i++) {
            shuffled[2 * i] = FIRST_HALVES(square[i], square[i + SIDE / 2]);
            shuffled[2 * i + 1] = SECOND_HALVES(square[i], square[i + SIDE / 2]);
        }
        memcpy(square, shuffled, sizeof shuffled);
    }
}

/* Rows [y, y + rows) of the result, built from its column x on; they have room for whole squares. */
static void turn_square(const gl_stage *stage, const uint8_t *plane, ptrdiff_t stride, int32_t x, int32_t y,
                        int32_t rows, uint8_t *built) {
    const gl_target *target = &stage->target;
    /* Counter-clockwise, the right column becomes the first row; flips are of the result. */
    const int mirrored = (stage->pass->flip & GL_FLIP_HORIZONTAL) != 0;
    const int upwards = (stage->pass->flip & GL_FLIP_VERTICAL) == 0;
    const uint8_t *from = plane + (upwards ? target->height - y - rows : y);
    row16 square[SIDE];
    for (int32_t i = 0; i < SIDE; i++) {
        const int32_t column = x + i < target->width ? x + i : target->width - 1;
        memcpy(&square[i], from + (mirrored ? target->width - 1 - column : column) * stride, SIDE);
    }
    transpose(square);
    for (int32_t i = 0; i < rows; i++)
        memcpy(built + (upwards ? rows - 1 - i : i) * target->stride + x, &square[i], SIDE);
}

static void whole_turn(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    for (int32_t p = 0; p < target->planes; p++)
        for (int32_t y = 0; y < target->height; y += SIDE) {
            const int32_t rows = target->height - y < SIDE ? target->height - y : SIDE;
            uint8_t *built = gl_target_rows(target, p, y);
            for (int32_t x = 0; x < target->width; x += SIDE)
                turn_square(stage, plane[p], stride, x, y, rows, built);
            gl_target_put(target, p, y, rows, built, target->stride);
        }
}

int gl_turn_begin(gl_stage *stage) {
    stage->want = (gl_window){0, 0, stage->in_width, stage->in_height};
    stage->take = gl_stage_collect;
    stage->whole = whole_turn;
    return 0;
}
