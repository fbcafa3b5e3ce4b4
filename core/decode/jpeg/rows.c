/* rows.c: from planes of samples to rows of RGB. */
#include "engine.h"

enum { ROWS_MAX = 16 /* rows of a strip: few enough to stay in the cache until the sink reads them */ };

/* A sample of the region by its place in the component. */
static const uint8_t *sample_at(const gl_jpeg_plane *plane, int32_t x, int32_t y) {
    return plane->origin + (ptrdiff_t)(y - plane->y) * plane->stride + (x - plane->x);
}

/* The chroma row of component c for row y of the image, from its column x on; `room` is for what has to be computed. */
static const uint8_t *chroma_row(const gl_jpeg_region *region, const gl_jpeg_kernels *kernels,
                                 const gl_jpeg_frame *frame, int c, int32_t x, int32_t y, int32_t width,
                                 uint8_t *room) {
    const gl_jpeg_plane *plane = &region->plane[c];
    const int half_width = frame->unit_width > 8, half_height = frame->unit_height > 8;
    const int32_t column = half_width ? x >> 1 : x;
    const int32_t columns = half_width ? ((x + width + 1) >> 1) - column : width;
    if (!half_height) {
        const uint8_t *row = sample_at(plane, column, y);
        if (!half_width) {
            return row;
        }
        kernels->h2v1(row, columns, room);
        return room + (x & 1);
    }
    /* The upper of the two rows that share a chroma row looks up, the lower one down. */
    const int32_t last = frame->component[c].height - 1, near = y >> 1;
    const int looks_down = y & 1;
    int32_t far = looks_down ? near + 1 : near - 1;
    far = far < 0 ? 0 : far > last ? last : far;
    const uint8_t *near_row = sample_at(plane, column, near), *far_row = sample_at(plane, column, far);
    if (half_width) {
        kernels->h2v2(near_row, far_row, columns, room);
        return room + (x & 1);
    }
    kernels->h1v2(near_row, far_row, looks_down ? 2 : 1, columns, room);
    return room;
}

int gl_jpeg_rows_hand_over(const gl_jpeg_region *region, const gl_jpeg_kernels *kernels, const gl_jpeg_frame *frame,
                           gl_window want, gl_jpeg_buffer *strip, gl_sink *sink) {
    if (frame->colours != GL_JPEG_YCC) {
        const uint8_t *plane[3];
        for (int p = 0; p < 3; p++) {
            plane[p] = sample_at(&region->plane[frame->colours == GL_JPEG_RGB ? p : 0], want.x, want.y);
        }
        sink->strip(sink, 0, want.height, plane, region->plane[0].stride);
        return GL_JPEG_OK;
    }
    const size_t stride = ((size_t)want.width + GL_JPEG_KERNEL_SLACK + GL_ROW_SLACK + 63) / 64 * 64;
    if (gl_jpeg_buffer_grow(strip, (3 * ROWS_MAX + 2) * stride) != 0) {
        return GL_JPEG_NOT_OURS;
    }
    uint8_t *const r = strip->data, *const g = r + ROWS_MAX * stride, *const b = g + ROWS_MAX * stride;
    uint8_t *const room[2] = {b + ROWS_MAX * stride, b + (ROWS_MAX + 1) * stride};
    const uint8_t *const planes[3] = {r, g, b};
    for (int32_t y = 0; y < want.height; y += ROWS_MAX) {
        const int32_t rows = want.height - y < ROWS_MAX ? want.height - y : ROWS_MAX;
        for (int32_t i = 0; i < rows; i++) {
            const int32_t at = want.y + y + i;
            const uint8_t *chroma[2];
            for (int c = 0; c < 2; c++) {
                chroma[c] = chroma_row(region, kernels, frame, 1 + c, want.x, at, want.width, room[c]);
            }
            const size_t to = (size_t)i * stride;
            kernels->colour(sample_at(&region->plane[0], want.x, at), chroma[0], chroma[1], want.width, r + to, g + to,
                            b + to);
        }
        sink->strip(sink, y, rows, planes, (ptrdiff_t)stride);
    }
    return GL_JPEG_OK;
}
