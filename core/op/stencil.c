/* Pillow's ImageFilter.Kernel: each pixel becomes a weighted sum of its neighbours and itself. */
#include <string.h>

#include "stage.h"

static void whole_stencil(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const gl_pass *pass = stage->pass;
    const int32_t side = pass->width, margin = side / 2, width = target->width, height = target->height;
    for (int32_t p = 0; p < target->planes; p++)
        for (int32_t y = 0; y < height; y++) {
            const uint8_t *row = plane[p] + y * stride;
            uint8_t *built = gl_target_rows(target, p, y);
            memcpy(built, row, (size_t)width); /* the outermost pixels stay */
            if (y >= margin && y < height - margin && width > 2 * margin) {
                const uint8_t *rows[GL_STENCIL_MAX];
                for (int32_t i = 0; i < side; i++)
                    rows[i] = row + (i - margin) * stride + margin;
                stage->kernels->stencil(side, pass->weight[0], pass->factor, rows, (size_t)(width - 2 * margin),
                                        built + margin);
            }
            gl_target_put(target, p, y, 1, built, target->stride);
        }
}

const char *gl_stencil_check(const gl_pass *pass, gl_shape *shape) {
    (void)shape;
    if (pass->width != 3 && pass->width != GL_STENCIL_MAX)
        return "a stencil has 3 or 5 rows and columns";
    for (int32_t i = 0; i < pass->width * pass->width; i++)
        if (!(pass->weight[0][i] >= -GL_STENCIL_WEIGHT_MAX && pass->weight[0][i] <= GL_STENCIL_WEIGHT_MAX))
            return "a weight that is too large";
    return pass->factor >= -GL_STENCIL_WEIGHT_MAX && pass->factor <= GL_STENCIL_WEIGHT_MAX ? NULL : "no offset";
}

int gl_stencil_begin(gl_stage *stage) {
    return gl_whole_begin(stage, whole_stencil);
}
