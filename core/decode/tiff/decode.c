/* decode.c: the TIFF decoder.
 *
 * All pieces are unpacked, since damage anywhere makes libtiff complain; only those with wanted rows are kept in place. */
#include "tiff.h"

#include <libdeflate.h>

typedef struct state {
    struct libdeflate_decompressor *inflater;
    gl_split split;
    gl_tiff_strings strings;
    gl_room image;
    gl_room piece; /* a tile, on its way into the image */
    gl_room planes;
} state;

static void *tiff_open(void) {
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
    gl_room_trim(&s->image, keep);
    gl_room_trim(&s->piece, keep);
    gl_room_trim(&s->planes, keep);
}

static void tiff_close(void *context) {
    state *s = context;
    trim(s, 0);
    libdeflate_free_decompressor(s->inflater);
    free(s);
}

static int unpack(state *s, int compression, const uint8_t *data, size_t size, uint8_t *out, size_t n) {
    switch (compression) {
    case GL_TIFF_PLAIN:
        if (size >= n) {
            memcpy(out, data, n);
        }
        return size >= n;
    case GL_TIFF_LZW:
        return gl_tiff_unpack_lzw(&s->strings, data, size, out, n);
    case GL_TIFF_PACKBITS:
        return gl_tiff_unpack_bits(data, size, out, n);
    default:
        return libdeflate_zlib_decompress(s->inflater, data, size, out, n, NULL) == LIBDEFLATE_SUCCESS;
    }
}

/* Fills the image from all pieces. */
static const char *put_together(state *s, const gl_tiff_layout *l, const uint8_t *data, size_t size, uint8_t *image,
                                uint8_t *tile) {
    const size_t samples = (size_t)l->samples, row_bytes = (size_t)l->width * samples;
    const size_t piece_row = (size_t)l->piece_width * samples;
    for (uint32_t i = 0; i < l->offsets.count; i++) {
        const size_t offset = gl_tiff_number(l, &l->offsets, i), bytes = gl_tiff_number(l, &l->sizes, i);
        if (offset > size || size - offset < bytes) {
            return "a strip or tile is not in the file";
        }
        const int32_t y = (int32_t)(i / (uint32_t)l->across) * l->piece_height;
        const int32_t x = (int32_t)(i % (uint32_t)l->across) * l->piece_width;
        const int32_t left = l->height - y, rows = left < l->piece_height ? left : l->piece_height;
        uint8_t *place = image + (size_t)y * row_bytes + (size_t)x * samples;
        uint8_t *to = l->is_tiled ? tile : place;
        const int32_t unpacked = l->is_tiled ? l->piece_height : rows;
        if (!unpack(s, l->compression, data + offset, bytes, to, piece_row * (size_t)unpacked)) {
            return "a strip or tile is damaged or incomplete";
        }
        if (l->has_differences) {
            gl_tiff_add(to, rows, piece_row, l->samples);
        }
        if (l->is_tiled) {
            const size_t wide = l->width - x < l->piece_width ? (size_t)(l->width - x) * samples : piece_row;
            for (int32_t k = 0; k < rows; k++) {
                memcpy(place + (size_t)k * row_bytes, tile + (size_t)k * piece_row, wide);
            }
        }
    }
    return NULL;
}

static int decode_window(state *s, gl_form form, const uint8_t *data, size_t size, int32_t width, int32_t height,
                         gl_window want, gl_sink *sink, char why[GL_WHY_BYTES]) {
    gl_tiff_layout l;
    const char *refusal = gl_tiff_read_directory(data, size, &l);
    if (refusal) {
        return gl_refuse(why, refusal);
    }
    if (l.width != width || l.height != height) {
        return gl_refuse(why, "not the size the caller saw in the header");
    }
    const size_t row_bytes = (size_t)width * (size_t)l.samples, all = row_bytes * (size_t)height;
    gl_pixel_rows rows = {.stride = (ptrdiff_t)row_bytes,
                          .step = l.samples,
                          .is_grey = l.is_grey,
                          .at = {0, 1, 2},
                          .palette = l.has_palette ? &l.palette : NULL};
    enum { RATIO_MAX = 1 << 12 }; /* no compression gives more bytes for a byte */
    if (all / RATIO_MAX > size) {
        return gl_refuse(why, "too little data for the image's size");
    }
    refusal = gl_rows_keep(&rows, form);
    if (refusal) {
        return gl_refuse(why, refusal);
    }
    uint8_t *image = gl_room_for(&s->image, all + GL_ROWS_SLACK), *tile = NULL;
    if (!image) {
        return GL_NO_MEMORY;
    }
    if (l.is_tiled) {
        tile =
            gl_room_for(&s->piece, (size_t)l.piece_width * (size_t)l.piece_height * (size_t)l.samples + GL_TIFF_SLACK);
        if (!tile) {
            return GL_NO_MEMORY;
        }
    }
    refusal = put_together(s, &l, data, size, image, tile);
    if (refusal) {
        return gl_refuse(why, refusal);
    }
    if (l.is_inverted) {
        for (size_t i = (size_t)want.y * row_bytes; i < (size_t)(want.y + want.height) * row_bytes; i++) {
            image[i] = (uint8_t)~image[i];
        }
    }
    rows.first = image;
    rows.end = image + all + GL_ROWS_SLACK;
    return gl_rows_hand_over(&rows, s->split, &s->planes, want, sink, why);
}

GL_DECODERS(tiff, decode_window)
