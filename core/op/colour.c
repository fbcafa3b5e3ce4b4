/* The passes that change each pixel by itself. */
#include <math.h>
#include <string.h>

#include "stage.h"

static void lookup_row(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]) {
    for (int32_t p = 0; p < stage->in_planes; p++)
        stage->kernels->lookup(stage->pass->table[p], in[p], n, out[p]);
}

int gl_lookup_begin(gl_stage *stage) {
    return gl_rows_begin(stage, lookup_row);
}

/* A single plane is as it would be. */
static int copies_grey(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]) {
    if (stage->in_planes == 1)
        memcpy(out[0], in[0], n);
    return stage->in_planes == 1;
}

static void saturation_row(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]) {
    if (copies_grey(stage, in, n, out))
        return;
    uint8_t *grey = stage->scratch->region.data;
    stage->kernels->grey(in[0], in[1], in[2], n, grey);
    for (int32_t p = 0; p < 3; p++)
        stage->kernels->blend(grey, in[p], stage->pass->factor, n, out[p]);
}

const char *gl_factor_check(const gl_pass *pass, gl_shape *shape) {
    (void)shape;
    return isfinite(pass->factor) ? NULL : "a factor that is not finite";
}

int gl_saturation_begin(gl_stage *stage) {
    if (gl_buffer_grow(&stage->scratch->region, (size_t)stage->in_width) != 0)
        return -1;
    return gl_rows_begin(stage, saturation_row);
}

static void hue_row(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]) {
    if (!copies_grey(stage, in, n, out))
        stage->kernels->hue(stage->pass->shift, in, n, out);
}

const char *gl_hue_check(const gl_pass *pass, gl_shape *shape) {
    (void)shape;
    return pass->shift >= 0 && pass->shift <= UINT8_MAX ? NULL : "hue is shifted by 0 to 255";
}

int gl_hue_begin(gl_stage *stage) {
    return gl_rows_begin(stage, hue_row);
}
