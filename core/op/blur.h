/* blur.h: Pillow's box blur along one axis (src/libImaging/BoxBlur.c), in its 32 bits. */
#ifndef GOLOADER_BLUR_H
#define GOLOADER_BLUR_H

#include <stddef.h>
#include <stdint.h>

enum { GL_STRIP = 64 }; /* lines that are blurred side by side */

/* A box of 2 * radius + 1 pixels of weight inner, and one more of weight outer at each end; out of 2^24. Behind its ends an
 * axis goes on with its first and last pixel. */
typedef struct gl_box {
    int32_t radius;
    uint32_t inner, outer;
} gl_box;

/* Where pixel `at` of a strip's lines begins: more than 2^31 bytes in where lines are long. */
static inline ptrdiff_t gl_strip_offset(int64_t at) {
    return (ptrdiff_t)at * GL_STRIP;
}

/* n pixels of GL_STRIP lines, pixel by pixel: src and dst are [n][GL_STRIP] and do not overlap. */
typedef void gl_blur(const gl_box *box, const uint8_t *src, int32_t n, uint8_t *dst);

#endif
