/* Sharpness: a blend with the smoothed image. */
#include <string.h>

#include "stage.h"

static void whole_sharpness(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const size_t width = (size_t)target->width;
    uint8_t *smooth = stage->scratch->middle.data;
    for (int32_t p = 0; p < target->planes; p++)
        for (int32_t y = 0; y < target->height; y++) {
            const uint8_t *row = plane[p] + y * stride;
            uint8_t *built = gl_target_rows(target, p, y);
            memcpy(smooth, row, width); /* Pillow does not smooth the outermost pixels */
            if (y > 0 && y < target->height - 1 && width > 2)
                stage->kernels->smooth(row + 1 - stride, row + 1, row + 1 + stride, width - 2, smooth + 1);
            stage->kernels->blend(smooth, row, stage->pass->factor, width, built);
            gl_target_put(target, p, y, 1, built, target->stride);
        }
}

int gl_sharpness_begin(gl_stage *stage) {
    if (gl_buffer_grow(&stage->scratch->middle, (size_t)stage->in_width) != 0)
        return -1;
    return gl_whole_begin(stage, whole_sharpness);
}
