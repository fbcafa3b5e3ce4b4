/* collect.h: a sink that keeps everything, and calls through a gl_decoder's pointers, which Go cannot make. */
#ifndef GOLOADER_DECODETEST_COLLECT_H
#define GOLOADER_DECODETEST_COLLECT_H

#include "../decoder.h"

void *gl_test_open(const gl_decoder *decoder);
void gl_test_close(const gl_decoder *decoder, void *state);

/* Decodes the window into rgb (want.height x want.width x 3 bytes, the caller's).  *rows is the number of rows handed
 * over, or -1 if the strips broke the contract. */
int gl_test_decode(const gl_decoder *decoder, void *state, const uint8_t *data, size_t size, int32_t width,
                   int32_t height, gl_window want, gl_seek *seek, uint8_t *rgb, int32_t *rows, char why[GL_WHY_BYTES]);

/* One of many images: what gl_test_decode takes and gives. */
typedef struct gl_test_image {
    const uint8_t *data;
    size_t size;
    int32_t width, height;
    gl_window want;
    gl_seek *seek;
    uint8_t *rgb;
    int32_t rows; /* out */
    int status;   /* out */
    char why[GL_WHY_BYTES];
} gl_test_image;

/* Decodes n images by turns (gl_decoder.decode_all).  Returns how many were given back.  Strips of an image that come
 * among those of another one break the contract. */
int32_t gl_test_decode_all(const gl_decoder *decoder, void *state, gl_test_image *images, int32_t n);

#endif
