/* planes.c: rows of any depth and colour type to 8-bit planes, as Pillow's unpackers and its convert("RGB") do it.
 *
 * Alpha is dropped.  Of 16-bit colour the high byte is kept, but 16-bit grey is clipped to 255 (Pillow's mode I;16; all
 * versions from 9 to 13 agree).  Grey of 1, 2 and 4 bits is stretched to 0..255. */
#include "png.h"

int gl_png_plane_count(const gl_png_layout *layout) {
    return layout->colour == GL_PNG_GREY || layout->colour == GL_PNG_GREY_ALPHA ? 1 : 3;
}

/* One sample of less than a byte, or of one. */
static inline uint32_t sample(const uint8_t *row, size_t i, int bits) {
    size_t bit = i * (size_t)bits;
    return (uint32_t)row[bit / 8] >> (8 - bits - (int)(bit % 8)) & ((1u << bits) - 1);
}

static void grey(const gl_png_layout *layout, const gl_png_rows *rows, const uint8_t *row, int32_t x, int32_t width,
                 uint8_t *out) {
    if (layout->bits == 16) {
        for (int32_t i = 0; i < width; i++) {
            const uint8_t *p = row + 2 * ((size_t)x + i);
            out[i] = p[0] ? 255 : p[1];
        }
        return;
    }
    const uint32_t stretch = layout->is_index ? 1 : 255 / ((1u << layout->bits) - 1);
    for (int32_t i = 0; i < width; i++) {
        out[i] = (uint8_t)(stretch * sample(row, (size_t)x + i, rows->bits));
    }
}

/* The first channel of pixels of `step` bytes. */
static inline __attribute__((always_inline)) void pick(const uint8_t *restrict from, int32_t width, size_t step,
                                                       uint8_t *restrict out) {
    for (int32_t i = 0; i < width; i++) {
        out[i] = from[(size_t)i * step];
    }
}

/* Three channels of pixels of `step` bytes, each channel `apart` bytes behind the one before. */
static inline __attribute__((always_inline)) void pick_three(const uint8_t *restrict from, int32_t width, size_t step,
                                                             size_t apart, uint8_t *restrict r, uint8_t *restrict g,
                                                             uint8_t *restrict b) {
    for (int32_t i = 0; i < width; i++) {
        r[i] = from[(size_t)i * step];
        g[i] = from[(size_t)i * step + apart];
        b[i] = from[(size_t)i * step + 2 * apart];
    }
}

static int colours(const gl_png_layout *layout, const gl_png_rows *rows, const uint8_t *row, int32_t x, int32_t width,
                   uint8_t *restrict r, uint8_t *restrict g, uint8_t *restrict b) {
    uint32_t highest = 0;
    for (int32_t i = 0; i < width; i++) {
        uint32_t index = rows->bits == 8 ? row[(size_t)x + i] : sample(row, (size_t)x + i, rows->bits);
        highest = index > highest ? index : highest;
        r[i] = layout->palette[index][0];
        g[i] = layout->palette[index][1];
        b[i] = layout->palette[index][2];
    }
    return highest < (uint32_t)layout->palette_entries;
}

int gl_png_planes(gl_split split, const gl_png_layout *layout, const gl_png_rows *rows, int32_t y, int32_t count,
                  int32_t x, int32_t width, uint8_t *const plane[3], size_t stride) {
    for (int32_t i = 0; i < count; i++) {
        const uint8_t *row = rows->first + ((size_t)y + i) * rows->stride;
        const uint8_t *from = row + (size_t)x * layout->pixel_bytes; /* not for samples of less than a byte */
        uint8_t *r = plane[0] + (size_t)i * stride, *g = plane[1] + (size_t)i * stride,
                *b = plane[2] + (size_t)i * stride;
        switch (layout->colour) {
        case GL_PNG_GREY:
            grey(layout, rows, row, x, width, r);
            break;
        case GL_PNG_GREY_ALPHA:
            if (layout->bits == 8) {
                pick(from, width, 2, r);
            } else {
                pick(from, width, 4, r);
            }
            break;
        case GL_PNG_PALETTE:
            if (!colours(layout, rows, row, x, width, r, g, b)) {
                return 0;
            }
            break;
        case GL_PNG_RGB:
            if (layout->bits == 8) {
                split(from, (size_t)width, r, g, b);
            } else {
                pick_three(from, width, 6, 2, r, g, b);
            }
            break;
        default: /* GL_PNG_RGBA */
            if (layout->bits == 8) {
                pick_three(from, width, 4, 1, r, g, b);
            } else {
                pick_three(from, width, 8, 2, r, g, b);
            }
            break;
        }
    }
    return 1;
}
