/* header.c: a BMP file's headers and palette. */
#include "bmp.h"

enum { FILE_HEADER = 14, CORE_HEADER = 12, INFO_HEADER = 40, V4_HEADER = 108, V5_HEADER = 124 };
enum { PLAIN = 0, BIT_FIELDS = 3 };

/* Masks of red, green, blue and alpha of 32 bits, and the bytes of a pixel that they name. */
static const struct {
    uint32_t mask[4];
    int at[3];
} ORDERS[] = {
    {{0xFF0000, 0xFF00, 0xFF, 0}, {2, 1, 0}},          {{0xFF0000, 0xFF00, 0xFF, 0xFF000000}, {2, 1, 0}},
    {{0xFF, 0xFF00, 0xFF0000, 0xFF000000}, {0, 1, 2}}, {{0xFF000000, 0xFF0000, 0xFF00, 0}, {3, 2, 1}},
    {{0xFF000000, 0xFF0000, 0xFF00, 0xFF}, {3, 2, 1}},
};

static const char *read_masks(const uint8_t *masks, size_t header, gl_bmp_layout *l) {
    uint32_t mask[4] = {0};
    for (int i = 0; i < (header > INFO_HEADER ? 4 : 3); i++) {
        mask[i] = gl_little32(masks + 4 * i);
    }
    if (l->bits == 16 && mask[0] == 0xF800 && mask[1] == 0x7E0 && mask[2] == 0x1F) {
        l->green_bits = 6;
        return NULL;
    }
    if (l->bits == 16 && mask[0] == 0x7C00 && mask[1] == 0x3E0 && mask[2] == 0x1F) {
        return NULL;
    }
    for (size_t i = 0; l->bits == 32 && i < sizeof ORDERS / sizeof *ORDERS; i++) {
        if (memcmp(mask, ORDERS[i].mask, sizeof mask) == 0) {
            memcpy(l->at, ORDERS[i].at, sizeof l->at);
            return NULL;
        }
    }
    return "bit fields that are not known";
}

/* Pillow drops a palette of greys, and then takes the file's bits for those of mode L, or of mode 1 if there are two. */
static const char *read_palette(const uint8_t *colours, int entry, gl_bmp_layout *l) {
    const int n = l->palette.entries;
    l->is_grey = 1;
    for (int i = 0; i < n; i++) {
        const uint8_t *bgr = colours + i * entry;
        const int grey = n == 2 ? 255 * i : i;
        l->is_grey = l->is_grey && bgr[0] == grey && bgr[1] == grey && bgr[2] == grey;
        for (int c = 0; c < 3; c++) {
            l->palette.colour[i][c] = bgr[2 - c];
        }
    }
    if (l->is_grey && !(l->bits == 8 && n > 2) && !(l->bits == 1 && n == 2)) {
        return "a grey palette of another depth";
    }
    return NULL;
}

const char *gl_bmp_read_headers(const uint8_t *data, size_t size, gl_bmp_layout *l) {
    memset(l, 0, sizeof *l);
    if (size < FILE_HEADER + CORE_HEADER || data[0] != 'B' || data[1] != 'M') {
        return "not a BMP file";
    }
    const uint8_t *info = data + FILE_HEADER;
    const size_t header = gl_little32(info);
    uint32_t height, compression = PLAIN, colours = 0;
    if (header == CORE_HEADER) {
        l->width = (int32_t)gl_little16(info + 4);
        height = gl_little16(info + 6);
        l->bits = (int)gl_little16(info + 10);
    } else if ((header == INFO_HEADER || header == V4_HEADER || header == V5_HEADER) && size >= FILE_HEADER + header) {
        const uint32_t width = gl_little32(info + 4);
        height = gl_little32(info + 8);
        l->rows_go_down = info[11] == 0xFF;
        height = l->rows_go_down ? 0 - height : height;
        l->width = width > INT32_MAX ? 0 : (int32_t)width;
        l->bits = (int)gl_little16(info + 14);
        compression = gl_little32(info + 16);
        colours = gl_little32(info + 32);
    } else {
        return "an information header that is not known";
    }
    if (l->width < 1 || height < 1 || height > INT32_MAX) {
        return "impossible size";
    }
    l->height = (int32_t)height;
    if (l->bits != 1 && l->bits != 4 && l->bits != 8 && l->bits != 16 && l->bits != 24 && l->bits != 32) {
        return "unknown depth";
    }
    size_t begin = FILE_HEADER + header;
    l->green_bits = 5;
    l->at[0] = 2, l->at[1] = 1, l->at[2] = 0;
    if (compression == BIT_FIELDS && l->bits >= 16) {
        if (header == INFO_HEADER) {
            begin += 12;
        }
        if (size < begin) {
            return "file ends in its headers";
        }
        const char *why = read_masks(info + INFO_HEADER, header, l);
        if (why) {
            return why;
        }
    } else if (compression != PLAIN) {
        return "compressed";
    }
    const size_t offset = gl_little32(data + 10);
    if (l->bits <= 8) {
        const size_t entry = header == CORE_HEADER ? 3 : 4;
        colours = colours ? colours : 1u << l->bits;
        if (colours < 2 || colours > 1u << l->bits || size < begin + entry * colours) {
            return "irregular palette";
        }
        l->palette.entries = (int)colours;
        const char *why = read_palette(data + begin, (int)entry, l);
        if (why) {
            return why;
        }
        begin += entry * colours;
    }
    if (offset < begin || offset > size) {
        return "rows at an impossible place";
    }
    l->row_bytes = ((size_t)l->width * (size_t)l->bits + 31) / 32 * 4;
    if ((size - offset) / l->row_bytes < (size_t)l->height) {
        return "file ends before its rows do";
    }
    l->first = data + offset;
    return NULL;
}
