#include "stage.h"

#include <string.h>

uint8_t *gl_target_rows(const gl_target *target, int32_t plane, int32_t y) {
    return target->sample != NULL ? target->batch : target->plane[plane] + y * target->stride;
}

/* Looks up n pixels of row y, from column x on. */
static void put_run(const gl_target *target, const gl_shelf *shelf, int32_t plane, int32_t y, int32_t x,
                    const uint8_t *src, size_t n) {
    const size_t width = (size_t)target->width;
    const size_t pixel = (size_t)y * width + (size_t)x;
    if (shelf->interleaved) {
        gl_put_interleaved(shelf, plane, src, n, target->sample + pixel * shelf->item_step);
        return;
    }
    const size_t before = (size_t)plane * (size_t)target->height * width + pixel;
    target->kernels->put(shelf, plane, src, n, target->sample + before * (size_t)shelf->itemsize, target->stream);
}

/* A row in runs between the edges of patches. */
static void put_patched(const gl_target *target, int32_t plane, int32_t y, const uint8_t *src) {
    int32_t end;
    for (int32_t x = 0; x < target->width; x = end) {
        const gl_shelf *shelf = target->shelf;
        end = target->width;
        for (int32_t i = 0; i < target->patches; i++) {
            const gl_window w = target->patch[i].window;
            if (y < w.y || y - w.y >= w.height || x - w.x >= w.width)
                continue;
            const int32_t edge = x < w.x ? w.x : w.x + w.width;
            if (x >= w.x)
                shelf = &target->patch_shelf[i];
            if (edge < end)
                end = edge;
        }
        put_run(target, shelf, plane, y, x, src + x, (size_t)(end - x));
    }
}

void gl_target_put(const gl_target *target, int32_t plane, int32_t y, int32_t rows, const uint8_t *src,
                   ptrdiff_t stride) {
    const size_t width = (size_t)target->width;
    if (target->sample == NULL) {
        uint8_t *dst = target->plane[plane] + y * target->stride;
        if (dst == src)
            return;
        for (int32_t i = 0; i < rows; i++)
            memcpy(dst + i * target->stride, src + i * stride, width);
        return;
    }
    if (target->patches > 0) {
        for (int32_t i = 0; i < rows; i++)
            put_patched(target, plane, y + i, src + i * stride);
        return;
    }
    if (stride == target->width) {
        put_run(target, target->shelf, plane, y, 0, src, (size_t)rows * width);
        return;
    }
    for (int32_t i = 0; i < rows; i++)
        put_run(target, target->shelf, plane, y + i, 0, src + i * stride, width);
}

int gl_is_inside(gl_window w, int64_t width, int64_t height) {
    return w.x >= 0 && w.y >= 0 && w.width >= 1 && w.height >= 1 && (int64_t)w.x + w.width <= width &&
           (int64_t)w.y + w.height <= height;
}

int gl_is_size(int64_t width, int64_t height) {
    return width >= 1 && height >= 1 && width <= GL_PIXELS_MAX && height <= GL_PIXELS_MAX &&
           width * height <= GL_PIXELS_MAX;
}

const char *gl_size_check(int64_t width, int64_t height, gl_shape *shape) {
    if (!gl_is_size(width, height))
        return "an image on the way is empty or has more than 2^31 - 4096 pixels";
    *shape = (gl_shape){shape->planes, (int32_t)width, (int32_t)height};
    return NULL;
}

const char *gl_keep_check(gl_window kept, int64_t width, int64_t height, gl_shape *shape) {
    const char *wrong = gl_size_check(width, height, shape);
    if (wrong == NULL && !gl_is_inside(kept, width, height))
        wrong = "the window to keep is not inside the image";
    return wrong != NULL ? wrong : gl_size_check(kept.width, kept.height, shape);
}

const char *gl_any_check(const gl_pass *pass, gl_shape *shape) {
    (void)pass, (void)shape;
    return NULL;
}

int gl_places_grow(gl_stage *stage) {
    const gl_target *target = &stage->target;
    return target->sample == NULL ? 0 : gl_planes_grow(&stage->scratch->middle, target->planes, target->width, 1);
}

void gl_stage_places(const gl_stage *stage, int32_t y, uint8_t *out[3]) {
    const gl_target *target = &stage->target;
    for (int32_t p = 0; p < target->planes; p++)
        out[p] = target->sample == NULL ? gl_target_rows(target, p, y)
                                        : stage->scratch->middle.data + p * gl_stride(target->width);
}

int gl_rows_begin(gl_stage *stage,
                  void (*row)(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3])) {
    stage->want = (gl_window){0, 0, stage->in_width, stage->in_height};
    stage->take = gl_stage_rows;
    stage->row = row;
    return gl_places_grow(stage);
}

void gl_stage_rows(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_target *target = &stage->target;
    for (int32_t i = 0; i < rows; i++) {
        const uint8_t *in[3] = {plane[0], plane[0], plane[0]};
        for (int32_t p = 0; p < target->planes; p++)
            in[p] = plane[p] + i * stride;
        uint8_t *out[3];
        gl_stage_places(stage, y + i, out);
        stage->row(stage, in, (size_t)target->width, out);
        for (int32_t p = 0; p < target->planes; p++)
            gl_target_put(target, p, y + i, 1, out[p], target->stride);
    }
}

int gl_whole_begin(gl_stage *stage, void (*whole)(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride)) {
    stage->want = (gl_window){0, 0, stage->in_width, stage->in_height};
    stage->take = gl_stage_collect;
    stage->whole = whole;
    return 0;
}

void gl_stage_collect(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_window want = stage->want;
    if (rows == want.height) {
        stage->whole(stage, plane, stride);
        return;
    }
    gl_buffer *region = &stage->scratch->region;
    if (y == 0 && gl_planes_grow(region, stage->in_planes, want.width, want.height) != 0)
        stage->no_memory = 1;
    if (stage->no_memory)
        return;
    const ptrdiff_t region_stride = gl_stride(want.width);
    const uint8_t *planes[3] = {region->data, region->data, region->data};
    for (int32_t p = 0; p < stage->in_planes; p++) {
        uint8_t *to = region->data + p * region_stride * want.height;
        planes[p] = to;
        for (int32_t i = 0; i < rows; i++)
            memcpy(to + (y + i) * region_stride, plane[p] + i * stride, (size_t)want.width);
    }
    if (y + rows == want.height)
        stage->whole(stage, planes, region_stride);
}
