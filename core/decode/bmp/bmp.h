/* bmp.h: the BMP decoder: 1, 4, 8, 16, 24 and 32 bits, rows up or down, not run-length encoded.
 *
 *   header.c  what the headers say, with the eyes of PIL/BmpImagePlugin.py
 *   decode.c  the decoder
 */
#ifndef GOLOADER_DECODE_BMP_H
#define GOLOADER_DECODE_BMP_H

#include "../rows.h"

/* gl_bmp gives every image in RGB, as decoder.h says; the other two give palette indices of Pillow's mode P and the grey of
 * its mode L, and refuse files of any other mode. */
extern const gl_decoder gl_bmp, gl_bmp_p, gl_bmp_l;

typedef struct gl_bmp_layout {
    int32_t width, height;
    int bits;             /* a pixel */
    int rows_go_down;     /* the first row of the file is the top one */
    const uint8_t *first; /* the file's first row */
    size_t row_bytes;     /* padded to four */
    int is_grey;          /* of up to 8 bits: the palette is grey, in order; black and white for one bit */
    int green_bits;       /* of 16 bits: 5 or 6 */
    int at[3];            /* of 24 and 32 bits: where in a pixel R, G and B are */
    gl_palette palette;
} gl_bmp_layout;

/* gl_bmp_read_headers fills the layout; all rows lie inside the file then.  Returns NULL, or the reason why it is not sure
 * what Pillow makes of the file. */
const char *gl_bmp_read_headers(const uint8_t *data, size_t size, gl_bmp_layout *layout);

#endif
