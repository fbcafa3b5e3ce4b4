/* decode.c: the BMP decoder.  Bytes are taken from where they lie in the file; samples of other sizes get bytes first. */
#include "bmp.h"

typedef struct state {
    gl_split split;
    gl_room samples; /* of the wanted rows, a byte each */
    gl_room planes;
} state;

static void *bmp_open(void) {
    state *s = calloc(1, sizeof *s);
    if (s) {
        s->split = gl_best_split();
    }
    return s;
}

static void trim(state *s, size_t keep) {
    gl_room_trim(&s->samples, keep);
    gl_room_trim(&s->planes, keep);
}

static void bmp_close(void *context) {
    trim(context, 0);
    free(context);
}

/* A row of 1 or 4 bits a pixel, from column x on. */
static void spread(const uint8_t *row, int bits, int stretch, int32_t x, int32_t n, uint8_t *out) {
    for (int32_t i = 0; i < n; i++) {
        const size_t bit = (size_t)(x + i) * (size_t)bits;
        out[i] = (uint8_t)((row[bit / 8] >> (8 - bits - (int)(bit % 8)) & ((1 << bits) - 1)) * stretch);
    }
}

/* A row of 16 bits a pixel to RGB, stretched as Pillow's unpackers for BGR;15 and BGR;16 do it. */
static void spread16(const uint8_t *row, int green_bits, int32_t x, int32_t n, uint8_t *out) {
    const uint32_t green_max = (1u << green_bits) - 1;
    for (int32_t i = 0; i < n; i++, out += 3) {
        const uint32_t pixel = gl_little16(row + 2 * ((size_t)x + (size_t)i));
        out[0] = (uint8_t)((pixel >> (5 + green_bits) & 31) * 255 / 31);
        out[1] = (uint8_t)((pixel >> 5 & green_max) * 255 / green_max);
        out[2] = (uint8_t)((pixel & 31) * 255 / 31);
    }
}

static int decode_window(state *s, gl_form form, const uint8_t *data, size_t size, int32_t width, int32_t height,
                         gl_window want, gl_sink *sink, char why[GL_WHY_BYTES]) {
    gl_bmp_layout l;
    const char *refusal = gl_bmp_read_headers(data, size, &l);
    if (refusal) {
        return gl_refuse(why, refusal);
    }
    if (l.width != width || l.height != height) {
        return gl_refuse(why, "not the size the caller saw in the header");
    }
    gl_pixel_rows rows = {.first = l.first, .stride = (ptrdiff_t)l.row_bytes, .end = data + size};
    if (!l.rows_go_down) {
        rows.first += (size_t)(l.height - 1) * l.row_bytes;
        rows.stride = -rows.stride;
    }
    rows.step = l.bits == 16 ? 3 : l.bits < 8 ? 1 : l.bits / 8;
    rows.is_grey = l.bits <= 8;
    rows.palette = l.bits <= 8 && !l.is_grey ? &l.palette : NULL;
    memcpy(rows.at, l.bits == 16 ? (int[]){0, 1, 2} : l.at, sizeof rows.at);
    refusal = form == GL_AS_L && l.bits == 1 ? "not of mode L" : gl_rows_keep(&rows, form);
    if (refusal) {
        return gl_refuse(why, refusal);
    }
    if (l.bits < 8 || l.bits == 16) {
        const size_t row_bytes = (size_t)want.width * (size_t)rows.step;
        uint8_t *samples = gl_room_for(&s->samples, row_bytes * (size_t)want.height + GL_ROWS_SLACK);
        if (!samples) {
            return GL_NO_MEMORY;
        }
        for (int32_t y = 0; y < want.height; y++) {
            const uint8_t *from = rows.first + (want.y + y) * rows.stride;
            uint8_t *to = samples + (size_t)y * row_bytes;
            if (l.bits == 16) {
                spread16(from, l.green_bits, want.x, want.width, to);
            } else {
                spread(from, l.bits, l.is_grey ? 255 : 1, want.x, want.width, to);
            }
        }
        rows.first = samples;
        rows.stride = (ptrdiff_t)row_bytes;
        rows.end = samples + row_bytes * (size_t)want.height + GL_ROWS_SLACK;
        want.x = want.y = 0;
    }
    return gl_rows_hand_over(&rows, s->split, &s->planes, want, sink, why);
}

GL_DECODERS(bmp, decode_window)
