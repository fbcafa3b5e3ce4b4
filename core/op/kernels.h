/* kernels.h: the inner loops, one set an instruction set; all sets give the same bits. */
#ifndef GOLOADER_KERNELS_H
#define GOLOADER_KERNELS_H

#include "blur.h"
#include "convolve.h"
#include "opencv.h"
#include "resample.h"
#include "store.h"
#include "torch.h"
#include "torch_grid.h"
#include "zoom.h"

struct gl_kernels {
    const char *name;
    const gl_torch *torch;
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
    /* dst[i] = table[src[i]]; dst may be src. Touches nothing behind n, like all that follow. */
    void (*lookup)(const uint8_t table[256], const uint8_t *src, size_t n, uint8_t *dst);
    /* Pillow's Image.blend: from + factor * (to - from) in float32, cut off and clipped; dst may be either. */
    void (*blend)(const uint8_t *from, const uint8_t *to, float factor, size_t n, uint8_t *dst);
    /* Pillow's ImageFilter.SMOOTH: the mean of 3 x 3 pixels, the middle one five times.  The three rows have a pixel
     * more at both ends: src[-1] and src[n] are read. */
    void (*smooth)(const uint8_t *above, const uint8_t *src, const uint8_t *below, size_t n, uint8_t *dst);
    /* Pillow's RGB to HSV, H + shift, and back, of n pixels. out and rgb do not overlap. */
    void (*hue)(int32_t shift, const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]);
    /* Sums of 3 x 3 or 5 x 5 weighted pixels (gl_stencil_loop in colour_loops.h). */
    void (*stencil)(int side, const float *weights, float offset, const uint8_t *const *rows, size_t n, uint8_t *dst);
    gl_blur *blur;
    gl_convolve *convolve;
    gl_convolve_apart *convolve_apart;
    gl_weigh *weigh;
    gl_warp_along *warp_along;
    gl_warp_nearest *warp_nearest;
    gl_warp_pack *warp_pack;
    gl_warp_unpack *warp_unpack;
    gl_warp_blend *warp_blend;
    gl_warp_inside *warp_inside;
    gl_to_hsv *to_hsv;
    gl_from_hsv *from_hsv;
    gl_zoom_smooth *zoom_smooth;
    gl_zoom_row *zoom_row;
    const gl_grid_loops *grid;
};

void gl_plain_grey(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst);
void gl_plain_split(const uint8_t *rgb, size_t n, uint8_t *red, uint8_t *green, uint8_t *blue);
void gl_plain_lookup(const uint8_t table[256], const uint8_t *src, size_t n, uint8_t *dst);
void gl_plain_blend(const uint8_t *from, const uint8_t *to, float factor, size_t n, uint8_t *dst);
void gl_plain_smooth(const uint8_t *above, const uint8_t *src, const uint8_t *below, size_t n, uint8_t *dst);
void gl_plain_hue(int32_t shift, const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]);
void gl_plain_stencil(int side, const float *weights, float offset, const uint8_t *const *rows, size_t n, uint8_t *dst);
gl_blur gl_plain_blur;
gl_convolve gl_plain_convolve;
gl_convolve_apart gl_plain_convolve_apart;
gl_weigh gl_plain_weigh;
gl_zoom_smooth gl_plain_zoom_smooth;
gl_zoom_row gl_plain_zoom_row;

extern const gl_kernels gl_plain_kernels;
#if defined(__x86_64__)
extern const gl_kernels gl_avx2_kernels, gl_avx512_kernels;
gl_linear_across gl_avx2_linear_across;
gl_linear_down gl_avx2_linear_down;
gl_convolve_apart gl_avx2_convolve_apart;
gl_warp_along gl_avx2_warp_along;
gl_warp_nearest gl_avx2_warp_nearest;
gl_warp_pack gl_avx2_warp_pack;
gl_warp_unpack gl_avx2_warp_unpack;
gl_warp_blend gl_avx2_warp_blend;
gl_warp_inside gl_avx2_warp_inside;
gl_to_hsv gl_avx2_to_hsv;
gl_from_hsv gl_avx2_from_hsv;
gl_zoom_smooth gl_avx2_zoom_smooth;
gl_zoom_row gl_avx2_zoom_row;
#elif defined(__aarch64__)
extern const gl_kernels gl_neon_kernels;
#endif

/* The set for this processor, or the one GOLOADER_KERNELS names if the processor has it. Any thread. */
const gl_kernels *gl_kernels_chosen(void);

#endif
