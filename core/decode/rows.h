/* rows.h: the last step of decoders that have a whole image as rows of bytes: the wanted window as planes, strip by strip.
 *
 * Rows may lie in a decoder's own memory or in the file.  What is behind them is not read but where their end says so. */
#ifndef GOLOADER_DECODE_ROWS_H
#define GOLOADER_DECODE_ROWS_H

#include "decoder.h"
#include "split.h"

#include <stdio.h>

enum {
    GL_STRIP_ROWS = 16,
    GL_BUFFER_KEEP = 32 << 20, /* a larger buffer is not kept for the next image */
    GL_PALETTE_MAX = 256,
    /* Bytes that a decoder must have behind its own rows: the most that is read there. */
    GL_ROWS_SLACK = 3 * GL_SPLIT_SLACK > GL_ROW_SLACK ? 3 * GL_SPLIT_SLACK : GL_ROW_SLACK
};

/* Memory that grows; none above GL_BUFFER_KEEP outlives its image. */
typedef struct gl_room {
    uint8_t *at;
    size_t capacity;
} gl_room;

/* Gives `bytes` bytes whose content is undefined; NULL if out of memory. */
static inline uint8_t *gl_room_for(gl_room *room, size_t bytes) {
    if (bytes > room->capacity) {
        free(room->at);
        room->at = malloc(bytes);
        room->capacity = room->at ? bytes : 0;
    }
    return room->at;
}

static inline void gl_room_trim(gl_room *room, size_t keep) {
    if (room->capacity > keep) {
        free(room->at);
        *room = (gl_room){0};
    }
}

static inline int gl_refuse(char why[GL_WHY_BYTES], const char *text) {
    snprintf(why, GL_WHY_BYTES, "%s", text);
    return GL_REFUSED;
}

static inline uint32_t gl_little16(const uint8_t *p) {
    return (uint32_t)p[0] | (uint32_t)p[1] << 8;
}

static inline uint32_t gl_little32(const uint8_t *p) {
    return gl_little16(p) | gl_little16(p + 2) << 16;
}

/* Pillow warns of a decompression bomb from here on (Image.MAX_IMAGE_PIXELS): let it. */
enum { GL_PIXELS_WARNED = 89478485 };

typedef struct gl_palette {
    int entries;
    uint8_t colour[GL_PALETTE_MAX][3];
} gl_palette;

/* What becomes of an image's samples: its colours, or, of images of Pillow's modes P and L, the one plane they have. */
typedef enum gl_form { GL_AS_RGB, GL_AS_P, GL_AS_L } gl_form;

/* An image of 8-bit samples. */
typedef struct gl_pixel_rows {
    const uint8_t *first; /* its top left pixel */
    ptrdiff_t stride;     /* negative where rows go up */
    const uint8_t *end;   /* behind the last byte that may be read */
    int step;             /* bytes a pixel */
    int is_grey;          /* the first byte of a pixel is its grey, or with a palette its index; else */
    int at[3];            /* where in a pixel R, G and B are */
    const gl_palette *palette;
} gl_pixel_rows;

/* Makes the one plane that comes out what is stored; the reason if the image is not of that mode. */
static inline const char *gl_rows_keep(gl_pixel_rows *rows, gl_form form) {
    if (form == GL_AS_P && !rows->palette) {
        return "not of mode P";
    }
    if (form == GL_AS_L && (!rows->is_grey || rows->palette || rows->step != 1)) {
        return "not of mode L";
    }
    if (form != GL_AS_RGB) {
        rows->palette = NULL;
    }
    return NULL;
}

static inline __attribute__((always_inline)) void gl_pick(const uint8_t *restrict from, int32_t n, size_t step,
                                                          uint8_t *restrict out) {
    for (int32_t i = 0; i < n; i++) {
        out[i] = from[(size_t)i * step];
    }
}

/* One row to planes; 0 if a pixel names a colour that the palette does not have. */
static inline int gl_rows_row(gl_split split, const gl_pixel_rows *rows, const uint8_t *from, int32_t n,
                              uint8_t *const plane[3]) {
    if (rows->palette) {
        int highest = 0;
        for (int32_t i = 0; i < n; i++) {
            const int index = from[i];
            highest = index > highest ? index : highest;
            for (int c = 0; c < 3; c++) {
                plane[c][i] = rows->palette->colour[index][c];
            }
        }
        return highest < rows->palette->entries;
    }
    if (rows->is_grey) {
        if (rows->step == 1) {
            memcpy(plane[0], from, (size_t)n);
        } else {
            gl_pick(from, n, (size_t)rows->step, plane[0]);
        }
        return 1;
    }
    if (rows->step == 3) {
        const int is_near_end = (size_t)(rows->end - from) < 3 * ((size_t)n + GL_SPLIT_SLACK);
        (is_near_end ? gl_split_plain : split)(from, (size_t)n, plane[rows->at[0]], plane[rows->at[1]],
                                               plane[rows->at[2]]);
        return 1;
    }
    for (int c = 0; c < 3; c++) {
        if (rows->step == 4) {
            gl_pick(from + rows->at[c], n, 4, plane[c]);
        } else {
            gl_pick(from + rows->at[c], n, (size_t)rows->step, plane[c]);
        }
    }
    return 1;
}

/* Hands the wanted window to the sink; `planes` is a room for strips. */
static inline int gl_rows_hand_over(const gl_pixel_rows *rows, gl_split split, gl_room *planes, gl_window want,
                                    gl_sink *sink, char why[GL_WHY_BYTES]) {
    const size_t stride = ((size_t)want.width + GL_ROW_SLACK + 63) / 64 * 64, plane_bytes = stride * GL_STRIP_ROWS;
    const int is_grey = rows->is_grey && !rows->palette;
    uint8_t *r = gl_room_for(planes, 3 * plane_bytes);
    if (!r) {
        return GL_NO_MEMORY;
    }
    uint8_t *g = is_grey ? r : r + plane_bytes, *b = is_grey ? r : g + plane_bytes;
    for (int32_t y = 0; y < want.height; y += GL_STRIP_ROWS) {
        const int32_t n = want.height - y < GL_STRIP_ROWS ? want.height - y : GL_STRIP_ROWS;
        for (int32_t i = 0; i < n; i++) {
            const uint8_t *from = rows->first + (want.y + y + i) * rows->stride + (ptrdiff_t)want.x * rows->step;
            const size_t at = (size_t)i * stride;
            if (!gl_rows_row(split, rows, from, want.width, (uint8_t *[3]){r + at, g + at, b + at})) {
                return gl_refuse(why, "colour that the palette does not have");
            }
        }
        sink->strip(sink, y, n, (const uint8_t *[3]){r, g, b}, (ptrdiff_t)stride);
    }
    return GL_DECODED;
}

/* The three decoders of a format, one a form: NAME_open, NAME_close and `trim` are there, and `window` does the work.  They
 * keep no seek index. */
#define GL_DECODE(name, form, window)                                                                                  \
    static int name(void *context, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,    \
                    gl_seek *seek, gl_sink *sink, char why[GL_WHY_BYTES]) {                                            \
        (void)seek;                                                                                                    \
        why[0] = 0;                                                                                                    \
        if ((int64_t)width * height > GL_PIXELS_WARNED) {                                                              \
            return gl_refuse(why, "more pixels than Pillow takes without a warning");                                  \
        }                                                                                                              \
        const int status = window(context, form, data, size, width, height, want, sink, why);                          \
        trim(context, GL_BUFFER_KEEP);                                                                                 \
        return status;                                                                                                 \
    }
#define GL_DECODERS(name, window)                                                                                      \
    GL_DECODE(name##_decode, GL_AS_RGB, window)                                                                        \
    GL_DECODE(name##_decode_p, GL_AS_P, window)                                                                        \
    GL_DECODE(name##_decode_l, GL_AS_L, window)                                                                        \
    const gl_decoder gl_##name = {#name, name##_open, name##_close, name##_decode, NULL};                              \
    const gl_decoder gl_##name##_p = {#name " of mode P", name##_open, name##_close, name##_decode_p, NULL};           \
    const gl_decoder gl_##name##_l = {#name " of mode L", name##_open, name##_close, name##_decode_l, NULL};

#endif
