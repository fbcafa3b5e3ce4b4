/* Padding, as torchvision pads a PIL image: ImageOps.expand for a constant, else numpy.pad. */
#include <string.h>

#include "stage.h"

/* The input that padded position i shows (i is 0 at the first input), or -1 for the fill. */
static int32_t input_at(int32_t mode, int64_t i, int64_t n) {
    if (i >= 0 && i < n)
        return (int32_t)i;
    if (mode == GL_CONSTANT)
        return -1;
    if (mode == GL_EDGE || n == 1) /* numpy repeats a lone pixel in every mode */
        return i < 0 ? 0 : (int32_t)(n - 1);
    /* Mirrored without end: a period is there and back, with the edge pixels once or twice. */
    const int64_t back = mode == GL_REFLECT ? 2 * n - 2 : 2 * n - 1;
    const int64_t period = mode == GL_REFLECT ? 2 * n - 2 : 2 * n;
    const int64_t at = (i % period + period) % period;
    return (int32_t)(at < n ? at : back - at);
}

typedef struct span {
    int32_t low, high; /* inputs [low, high) */
} span;

/* Fills map for n outputs from `from` on, and makes it relative to the first input it needs. */
static span map_axis(int32_t *map, int32_t mode, int32_t in, int32_t before, int32_t from, int32_t n, int flip) {
    span need = {INT32_MAX, 0};
    for (int32_t i = 0; i < n; i++) {
        const int32_t at = input_at(mode, (int64_t)from + i - before, in);
        map[flip ? n - 1 - i : i] = at;
        if (at >= 0 && at < need.low)
            need.low = at;
        if (at >= need.high)
            need.high = at + 1;
    }
    if (need.high == 0) /* fill only; but the image must still be looked at, since it may be a bad one */
        need = (span){0, 1};
    for (int32_t i = 0; i < n; i++)
        if (map[i] >= 0)
            map[i] -= need.low;
    return need;
}

static void whole_pad(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    const int32_t *columns = stage->column_map, width = target->width;
    /* The longest middle part that is a plain copy: [left, right). */
    int32_t left = 0;
    while (left < width - 1 && (columns[left] < 0 || columns[left + 1] != columns[left] + 1))
        left++;
    int32_t right = left;
    while (columns[left] >= 0 && right < width && columns[right] == columns[left] + (right - left))
        right++;
    for (int32_t p = 0; p < target->planes; p++) {
        const uint8_t fill = stage->pass->fill[p];
        for (int32_t y = 0; y < target->height; y++) {
            uint8_t *built = gl_target_rows(target, p, y);
            if (stage->row_map[y] < 0) {
                memset(built, fill, (size_t)width);
            } else {
                const uint8_t *row = plane[p] + stage->row_map[y] * stride;
                for (int32_t x = 0; x < left; x++)
                    built[x] = columns[x] < 0 ? fill : row[columns[x]];
                if (right > left)
                    memcpy(built + left, row + columns[left], (size_t)(right - left));
                for (int32_t x = right; x < width; x++)
                    built[x] = columns[x] < 0 ? fill : row[columns[x]];
            }
            gl_target_put(target, p, y, 1, built, target->stride);
        }
    }
}

/* Where a plane's items come from: rows and columns as whole_pad has them. */
static void move_plane(const gl_stage *stage, const float *src, float fill, float *dst) {
    const int32_t width = stage->target.width;
    for (int32_t y = 0; y < stage->target.height; y++, dst += width) {
        const float *row = src + (ptrdiff_t)stage->row_map[y] * stage->in_width;
        for (int32_t x = 0; x < width; x++)
            dst[x] = stage->row_map[y] < 0 || stage->column_map[x] < 0 ? fill : row[stage->column_map[x]];
    }
}

const char *gl_pad_check(const gl_pass *pass, gl_shape *shape) {
    if (pass->left < 0 || pass->top < 0 || pass->right < 0 || pass->bottom < 0)
        return "negative padding";
    if (pass->mode < GL_CONSTANT || pass->mode > GL_SYMMETRIC)
        return "no such padding mode";
    return gl_keep_check(pass->out, (int64_t)shape->width + pass->left + pass->right,
                         (int64_t)shape->height + pass->top + pass->bottom, shape);
}

/* Finds the inputs of what is kept in `out` of the padded image, and the window that they are in; 0, or -1 if out of memory. */
static int map_axes(gl_stage *stage, gl_window out) {
    const gl_pass *pass = stage->pass;
    if (gl_buffer_grow(&stage->scratch->maps, ((size_t)out.width + (size_t)out.height) * sizeof(int32_t)) != 0)
        return -1;
    stage->column_map = (int32_t *)stage->scratch->maps.data;
    stage->row_map = stage->column_map + out.width;
    const span x = map_axis(stage->column_map, pass->mode, stage->in_width, pass->left, out.x, out.width,
                            pass->flip & GL_FLIP_HORIZONTAL);
    const span y = map_axis(stage->row_map, pass->mode, stage->in_height, pass->top, out.y, out.height,
                            pass->flip & GL_FLIP_VERTICAL);
    stage->want = (gl_window){x.low, y.low, x.high - x.low, y.high - y.low};
    return 0;
}

int gl_pad_begin(gl_stage *stage) {
    if (map_axes(stage, stage->pass->out) != 0)
        return -1;
    stage->take = gl_stage_collect;
    stage->whole = whole_pad;
    return 0;
}

/* A crop is padding by nothing: of a pass without a resize. */
int gl_move_numbers(gl_stage *stage, const float *src, float *dst) {
    const gl_pass *pass = stage->pass;
    if (map_axes(stage, pass->kind == GL_PAD ? pass->out : pass->src) != 0)
        return -1;
    src += (ptrdiff_t)stage->want.y * stage->in_width + stage->want.x;
    for (int32_t p = 0; p < stage->target.planes; p++) {
        move_plane(stage, src, pass->number[0][p], dst);
        src += (ptrdiff_t)stage->in_width * stage->in_height;
        dst += (ptrdiff_t)stage->target.width * stage->target.height;
    }
    return 0;
}
