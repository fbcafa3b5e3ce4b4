#include "stage.h"

static void take_grey(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    for (int32_t i = 0; i < rows; i++) {
        const uint8_t *grey = plane[0] + i * stride;
        if (stage->in_planes == 3) {
            uint8_t *built = gl_target_rows(target, 0, y + i);
            (stage->pass->mode == GL_GREY_OPENCV ? gl_opencv_grey : stage->kernels->grey)(
                grey, plane[1] + i * stride, plane[2] + i * stride, (size_t)target->width, built);
            grey = built;
        }
        for (int32_t p = 0; p < target->planes; p++)
            gl_target_put(target, p, y + i, 1, grey, target->stride);
    }
}

const char *gl_grey_check(const gl_pass *pass, gl_shape *shape) {
    if (pass->planes != 1 && pass->planes != 3)
        return "grey leaves 1 or 3 planes";
    if (pass->mode != GL_GREY_PILLOW && pass->mode != GL_GREY_OPENCV)
        return "no such grey";
    shape->planes = pass->planes;
    return NULL;
}

int gl_grey_begin(gl_stage *stage) {
    stage->want = (gl_window){0, 0, stage->in_width, stage->in_height};
    stage->take = take_grey;
    return 0;
}
