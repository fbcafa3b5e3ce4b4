/* RGB to HSV and back, as OpenCV has them for bytes with H in 0 ... 179 (modules/imgproc/src/color_hsv.simd.hpp). */
#include <math.h>
#include <string.h>

#include "stage.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

/* part / whole of `scale` 4096ths, where part is at most 6 times whole, as OpenCV's tables of divisors round it. */
static int32_t share(int32_t part, int32_t scale, int32_t whole) {
    return whole == 0 ? 0 : (part * ((2 * scale + whole) / (2 * whole)) + 2048) >> 12;
}

void gl_plain_to_hsv(const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]) {
    for (size_t i = 0; i < n; i++) {
        const int32_t red = rgb[0][i], green = rgb[1][i], blue = rgb[2][i];
        int32_t high = red > green ? red : green, low = red > green ? green : red;
        high = high > blue ? high : blue;
        low = low < blue ? low : blue;
        const int32_t chroma = high - low;
        const int32_t turn = high == red     ? green - blue
                             : high == green ? blue - red + 2 * chroma
                                             : red - green + 4 * chroma;
        const int32_t hue = share(turn, 30 << 12, chroma);
        out[0][i] = (uint8_t)(hue < 0 ? hue + 180 : hue);
        out[1][i] = (uint8_t)share(chroma, 255 << 12, high);
        out[2][i] = (uint8_t)high;
    }
}

/* rounds  whether a byte is the nearest to what comes out, or what lies below that */
static void from_hsv(const uint8_t *const hsv[3], size_t first, size_t end, int rounds, uint8_t *const out[3]) {
    static const uint8_t which[6][3] = {{0, 3, 1}, {2, 0, 1}, {1, 0, 3}, {1, 2, 0}, {3, 1, 0}, {0, 1, 2}};
    for (size_t i = first; i < end; i++) {
        const float turn = (float)hsv[0][i] * (6.0f / 180.0f), s = (float)hsv[1][i] * (1.0f / 255.0f);
        const float v = (float)hsv[2][i] * (1.0f / 255.0f), part = turn - (float)(int32_t)turn;
        const float level[4] = {v, v * (1.0f - s), v * fmaf(-s, part, 1.0f), v * fmaf(-s, 1.0f - part, 1.0f)};
        for (int32_t c = 0; c < 3; c++) {
            const float value = level[which[(int32_t)turn % 6][c]] * 255.0f;
            out[c][i] = (uint8_t)(rounds ? lrintf(value) : (int32_t)value);
        }
    }
}

void gl_plain_from_hsv(const uint8_t *const hsv[3], size_t n, uint8_t *const out[3]) {
    const size_t cut = n - n % GL_HSV_BLOCK;
    from_hsv(hsv, 0, cut, 0, out);
    from_hsv(hsv, cut, n, 1, out);
}

static void to_hsv_row(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]) {
    if (stage->in_planes == 1)
        memcpy(out[0], in[0], n);
    else
        stage->kernels->to_hsv(in, n, out);
}

int gl_opencv_to_hsv_begin(gl_stage *stage) {
    return gl_rows_begin(stage, to_hsv_row);
}

static void from_hsv_row(const gl_stage *stage, const uint8_t *const in[3], size_t n, uint8_t *const out[3]) {
    if (stage->in_planes == 1)
        memcpy(out[0], in[0], n);
    else
        stage->kernels->from_hsv(in, n, out);
}

int gl_opencv_from_hsv_begin(gl_stage *stage) {
    return gl_rows_begin(stage, from_hsv_row);
}
