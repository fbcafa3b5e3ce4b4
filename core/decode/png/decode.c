/* decode.c: the PNG decoder.
 *
 * The whole zlib stream is inflated, checksum and all, since damage anywhere may make Pillow raise; but only rows down
 * to the last wanted one are unfiltered. */
#include "png.h"

#include "../rows.h"

#include <stdlib.h>
#include <string.h>

#include <libdeflate.h>

/* No deflate stream gives more bytes for a byte (zlib's technical notes). */
enum { INFLATE_RATIO_MAX = 1032 };

/* What one worker keeps. */
typedef struct state {
    struct libdeflate_decompressor *inflater;
    gl_split split;
    gl_room joined;   /* the data of several IDAT chunks */
    gl_room inflated; /* filtered rows, unfiltered in place; before that, text to be thrown away */
    gl_room placed;   /* an interlaced image put together */
    gl_room planes;   /* of one strip */
    int no_memory;    /* while chunks were read */
} state;

static void *png_open(void) {
    state *s = calloc(1, sizeof *s);
    if (!s) {
        return NULL;
    }
    s->inflater = libdeflate_alloc_decompressor();
    if (!s->inflater) {
        free(s);
        return NULL;
    }
    s->split = gl_best_split();
    return s;
}

static void trim(state *s, size_t keep) {
    gl_room_trim(&s->joined, keep);
    gl_room_trim(&s->inflated, keep);
    gl_room_trim(&s->placed, keep);
    gl_room_trim(&s->planes, keep);
}

static void png_close(void *context) {
    state *s = context;
    trim(s, 0);
    libdeflate_free_decompressor(s->inflater);
    free(s);
}

static int inflates(void *context, const uint8_t *data, size_t size, size_t limit, size_t *inflated) {
    state *s = context;
    uint8_t *out = gl_room_for(&s->inflated, limit);
    if (!out) {
        s->no_memory = 1;
        return 0;
    }
    return libdeflate_zlib_decompress(s->inflater, data, size, out, limit - 1, inflated) == LIBDEFLATE_SUCCESS;
}

/* Bytes that the zlib stream must inflate to. */
static size_t filtered_bytes(const gl_png_layout *l) {
    if (!l->interlaced) {
        return (gl_png_row_bytes(l, l->width) + 1) * (size_t)l->height;
    }
    size_t sum = 0;
    for (int i = 0; i < GL_PNG_PASSES; i++) {
        gl_png_pass p = gl_png_pass_of(i, l->width, l->height);
        sum += p.width ? (gl_png_row_bytes(l, p.width) + 1) * (size_t)p.height : 0;
    }
    return sum;
}

static int filters_known(const uint8_t *rows, int32_t count, size_t row_bytes) {
    uint8_t highest = 0;
    for (int32_t y = 0; y < count; y++) {
        uint8_t filter = rows[(size_t)y * (row_bytes + 1)];
        highest = filter > highest ? filter : highest;
    }
    return highest <= 4;
}

static const char unknown_filter[] = "unknown row filter";

/* Unfilters the passes, down to row `end`, and puts the image together. */
static int put_together(state *s, const gl_png_layout *l, int32_t end, gl_png_rows *rows, char why[GL_WHY_BYTES]) {
    const size_t stride = (size_t)l->width * l->pixel_bytes;
    uint8_t *image = gl_room_for(&s->placed, stride * (size_t)end + GL_ROW_SLACK);
    if (!image) {
        return GL_NO_MEMORY;
    }
    uint8_t *at = s->inflated.at;
    for (int i = 0; i < GL_PNG_PASSES; i++) {
        gl_png_pass p = gl_png_pass_of(i, l->width, l->height);
        if (!p.width || !p.height) {
            continue;
        }
        size_t row_bytes = gl_png_row_bytes(l, p.width);
        if (!filters_known(at, p.height, row_bytes)) {
            return gl_refuse(why, unknown_filter);
        }
        int32_t wanted = end > p.y0 ? (end - p.y0 - 1) / p.dy + 1 : 0;
        gl_png_unfilter(at, wanted, row_bytes, l->pixel_bytes);
        gl_png_place(l, &p, at, end, image);
        at += (row_bytes + 1) * (size_t)p.height;
    }
    *rows = (gl_png_rows){image, stride, l->bits < 8 ? 8 : l->bits};
    return GL_DECODED;
}

static int hand_over(state *s, const gl_png_layout *l, const gl_png_rows *rows, gl_window want, gl_sink *sink,
                     char why[GL_WHY_BYTES]) {
    const int is_grey = gl_png_plane_count(l) == 1;
    const size_t stride = ((size_t)want.width + GL_ROW_SLACK + 63) / 64 * 64, plane_bytes = stride * GL_STRIP_ROWS;
    uint8_t *r = NULL, *g, *b;
    const int as_it_is = l->colour == GL_PNG_GREY && l->bits == 8; /* the rows are the plane */
    if (!as_it_is && !(r = gl_room_for(&s->planes, 3 * plane_bytes))) {
        return GL_NO_MEMORY;
    }
    g = is_grey ? r : r + plane_bytes;
    b = is_grey ? r : g + plane_bytes;
    for (int32_t y = 0; y < want.height; y += GL_STRIP_ROWS) {
        int32_t n = want.height - y < GL_STRIP_ROWS ? want.height - y : GL_STRIP_ROWS;
        if (as_it_is) {
            const uint8_t *grey = rows->first + ((size_t)want.y + y) * rows->stride + want.x;
            sink->strip(sink, y, n, (const uint8_t *[3]){grey, grey, grey}, (ptrdiff_t)rows->stride);
            continue;
        }
        if (!gl_png_planes(s->split, l, rows, want.y + y, n, want.x, want.width, (uint8_t *[3]){r, g, b}, stride)) {
            return gl_refuse(why, "colour that the palette does not have");
        }
        sink->strip(sink, y, n, (const uint8_t *[3]){r, g, b}, (ptrdiff_t)stride);
    }
    return GL_DECODED;
}

/* Makes a palette's indices, or plain grey, the one plane that comes out; the reason if the image is not of that mode. */
static const char *keep_as_stored(gl_png_layout *l, gl_form form) {
    if (form == GL_AS_P && l->colour != GL_PNG_PALETTE) {
        return "not of mode P";
    }
    if (form == GL_AS_L && (l->colour != GL_PNG_GREY || l->bits == 1 || l->bits == 16)) {
        return "not of mode L";
    }
    l->is_index = form == GL_AS_P;
    l->colour = GL_PNG_GREY;
    return NULL;
}

static int decode_window(state *s, gl_form form, const uint8_t *data, size_t size, int32_t width, int32_t height,
                         gl_window want, gl_sink *sink, char why[GL_WHY_BYTES]) {
    gl_png_layout l;
    s->no_memory = 0;
    const char *refusal = gl_png_read_chunks(data, size, &l, inflates, s);
    if (s->no_memory) {
        return GL_NO_MEMORY;
    }
    if (refusal) {
        return gl_refuse(why, refusal);
    }
    if (l.width != width || l.height != height) {
        return gl_refuse(why, "not the size the caller saw in the header");
    }
    if (form != GL_AS_RGB && (refusal = keep_as_stored(&l, form))) {
        return gl_refuse(why, refusal);
    }
    const size_t bytes = filtered_bytes(&l);
    if (bytes / INFLATE_RATIO_MAX > l.idat_bytes) {
        return gl_refuse(why, "too little data for the image's size");
    }
    const uint8_t *idat = l.idat;
    if (l.idat_chunks > 1) {
        uint8_t *joined = gl_room_for(&s->joined, l.idat_bytes);
        if (!joined) {
            return GL_NO_MEMORY;
        }
        gl_png_join_idat(&l, joined);
        idat = joined;
    }
    uint8_t *filtered =
        gl_room_for(&s->inflated, bytes + GL_ROW_SLACK); /* more than GL_PNG_UNFILTER_SLACK and the split's */
    if (!filtered) {
        return GL_NO_MEMORY;
    }
    switch (libdeflate_zlib_decompress(s->inflater, idat, l.idat_bytes, filtered, bytes, NULL)) {
    case LIBDEFLATE_SUCCESS:
        break;
    case LIBDEFLATE_SHORT_OUTPUT:
        return gl_refuse(why, "less data than pixels");
    case LIBDEFLATE_INSUFFICIENT_SPACE:
        return gl_refuse(why, "more data than pixels");
    default:
        return gl_refuse(why, "damaged or incomplete zlib stream");
    }
    const int32_t end = want.y + want.height;
    gl_png_rows rows;
    if (l.interlaced) {
        int status = put_together(s, &l, end, &rows, why);
        if (status != GL_DECODED) {
            return status;
        }
    } else {
        size_t row_bytes = gl_png_row_bytes(&l, l.width);
        if (!filters_known(filtered, l.height, row_bytes)) {
            return gl_refuse(why, unknown_filter);
        }
        gl_png_unfilter(filtered, end, row_bytes, l.pixel_bytes);
        rows = (gl_png_rows){filtered + 1, row_bytes + 1, l.bits};
    }
    return hand_over(s, &l, &rows, want, sink, why);
}

/* The seek index stays empty: nothing in a deflate stream can be gone to. */
GL_DECODERS(png, decode_window)
