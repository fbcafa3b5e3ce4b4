/* jpeg.h: what the files of the JPEG decoder share.
 *
 *   header.c    the markers before the scan, with the eyes of Pillow's own parser
 *   complete.c  whether the file surely goes on to its end, so that decoding may stop early
 *   turbo.c     an engine: libjpeg-turbo, one window of an image
 *   cmyk.c      interleaved CMYK rows to RGB planes
 *
 * An engine is a gl_decoder; the files beside turbo.c know nothing of libjpeg, so that our own engine (engine.h) can
 * use them too.
 */
#ifndef GOLOADER_DECODE_JPEG_H
#define GOLOADER_DECODE_JPEG_H

#include "../decoder.h"

/* The engine over libjpeg-turbo. */
extern const gl_decoder gl_jpeg_turbo;

/* gl_jpeg_header_refusal walks the segments before the first scan as PIL/JpegImagePlugin.py does.  libjpeg passes over
 * parts of a file that Pillow looks into, and Pillow raises on some of them.  Returns NULL if Pillow surely opens the
 * file, else the reason why that is not sure. */
const char *gl_jpeg_header_refusal(const uint8_t *data, size_t size);

/* What follows the entropy-coded bytes of a scan. */
enum {
    GL_JPEG_ENDS,   /* the next marker is EOI: whatever the bits are, no decoder runs out of data */
    GL_JPEG_OTHER,  /* another marker: only decoding to the end tells */
    GL_JPEG_NO_END, /* the file ends without a marker */
    GL_JPEG_FILL    /* FF FF inside: decoders do not agree on it, not even libjpeg-turbo with itself */
};

/* gl_jpeg_scan_end looks for the first marker in scan[0, size) that is not RST0 to RST7. */
int gl_jpeg_scan_end(const uint8_t *scan, size_t size);

/* gl_jpeg_cmyk_to_rgb turns n pixels of CMYK as libjpeg gives them into what Pillow makes of them. */
void gl_jpeg_cmyk_to_rgb(const uint8_t *cmyk, size_t n, uint8_t *r, uint8_t *g, uint8_t *b);

#endif
