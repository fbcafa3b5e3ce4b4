/* passes.c: Adam7, the seven passes of an interlaced image (PNG specification, section 8). */
#include "png.h"

#include <string.h>

gl_png_pass gl_png_pass_of(int pass, int32_t width, int32_t height) {
    static const uint8_t grid[GL_PNG_PASSES][4] = {{0, 0, 8, 8}, {4, 0, 8, 8}, {0, 4, 4, 8}, {2, 0, 4, 4},
                                                   {0, 2, 2, 4}, {1, 0, 2, 2}, {0, 1, 1, 2}};
    const uint8_t *g = grid[pass];
    gl_png_pass p = {.x0 = g[0], .y0 = g[1], .dx = g[2], .dy = g[3]};
    p.width = width > p.x0 ? (width - p.x0 - 1) / p.dx + 1 : 0;
    p.height = height > p.y0 ? (height - p.y0 - 1) / p.dy + 1 : 0;
    return p;
}

/* Inlined for each pixel size, so that a pixel is one move. */
static inline __attribute__((always_inline)) void place(const gl_png_pass *pass, const uint8_t *row, uint8_t *out,
                                                        size_t n) {
    out += (size_t)pass->x0 * n;
    for (int32_t i = 0; i < pass->width; i++) {
        memcpy(out, row, n);
        row += n;
        out += (size_t)pass->dx * n;
    }
}

void gl_png_place(const gl_png_layout *layout, const gl_png_pass *pass, const uint8_t *rows, int32_t end,
                  uint8_t *image) {
    const size_t row_bytes = gl_png_row_bytes(layout, pass->width);
    for (int32_t j = 0; j < pass->height && pass->y0 + j * pass->dy < end; j++) {
        const uint8_t *row = rows + (size_t)j * (row_bytes + 1) + 1;
        uint8_t *out = image + ((size_t)pass->y0 + (size_t)j * pass->dy) * layout->width * layout->pixel_bytes;
        if (layout->bits < 8) {
            const int bits = layout->bits;
            for (int32_t i = 0; i < pass->width; i++) {
                size_t bit = (size_t)i * bits;
                out[pass->x0 + (size_t)i * pass->dx] = row[bit / 8] >> (8 - bits - bit % 8) & ((1 << bits) - 1);
            }
            continue;
        }
        switch (layout->pixel_bytes) {
        case 1:
            place(pass, row, out, 1);
            break;
        case 2:
            place(pass, row, out, 2);
            break;
        case 3:
            place(pass, row, out, 3);
            break;
        case 4:
            place(pass, row, out, 4);
            break;
        case 6:
            place(pass, row, out, 6);
            break;
        default:
            place(pass, row, out, 8);
            break;
        }
    }
}
