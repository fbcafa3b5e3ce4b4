/* The passes that make a look-up table of the whole image's pixels and then look each of them up: contrast, and the two
 * that go by histograms. */
#include <string.h>

#include "stage.h"

/* A fused multiply-add would round differently. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

static void look_up(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride, uint8_t table[3][256]) {
    const gl_target *target = &stage->target;
    for (int32_t p = 0; p < target->planes; p++)
        for (int32_t y = 0; y < target->height; y++) {
            uint8_t *built = gl_target_rows(target, p, y);
            stage->kernels->lookup(table[p], plane[p] + y * stride, (size_t)target->width, built);
            gl_target_put(target, p, y, 1, built, target->stride);
        }
}

/* The mean luma, rounded as ImageEnhance.Contrast does. */
static uint8_t mean_luma(const gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const size_t width = (size_t)stage->want.width;
    uint64_t sum = 0;
    for (int32_t y = 0; y < stage->want.height; y++) {
        const uint8_t *row = plane[0] + y * stride;
        if (stage->in_planes == 3) {
            uint8_t *grey = stage->scratch->middle.data;
            stage->kernels->grey(row, plane[1] + y * stride, plane[2] + y * stride, width, grey);
            row = grey;
        }
        for (size_t x = 0; x < width;) {
            const size_t end = width - x > 65536 ? x + 65536 : width; /* whose sum fits 32 bits */
            uint32_t part = 0;
            for (; x < end; x++)
                part += row[x];
            sum += part;
        }
    }
    return (uint8_t)((double)sum / ((double)width * stage->want.height) + 0.5);
}

static void whole_contrast(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    uint8_t mean[256], table[3][256];
    memset(mean, mean_luma(stage, plane, stride), sizeof mean);
    for (int v = 0; v < 256; v++)
        table[0][v] = (uint8_t)v;
    gl_plain_blend(mean, table[0], stage->pass->factor, 256, table[0]);
    memcpy(table[1], table[0], 256);
    memcpy(table[2], table[0], 256);
    look_up(stage, plane, stride, table);
}

int gl_contrast_begin(gl_stage *stage) {
    if (gl_buffer_grow(&stage->scratch->middle, (size_t)stage->in_width) != 0)
        return -1;
    return gl_whole_begin(stage, whole_contrast);
}

static void count(const gl_stage *stage, const uint8_t *plane, ptrdiff_t stride, uint32_t histogram[256]) {
    /* By turns, since neighbours are often the same and would wait for each other. */
    uint32_t turn[4][256];
    memset(turn, 0, sizeof turn);
    const int32_t width = stage->want.width;
    for (int32_t y = 0; y < stage->want.height; y++, plane += stride) {
        int32_t x = 0;
        for (; x + 4 <= width; x += 4)
            for (int32_t t = 0; t < 4; t++)
                turn[t][plane[x + t]]++;
        for (; x < width; x++)
            turn[0][plane[x]]++;
    }
    for (int v = 0; v < 256; v++)
        histogram[v] = turn[0][v] + turn[1][v] + turn[2][v] + turn[3][v];
}

/* ImageOps.autocontrast: the darkest value becomes 0, the brightest 255. */
static void stretch(const uint32_t histogram[256], uint8_t table[256]) {
    int low = 0, high = 255;
    while (low < 255 && histogram[low] == 0)
        low++;
    while (high > 0 && histogram[high] == 0)
        high--;
    if (high <= low) {
        for (int v = 0; v < 256; v++)
            table[v] = (uint8_t)v;
        return;
    }
    const double scale = 255.0 / (high - low), offset = -low * scale;
    for (int v = 0; v < 256; v++) {
        const double scaled = v * scale;
        const int value = (int)(scaled + offset);
        table[v] = value < 0 ? 0 : value > 255 ? 255 : (uint8_t)value;
    }
}

/* ImageOps.equalize: values are spread so that all are about equally frequent. */
static void spread(const uint32_t histogram[256], uint8_t table[256]) {
    uint64_t total = 0, last = 0;
    for (int v = 0; v < 256; v++) {
        total += histogram[v];
        if (histogram[v] != 0)
            last = histogram[v];
    }
    const uint64_t step = (total - last) / 255;
    uint64_t sum = step / 2;
    for (int v = 0; v < 256; v++) {
        const uint64_t value = step == 0 ? (uint64_t)v : sum / step;
        table[v] = value > 255 ? 255 : (uint8_t)value;
        sum += histogram[v];
    }
}

static void by_histogram(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride,
                         void (*level)(const uint32_t histogram[256], uint8_t table[256])) {
    uint8_t table[3][256];
    for (int32_t p = 0; p < stage->in_planes; p++) {
        uint32_t histogram[256];
        count(stage, plane[p], stride, histogram);
        level(histogram, table[p]);
    }
    look_up(stage, plane, stride, table);
}

static void whole_autocontrast(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    by_histogram(stage, plane, stride, stretch);
}

int gl_autocontrast_begin(gl_stage *stage) {
    return gl_whole_begin(stage, whole_autocontrast);
}

static void whole_equalize(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    by_histogram(stage, plane, stride, spread);
}

int gl_equalize_begin(gl_stage *stage) {
    return gl_whole_begin(stage, whole_equalize);
}
