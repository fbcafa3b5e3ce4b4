/* parse.c: the segments before the scan [Annex B], as strictly as libjpeg-turbo reads them and stricter.
 *
 * Ours: 8 bits a sample, sequential DCT, Huffman codes, one scan with all components, which are grey or three of the
 * usual samplings.  Any byte that libjpeg-turbo would warn of or stumble over, or that nobody writes, is not ours. */
#include <string.h>

#include "engine.h"

const uint8_t gl_jpeg_zigzag[GL_JPEG_BLOCK] = {0,  1,  8,  16, 9,  2,  3,  10, 17, 24, 32, 25, 18, 11, 4,  5,
                                               12, 19, 26, 33, 40, 48, 41, 34, 27, 20, 13, 6,  7,  14, 21, 28,
                                               35, 42, 49, 56, 57, 50, 43, 36, 29, 22, 15, 23, 30, 37, 44, 51,
                                               58, 59, 52, 45, 38, 31, 39, 46, 53, 60, 61, 54, 47, 55, 62, 63};

enum {
    SOF0 = 0xC0, /* baseline */
    SOF1 = 0xC1, /* extended sequential */
    DHT = 0xC4,
    SOI = 0xD8,
    SOS = 0xDA,
    DQT = 0xDB,
    DRI = 0xDD,
    APP0 = 0xE0,
    APP14 = 0xEE,
    APP15 = 0xEF,
    COM = 0xFE,
    SIZE_MAX_PIXELS = 65500 /* libjpeg's limit for width and height */
};

/* What the segments said that is needed only until the scan. */
typedef struct header {
    gl_jpeg_frame *frame;
    uint8_t id[GL_JPEG_COMPONENTS_MAX];
    unsigned has_quant, has_dc, has_ac; /* a bit for each table */
    int has_jfif, has_adobe, adobe_transform;
} header;

static int32_t big16(const uint8_t *p) {
    return p[0] << 8 | p[1];
}

/* [B.2.4.1] */
static int parse_quant(header *h, const uint8_t *p, size_t size) {
    while (size > 0) {
        const int wide = p[0] >> 4, table = p[0] & 15;
        const size_t bytes = 1 + (size_t)GL_JPEG_BLOCK * (wide ? 2 : 1);
        if (wide > 1 || table >= GL_JPEG_TABLES || size < bytes) {
            return GL_JPEG_NOT_OURS;
        }
        for (int i = 0; i < GL_JPEG_BLOCK; i++) {
            h->frame->quant[table][gl_jpeg_zigzag[i]] = (uint16_t)(wide ? big16(p + 1 + 2 * i) : p[1 + i]);
        }
        h->has_quant |= 1u << table;
        p += bytes;
        size -= bytes;
    }
    return GL_JPEG_OK;
}

/* [B.2.4.2] */
static int parse_huffman(header *h, const uint8_t *p, size_t size) {
    enum { FIXED = 17 }; /* bytes before the symbols */
    while (size > 0) {
        if (size < FIXED) {
            return GL_JPEG_NOT_OURS;
        }
        const int is_ac = p[0] >> 4, table = p[0] & 15;
        size_t symbols = 0;
        for (int i = 0; i < 16; i++) {
            symbols += p[1 + i];
        }
        if (is_ac > 1 || table >= GL_JPEG_TABLES || symbols > 256 || symbols > size - FIXED) {
            return GL_JPEG_NOT_OURS;
        }
        gl_jpeg_code *code = is_ac ? &h->frame->ac[table] : &h->frame->dc[table];
        memset(code, 0, sizeof *code);
        memcpy(code->count, p + 1, sizeof code->count);
        memcpy(code->symbol, p + FIXED, symbols);
        *(is_ac ? &h->has_ac : &h->has_dc) |= 1u << table;
        p += FIXED + symbols;
        size -= FIXED + symbols;
    }
    return GL_JPEG_OK;
}

/* [B.2.2] */
static int parse_frame(header *h, const uint8_t *p, size_t size) {
    gl_jpeg_frame *frame = h->frame;
    if (frame->components || size < 6 || p[0] != 8) {
        return GL_JPEG_NOT_OURS;
    }
    const int32_t components = p[5];
    frame->height = big16(p + 1);
    frame->width = big16(p + 3);
    if ((components != 1 && components != 3) || size != 6 + 3 * (size_t)components || frame->width < 1 ||
        frame->height < 1 || frame->width > SIZE_MAX_PIXELS || frame->height > SIZE_MAX_PIXELS) {
        return GL_JPEG_NOT_OURS;
    }
    frame->components = components;
    for (int c = 0; c < components; c++) {
        const uint8_t *q = p + 6 + 3 * c;
        h->id[c] = q[0];
        frame->component[c] = (gl_jpeg_component){.across = q[1] >> 4, .down = q[1] & 15, .quant = q[2]};
        if (q[2] >= GL_JPEG_TABLES || q[1] >> 4 < 1 || q[1] >> 4 > 4 || (q[1] & 15) < 1 || (q[1] & 15) > 4) {
            return GL_JPEG_NOT_OURS;
        }
        for (int i = 0; i < c; i++) {
            if (h->id[i] == h->id[c]) {
                return GL_JPEG_NOT_OURS;
            }
        }
    }
    return GL_JPEG_OK;
}

/* [B.2.3]; all components in one scan, in the order of the frame. */
static int parse_scan(header *h, const uint8_t *p, size_t size) {
    gl_jpeg_frame *frame = h->frame;
    const size_t components = (size_t)frame->components;
    if (!components || size != 4 + 2 * components || p[0] != components) {
        return GL_JPEG_NOT_OURS;
    }
    for (size_t c = 0; c < components; c++) {
        gl_jpeg_component *component = &frame->component[c];
        component->dc = p[2 + 2 * c] >> 4;
        component->ac = p[2 + 2 * c] & 15;
        if (p[1 + 2 * c] != h->id[c] || component->dc >= GL_JPEG_TABLES || component->ac >= GL_JPEG_TABLES ||
            !(h->has_dc >> component->dc & 1) || !(h->has_ac >> component->ac & 1) ||
            !(h->has_quant >> component->quant & 1)) {
            return GL_JPEG_NOT_OURS;
        }
    }
    const uint8_t *spectrum = p + 1 + 2 * components;
    return spectrum[0] == 0 && spectrum[1] == 63 && spectrum[2] == 0 ? GL_JPEG_OK : GL_JPEG_NOT_OURS;
}

static int parse_jfif(header *h, const uint8_t *p, size_t size) {
    if (size >= 14 && memcmp(p, "JFIF", 5) == 0) {
        h->has_jfif = 1;
        return p[5] == 1 ? GL_JPEG_OK : GL_JPEG_NOT_OURS; /* libjpeg warns of other versions */
    }
    return GL_JPEG_OK;
}

static void parse_adobe(header *h, const uint8_t *p, size_t size) {
    if (size >= 12 && memcmp(p, "Adobe", 5) == 0) {
        h->has_adobe = 1;
        h->adobe_transform = p[11];
    }
}

/* Which colours three components are: as libjpeg decides (jdapimin.c, default_decompress_parms). */
static int find_colours(const header *h) {
    gl_jpeg_frame *frame = h->frame;
    frame->colours = GL_JPEG_YCC;
    if (frame->components == 1) {
        frame->colours = GL_JPEG_GREY;
    } else if (h->has_jfif) {
        return GL_JPEG_OK;
    } else if (h->has_adobe) {
        if (h->adobe_transform > 1) {
            return GL_JPEG_NOT_OURS;
        }
        frame->colours = h->adobe_transform ? GL_JPEG_YCC : GL_JPEG_RGB;
    } else if (h->id[0] == 'R' && h->id[1] == 'G' && h->id[2] == 'B') {
        frame->colours = GL_JPEG_RGB;
    }
    return GL_JPEG_OK;
}

/* Sampling factors to sizes [A.1.1, A.2]. */
static int lay_out(gl_jpeg_frame *frame) {
    gl_jpeg_component *first = &frame->component[0];
    if (frame->components == 1) {
        first->across = first->down = 1; /* one component alone is never interleaved */
    }
    for (int c = 1; c < frame->components; c++) {
        if (frame->component[c].across != 1 || frame->component[c].down != 1) {
            return GL_JPEG_NOT_OURS;
        }
    }
    if (first->across > 2 || first->down > 2 ||
        (frame->colours == GL_JPEG_RGB && (first->across > 1 || first->down > 1))) {
        return GL_JPEG_NOT_OURS;
    }
    frame->unit_width = 8 * first->across;
    frame->unit_height = 8 * first->down;
    frame->units_across = (frame->width + frame->unit_width - 1) / frame->unit_width;
    frame->units_down = (frame->height + frame->unit_height - 1) / frame->unit_height;
    for (int c = 0; c < frame->components; c++) {
        gl_jpeg_component *component = &frame->component[c];
        component->width = (frame->width * component->across + first->across - 1) / first->across;
        component->height = (frame->height * component->down + first->down - 1) / first->down;
        if (component->across < first->across && component->width <= 2) {
            return GL_JPEG_NOT_OURS; /* too narrow for libjpeg's fancy upsampling */
        }
    }
    return GL_JPEG_OK;
}

int gl_jpeg_parse(const uint8_t *data, size_t size, gl_jpeg_frame *frame) {
    header h = {.frame = frame};
    frame->components = 0;
    frame->restart_units = 0;
    if (size < 2 || data[0] != 0xFF || data[1] != SOI) {
        return GL_JPEG_NOT_OURS;
    }
    size_t at = 2;
    for (;;) {
        if (size - at < 4 || data[at] != 0xFF) {
            return GL_JPEG_NOT_OURS;
        }
        const uint8_t marker = data[at + 1];
        if (marker == 0xFF) { /* fill byte */
            at++;
            continue;
        }
        const size_t length = (size_t)big16(data + at + 2);
        at += 2;
        if (length < 2 || length > size - at) {
            return GL_JPEG_NOT_OURS;
        }
        const uint8_t *segment = data + at + 2;
        const size_t bytes = length - 2;
        at += length;
        int status = GL_JPEG_OK;
        switch (marker) {
        case DQT:
            status = parse_quant(&h, segment, bytes);
            break;
        case DHT:
            status = parse_huffman(&h, segment, bytes);
            break;
        case SOF0:
        case SOF1:
            status = parse_frame(&h, segment, bytes);
            break;
        case DRI:
            if (bytes != 2) {
                return GL_JPEG_NOT_OURS;
            }
            frame->restart_units = big16(segment);
            break;
        case APP0:
            status = parse_jfif(&h, segment, bytes);
            break;
        case APP14:
            parse_adobe(&h, segment, bytes);
            break;
        case SOS:
            if (parse_scan(&h, segment, bytes) != GL_JPEG_OK || find_colours(&h) != GL_JPEG_OK) {
                return GL_JPEG_NOT_OURS;
            }
            frame->scan = data + at;
            return lay_out(frame);
        default:
            if (marker != COM && (marker < APP0 || marker > APP15)) {
                return GL_JPEG_NOT_OURS;
            }
        }
        if (status != GL_JPEG_OK) {
            return status;
        }
    }
}
