/* tiff.h: the TIFF decoder: the first image of a file, of 8-bit grey, RGB, RGBA or a palette, in strips or tiles.
 *
 *   directory.c  the file's first directory, with the eyes of PIL/TiffImagePlugin.py
 *   unpack.c     PackBits, LZW and differences
 *   decode.c     the decoder
 */
#ifndef GOLOADER_DECODE_TIFF_H
#define GOLOADER_DECODE_TIFF_H

#include "../rows.h"

/* gl_tiff gives every image in RGB, as decoder.h says; the other two give palette indices of Pillow's mode P and the grey of
 * its mode L, and refuse files of any other mode. */
extern const gl_decoder gl_tiff, gl_tiff_p, gl_tiff_l;

/* Compressions, by TIFF's numbers. */
enum { GL_TIFF_PLAIN = 1, GL_TIFF_LZW = 5, GL_TIFF_DEFLATE = 8, GL_TIFF_OLD_DEFLATE = 32946, GL_TIFF_PACKBITS = 32773 };

/* A list of numbers, where it lies in the file. */
typedef struct gl_tiff_list {
    const uint8_t *at;
    uint32_t count;
    int bytes; /* a number: 2 or 4 */
} gl_tiff_list;

typedef struct gl_tiff_layout {
    int is_big_endian;
    int32_t width, height;
    int samples;              /* a pixel, each a byte */
    int is_inverted;          /* grey: 0 is white */
    int is_grey, has_palette; /* else RGB */
    int compression;
    int has_differences; /* rows hold differences of neighbours */
    /* Pieces, row by row from left to right: `across` a row, each of piece_width x piece_height; strips are as wide as the
     * image, and the last one has no more rows than are left. */
    int32_t piece_width, piece_height, across;
    int is_tiled;
    gl_tiff_list offsets, sizes;
    gl_palette palette;
} gl_tiff_layout;

/* gl_tiff_read_directory fills the layout.  Returns NULL, or the reason why it is not sure what Pillow makes of the file. */
const char *gl_tiff_read_directory(const uint8_t *data, size_t size, gl_tiff_layout *layout);

/* gl_tiff_number gives item i of a list. */
uint32_t gl_tiff_number(const gl_tiff_layout *layout, const gl_tiff_list *list, uint32_t i);

/* These write n bytes, and maybe up to GL_TIFF_SLACK behind them.  They return 0 if the data is damaged, or too little. */
enum { GL_TIFF_SLACK = 8 };
int gl_tiff_unpack_bits(const uint8_t *data, size_t size, uint8_t *out, size_t n);
enum { GL_TIFF_CODES = 1 << 12 };
typedef struct gl_tiff_strings {
    uint32_t at[GL_TIFF_CODES]; /* where in `out` the string of a code begins */
    uint32_t length[GL_TIFF_CODES];
} gl_tiff_strings;
int gl_tiff_unpack_lzw(gl_tiff_strings *strings, const uint8_t *data, size_t size, uint8_t *out, size_t n);

/* gl_tiff_add makes rows of samples from rows of differences, in place. */
void gl_tiff_add(uint8_t *rows, int32_t count, size_t row_bytes, int samples);

#endif
