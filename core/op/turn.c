/* A quarter turn, square by square. */
#include <string.h>

#include "square.h"
#include "stage.h"

/* Rows [y, y + rows) of the result, built from its column x on; they have room for whole squares. */
static void turn_square(const gl_stage *stage, const uint8_t *plane, ptrdiff_t stride, int32_t x, int32_t y,
                        int32_t rows, uint8_t *built) {
    const gl_target *target = &stage->target;
    /* Counter-clockwise, the right column becomes the first row; flips are of the result. */
    const int mirrored = (stage->pass->flip & GL_FLIP_HORIZONTAL) != 0;
    const int upwards = (stage->pass->flip & GL_FLIP_VERTICAL) == 0;
    const uint8_t *from = plane + (upwards ? target->height - y - rows : y);
    gl_square square;
    for (int32_t i = 0; i < GL_SQUARE; i++) {
        const int32_t column = x + i < target->width ? x + i : target->width - 1;
        memcpy(&square[i], from + (mirrored ? target->width - 1 - column : column) * stride, GL_SQUARE);
    }
    gl_square_transpose(square);
    for (int32_t i = 0; i < rows; i++)
        memcpy(built + (upwards ? rows - 1 - i : i) * target->stride + x, &square[i], GL_SQUARE);
}

static void whole_turn(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    for (int32_t p = 0; p < target->planes; p++)
        for (int32_t y = 0; y < target->height; y += GL_SQUARE) {
            const int32_t rows = target->height - y < GL_SQUARE ? target->height - y : GL_SQUARE;
            uint8_t *built = gl_target_rows(target, p, y);
            for (int32_t x = 0; x < target->width; x += GL_SQUARE)
                turn_square(stage, plane[p], stride, x, y, rows, built);
            gl_target_put(target, p, y, rows, built, target->stride);
        }
}

const char *gl_turn_check(const gl_pass *pass, gl_shape *shape) {
    (void)pass;
    return gl_size_check(shape->height, shape->width, shape);
}

int gl_turn_begin(gl_stage *stage) {
    return gl_whole_begin(stage, whole_turn);
}

int gl_turn_numbers(gl_stage *stage, const float *src, float *dst) {
    const int32_t width = stage->target.width, height = stage->target.height;
    const int mirrored = (stage->pass->flip & GL_FLIP_HORIZONTAL) != 0;
    const int upwards = (stage->pass->flip & GL_FLIP_VERTICAL) == 0;
    for (int32_t p = 0; p < stage->in_planes; p++, src += (ptrdiff_t)width * height)
        for (int32_t y = 0; y < height; y++, dst += width) {
            const float *column = src + (upwards ? height - 1 - y : y);
            for (int32_t x = 0; x < width; x++)
                dst[x] = column[(ptrdiff_t)(mirrored ? width - 1 - x : x) * height];
        }
    return 0;
}
