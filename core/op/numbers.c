/* Passes over numbers alone: those that bytes have become. */
#include <string.h>

#include "stage.h"

int gl_no_bytes(gl_stage *stage) {
    (void)stage;
    return -1;
}

int gl_no_numbers(gl_stage *stage, const float *src, float *dst) {
    (void)stage, (void)src, (void)dst;
    return -1;
}

int gl_changes_in_place(const gl_pass *pass) {
    return pass->kind == GL_NORMALIZE || pass->kind == GL_ERASE;
}

int gl_normalize_numbers(gl_stage *stage, const float *src, float *dst) {
    const size_t pixels = (size_t)stage->in_width * (size_t)stage->in_height;
    for (int32_t p = 0; p < stage->in_planes; p++, src += pixels, dst += pixels) {
        const float less = stage->pass->number[0][p], by = stage->pass->number[1][p];
        for (size_t i = 0; i < pixels; i++)
            dst[i] = (src[i] - less) / by;
    }
    return 0;
}

const char *gl_erase_check(const gl_pass *pass, gl_shape *shape) {
    return gl_is_inside(pass->out, shape->width, shape->height) ? NULL : "what is erased is not inside the image";
}

int gl_erase_numbers(gl_stage *stage, const float *src, float *dst) {
    (void)src;
    const gl_pass *pass = stage->pass;
    const gl_window out = pass->out;
    const size_t pixels = (size_t)out.width * (size_t)out.height;
    const float *noise = NULL;
    if (pass->noise != 0) {
        gl_noise *const drawn = &stage->noise[pass->noise - 1];
        const size_t count = (size_t)stage->in_planes * pixels;
        if (gl_buffer_grow(&stage->scratch->words, count * sizeof(float)) != 0)
            return -1;
        float *const made = (float *)(void *)stage->scratch->words.data;
        drawn->fill(drawn, made, count);
        noise = made;
    }
    for (int32_t p = 0; p < stage->in_planes; p++)
        for (int32_t y = 0; y < out.height; y++) {
            float *row = dst + ((size_t)p * (size_t)stage->in_height + (size_t)(out.y + y)) * (size_t)stage->in_width;
            for (int32_t x = 0; x < out.width; x++)
                row[out.x + x] = noise != NULL ? *noise++ : pass->number[0][p];
        }
    return 0;
}
