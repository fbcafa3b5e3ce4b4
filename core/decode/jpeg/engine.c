/* engine.c: our own decoder as a gl_decoder.
 *
 * An image is first decoded to planes as far as the window needs it, and only then handed over: whatever turns up on
 * the way, libjpeg-turbo can still take the image from its beginning. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"

enum {
    /* A buffer that one huge image left larger than this goes back to the system. */
    KEEP_BYTES = 32 << 20
};

/* Pillow warns of a decompression bomb from here on; turbo.c says how that ends. */
static const int64_t PIXELS_MAX = 89478485;

/* What one worker keeps. */
typedef struct own {
    const gl_jpeg_kernels *kernels;
    void *turbo; /* state of gl_jpeg_turbo; NULL: alone */
    gl_jpeg_frame frame;
    gl_jpeg_dc dc[GL_JPEG_TABLES];
    gl_jpeg_ac ac[GL_JPEG_TABLES];
    gl_jpeg_stream stream;
    gl_jpeg_index index;
    gl_jpeg_region region;
    gl_jpeg_buffer strip;
} own;

static void own_close(void *state) {
    own *o = state;
    if (o->turbo) {
        gl_jpeg_turbo.close(o->turbo);
    }
    gl_jpeg_buffer_free(&o->stream.bytes);
    gl_jpeg_buffer_free(&o->stream.starts);
    gl_jpeg_buffer_free(&o->region.samples);
    gl_jpeg_buffer_free(&o->region.blocks);
    gl_jpeg_buffer_free(&o->strip);
    free(o);
}

static void *own_alone_open(void) {
    own *o = calloc(1, sizeof *o);
    if (o) {
        o->kernels = gl_jpeg_kernels_chosen();
    }
    return o;
}

static void *own_open(void) {
    own *o = own_alone_open();
    if (o) {
        o->turbo = gl_jpeg_turbo.open();
        if (!o->turbo) {
            own_close(o);
            o = NULL;
        }
    }
    return o;
}

/* Sets the scan to the beginning of the stream [A.2.3: the order of blocks in an MCU]. */
static int begin_scan(own *o, gl_jpeg_scan *scan) {
    *scan = (gl_jpeg_scan){.bytes = o->stream.bytes.data};
    memcpy(&scan->size, o->stream.starts.data + o->stream.intervals * sizeof scan->size, sizeof scan->size);
    for (int c = 0; c < o->frame.components; c++) {
        const gl_jpeg_component *component = &o->frame.component[c];
        gl_jpeg_dc *dc = &o->dc[component->dc];
        gl_jpeg_ac *ac = &o->ac[component->ac];
        if (gl_jpeg_dc_build(dc, &o->frame.dc[component->dc]) != GL_JPEG_OK ||
            gl_jpeg_ac_build(ac, &o->frame.ac[component->ac]) != GL_JPEG_OK) {
            return GL_JPEG_NOT_OURS;
        }
        for (int32_t i = 0; i < component->across * component->down; i++) {
            scan->block[scan->unit_blocks++] = (gl_jpeg_block_kind){dc, ac, c};
        }
    }
    return GL_JPEG_OK;
}

static int decode_alone(own *o, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                        gl_seek *seek, gl_sink *sink) {
    gl_jpeg_frame *frame = &o->frame;
    if ((int64_t)width * height > PIXELS_MAX || gl_jpeg_header_refusal(data, size) ||
        gl_jpeg_parse(data, size, frame) != GL_JPEG_OK || frame->width != width || frame->height != height) {
        return GL_JPEG_NOT_OURS;
    }
    /* Fewer bits than MCUs: a file that claims a size it cannot fill, found out before the memory is asked for. */
    if ((uint64_t)frame->units_across * (uint64_t)frame->units_down > (uint64_t)size * 8) {
        return GL_JPEG_NOT_OURS;
    }
    gl_jpeg_scan scan;
    const size_t scan_size = size - (size_t)(frame->scan - data);
    if (gl_jpeg_unstuff(frame->scan, scan_size, frame->restart_units > 0, &o->stream) != GL_JPEG_OK ||
        begin_scan(o, &scan) != GL_JPEG_OK) {
        return GL_JPEG_NOT_OURS;
    }
    gl_jpeg_index_open(&o->index, seek, data, size, frame);
    if (gl_jpeg_region_begin(&o->region, o->kernels, frame, &o->stream, &o->index, scan.unit_blocks, want) !=
        GL_JPEG_OK) {
        return GL_JPEG_NOT_OURS;
    }
    for (;;) {
        gl_jpeg_stretch next;
        if (gl_jpeg_region_next(&o->region, &scan, &next) != GL_JPEG_OK) {
            return GL_JPEG_NOT_OURS;
        }
        if (next.units == 0) {
            break;
        }
        if (o->kernels->scan(&scan, next.units, next.blocks) != GL_JPEG_OK) {
            return GL_JPEG_NOT_OURS;
        }
    }
    gl_jpeg_index_close(&o->index);
    return gl_jpeg_rows_hand_over(&o->region, o->kernels, frame, want, &o->strip, sink);
}

static void release_if_huge(gl_jpeg_buffer *buffer) {
    if (buffer->size > KEEP_BYTES) {
        gl_jpeg_buffer_free(buffer);
    }
}

static int own_decode(void *state, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                      gl_seek *seek, gl_sink *sink, char why[GL_WHY_BYTES]) {
    own *o = state;
    why[0] = 0;
    const int status = decode_alone(o, data, size, width, height, want, seek, sink);
    release_if_huge(&o->stream.bytes);
    release_if_huge(&o->stream.starts);
    release_if_huge(&o->region.samples);
    release_if_huge(&o->region.blocks);
    release_if_huge(&o->strip);
    if (status == GL_JPEG_OK) {
        return GL_DECODED;
    }
    if (o->turbo) {
        return gl_jpeg_turbo.decode(o->turbo, data, size, width, height, want, seek, sink, why);
    }
    snprintf(why, GL_WHY_BYTES, "not a plain sound file");
    return GL_REFUSED;
}

const gl_decoder gl_jpeg_own = {"jpeg", own_open, own_close, own_decode};
const gl_decoder gl_jpeg_own_alone = {"jpeg, alone", own_alone_open, own_close, own_decode};
