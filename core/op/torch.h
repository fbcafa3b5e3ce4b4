/* torch.h: the inner loops of what torchvision does to the colours of uint8 tensors (transforms/v2/functional/_color.py),
 * in float32 and in its order; and of torch's resize of float32 (torch_float.c).
 *
 * torch adds a multiple (Tensor.add_ with alpha) with one rounding where it was built for processors that can, and with two
 * elsewhere: `fused` says which.  Loops are compiled for each set of instructions; the compiler must not fuse by itself. */
#ifndef GOLOADER_TORCH_H
#define GOLOADER_TORCH_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define GL_TORCH_LOOP static inline __attribute__((always_inline))

/* A set of them; nothing behind n is touched. */
typedef struct gl_torch {
    /* The luma, cut off. */
    void (*grey)(const uint8_t *const rgb[3], int fused, size_t n, uint8_t *dst);
    /* to * factor + from * rest, clipped and cut off; dst may be either. */
    void (*blend)(const uint8_t *from, const uint8_t *to, float factor, float rest, int fused, size_t n, uint8_t *dst);
    /* to + (from - to) * rest, clipped and cut off; dst may be either. */
    void (*sharpen)(const uint8_t *from, const uint8_t *to, float rest, int fused, size_t n, uint8_t *dst);
    /* Adds to the hue, -0.5 to 0.5. */
    void (*hue)(float add, const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]);
    /* dst[i] = weight[0] * src[i] + weight[1] * src[step + i] ..., `count` products; behind the first whole groups of `group`
     * are rounded before they are added. */
    void (*sum)(const float *weight, int32_t count, int32_t group, const float *src, ptrdiff_t step, int32_t n,
                float *dst);
    /* The same of GL_TORCH_LANES numbers that lie side by side, n times: from number first[i] on with count[i] weights, of
     * which there is room for `taps`. */
    void (*sum_lanes)(const float *weight, int32_t taps, const int32_t *first, const int32_t *count, int32_t group,
                      const float *src, int32_t n, float *dst);
} gl_torch;

extern const gl_torch gl_plain_torch;
#if defined(__x86_64__)
extern const gl_torch gl_avx2_torch;
#endif

GL_TORCH_LOOP float gl_torch_add(float sum, float other, float alpha, int fused) {
    if (fused)
        return __builtin_fmaf(other, alpha, sum);
    const float part = other * alpha;
    return sum + part;
}

GL_TORCH_LOOP void gl_torch_sum_columns(const float *weight, int32_t from, int32_t to, const float *src, ptrdiff_t step,
                                        int columns, int fused, float *sum) {
    for (int32_t j = from; j < to; j++)
        for (int x = 0; x < columns; x++)
            sum[x] = gl_torch_add(sum[x], src[j * step + x], weight[j], fused);
}

enum { GL_TORCH_CHUNK = 32, GL_TORCH_LANES = 16 };

/* Adds products [from, to) to `columns` sums; of the usual numbers of columns compilers keep the sums in registers. */
GL_TORCH_LOOP void gl_torch_sum_loop(const float *weight, int32_t from, int32_t to, const float *src, ptrdiff_t step,
                                     int columns, int fused, float *sum) {
    if (columns == GL_TORCH_CHUNK)
        gl_torch_sum_columns(weight, from, to, src, step, GL_TORCH_CHUNK, fused, sum);
    else if (columns == GL_TORCH_CHUNK / 2)
        gl_torch_sum_columns(weight, from, to, src, step, GL_TORCH_CHUNK / 2, fused, sum);
    else
        gl_torch_sum_columns(weight, from, to, src, step, columns, fused, sum);
}

/* gl_torch.sum by two loops, which add with two roundings and with one. */
typedef void gl_torch_part(const float *weight, int32_t from, int32_t to, const float *src, ptrdiff_t step, int columns,
                           float *sum);
GL_TORCH_LOOP void gl_torch_sum_parts(const float *weight, int32_t count, int32_t group, const float *src,
                                      ptrdiff_t step, int32_t n, float *dst, gl_torch_part *twice,
                                      gl_torch_part *once) {
    const int32_t grouped = 1 + (count - 1) / group * group;
    for (int32_t at = 0; at < n; at += GL_TORCH_CHUNK) {
        const int columns = n - at < GL_TORCH_CHUNK ? n - at : GL_TORCH_CHUNK;
        for (int x = 0; x < columns; x++)
            dst[at + x] = weight[0] * src[at + x];
        twice(weight, 1, grouped, src + at, step, columns, dst + at);
        once(weight, grouped, count, src + at, step, columns, dst + at);
    }
}

GL_TORCH_LOOP void gl_torch_lanes_loop(const float *weight, int32_t taps, const int32_t *first, const int32_t *count,
                                       int32_t group, const float *src, int32_t n, float *dst, gl_torch_part *twice) {
    for (int32_t i = 0; i < n; i++, weight += taps, dst += GL_TORCH_LANES) {
        const float *from = src + (ptrdiff_t)first[i] * GL_TORCH_LANES;
        const int32_t grouped = 1 + (count[i] - 1) / group * group;
        float sum[GL_TORCH_LANES];
        for (int x = 0; x < GL_TORCH_LANES; x++)
            sum[x] = weight[0] * from[x];
        if (grouped > 1)
            twice(weight, 1, grouped, from, GL_TORCH_LANES, GL_TORCH_LANES, sum);
        gl_torch_sum_columns(weight, grouped, count[i], from, GL_TORCH_LANES, GL_TORCH_LANES, 1, sum);
        memcpy(dst, sum, sizeof sum);
    }
}

GL_TORCH_LOOP uint8_t gl_torch_byte(float value) {
    value = value < 0.0f ? 0.0f : value;
    value = value > 255.0f ? 255.0f : value;
    return (uint8_t)(int32_t)value;
}

/* The nearest byte, the even one of two; 0 for no number. */
GL_TORCH_LOOP uint8_t gl_torch_rounded(float value) {
    const float moved = value + 12582912.0f; /* 3 * 2^22: its last bits count ones */
    int32_t bits;
    memcpy(&bits, &moved, sizeof bits);
    return (uint8_t)bits;
}

GL_TORCH_LOOP void gl_torch_grey_loop(const uint8_t *const rgb[3], int fused, size_t n, uint8_t *dst) {
    const uint8_t *red = rgb[0], *green = rgb[1], *blue = rgb[2];
    for (size_t i = 0; i < n; i++) {
        float luma = (float)red[i] * 0.2989f;
        luma = gl_torch_add(luma, (float)green[i], 0.587f, fused);
        luma = gl_torch_add(luma, (float)blue[i], 0.114f, fused);
        dst[i] = (uint8_t)(int32_t)luma;
    }
}

GL_TORCH_LOOP void gl_torch_blend_loop(const uint8_t *from, const uint8_t *to, float factor, float rest, int fused,
                                       size_t n, uint8_t *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = gl_torch_byte(gl_torch_add((float)to[i] * factor, (float)from[i], rest, fused));
}

GL_TORCH_LOOP void gl_torch_sharpen_loop(const uint8_t *from, const uint8_t *to, float rest, int fused, size_t n,
                                         uint8_t *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = gl_torch_byte(gl_torch_add((float)to[i], (float)(from[i] - to[i]), rest, fused));
}

GL_TORCH_LOOP float gl_torch_unit(float value) {
    value = value < 0.0f ? 0.0f : value;
    return value > 1.0f ? 1.0f : value;
}

/* Every value is computed whichever is wanted, so that there is nothing to branch for. */
GL_TORCH_LOOP void gl_torch_hue_loop(float add, const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]) {
    const uint8_t *red = rgb[0], *green = rgb[1], *blue = rgb[2];
    uint8_t *reds = out[0], *greens = out[1], *blues = out[2];
    const float share = (float)(1.0 / 255.0), sixth = (float)(1.0 / 6.0), most = (float)(255.0 + 1.0 - 1e-3);
    for (size_t i = 0; i < n; i++) {
        const float r = (float)red[i] * share, g = (float)green[i] * share, b = (float)blue[i] * share;
        const float rg_high = r > g ? r : g, rg_low = r < g ? r : g;
        const float v = rg_high > b ? rg_high : b, low = rg_low < b ? rg_low : b;
        const float range = v - low;
        const float divisor = v == low ? 1.0f : range;
        const float s = range / (v == low ? 1.0f : v);
        const float rc = (v - r) / divisor, gc = (v - g) / divisor, bc = (v - b) / divisor;
        const float of_red = bc - gc, of_green = rc + 2.0f - bc, of_blue = gc + 4.0f - rc;
        float h = v == r ? of_red : v == g ? of_green : of_blue;
        h = h * sixth;
        h = h + 1.0f;
        h = h >= 1.0f ? h - 1.0f : h;
        h = h + add;
        const float below = h + 1.0f, above = h - 1.0f;
        h = h < 0.0f ? below : h >= 1.0f ? above : h;
        const float sixths = h * 6.0f;
        const int32_t sector = (int32_t)sixths;
        const float f = sixths - (float)sector;
        const float sf = s * f, unsaturated = 1.0f - s;
        const float q = gl_torch_unit((1.0f - sf) * v), t = gl_torch_unit((sf + unsaturated) * v);
        const float p = gl_torch_unit(unsaturated * v);
        /* sector is 6 where h has been rounded up to 1. */
        const float to_red = sector == 1 ? q : sector == 2 || sector == 3 ? p : sector == 4 ? t : v;
        const float to_green = sector == 1 || sector == 2 ? v : sector == 3 ? q : sector == 4 || sector == 5 ? p : t;
        const float to_blue = sector == 2 ? t : sector == 3 || sector == 4 ? v : sector == 5 ? q : p;
        reds[i] = (uint8_t)(int32_t)(to_red * most);
        greens[i] = (uint8_t)(int32_t)(to_green * most);
        blues[i] = (uint8_t)(int32_t)(to_blue * most);
    }
}

#endif
