/* blocks.c: the blocks of a GIF file (GIF89a specification). */
#include "gif.h"

enum { SCREEN_BYTES = 13, PICTURE_BYTES = 10, TABLE = 0x80, INTERLACED = 0x40, TRANSPARENT = 1, CODE_BITS_MAX = 8 };

typedef struct reader {
    const uint8_t *data;
    size_t size, at;
} reader;

/* Gives n bytes and goes behind them; NULL if there are fewer. */
static const uint8_t *take(reader *r, size_t n) {
    if (r->size - r->at < n) {
        return NULL;
    }
    r->at += n;
    return r->data + r->at - n;
}

/* Goes behind sub-blocks and the empty one that ends them; says how many there are, -1 if the file ends before. */
static int32_t pass_blocks(reader *r) {
    for (int32_t n = 0;; n++) {
        const uint8_t *length = take(r, 1);
        if (!length) {
            return -1;
        }
        if (*length == 0) {
            return n;
        }
        if (!take(r, *length)) {
            return -1;
        }
    }
}

/* A colour table of the size that `flags` say.  Returns 0 if the file ends before. */
static int read_table(reader *r, int flags, gl_palette *palette) {
    const int entries = 2 << (flags & 7);
    const uint8_t *colours = take(r, (size_t)entries * 3);
    if (!colours) {
        return 0;
    }
    palette->entries = entries;
    memcpy(palette->colour, colours, (size_t)entries * 3);
    return 1;
}

static int is_ramp(const gl_palette *palette) {
    for (int i = 0; i < palette->entries; i++) {
        const uint8_t *c = palette->colour[i];
        if (c[0] != i || c[1] != i || c[2] != i) {
            return 0;
        }
    }
    return 1;
}

static const char ends_early[] = "file ends early";

/* One extension; of graphic controls in front of the first picture the last one counts. */
static const char *read_extension(reader *r, int is_before_picture, int *transparent) {
    const uint8_t *label = take(r, 1);
    if (!label) {
        return ends_early;
    }
    const uint8_t *block = r->data + r->at;
    const int32_t blocks = pass_blocks(r);
    if (blocks < 0) {
        return ends_early;
    }
    if (is_before_picture) {
        if (blocks < (*label == 0xFF ? 2 : 1)) {
            return "extension without data"; /* Pillow loses its way */
        }
        if (*label == 0xF9) {
            if (block[0] != 4 || blocks != 1) {
                return "irregular graphic control";
            }
            if (block[1] & TRANSPARENT) {
                *transparent = block[4];
            }
        }
    }
    return NULL;
}

static const char *read_picture(reader *r, gl_gif_layout *l, int transparent) {
    const uint8_t *about = take(r, PICTURE_BYTES - 1);
    if (!about) {
        return ends_early;
    }
    l->picture = (gl_window){(int32_t)gl_little16(about), (int32_t)gl_little16(about + 2),
                             (int32_t)gl_little16(about + 4), (int32_t)gl_little16(about + 6)};
    const int flags = about[8];
    l->is_interlaced = (flags & INTERLACED) != 0;
    if (l->picture.width < 1 || l->picture.height < 1) {
        return "an empty picture";
    }
    const int32_t right = l->picture.x + l->picture.width, bottom = l->picture.y + l->picture.height;
    l->width = right > l->width ? right : l->width;
    l->height = bottom > l->height ? bottom : l->height;
    const int had_colours = l->palette.entries && !is_ramp(&l->palette);
    if (flags & TABLE && !read_table(r, flags, &l->palette)) {
        return ends_early;
    }
    l->is_grey = is_ramp(&l->palette); /* also if there is none */
    if (l->is_grey && had_colours) {
        return "a grey palette beside one of colours";
    }
    if (transparent >= l->palette.entries && !l->is_grey) {
        return "transparency of a colour that the palette does not have";
    }
    l->background = transparent < 0 ? 0 : transparent;
    const uint8_t *bits = take(r, 1);
    if (!bits) {
        return ends_early;
    }
    if (*bits < 1 || *bits > CODE_BITS_MAX) {
        return "samples of an impossible size";
    }
    l->code_bits = *bits;
    l->lzw = r->data + r->at;
    return pass_blocks(r) < 0 ? ends_early : NULL;
}

const char *gl_gif_read_blocks(const uint8_t *data, size_t size, gl_gif_layout *l) {
    memset(l, 0, sizeof *l);
    reader r = {data, size, 0};
    const uint8_t *screen = take(&r, SCREEN_BYTES);
    if (!screen || (memcmp(screen, "GIF87a", 6) != 0 && memcmp(screen, "GIF89a", 6) != 0)) {
        return "not a GIF file";
    }
    l->width = (int32_t)gl_little16(screen + 6);
    l->height = (int32_t)gl_little16(screen + 8);
    if (screen[10] & TABLE && !read_table(&r, screen[10], &l->palette)) {
        return ends_early;
    }
    int transparent = -1;
    for (;;) {
        const uint8_t *kind = take(&r, 1);
        const char *why = NULL;
        if (!kind) {
            return ends_early;
        }
        if (*kind == ';') {
            return l->lzw ? NULL : "no picture";
        }
        if (*kind == '!') {
            why = read_extension(&r, l->lzw == NULL, &transparent);
        } else if (*kind != ',') {
            why = "a block that is not known";
        } else if (!l->lzw) {
            why = read_picture(&r, l, transparent);
        } else { /* one of the later pictures: it only has to be there */
            const uint8_t *about = take(&r, PICTURE_BYTES - 1);
            const size_t table = about && about[8] & TABLE ? (size_t)6 << (about[8] & 7) : 0;
            why = !about || !take(&r, table + 1) || pass_blocks(&r) < 0 ? ends_early : NULL;
        }
        if (why) {
            return why;
        }
    }
}
