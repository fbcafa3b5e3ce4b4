/* kernels.h: the inner loops, one set an instruction set; all sets give the same bits. */
#ifndef GOLOADER_KERNELS_H
#define GOLOADER_KERNELS_H

#include "opencv.h"
#include "resample.h"
#include "store.h"

struct gl_kernels {
    const char *name;
    gl_pack *pack_horizontal, *pack_vertical;
    gl_horizontal *horizontal;
    gl_vertical *vertical;
    gl_put *put;
    gl_linear_across *linear_across;
    gl_linear_down *linear_down;
    /* L of n pixels; dst may be any of the three. Touches nothing behind n. */
    void (*grey)(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst);
    /* n interleaved RGB pixels to three planes. Touches nothing behind n. */
    void (*split)(const uint8_t *rgb, size_t n, uint8_t *red, uint8_t *green, uint8_t *blue);
};

void gl_plain_grey(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst);
void gl_plain_split(const uint8_t *rgb, size_t n, uint8_t *red, uint8_t *green, uint8_t *blue);

extern const gl_kernels gl_plain_kernels;
#if defined(__x86_64__)
extern const gl_kernels gl_avx2_kernels, gl_avx512_kernels;
gl_linear_across gl_avx2_linear_across;
gl_linear_down gl_avx2_linear_down;
#elif defined(__aarch64__)
extern const gl_kernels gl_neon_kernels;
#endif

/* The set for this processor, or the one GOLOADER_KERNELS names if the processor has it. Any thread. */
const gl_kernels *gl_kernels_chosen(void);

#endif
