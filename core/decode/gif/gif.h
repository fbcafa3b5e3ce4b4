/* gif.h: the GIF decoder: the first picture of a file, on its screen.
 *
 *   blocks.c  the file's blocks, with the eyes of PIL/GifImagePlugin.py
 *   lzw.c     a picture's codes to indices
 *   decode.c  the decoder
 */
#ifndef GOLOADER_DECODE_GIF_H
#define GOLOADER_DECODE_GIF_H

#include "../rows.h"

/* gl_gif gives every image in RGB, as decoder.h says; the other two give palette indices of Pillow's mode P and the grey of
 * its mode L, and refuse files of any other mode. */
extern const gl_decoder gl_gif, gl_gif_p, gl_gif_l;

typedef struct gl_gif_layout {
    int32_t width, height; /* of the screen, which the picture may enlarge */
    gl_window picture;
    int is_interlaced;
    int is_grey;        /* the palette is 0, 1, 2 ..., and Pillow drops it */
    int background;     /* index of pixels that the picture does not cover */
    int code_bits;      /* of a picture's samples */
    const uint8_t *lzw; /* its sub-blocks, the last one empty */
    gl_palette palette;
} gl_gif_layout;

/* gl_gif_read_blocks fills the layout.  Returns NULL if the file is whole, up to its trailer, else the reason why it is not
 * sure what Pillow makes of it. */
const char *gl_gif_read_blocks(const uint8_t *data, size_t size, gl_gif_layout *layout);

/* What the codes of one picture stand for: strings of samples, each a shorter one's and one more. */
enum { GL_LZW_CODES = 1 << 12 };
typedef struct gl_gif_strings {
    uint16_t before[GL_LZW_CODES];
    uint16_t length[GL_LZW_CODES];
    uint8_t first[GL_LZW_CODES], last[GL_LZW_CODES];
} gl_gif_strings;

/* gl_gif_unpack writes `n` samples.  Returns 0 if the codes are damaged, or are of fewer samples. */
int gl_gif_unpack(gl_gif_strings *strings, const uint8_t *blocks, int bits, uint8_t *out, size_t n);

#endif
