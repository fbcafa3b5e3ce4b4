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

typedef struct own own;

/* An image under way, and what is kept for the next one. */
typedef struct lane {
    gl_jpeg_lane read; /* first: scan.c sees only this */
    own *engine;
    gl_feed *feed;
    gl_image *image; /* NULL: none */
    gl_jpeg_frame frame;
    gl_jpeg_stream stream;
    gl_jpeg_index index;
    gl_jpeg_region region;
} lane;

/* What one worker keeps. */
struct own {
    const gl_jpeg_kernels *kernels;
    void *turbo; /* state of gl_jpeg_turbo; NULL: alone */
    gl_jpeg_tables tables;
    gl_jpeg_buffer strip;
    lane lane[GL_JPEG_LANES];
};

_Static_assert((int)GL_JPEG_LANES == (int)GL_IMAGES_AT_ONCE, "a feed gives no more images at once");

static void own_close(void *state) {
    own *o = state;
    if (o->turbo) {
        gl_jpeg_turbo.close(o->turbo);
    }
    for (int i = 0; i < GL_JPEG_LANES; i++) {
        gl_jpeg_buffer_free(&o->lane[i].stream.bytes);
        gl_jpeg_buffer_free(&o->lane[i].stream.starts);
        gl_jpeg_buffer_free(&o->lane[i].region.samples);
        gl_jpeg_buffer_free(&o->lane[i].region.blocks);
    }
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

/* Sets the lane's scan to the beginning of its stream [A.2.3: the order of blocks in an MCU]. */
static int begin_scan(lane *l) {
    gl_jpeg_tables *tables = &l->engine->tables;
    const int32_t number = (int32_t)(l - l->engine->lane);
    gl_jpeg_scan *scan = &l->read.scan;
    *scan = (gl_jpeg_scan){.bytes = l->stream.bytes.data};
    memcpy(&scan->size, l->stream.starts.data + l->stream.intervals * sizeof scan->size, sizeof scan->size);
    for (int c = 0; c < l->frame.components; c++) {
        const gl_jpeg_component *component = &l->frame.component[c];
        const gl_jpeg_dc *dc = gl_jpeg_tables_dc(tables, &l->frame.dc[component->dc], number);
        const gl_jpeg_ac *ac = gl_jpeg_tables_ac(tables, &l->frame.ac[component->ac], number);
        if (!dc || !ac) {
            return GL_JPEG_NOT_OURS;
        }
        for (int32_t i = 0; i < component->across * component->down; i++) {
            scan->block[scan->unit_blocks++] = (gl_jpeg_block_kind){dc, ac, c};
        }
    }
    return GL_JPEG_OK;
}

/* Makes ready to read the lane's image. */
static int begin_image(lane *l) {
    gl_jpeg_frame *frame = &l->frame;
    const gl_image *image = l->image;
    const uint8_t *data = image->data;
    if ((int64_t)image->width * image->height > PIXELS_MAX || gl_jpeg_header_refusal(data, image->size) ||
        gl_jpeg_parse(data, image->size, frame) != GL_JPEG_OK || frame->width != image->width ||
        frame->height != image->height) {
        return GL_JPEG_NOT_OURS;
    }
    /* Fewer bits than MCUs: a file that claims a size it cannot fill, found out before the memory is asked for. */
    if ((uint64_t)frame->units_across * (uint64_t)frame->units_down > (uint64_t)image->size * 8) {
        return GL_JPEG_NOT_OURS;
    }
    const size_t scan_size = image->size - (size_t)(frame->scan - data);
    if (gl_jpeg_unstuff(frame->scan, scan_size, frame->restart_units > 0, &l->stream) != GL_JPEG_OK ||
        begin_scan(l) != GL_JPEG_OK) {
        return GL_JPEG_NOT_OURS;
    }
    gl_jpeg_index_open(&l->index, image->seek, data, image->size, frame);
    return gl_jpeg_region_begin(&l->region, l->engine->kernels, frame, &l->stream, &l->index, l->read.scan.unit_blocks,
                                image->want);
}

static void release_if_huge(gl_jpeg_buffer *buffer) {
    if (buffer->size > KEEP_BYTES) {
        gl_jpeg_buffer_free(buffer);
    }
}

/* Hands the lane's image over, or on to libjpeg-turbo. */
static void end_image(lane *l, int status) {
    own *o = l->engine;
    gl_image *image = l->image;
    image->why[0] = 0;
    if (status == GL_JPEG_OK) {
        gl_jpeg_index_close(&l->index);
        status = gl_jpeg_rows_hand_over(&l->region, o->kernels, &l->frame, image->want, &o->strip, image->sink);
    }
    release_if_huge(&l->stream.bytes);
    release_if_huge(&l->stream.starts);
    release_if_huge(&l->region.samples);
    release_if_huge(&l->region.blocks);
    release_if_huge(&o->strip);
    gl_jpeg_tables_release(&o->tables, (int32_t)(l - o->lane));
    if (status == GL_JPEG_OK) {
        image->status = GL_DECODED;
    } else if (o->turbo) {
        image->status = gl_jpeg_turbo.decode(o->turbo, image->data, image->size, image->width, image->height,
                                             image->want, image->seek, image->sink, image->why);
    } else {
        image->status = GL_REFUSED;
        snprintf(image->why, GL_WHY_BYTES, "not a plain sound file");
    }
    l->image = NULL;
    l->feed->done(l->feed, image);
}

/* gl_jpeg_lane.next: the rest of the image, or else another one. */
static int next(gl_jpeg_lane *read, int status) {
    lane *l = (lane *)read;
    for (;;) {
        if (l->image) {
            if (status == GL_JPEG_OK) {
                status = gl_jpeg_region_next(&l->region, &l->read.scan, &l->read.stretch);
            }
            if (status == GL_JPEG_OK && l->read.stretch.units > 0) {
                return 1;
            }
            end_image(l, status);
        }
        l->image = l->feed->next(l->feed);
        if (!l->image) {
            return 0;
        }
        status = begin_image(l);
    }
}

static void own_decode_all(void *state, gl_feed *feed) {
    own *o = state;
    int reads[GL_JPEG_LANES];
    for (int i = 0; i < GL_JPEG_LANES; i++) {
        lane *l = &o->lane[i];
        l->read.next = next;
        l->engine = o;
        l->feed = feed;
        reads[i] = next(&l->read, GL_JPEG_OK);
    }
    if (reads[0]) {
        o->kernels->scan(&o->lane[0].read, reads[1] ? &o->lane[1].read : NULL);
    }
}

/* A feed of one image. */
typedef struct single {
    gl_feed feed;
    gl_image *image;
} single;

static gl_image *take_single(gl_feed *feed) {
    single *s = (single *)feed;
    gl_image *image = s->image;
    s->image = NULL;
    return image;
}

static void drop_single(gl_feed *feed, gl_image *image) {
    (void)feed, (void)image;
}

static int own_decode(void *state, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                      gl_seek *seek, gl_sink *sink, char why[GL_WHY_BYTES]) {
    gl_image image = {data, size, width, height, want, seek, sink, GL_REFUSED, why};
    single s = {{take_single, drop_single}, &image};
    own_decode_all(state, &s.feed);
    return image.status;
}

const gl_decoder gl_jpeg_own = {"jpeg", own_open, own_close, own_decode, own_decode_all};
const gl_decoder gl_jpeg_own_alone = {"jpeg, alone", own_alone_open, own_close, own_decode, own_decode_all};
