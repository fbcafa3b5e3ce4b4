/* zoom.h: the inner loops of scikit-image's resize (zoom.c), in double. No product is fused with a sum. */
#ifndef GOLOADER_ZOOM_H
#define GOLOADER_ZOOM_H

#include <stddef.h>
#include <stdint.h>

/* gl_zoom_smooth sums n columns of rows row[-radius] ... row[radius], which have the same weight on both sides: weights[0] is
 * the middle row's.  As scipy does, the outermost pair first. */
typedef void gl_zoom_smooth(const double *weights, int32_t radius, const double *const *row, int32_t n, double *dst);

/* Where an output of a zoom lies along one axis: between two inputs, each with its share. */
typedef struct gl_zoom_place {
    int32_t at[2];
    double share[2];
} gl_zoom_place;

/* gl_zoom_row makes n numbers between two rows, from low to high. */
typedef void gl_zoom_row(const gl_zoom_place *down, const double *const row[2], const gl_zoom_place *across, int32_t n,
                         double low, double high, double *dst);

#define GL_ZOOM_LOOP static inline __attribute__((always_inline))

GL_ZOOM_LOOP void gl_zoom_smooth_loop(const double *weights, int32_t radius, const double *const *row, int32_t n,
                                      double *dst) {
    enum { CHUNK = 32 };
    for (int32_t from = 0; from < n; from += CHUNK) {
        const int columns = n - from < CHUNK ? n - from : CHUNK;
        double sum[CHUNK];
        for (int x = 0; x < columns; x++)
            sum[x] = row[0][from + x] * weights[0];
        for (int32_t i = radius; i > 0; i--) {
            const double *before = row[-i] + from, *behind = row[i] + from;
            for (int x = 0; x < columns; x++)
                sum[x] += (before[x] + behind[x]) * weights[i];
        }
        for (int x = 0; x < columns; x++)
            dst[from + x] = sum[x];
    }
}

GL_ZOOM_LOOP void gl_zoom_row_loop(const gl_zoom_place *down, const double *const row[2], const gl_zoom_place *across,
                                   int32_t n, double low, double high, double *dst) {
    const double *above = row[0], *below = row[1];
    const double upper = down->share[0], lower = down->share[1];
    for (int32_t x = 0; x < n; x++) {
        const int32_t left = across[x].at[0], right = across[x].at[1];
        double sum = above[left] * upper * across[x].share[0];
        sum += above[right] * upper * across[x].share[1];
        sum += below[left] * lower * across[x].share[0];
        sum += below[right] * lower * across[x].share[1];
        sum = sum < low ? low : sum;
        dst[x] = sum > high ? high : sum;
    }
}

#endif
