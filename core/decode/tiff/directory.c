/* directory.c: the first directory of a TIFF file (TIFF 6.0 specification), and nothing of what lies behind it. */
#define _GNU_SOURCE /* memmem */
#include "tiff.h"

enum { ENTRY_BYTES = 12 };
enum { BYTE = 1, SHORT = 3, LONG = 4, RATIONAL = 5, DOUBLE = 12 }; /* types of values */
static const uint8_t TYPE_BYTES[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8};

/* Tags that say what pixels are, and those that Pillow would follow to more directories. */
enum {
    NEW_SUBFILE = 254,
    WIDTH = 256,
    HEIGHT = 257,
    BITS = 258,
    COMPRESSION = 259,
    PHOTOMETRIC = 262,
    FILL_ORDER = 266,
    STRIP_OFFSETS = 273,
    ORIENTATION = 274,
    SAMPLES = 277,
    ROWS_PER_STRIP = 278,
    STRIP_SIZES = 279,
    X_RESOLUTION = 282,
    Y_RESOLUTION = 283,
    PLANAR = 284,
    RESOLUTION_UNIT = 296,
    PREDICTOR = 317,
    COLOUR_MAP = 320,
    TILE_WIDTH = 322,
    TILE_HEIGHT = 323,
    TILE_OFFSETS = 324,
    TILE_SIZES = 325,
    SUB_DIRECTORIES = 330,
    EXTRA_SAMPLES = 338,
    SAMPLE_FORMAT = 339,
    JPEG_TABLES = 347,
    XMP = 700,
    EXIF = 34665,
    GPS = 34853,
    INTEROPERABILITY = 40965,
    MEDIA_PHOTO = 0xBC01
};
enum { WHITE_IS_ZERO = 0, BLACK_IS_ZERO = 1, RGB = 2, PALETTE = 3 };

typedef struct entry {
    int tag, type;
    uint32_t count;
    const uint8_t *at; /* its values, all of them in the file */
} entry;

static uint32_t get16(const gl_tiff_layout *l, const uint8_t *p) {
    return l->is_big_endian ? (uint32_t)p[0] << 8 | p[1] : gl_little16(p);
}

static uint32_t get32(const gl_tiff_layout *l, const uint8_t *p) {
    return l->is_big_endian ? get16(l, p) << 16 | get16(l, p + 2) : gl_little32(p);
}

uint32_t gl_tiff_number(const gl_tiff_layout *l, const gl_tiff_list *list, uint32_t i) {
    const uint8_t *at = list->at + (size_t)i * (size_t)list->bytes;
    return list->bytes == 2 ? get16(l, at) : get32(l, at);
}

/* What the tags say so far; numbers that are not there have their defaults. */
typedef struct tags {
    uint32_t width, height, compression, photometric, samples, rows_per_strip, predictor, tile_width, tile_height;
    uint32_t bits, nbits; /* one that all samples share, and for how many samples it is given */
    uint32_t extra, nextra;
    gl_tiff_list strips, strip_sizes, tiles, tile_sizes, colours;
} tags;

/* A list of SHORT or LONG. */
static int read_list(const entry *e, gl_tiff_list *list) {
    *list = (gl_tiff_list){e->at, e->count, e->type == SHORT ? 2 : 4};
    return e->type == SHORT || e->type == LONG;
}

/* One number; 0 for anything else. */
static int read_number(const gl_tiff_layout *l, const entry *e, uint32_t *number) {
    gl_tiff_list list;
    if (!read_list(e, &list) || e->count != 1) {
        return 0;
    }
    *number = gl_tiff_number(l, &list, 0);
    return 1;
}

/* One number that several samples share. */
static int read_shared(const gl_tiff_layout *l, const entry *e, uint32_t *number) {
    gl_tiff_list list;
    if (!read_list(e, &list) || e->count < 1) {
        return 0;
    }
    *number = gl_tiff_number(l, &list, 0);
    for (uint32_t i = 1; i < e->count; i++) {
        if (gl_tiff_number(l, &list, i) != *number) {
            return 0;
        }
    }
    return 1;
}

static int is_one(const gl_tiff_layout *l, const entry *e) {
    uint32_t number;
    return read_shared(l, e, &number) && number == 1;
}

/* Takes one entry in; 0 if Pillow might make of it what is not known here. */
static int take_in(const gl_tiff_layout *l, const entry *e, tags *t) {
    switch (e->tag) {
    case WIDTH:
        return read_number(l, e, &t->width);
    case HEIGHT:
        return read_number(l, e, &t->height);
    case BITS:
        t->nbits = e->count;
        return read_shared(l, e, &t->bits);
    case COMPRESSION:
        return read_number(l, e, &t->compression);
    case PHOTOMETRIC:
        return read_number(l, e, &t->photometric);
    case SAMPLES:
        return read_number(l, e, &t->samples);
    case ROWS_PER_STRIP:
        return read_number(l, e, &t->rows_per_strip) && t->rows_per_strip > 0;
    case PREDICTOR:
        return read_number(l, e, &t->predictor);
    case TILE_WIDTH:
        return read_number(l, e, &t->tile_width);
    case TILE_HEIGHT:
        return read_number(l, e, &t->tile_height);
    case EXTRA_SAMPLES:
        t->nextra = e->count;
        return e->count == 1 && read_number(l, e, &t->extra);
    case FILL_ORDER:
    case ORIENTATION:
    case PLANAR:
    case SAMPLE_FORMAT:
        return is_one(l, e);
    case STRIP_OFFSETS:
        return read_list(e, &t->strips);
    case STRIP_SIZES:
        return read_list(e, &t->strip_sizes);
    case TILE_OFFSETS:
        return read_list(e, &t->tiles);
    case TILE_SIZES:
        return read_list(e, &t->tile_sizes);
    case COLOUR_MAP:
        return e->type == SHORT && read_list(e, &t->colours);
    case NEW_SUBFILE:
    case RESOLUTION_UNIT: {
        uint32_t any;
        return read_number(l, e, &any);
    }
    case X_RESOLUTION:
    case Y_RESOLUTION: /* Pillow multiplies with it */
        return e->type == RATIONAL && e->count == 1 && get32(l, e->at + 4) != 0;
    case XMP: /* Pillow turns the image as it says */
        return !memmem(e->at, (size_t)e->count * TYPE_BYTES[e->type], "Orientation", 11);
    case SUB_DIRECTORIES:
    case JPEG_TABLES:
    case EXIF:
    case GPS:
    case INTEROPERABILITY:
    case MEDIA_PHOTO:
        return 0;
    default:
        return 1;
    }
}

static const char *read_kind(const tags *t, gl_tiff_layout *l) {
    const uint32_t colours = t->photometric == RGB ? 3 : 1;
    if (t->bits != 8 || t->nbits != t->samples || t->samples < colours || t->samples > colours + 1 ||
        t->photometric > PALETTE) {
        return "a kind of pixels that is not decoded here";
    }
    if (t->samples > colours) { /* RGB and one more, or grey and alpha */
        const int is_plain = t->photometric == RGB && (t->nextra == 0 || t->extra == 2);
        const int is_grey_alpha = t->photometric == BLACK_IS_ZERO && t->nextra == 1 && t->extra == 2;
        if (!is_plain && !is_grey_alpha) {
            return "extra samples that are not decoded here";
        }
    } else if (t->nextra) {
        return "fewer samples than its tags say";
    }
    l->samples = (int)t->samples;
    l->is_inverted = t->photometric == WHITE_IS_ZERO;
    l->is_grey = t->photometric != RGB;
    l->has_palette = t->photometric == PALETTE;
    if (l->has_palette) {
        if (t->colours.count != 3 * GL_PALETTE_MAX) {
            return "irregular palette";
        }
        l->palette.entries = GL_PALETTE_MAX;
        for (uint32_t i = 0; i < 3 * GL_PALETTE_MAX; i++) {
            l->palette.colour[i % GL_PALETTE_MAX][i / GL_PALETTE_MAX] =
                (uint8_t)(gl_tiff_number(l, &t->colours, i) >> 8);
        }
    }
    switch (t->compression) {
    case GL_TIFF_PLAIN:
    case GL_TIFF_LZW:
    case GL_TIFF_DEFLATE:
    case GL_TIFF_OLD_DEFLATE:
    case GL_TIFF_PACKBITS:
        break;
    default:
        return "a compression that is not decoded here";
    }
    l->compression = (int)t->compression;
    l->has_differences = t->predictor == 2;
    if (t->predictor != 1 &&
        (t->predictor != 2 || t->compression == GL_TIFF_PLAIN || t->compression == GL_TIFF_PACKBITS)) {
        return "a predictor that is not decoded here";
    }
    return NULL;
}

static const char *read_pieces(const tags *t, gl_tiff_layout *l) {
    enum { TILE_MAX = 1 << 12 };
    l->is_tiled = t->tiles.count > 0;
    if (l->is_tiled) {
        if (t->strips.count || t->strip_sizes.count || t->tile_width < 1 || t->tile_height < 1 ||
            t->tile_width > TILE_MAX || t->tile_height > TILE_MAX || t->tile_width % 16 || t->tile_height % 16) {
            return "irregular tiles";
        }
        l->piece_width = (int32_t)t->tile_width;
        l->piece_height = (int32_t)t->tile_height;
        l->offsets = t->tiles;
        l->sizes = t->tile_sizes;
    } else {
        if (t->tile_width || t->tile_height || t->tile_sizes.count) {
            return "strips or tiles";
        }
        l->piece_width = l->width;
        l->piece_height = t->rows_per_strip < t->height ? (int32_t)t->rows_per_strip : l->height;
        l->offsets = t->strips;
        l->sizes = t->strip_sizes;
    }
    l->across = (l->width - 1) / l->piece_width + 1;
    const uint64_t pieces = (uint64_t)l->across * (uint64_t)((l->height - 1) / l->piece_height + 1);
    if (l->offsets.count != pieces || l->sizes.count != pieces) {
        return "irregular strips or tiles";
    }
    return NULL;
}

const char *gl_tiff_read_directory(const uint8_t *data, size_t size, gl_tiff_layout *l) {
    memset(l, 0, sizeof *l);
    if (size < 8 || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0)) {
        return "not a TIFF file";
    }
    l->is_big_endian = data[0] == 'M';
    const size_t directory = get32(l, data + 4);
    if (directory < 8 || directory > size || size - directory < 2) {
        return "its directory is not in the file";
    }
    const uint32_t entries = get16(l, data + directory);
    if ((size - directory - 2) / ENTRY_BYTES < entries || size - directory - 2 - (size_t)entries * ENTRY_BYTES < 4) {
        return "file ends in its directory";
    }
    tags t = {.compression = 1, .samples = 1, .rows_per_strip = UINT32_MAX, .predictor = 1, .bits = 1, .nbits = 1};
    int tag = -1, has_photometric = 0;
    uint64_t elsewhere = 0;
    for (uint32_t i = 0; i < entries; i++) {
        const uint8_t *at = data + directory + 2 + (size_t)i * ENTRY_BYTES;
        entry e = {(int)get16(l, at), (int)get16(l, at + 2), get32(l, at + 4), at + 8};
        if (e.tag <= tag) {
            return "tags out of order";
        }
        tag = e.tag;
        if (e.type < BYTE || e.type > DOUBLE || e.count < 1) {
            return "a tag of an unknown type, or without values";
        }
        const uint64_t bytes = (uint64_t)e.count * TYPE_BYTES[e.type];
        if (bytes > 4) {
            const size_t offset = get32(l, at + 8);
            elsewhere += bytes; /* Pillow reads no more than there is, though tags may share values */
            if (offset > size || size - offset < bytes || elsewhere > size) {
                return "a tag whose values are not in the file";
            }
            e.at = data + offset;
        }
        has_photometric = has_photometric || e.tag == PHOTOMETRIC;
        if (!take_in(l, &e, &t)) {
            return "a tag that is not plain";
        }
    }
    if (!has_photometric || t.width < 1 || t.height < 1 || t.width > INT32_MAX || t.height > INT32_MAX) {
        return "no size, or no kind of pixels";
    }
    l->width = (int32_t)t.width;
    l->height = (int32_t)t.height;
    const char *why = read_kind(&t, l);
    return why ? why : read_pieces(&t, l);
}
