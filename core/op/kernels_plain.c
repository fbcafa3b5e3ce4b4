/* The kernels in plain C: what the others must equal, and what they fall back to. */
#include <string.h>

#include "kernels.h"

static inline uint8_t clip(uint32_t sum) {
    const int32_t value = (int32_t)sum >> GL_WEIGHT_BITS;
    return value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
}

size_t gl_plain_pack(const gl_axis *axis, gl_table *table, uint8_t *room) {
    const size_t n = (size_t)axis->n, weights = n * (size_t)axis->taps;
    if (room != NULL) {
        /* first, count and weight follow each other in an axis too. */
        memcpy(room, axis->first, (2 * n + weights) * sizeof(int32_t));
        *table = (gl_table){
            .n = axis->n, .low = axis->low, .high = axis->high, .layout = GL_PLAIN_LAYOUT, .taps = axis->taps};
        table->first = (const int32_t *)room;
        table->count = table->first + n;
        table->weight = table->count + n;
    }
    return (2 * n + weights) * sizeof(int32_t);
}

void gl_plain_horizontal(const gl_table *table, const uint8_t *src, ptrdiff_t src_stride, int32_t rows, uint8_t *dst,
                         ptrdiff_t dst_stride) {
    const int32_t *const weights = table->weight;
    for (int32_t y = 0; y < rows; y++, src += src_stride, dst += dst_stride)
        for (int32_t i = 0; i < table->n; i++) {
            const uint8_t *from = src + table->first[i];
            const int32_t *weight = weights + (size_t)i * (size_t)table->taps;
            uint32_t sum = GL_HALF;
            for (int32_t j = 0; j < table->count[i]; j++)
                sum += from[j] * (uint32_t)weight[j];
            dst[i] = clip(sum);
        }
}

void gl_plain_vertical(const gl_table *table, int32_t from, int32_t rows, const uint8_t *src, ptrdiff_t src_stride,
                       int32_t width, uint8_t *dst, ptrdiff_t dst_stride) {
    enum { CHUNK = 256 }; /* columns whose sums stay in the first-level cache */
    uint32_t sums[CHUNK];
    for (int32_t y = 0; y < rows; y++) {
        const int32_t *weight = (const int32_t *)table->weight + (size_t)(from + y) * (size_t)table->taps;
        const uint8_t *top = src + table->first[from + y] * src_stride;
        for (int32_t x = 0; x < width; x += CHUNK) {
            const int32_t columns = width - x < CHUNK ? width - x : CHUNK;
            for (int32_t i = 0; i < columns; i++)
                sums[i] = GL_HALF;
            for (int32_t j = 0; j < table->count[from + y]; j++) {
                const uint8_t *row = top + j * src_stride + x;
                const uint32_t w = (uint32_t)weight[j];
                for (int32_t i = 0; i < columns; i++)
                    sums[i] += row[i] * w;
            }
            for (int32_t i = 0; i < columns; i++)
                dst[y * dst_stride + x + i] = clip(sums[i]);
        }
    }
}

void gl_plain_grey(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst) {
    for (size_t i = 0; i < n; i++)
        dst[i] = (uint8_t)((19595u * red[i] + 38470u * green[i] + 7471u * blue[i] + 32768u) >> 16);
}

void gl_plain_split(const uint8_t *rgb, size_t n, uint8_t *red, uint8_t *green, uint8_t *blue) {
    for (size_t i = 0; i < n; i++, rgb += 3) {
        red[i] = rgb[0];
        green[i] = rgb[1];
        blue[i] = rgb[2];
    }
}

const gl_kernels gl_plain_kernels = {
    .name = "plain",
    .pack_horizontal = gl_plain_pack,
    .pack_vertical = gl_plain_pack,
    .horizontal = gl_plain_horizontal,
    .vertical = gl_plain_vertical,
    .put = gl_plain_put,
    .linear_across = gl_plain_linear_across,
    .linear_down = gl_plain_linear_down,
    .grey = gl_plain_grey,
    .split = gl_plain_split,
};
