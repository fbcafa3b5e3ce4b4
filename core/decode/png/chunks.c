/* chunks.c: the chunks of a PNG file, judged as PIL/PngImagePlugin.py judges them.
 *
 * Pillow checks the CRC of every chunk before the first IDAT and of none after; it reads all chunks to IEND and raises
 * on known ones that are too short.  Its leniencies (no IEND, chunks out of order) are refused here: nobody knows what
 * a later version makes of them. */
#include "png.h"

#include <string.h>

#include <libdeflate.h>

enum {
    HEADER_BYTES = 8, /* of a chunk: length, name */
    CRC_BYTES = 4,
    TEXT_CHUNK_MAX = 1 << 20,   /* inflated bytes of one chunk (MAX_TEXT_CHUNK) */
    TEXT_MEMORY_MAX = 64 << 20, /* of all of them (MAX_TEXT_MEMORY) */
    PALETTE_MAX = 256
};

typedef struct chunk {
    const uint8_t *name, *data;
    size_t size;
} chunk;

typedef struct reader {
    gl_png_layout *layout;
    gl_png_inflates inflates;
    void *context;
    size_t text_bytes;
    int after_idat;
    int has_transparency;
} reader;

static uint32_t big32(const uint8_t *p) {
    return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static int is_named(const chunk *c, const char *name) {
    return memcmp(c->name, name, 4) == 0;
}

static int is_letter(uint8_t c) {
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

static const char *read_header(const chunk *c, gl_png_layout *l) {
    if (c->size != 13) {
        return "IHDR of a wrong size";
    }
    uint32_t width = big32(c->data), height = big32(c->data + 4);
    l->bits = c->data[8];
    l->colour = c->data[9];
    l->interlaced = c->data[12];
    if (width == 0 || height == 0 || width > INT32_MAX || height > INT32_MAX) {
        return "impossible size";
    }
    if (c->data[10] != 0 || c->data[11] != 0 || l->interlaced > 1) {
        return "unknown compression, filter or interlace method";
    }
    int depths; /* allowed ones, ORed */
    switch (l->colour) {
    case GL_PNG_GREY:
        l->channels = 1, depths = 1 | 2 | 4 | 8 | 16;
        break;
    case GL_PNG_RGB:
        l->channels = 3, depths = 8 | 16;
        break;
    case GL_PNG_PALETTE:
        l->channels = 1, depths = 1 | 2 | 4 | 8;
        break;
    case GL_PNG_GREY_ALPHA:
        l->channels = 2, depths = 8 | 16;
        break;
    case GL_PNG_RGBA:
        l->channels = 4, depths = 8 | 16;
        break;
    default:
        return "unknown colour type";
    }
    if (l->bits == 0 || (l->bits & (l->bits - 1)) || !(l->bits & depths)) {
        return "impossible bit depth";
    }
    l->width = (int32_t)width;
    l->height = (int32_t)height;
    l->pixel_bytes = l->bits < 8 ? 1 : l->channels * l->bits / 8;
    return NULL;
}

static const char *read_palette(const chunk *c, reader *r) {
    gl_png_layout *l = r->layout;
    if (l->palette_entries || r->after_idat || c->size == 0 || c->size % 3 || c->size > 3 * PALETTE_MAX) {
        return "irregular palette";
    }
    l->palette_entries = (int)(c->size / 3);
    memcpy(l->palette, c->data, c->size);
    return NULL;
}

/* Transparency changes no colour: convert("RGB") drops it. */
static const char *read_transparency(const chunk *c, reader *r) {
    size_t least = r->layout->colour == GL_PNG_GREY ? 2 : r->layout->colour == GL_PNG_RGB ? 6 : 0;
    if (r->has_transparency || r->after_idat || c->size < least || c->size > PALETTE_MAX) {
        return "irregular tRNS";
    }
    r->has_transparency = 1;
    return NULL;
}

/* Accounts for text and inflates it where it is compressed; Pillow raises beyond its limits. */
static const char *read_text(reader *r, size_t plain_bytes, const uint8_t *compressed, size_t compressed_bytes) {
    r->text_bytes += plain_bytes;
    if (compressed) {
        size_t inflated;
        if (!r->inflates(r->context, compressed, compressed_bytes, TEXT_CHUNK_MAX, &inflated)) {
            return "irregular compressed text or profile";
        }
        r->text_bytes += inflated;
    }
    return r->text_bytes > TEXT_MEMORY_MAX ? "too much text" : NULL;
}

/* zTXt and iCCP: name, NUL, compression method, zlib stream. */
static const char *read_compressed(const chunk *c, reader *r) {
    const uint8_t *nul = memchr(c->data, 0, c->size), *end = c->data + c->size;
    if (!nul || end - nul < 2 || nul[1] != 0) {
        return "irregular zTXt or iCCP";
    }
    return read_text(r, (size_t)(nul - c->data), nul + 2, (size_t)(end - nul - 2));
}

/* iTXt: key, NUL, compression flag and method, language, NUL, translated key, NUL, text. */
static const char *read_international(const chunk *c, reader *r) {
    const uint8_t *end = c->data + c->size, *at = memchr(c->data, 0, c->size);
    if (at && end - at >= 3 && at[1] != 0 && at[2] == 0) {
        at += 3;
        for (int i = 0; i < 2 && at; i++) {
            at = memchr(at, 0, (size_t)(end - at));
            at = at ? at + 1 : NULL;
        }
        if (at) {
            return read_text(r, c->size, at, (size_t)(end - at));
        }
    }
    return read_text(r, c->size, NULL, 0);
}

/* Chunks that Pillow wants to be at least so long, and does nothing with that changes pixels. */
static const struct {
    char name[5];
    size_t least;
} SHORTEST[] = {{"gAMA", 4}, {"cHRM", 32}, {"sRGB", 1}, {"pHYs", 9}};

static const char *read_other(const chunk *c, reader *r) {
    for (size_t i = 0; i < sizeof SHORTEST / sizeof *SHORTEST; i++) {
        if (is_named(c, SHORTEST[i].name)) {
            return c->size < SHORTEST[i].least ? "ancillary chunk ends early" : NULL;
        }
    }
    if (is_named(c, "PLTE")) {
        return read_palette(c, r);
    }
    if (is_named(c, "tRNS")) {
        return read_transparency(c, r);
    }
    if (is_named(c, "tEXt")) {
        return read_text(r, c->size, NULL, 0);
    }
    if (is_named(c, "zTXt") || is_named(c, "iCCP")) {
        return read_compressed(c, r);
    }
    if (is_named(c, "iTXt")) {
        return read_international(c, r);
    }
    if (is_named(c, "IHDR") || is_named(c, "DDAT")) {
        return "chunk out of place";
    }
    if (is_named(c, "acTL") || is_named(c, "fcTL") || is_named(c, "fdAT")) {
        return "animation";
    }
    return NULL; /* Pillow passes over what it does not know */
}

const char *gl_png_read_chunks(const uint8_t *data, size_t size, gl_png_layout *layout, gl_png_inflates inflates,
                               void *context) {
    static const uint8_t magic[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1A, '\n'};
    memset(layout, 0, sizeof *layout);
    if (size < sizeof magic || memcmp(data, magic, sizeof magic)) {
        return "not a PNG file";
    }
    reader r = {.layout = layout, .inflates = inflates, .context = context};
    int in_idat = 0;
    for (size_t at = sizeof magic;;) {
        if (size - at < HEADER_BYTES) {
            return "file ends before IEND";
        }
        chunk c = {data + at + 4, data + at + HEADER_BYTES, big32(data + at)};
        for (int i = 0; i < 4; i++) {
            if (!is_letter(c.name[i])) {
                return "chunk with an impossible name";
            }
        }
        if (is_named(&c, "IEND") && r.after_idat) {
            break;
        }
        at += HEADER_BYTES;
        if (size - at < c.size || size - at - c.size < CRC_BYTES) {
            return "chunk ends behind the file";
        }
        at += c.size + CRC_BYTES;

        const char *why = NULL;
        if (layout->bits == 0) {
            why = is_named(&c, "IHDR") ? read_header(&c, layout) : "no IHDR at the start";
        } else if (is_named(&c, "IEND")) {
            why = "no image data";
        } else if (is_named(&c, "IDAT")) {
            if (r.after_idat && !in_idat) {
                return "IDAT chunks apart";
            }
            if (!r.after_idat) {
                layout->idat = c.data;
            }
            layout->idat_bytes += c.size;
            layout->idat_chunks++;
            r.after_idat = in_idat = 1;
            continue;
        } else {
            why = read_other(&c, &r);
        }
        if (why) {
            return why;
        }
        in_idat = 0;
        if (!r.after_idat && libdeflate_crc32(0, c.name, 4 + c.size) != big32(c.data + c.size)) {
            return "wrong checksum of a chunk";
        }
    }
    if (layout->colour == GL_PNG_PALETTE && layout->palette_entries == 0) {
        return "no palette";
    }
    return NULL;
}

void gl_png_join_idat(const gl_png_layout *layout, uint8_t *out) {
    const uint8_t *from = layout->idat;
    for (uint32_t i = 0; i < layout->idat_chunks; i++) {
        size_t n = big32(from - HEADER_BYTES);
        memcpy(out, from, n);
        out += n;
        from += n + CRC_BYTES + HEADER_BYTES;
    }
}
