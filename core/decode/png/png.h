/* png.h: what the files of the PNG decoder share.
 *
 *   chunks.c    the file's chunks, with the eyes of Pillow's own parser
 *   unfilter.c  undoes a row's filter
 *   passes.c    the seven passes of an interlaced image
 *   planes.c    rows of any depth and colour type to 8-bit planes
 *   decode.c    the decoder: joins them
 */
#ifndef GOLOADER_DECODE_PNG_H
#define GOLOADER_DECODE_PNG_H

#include "../decoder.h"
#include "../split.h"

/* gl_png gives every image in RGB, as decoder.h says.  The other two give an image as it is stored, one plane (the same
 * pointer three times): gl_png_p the palette indices of Pillow's mode P, gl_png_l the grey of its mode L.  They refuse
 * files of any other mode. */
extern const gl_decoder gl_png, gl_png_p, gl_png_l;

/* Colour types, by PNG's numbers. */
enum { GL_PNG_GREY = 0, GL_PNG_RGB = 2, GL_PNG_PALETTE = 3, GL_PNG_GREY_ALPHA = 4, GL_PNG_RGBA = 6 };

/* What the chunks say about the pixels. */
typedef struct gl_png_layout {
    int32_t width, height;
    int bits; /* a sample: 1, 2, 4, 8 or 16 */
    int colour, interlaced;
    int channels;        /* samples a pixel */
    int pixel_bytes;     /* bytes a pixel, at least 1: the distance the filters look back */
    int is_index;        /* samples are numbers that are not stretched to 0..255, whatever their bits */
    int palette_entries; /* 0 without a palette */
    uint8_t palette[256][3];
    /* The image data: `idat` is the first IDAT chunk's, `idat_bytes` the sum over idat_chunks consecutive chunks. */
    const uint8_t *idat;
    size_t idat_bytes;
    uint32_t idat_chunks;
} gl_png_layout;

/* Inflates a zlib stream of text or colour profile; nonzero if it is sound and smaller than `limit` bytes. */
typedef int (*gl_png_inflates)(void *context, const uint8_t *data, size_t size, size_t limit, size_t *inflated);

/* gl_png_read_chunks fills the layout.  Returns NULL if Pillow surely accepts all of the file's chunks (their pixels
 * are another matter), else the reason why that is not sure. */
const char *gl_png_read_chunks(const uint8_t *data, size_t size, gl_png_layout *layout, gl_png_inflates inflates,
                               void *context);

/* gl_png_join_idat copies the data of all IDAT chunks to `out`, idat_bytes of room. */
void gl_png_join_idat(const gl_png_layout *layout, uint8_t *out);

/* Bytes of a row of `width` pixels, without its filter byte. */
static inline size_t gl_png_row_bytes(const gl_png_layout *layout, int32_t width) {
    return ((size_t)width * layout->channels * layout->bits + 7) / 8;
}

/* gl_png_unfilter undoes the filters of `count` rows in place.  Each row is a filter byte (0 to 4) and row_bytes bytes;
 * the row above the first counts as zeros.  Reads up to GL_PNG_UNFILTER_SLACK bytes behind the last row. */
enum { GL_PNG_UNFILTER_SLACK = 8 };
void gl_png_unfilter(uint8_t *rows, int32_t count, size_t row_bytes, int pixel_bytes);

/* One pass of an interlaced image: pixels (x0 + i dx, y0 + j dy), i < width, j < height.  A pass without pixels has no
 * bytes at all. */
typedef struct gl_png_pass {
    int32_t x0, y0, dx, dy, width, height;
} gl_png_pass;
enum { GL_PNG_PASSES = 7 };
gl_png_pass gl_png_pass_of(int pass, int32_t width, int32_t height);

/* gl_png_place puts the pixels of a pass's unfiltered rows, those with y < end, where they belong in `image`, whose
 * rows are width * pixel_bytes bytes.  Samples of less than a byte get a byte each. */
void gl_png_place(const gl_png_layout *layout, const gl_png_pass *pass, const uint8_t *rows, int32_t end,
                  uint8_t *image);

/* Where the samples of an image lie. */
typedef struct gl_png_rows {
    const uint8_t *first; /* the byte with its top left pixel */
    size_t stride;
    int bits; /* a sample; 8 for small ones that got a byte each */
} gl_png_rows;

/* gl_png_planes converts `count` rows from row y on, columns [x, x + width), to one or three planes, as
 * gl_png_plane_count says.  Returns 0 if a pixel names a colour that the palette does not have. */
int gl_png_plane_count(const gl_png_layout *layout);
int gl_png_planes(gl_split split, const gl_png_layout *layout, const gl_png_rows *rows, int32_t y, int32_t count,
                  int32_t x, int32_t width, uint8_t *const plane[3], size_t stride);

#endif
