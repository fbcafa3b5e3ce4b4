/* region.c: the MCUs a window needs, decoded to planes of samples.
 *
 * The code of a JPEG can only be read from its beginning, so all MCUs down to the last wanted row are read; but
 * the coefficients of those outside the region are not kept, and nothing is done with them.  A seek index (index.c)
 * spares most of these too. */
#include <string.h>

#include "engine.h"

enum {
    MARGIN = 64, /* bytes before each row of a plane: its left neighbour, on a boundary */
    /* MCUs read at a time where nobody wants them: their blocks stay in the first-level cache. */
    SKIPPED_AT_ONCE = 8,
    IDCT_COLUMNS = 32,
    /* Larger regions are for libjpeg-turbo, which keeps a few rows only. */
    PLANES_BYTES_MAX = 128 << 20
};

/* The MCUs of `size` pixels each that pixels from `from` up to `to` need, if they need `margin` pixels around them. */
static gl_jpeg_extent units_of(int32_t from, int32_t to, int32_t margin, int32_t size, int32_t units) {
    const int32_t end = (to + margin + size - 1) / size;
    return (gl_jpeg_extent){from > margin ? (from - margin) / size : 0, end < units ? end : units};
}

static int make_planes(gl_jpeg_region *region, const gl_jpeg_frame *frame, gl_jpeg_extent across, gl_jpeg_extent down) {
    size_t offset[GL_JPEG_COMPONENTS_MAX], bytes = 0;
    for (int c = 0; c < frame->components; c++) {
        const gl_jpeg_component *component = &frame->component[c];
        const size_t columns = (size_t)(across.end - across.begin) * component->across * 8;
        const size_t rows = (size_t)(down.end - down.begin) * component->down * 8;
        const size_t stride = (MARGIN + columns + IDCT_COLUMNS + GL_JPEG_KERNEL_SLACK + GL_ROW_SLACK + 63) / 64 * 64;
        region->plane[c] = (gl_jpeg_plane){
            .stride = (ptrdiff_t)stride,
            .x = across.begin * component->across * 8,
            .y = down.begin * component->down * 8,
        };
        offset[c] = bytes + MARGIN;
        bytes += stride * rows;
    }
    if (bytes > PLANES_BYTES_MAX || gl_jpeg_buffer_grow(&region->samples, bytes + MARGIN) != 0) {
        return GL_JPEG_NOT_OURS;
    }
    for (int c = 0; c < frame->components; c++) {
        region->plane[c].origin = region->samples.data + offset[c];
    }
    return GL_JPEG_OK;
}

/* Transforms the kept MCUs into row `row` of MCUs of the planes. */
static int transform_row(const gl_jpeg_region *region, int32_t row) {
    const gl_jpeg_frame *frame = region->frame;
    const int32_t units = region->across.end - region->across.begin;
    int overflows = 0;
    int32_t first = 0; /* the component's first block in an MCU */
    for (int c = 0; c < frame->components; c++) {
        const gl_jpeg_component *component = &frame->component[c];
        const gl_jpeg_plane *plane = &region->plane[c];
        const int32_t wide = component->across, columns = units * wide;
        for (int32_t v = 0; v < component->down; v++, first += wide) {
            uint8_t *out = plane->origin + ((ptrdiff_t)row * component->down + v) * 8 * plane->stride;
            for (int32_t column = 0; column < columns; column += 4) {
                const int16_t *four[4];
                for (int32_t i = 0; i < 4; i++) {
                    /* Where there are no four, the last one again: there is room for it. */
                    const int32_t k = column + i < columns ? column + i : columns - 1;
                    const int32_t unit = wide == 2 ? k >> 1 : k, within = wide == 2 ? k & 1 : 0;
                    four[i] = region->kept + ((ptrdiff_t)unit * region->unit_blocks + first + within) * GL_JPEG_BLOCK;
                }
                overflows |=
                    region->kernels->idct(four, frame->quant[component->quant], out + 8 * column, plane->stride);
            }
        }
    }
    return overflows ? GL_JPEG_NOT_OURS : GL_JPEG_OK;
}

/* Upsampling takes the samples beyond the left and right edge of the image to equal those at the edge. */
static void extend_edges(gl_jpeg_region *region, const gl_jpeg_frame *frame, gl_jpeg_extent across, int32_t rows) {
    for (int c = 1; c < frame->components; c++) {
        const gl_jpeg_component *component = &frame->component[c];
        const gl_jpeg_plane *plane = &region->plane[c];
        const int32_t width = component->width - plane->x; /* columns from the region's left on */
        for (int32_t y = 0; y < rows * component->down * 8; y++) {
            uint8_t *row = plane->origin + (ptrdiff_t)y * plane->stride;
            if (across.begin == 0) {
                row[-1] = row[0];
            }
            if (across.end == frame->units_across) {
                row[width] = row[width - 1];
            }
        }
    }
}

static size_t start_of(const gl_jpeg_stream *stream, size_t interval) {
    size_t offset;
    memcpy(&offset, stream->starts.data + interval * sizeof offset, sizeof offset);
    return offset;
}

static size_t bytes_read(const gl_jpeg_scan *scan) {
    return (size_t)((scan->bit + 7) / 8);
}

/* Goes to the next restart interval [F.2.2.4, E.2.4].  The one before must have been read to its last byte: libjpeg
 * warns of bytes left over as well as of missing ones. */
static int next_interval(gl_jpeg_region *region, gl_jpeg_scan *scan) {
    const gl_jpeg_stream *stream = region->stream;
    if (region->interval + 1 >= stream->intervals || bytes_read(scan) != start_of(stream, region->interval + 1)) {
        return GL_JPEG_NOT_OURS;
    }
    region->interval++;
    region->interval_units = region->frame->restart_units;
    scan->bit = (uint64_t)start_of(stream, region->interval) * 8;
    memset(scan->prediction, 0, sizeof scan->prediction);
    return GL_JPEG_OK;
}

int gl_jpeg_region_begin(gl_jpeg_region *region, const gl_jpeg_kernels *kernels, const gl_jpeg_frame *frame,
                         const gl_jpeg_stream *stream, gl_jpeg_index *index, int32_t unit_blocks, gl_window want) {
    /* Upsampling looks at the next chroma sample, which is two pixels away. */
    const int32_t margin_x = frame->unit_width > 8 ? 2 : 0, margin_y = frame->unit_height > 8 ? 2 : 0;
    region->kernels = kernels;
    region->frame = frame;
    region->stream = stream;
    region->index = index;
    region->unit_blocks = unit_blocks;
    region->across = units_of(want.x, want.x + want.width, margin_x, frame->unit_width, frame->units_across);
    region->down = units_of(want.y, want.y + want.height, margin_y, frame->unit_height, frame->units_down);
    region->row = region->down.begin;
    region->column = region->across.begin;
    region->unit = 0;
    region->interval = 0;
    region->interval_units = frame->restart_units;
    const int32_t kept = region->across.end - region->across.begin;
    const size_t unit_bytes = (size_t)unit_blocks * GL_JPEG_BLOCK * sizeof(int16_t);
    const size_t slack = GL_JPEG_BLOCKS_SLACK * sizeof(int16_t);
    const size_t skipped_bytes = SKIPPED_AT_ONCE * unit_bytes + slack;
    region->kept_bytes = (size_t)kept * unit_bytes + slack;
    if (make_planes(region, frame, region->across, region->down) != GL_JPEG_OK ||
        gl_jpeg_buffer_grow(&region->blocks, region->kept_bytes + skipped_bytes) != 0) {
        return GL_JPEG_NOT_OURS;
    }
    region->skipped = (int16_t *)region->blocks.data;
    region->kept = (int16_t *)(region->blocks.data + skipped_bytes);
    return GL_JPEG_OK;
}

/* Goes to a place of the index between here and MCU `target`, if there is one. */
static int skip_towards(gl_jpeg_region *region, gl_jpeg_scan *scan, int32_t target) {
    const int32_t place = gl_jpeg_index_before(region->index, target);
    if (place <= region->unit) {
        return GL_JPEG_OK;
    }
    const int32_t restart_units = region->frame->restart_units;
    if (restart_units) {
        region->interval = (size_t)(place / restart_units);
        region->interval_units = restart_units - place % restart_units;
        if (region->interval >= region->stream->intervals) {
            return GL_JPEG_NOT_OURS;
        }
    }
    region->unit = place;
    return gl_jpeg_index_go(region->index, place, scan);
}

/* The last MCU is read. */
static int finish(gl_jpeg_region *region, const gl_jpeg_scan *scan) {
    if (bytes_read(scan) > start_of(region->stream, region->interval + 1)) {
        return GL_JPEG_NOT_OURS;
    }
    if (region->frame->unit_width > 8) {
        extend_edges(region, region->frame, region->across, region->down.end - region->down.begin);
    }
    return GL_JPEG_OK;
}

static int32_t least(int32_t a, int32_t b) {
    return a < b ? a : b;
}

int gl_jpeg_region_next(gl_jpeg_region *region, gl_jpeg_scan *scan, gl_jpeg_stretch *next) {
    const gl_jpeg_extent across = region->across, down = region->down;
    next->units = 0;
    if (region->column == across.end) {
        if (transform_row(region, region->row - down.begin) != GL_JPEG_OK) {
            return GL_JPEG_NOT_OURS;
        }
        region->column = across.begin;
        region->row++;
        if (region->row == down.end) {
            return finish(region, scan);
        }
    }
    const int32_t target = region->row * region->frame->units_across + region->column;
    if (region->unit < target && skip_towards(region, scan, target) != GL_JPEG_OK) {
        return GL_JPEG_NOT_OURS;
    }
    if (region->frame->restart_units && region->interval_units == 0 && next_interval(region, scan) != GL_JPEG_OK) {
        return GL_JPEG_NOT_OURS;
    }
    if (region->unit == gl_jpeg_index_wants(region->index)) {
        gl_jpeg_index_note(region->index, scan);
    }
    /* No further than where something is to be done. */
    int32_t n = gl_jpeg_index_wants(region->index) - region->unit;
    if (region->frame->restart_units) {
        n = least(n, region->interval_units);
    }
    if (region->unit < target) {
        n = least(n, least(target - region->unit, SKIPPED_AT_ONCE));
        next->blocks = region->skipped;
    } else {
        n = least(n, across.end - region->column);
        if (region->column == across.begin) {
            memset(region->kept, 0, region->kept_bytes);
        }
        next->blocks = region->kept + (ptrdiff_t)(region->column - across.begin) * region->unit_blocks * GL_JPEG_BLOCK;
        region->column += n;
    }
    region->interval_units -= n;
    region->unit += n;
    next->units = n;
    return GL_JPEG_OK;
}
