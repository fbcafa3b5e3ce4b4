/* unfilter.c: undoes PNG's row filters (PNG specification, section 9).
 *
 * Sub, Average and Paeth depend on the pixel to the left, so a row is one chain of dependent steps, and what counts is
 * the length of a step.  A pixel is held as eight 16-bit lanes, whatever its size, by the compiler's portable vectors;
 * it is inlined once for each pixel size, so that loads and stores have constant sizes. */
#include "png.h"

#include <string.h>

typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int16_t lanes __attribute__((vector_size(16)));

/* Eight bytes, of which only the first pixel counts. */
static inline lanes load(const uint8_t *p) {
    bytes8 v;
    memcpy(&v, p, sizeof v);
    return __builtin_convertvector(v, lanes);
}

/* Stores n <= 8 lanes, all in 0..255. */
static inline __attribute__((always_inline)) void store(uint8_t *p, lanes v, int n) {
    bytes8 packed = __builtin_convertvector(v, bytes8);
    uint64_t whole;
    memcpy(&whole, &packed, sizeof whole);
    if (n == 3) { /* a three-byte memcpy takes three stores */
        uint16_t low = (uint16_t)whole;
        memcpy(p, &low, sizeof low);
        p[2] = (uint8_t)(whole >> 16);
    } else if (n == 6) {
        uint32_t low = (uint32_t)whole;
        uint16_t high = (uint16_t)(whole >> 32);
        memcpy(p, &low, sizeof low);
        memcpy(p + 4, &high, sizeof high);
    } else {
        memcpy(p, &packed, (size_t)n);
    }
}

static inline lanes choose(lanes mask, lanes yes, lanes no) {
    return (mask & yes) | (~mask & no);
}

/* The one of a (left), b (above), c (above left) next to a + b - c, a before b before c.  Same as the specification's
 * three distances: with t = 3 c - (a + b), c is nearest exactly if min(a, b) < t < max(a, b) (after stb_image.h). */
static inline lanes paeth(lanes a, lanes b, lanes c, lanes c3_b) {
    lanes t = c3_b - a;
    lanes a_is_less = a < b;
    lanes low = choose(a_is_less, a, b), high = choose(a_is_less, b, a);
    return choose(t <= low, high, choose(t >= high, low, c));
}

static inline __attribute__((always_inline)) void undo_sub(uint8_t *row, size_t n, int bpp) {
    lanes a = {0};
    for (size_t i = 0; i < n; i += (size_t)bpp) {
        a = (load(row + i) + a) & 255;
        store(row + i, a, bpp);
    }
}

static inline __attribute__((always_inline)) void undo_average(uint8_t *row, const uint8_t *above, size_t n, int bpp) {
    lanes a = {0};
    for (size_t i = 0; i < n; i += (size_t)bpp) {
        a = (load(row + i) + ((a + load(above + i)) >> 1)) & 255;
        store(row + i, a, bpp);
    }
}

static inline __attribute__((always_inline)) void undo_paeth(uint8_t *row, const uint8_t *above, size_t n, int bpp) {
    lanes a = {0}, c = {0};
    for (size_t i = 0; i < n; i += (size_t)bpp) {
        lanes b = load(above + i);
        a = (load(row + i) + paeth(a, b, c, 3 * c - b)) & 255;
        c = b;
        store(row + i, a, bpp);
    }
}

static void undo_up(uint8_t *restrict row, const uint8_t *restrict above, size_t n) {
    for (size_t i = 0; i < n; i++) {
        row[i] = (uint8_t)(row[i] + above[i]);
    }
}

/* The first row, or all of a row that has zeros above: Up does nothing and Paeth is Sub. */
static inline __attribute__((always_inline)) void undo_first(uint8_t *row, size_t n, int filter, int bpp) {
    if (filter == 1 || filter == 4) {
        undo_sub(row, n, bpp);
    } else if (filter == 3) {
        for (size_t i = (size_t)bpp; i < n; i++) {
            row[i] = (uint8_t)(row[i] + row[i - (size_t)bpp] / 2);
        }
    }
}

static inline __attribute__((always_inline)) void undo_all(uint8_t *rows, int32_t count, size_t n, int bpp) {
    for (int32_t y = 0; y < count; y++) {
        uint8_t *row = rows + (size_t)y * (n + 1) + 1;
        const uint8_t *above = row - (n + 1);
        if (y == 0) {
            undo_first(row, n, row[-1], bpp);
            continue;
        }
        switch (row[-1]) {
        case 1:
            undo_sub(row, n, bpp);
            break;
        case 2:
            undo_up(row, above, n);
            break;
        case 3:
            undo_average(row, above, n, bpp);
            break;
        case 4:
            undo_paeth(row, above, n, bpp);
            break;
        default:
            break;
        }
    }
}

void gl_png_unfilter(uint8_t *rows, int32_t count, size_t row_bytes, int pixel_bytes) {
    switch (pixel_bytes) {
    case 1:
        undo_all(rows, count, row_bytes, 1);
        break;
    case 2:
        undo_all(rows, count, row_bytes, 2);
        break;
    case 3:
        undo_all(rows, count, row_bytes, 3);
        break;
    case 4:
        undo_all(rows, count, row_bytes, 4);
        break;
    case 6:
        undo_all(rows, count, row_bytes, 6);
        break;
    default:
        undo_all(rows, count, row_bytes, 8);
        break;
    }
}
