/* Box blurs: across the image and then down, each as often as the pass says. */
#include <string.h>

#include "square.h"
#include "stage.h"

static gl_box box_of(float radius) {
    gl_box box = {.radius = (int32_t)radius};
    box.inner = (uint32_t)((float)(1 << 24) / (radius * 2 + 1));
    /* Where inner was rounded up, the box alone may weigh more than 2^24: Pillow's difference wraps as well. */
    box.outer = ((1u << 24) - (2 * (uint32_t)box.radius + 1) * box.inner) / 2;
    return box;
}

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static size_t plane_bytes(const gl_stage *stage) {
    return (size_t)gl_stride(stage->in_width) * (size_t)stage->in_height;
}

static size_t strip_bytes(const gl_stage *stage) {
    return (size_t)GL_STRIP * (size_t)(stage->in_width > stage->in_height ? stage->in_width : stage->in_height);
}

/* One of two, behind the plane for results. */
static uint8_t *strip_of(const gl_stage *stage, int i) {
    return stage->scratch->middle.data + plane_bytes(stage) + (size_t)i * strip_bytes(stage);
}

/* Blurs the first strip as often as the pass says; gives the strip that holds the result. */
static const uint8_t *blur_strip(const gl_stage *stage, float radius, int32_t n) {
    const gl_box box = box_of(radius);
    uint8_t *from = strip_of(stage, 0), *to = strip_of(stage, 1);
    for (int32_t i = 0; i < stage->pass->times; i++) {
        stage->kernels->blur(&box, from, n, to);
        uint8_t *const blurred = to;
        to = from;
        from = blurred;
    }
    return from;
}

/* Turns a block, so that its columns become rows: `to` gets no more of them than there are, each up to 15 bytes longer. */
static void turn_block(const uint8_t *from, ptrdiff_t from_stride, int32_t rows, int32_t columns, uint8_t *to,
                       ptrdiff_t to_stride) {
    gl_square square;
    for (int32_t y = 0; y < rows; y += GL_SQUARE)
        for (int32_t x = 0; x < columns; x += GL_SQUARE) {
            for (int32_t i = 0; i < GL_SQUARE; i++)
                memcpy(&square[i], from + smaller(y + i, rows - 1) * from_stride + x, GL_SQUARE);
            gl_square_transpose(square);
            for (int32_t i = 0; i < smaller(GL_SQUARE, columns - x); i++)
                memcpy(to + (x + i) * to_stride + y, &square[i], GL_SQUARE);
        }
}

static void blur_across(const gl_stage *stage, const uint8_t *plane, ptrdiff_t stride, uint8_t *out) {
    const int32_t width = stage->in_width, height = stage->in_height;
    for (int32_t y = 0; y < height; y += GL_STRIP) {
        const int32_t rows = smaller(GL_STRIP, height - y);
        turn_block(plane + y * stride, stride, rows, width, strip_of(stage, 0), GL_STRIP);
        const uint8_t *blurred = blur_strip(stage, stage->pass->radius[0], width);
        turn_block(blurred, GL_STRIP, width, rows, out + y * gl_stride(width), gl_stride(width));
    }
}

static void blur_down(const gl_stage *stage, const uint8_t *plane, ptrdiff_t stride, uint8_t *out) {
    const int32_t width = stage->in_width, height = stage->in_height;
    for (int32_t x = 0; x < width; x += GL_STRIP) {
        uint8_t *strip = strip_of(stage, 0);
        const size_t columns = (size_t)smaller(GL_STRIP, width - x);
        for (int32_t y = 0; y < height; y++)
            memcpy(strip + gl_strip_offset(y), plane + y * stride + x, columns);
        const uint8_t *blurred = blur_strip(stage, stage->pass->radius[1], height);
        for (int32_t y = 0; y < height; y++)
            memcpy(out + y * gl_stride(width) + x, blurred + gl_strip_offset(y), columns);
    }
}

static void whole_blur(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    uint8_t *const out = stage->scratch->middle.data;
    for (int32_t p = 0; p < target->planes; p++) {
        const uint8_t *from = plane[p];
        ptrdiff_t from_stride = stride;
        if (stage->pass->radius[0] > 0) {
            blur_across(stage, from, from_stride, out);
            from = out;
            from_stride = gl_stride(target->width);
        }
        if (stage->pass->radius[1] > 0) {
            blur_down(stage, from, from_stride, out);
            from = out;
            from_stride = gl_stride(target->width);
        }
        gl_target_put(target, p, 0, target->height, from, from_stride);
    }
}

const char *gl_blur_check(const gl_pass *pass, gl_shape *shape) {
    (void)shape;
    for (int32_t i = 0; i < 2; i++)
        if (!(pass->radius[i] >= 0 && pass->radius[i] <= GL_RADIUS_MAX))
            return "no radius to blur with";
    return pass->times >= 1 && pass->times <= GL_TIMES_MAX ? NULL : "a blur is done 1 to 16 times";
}

int gl_blur_begin(gl_stage *stage) {
    if (gl_buffer_grow(&stage->scratch->middle, plane_bytes(stage) + 2 * strip_bytes(stage)) != 0)
        return -1;
    return gl_whole_begin(stage, whole_blur);
}
