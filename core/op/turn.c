/* A quarter turn. */
#include "stage.h"

enum { TILE = 16 }; /* columns of the input that become rows together: as many lines as the first-level cache likes */

static void whole_turn(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    for (int32_t p = 0; p < target->planes; p++)
        for (int32_t y = 0; y < target->height; y += TILE) {
            const int32_t rows = target->height - y < TILE ? target->height - y : TILE;
            uint8_t *built = gl_target_rows(target, p, y);
            for (int32_t x = 0; x < target->width; x++) {
                /* Counter-clockwise, the right column becomes the first row; flips are of the result. */
                const int32_t from = stage->pass->flip & GL_FLIP_HORIZONTAL ? target->width - 1 - x : x;
                const uint8_t *in = plane[p] + from * stride;
                for (int32_t i = 0; i < rows; i++)
                    built[i * target->stride + x] =
                        in[stage->pass->flip & GL_FLIP_VERTICAL ? y + i : target->height - 1 - (y + i)];
            }
            gl_target_put(target, p, y, rows, built, target->stride);
        }
}

int gl_turn_begin(gl_stage *stage) {
    stage->want = (gl_window){0, 0, stage->in_width, stage->in_height};
    stage->take = gl_stage_collect;
    stage->whole = whole_turn;
    return 0;
}
