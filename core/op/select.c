#include "stage.h"

static void take_select(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    for (int32_t p = 0; p < stage->target.planes; p++)
        gl_target_put(&stage->target, p, y, rows, plane[stage->pass->fill[p]], stride);
}

const char *gl_select_check(const gl_pass *pass, gl_shape *shape) {
    if (pass->planes != 1 && pass->planes != 3)
        return "a selection is of 1 or 3 planes";
    for (int32_t p = 0; p < pass->planes; p++)
        if (pass->fill[p] >= shape->planes)
            return "a selected plane is not there";
    shape->planes = pass->planes;
    return NULL;
}

int gl_select_begin(gl_stage *stage) {
    stage->want = (gl_window){0, 0, stage->in_width, stage->in_height};
    stage->take = take_select;
    return 0;
}
