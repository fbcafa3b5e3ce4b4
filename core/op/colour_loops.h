/* colour_loops.h: loops over pixels that a compiler turns into vectors by itself; each set of kernels compiles them for its
 * instructions.  Where those have a fused multiply-add it must not be used for the blend: it would round differently. */
#ifndef GOLOADER_COLOUR_LOOPS_H
#define GOLOADER_COLOUR_LOOPS_H

#include <stddef.h>
#include <stdint.h>

#define GL_LOOP static inline __attribute__((always_inline))

GL_LOOP void gl_blend_loop(const uint8_t *from, const uint8_t *to, float factor, size_t n, uint8_t *dst) {
    for (size_t i = 0; i < n; i++) {
        const float part = factor * (float)(to[i] - from[i]);
        float value = (float)from[i] + part;
        value = value < 0.0f ? 0.0f : value;
        value = value > 255.0f ? 255.0f : value;
        dst[i] = (uint8_t)(int32_t)value;
    }
}

GL_LOOP void gl_smooth_loop(const uint8_t *above, const uint8_t *src, const uint8_t *below, size_t n, uint8_t *dst) {
    for (ptrdiff_t i = 0; i < (ptrdiff_t)n; i++) {
        const ptrdiff_t left = i - 1, right = i + 1;
        const uint32_t sum = (uint32_t)above[left] + above[i] + above[right] + src[left] + 5u * src[i] + src[right] +
                             below[left] + below[i] + below[right];
        /* Pillow rounds sum / 13 in float32. 13 is odd, so that no sum is near enough to a half for that to matter. */
        dst[i] = (uint8_t)((sum + 6) * 5042 >> 16);
    }
}

#endif
