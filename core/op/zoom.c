/* scikit-image's resize (skimage/transform/_warps.py) into the sample, which becomes float or double.  It is scipy's: a Gaussian
 * filter down and then across, along axes that shrink, and a zoom by splines of first order; then numbers are kept between
 * the least and the largest of the image.  Beyond its ends the image is mirrored.
 *
 * All numbers are double, and sums have scipy's order (scipy/ndimage/src/ni_filters.c, ni_interpolation.c).  Rows and columns
 * that the kept window does not need are not computed. */
#include "zoom.h"

#include <math.h>
#include <string.h>

#include "stage.h"

/* Only what is spelled out is fused. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

/* Inputs from first on. */
typedef struct range {
    int32_t first, n;
} range;

/* How far a smoothing reaches to either side. */
static int32_t radius_of(const double *weights) {
    int32_t radius = GL_SMOOTH_MAX - 1;
    while (radius > 0 && weights[radius] == 0)
        radius--;
    return radius;
}

/* Where an axis of n goes on beyond its ends. */
static int32_t mirrored(int32_t at, int32_t n) {
    if (n == 1)
        return 0;
    const int32_t period = 2 * n - 2;
    at = (at < 0 ? -at : at) % period;
    return at < n ? at : period - at;
}

/* Output i of an axis of n that is zoomed to out. */
static gl_zoom_place place_of(int32_t i, int32_t n, int32_t out) {
    const double scale = (double)n / (double)out;
    const double centre = n > 1 ? fabs((i + 0.5) * scale - 0.5) : 0, whole = floor(centre);
    const int32_t at = (int32_t)whole;
    const double first = 1.0 - (centre - whole);
    return (gl_zoom_place){{mirrored(at, n), mirrored(at + 1, n)}, {first, 1.0 - first}};
}

static int32_t smaller(int32_t a, int32_t b) {
    return a < b ? a : b;
}

static int32_t larger(int32_t a, int32_t b) {
    return a > b ? a : b;
}

/* The inputs between which `count` outputs of an axis lie, from number `from` on. */
static range between(int32_t n, int32_t out, int32_t from, int32_t count) {
    int32_t low = n, high = 0;
    for (int32_t i = from; i < from + count; i++) {
        const gl_zoom_place place = place_of(i, n, out);
        low = smaller(low, smaller(place.at[0], place.at[1]));
        high = larger(high, larger(place.at[0], place.at[1]));
    }
    return (range){low, high - low + 1};
}

/* All that has to be known of `some` inputs for them to be smoothed. */
static range around(range some, int32_t radius, int32_t n) {
    const int32_t low = larger(some.first - radius, 0), end = smaller(some.first + some.n + radius, n);
    return (range){low, end - low};
}

/* Where the pass keeps what. */
typedef struct places {
    range columns;         /* that outputs lie between */
    range known;           /* columns that are smoothed to those */
    int32_t radius[2];     /* across, down */
    int32_t ring;          /* rows of numbers that are kept */
    size_t stride, result; /* numbers from a row to the next, and of a row of the result */
    double *numbers;       /* the ring: of input row y in y % ring */
    double *summed;        /* a row that is smoothed down, with `radius` more at both ends */
    double *smooth[2];     /* rows that are smoothed */
    double *made;          /* a row of the result */
    gl_zoom_place *across; /* an output each */
    const double **row;    /* the middle of an array of pointers to rows, for either radius */
} places;

static places sizes_of(const gl_stage *stage) {
    const gl_pass *pass = stage->pass;
    places made = {.radius = {radius_of(pass->smooth[0]), radius_of(pass->smooth[1])}};
    made.columns = between(stage->in_width, pass->width, pass->out.x, pass->out.width);
    made.known = around(made.columns, made.radius[0], stage->in_width);
    made.ring = 2 * made.radius[1] + 1;
    made.stride = gl_round_up((size_t)made.known.n + 2 * GL_SMOOTH_MAX, GL_ALIGN / sizeof(double));
    made.result = gl_round_up((size_t)pass->out.width, GL_ALIGN / sizeof(double));
    return made;
}

static size_t bytes_of(const places *at) {
    return (((size_t)at->ring + 3) * at->stride + at->result) * sizeof(double) + at->result * sizeof(gl_zoom_place) +
           2 * GL_SMOOTH_MAX * sizeof(double *);
}

static places places_of(const gl_stage *stage) {
    places made = sizes_of(stage);
    made.numbers = (double *)(void *)stage->scratch->middle.data;
    made.summed = made.numbers + (size_t)made.ring * made.stride;
    made.smooth[0] = made.summed + made.stride;
    made.smooth[1] = made.smooth[0] + made.stride;
    made.made = made.smooth[1] + made.stride;
    made.across = (gl_zoom_place *)(void *)(made.made + made.result);
    made.row = (const double **)(void *)(made.across + made.result) + GL_SMOOTH_MAX;
    return made;
}

/* The numbers of row y of a plane, smoothed; those of rows before *there are in the ring, as far as they are needed. */
static void smooth_row(const gl_stage *stage, const places *at, const uint8_t *plane, ptrdiff_t stride, int32_t y,
                       int32_t *there, double *dst) {
    const gl_pass *pass = stage->pass;
    const int32_t across = at->radius[0], down = at->radius[1], first = at->known.first;
    const range rows = around((range){y, 1}, down, stage->in_height);
    for (int32_t r = larger(*there, rows.first); r < rows.first + rows.n; r++) {
        const uint8_t *from = plane + r * stride + first;
        double *to = at->numbers + (size_t)(r % at->ring) * at->stride;
        for (int32_t x = 0; x < at->known.n; x++)
            to[x] = from[x] * pass->matrix[0];
    }
    *there = larger(*there, rows.first + rows.n);
    double *summed = across > 0 ? at->summed + across : dst;
    for (int32_t i = -down; i <= down; i++)
        at->row[i] = at->numbers + (size_t)(mirrored(y + i, stage->in_height) % at->ring) * at->stride;
    if (down > 0)
        stage->kernels->zoom_smooth(pass->smooth[1], down, at->row, at->known.n, summed);
    else
        memcpy(summed, at->row[0], (size_t)at->known.n * sizeof(double));
    if (across == 0)
        return;
    for (int32_t x = at->columns.first - across; x < first; x++)
        summed[x - first] = summed[mirrored(x, stage->in_width) - first];
    for (int32_t x = first + at->known.n; x < at->columns.first + at->columns.n + across; x++)
        summed[x - first] = summed[mirrored(x, stage->in_width) - first];
    for (int32_t i = -across; i <= across; i++)
        at->row[i] = summed + at->columns.first - first + i;
    stage->kernels->zoom_smooth(pass->smooth[0], across, at->row, at->columns.n, dst);
}

/* Puts row y of plane p into the sample. */
static void put_row(const gl_target *target, int32_t p, int32_t y, const double *row) {
    const size_t width = (size_t)target->width, plane = width * (size_t)target->height;
    const size_t step = target->shelf->interleaved ? (size_t)target->shelf->channels : 1;
    const size_t first = (size_t)y * width * step + (size_t)p * (target->shelf->interleaved ? 1 : plane);
    const size_t item = (size_t)target->shelf->itemsize;
    uint8_t *dst = target->sample + first * item;
    if (item == sizeof(double) && step == 1) {
        memcpy(dst, row, width * item);
    } else if (item == sizeof(double)) {
        for (size_t x = 0; x < width; x++, dst += step * item)
            memcpy(dst, row + x, sizeof(double));
    } else {
        for (size_t x = 0; x < width; x++, dst += step * item) {
            const float number = (float)row[x];
            memcpy(dst, &number, sizeof number);
        }
    }
}

/* The least and the largest byte of all planes. */
static void limits(const gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride, uint8_t *low,
                   uint8_t *high) {
    *low = 255;
    *high = 0;
    for (int32_t p = 0; p < stage->in_planes; p++)
        for (int32_t y = 0; y < stage->in_height; y++) {
            const uint8_t *row = plane[p] + y * stride;
            uint8_t least = *low, most = *high;
            for (int32_t x = 0; x < stage->in_width; x++) {
                least = row[x] < least ? row[x] : least;
                most = row[x] > most ? row[x] : most;
            }
            *low = least;
            *high = most;
        }
}

static void whole_zoom(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_pass *pass = stage->pass;
    const gl_target *target = &stage->target;
    const places at = places_of(stage);
    uint8_t low, high;
    limits(stage, plane, stride, &low, &high);
    for (int32_t x = 0; x < target->width; x++) {
        const int32_t i = pass->flip & GL_FLIP_HORIZONTAL ? target->width - 1 - x : x;
        gl_zoom_place *place = &at.across[x];
        *place = place_of(pass->out.x + i, stage->in_width, pass->width);
        place->at[0] -= at.columns.first;
        place->at[1] -= at.columns.first;
    }
    for (int32_t p = 0; p < target->planes; p++) {
        int32_t there = 0, smoothed[2] = {-1, -1}; /* which rows are in at.smooth */
        for (int32_t y = 0; y < target->height; y++) {
            const gl_zoom_place down = place_of(pass->out.y + y, stage->in_height, pass->height);
            const double *row[2];
            const int second_first = down.at[1] < down.at[0]; /* rows are taken from above */
            for (int k = 0; k < 2; k++) {
                const int32_t wanted = down.at[k ^ second_first], other = down.at[!(k ^ second_first)];
                int where = smoothed[1] == wanted;
                if (smoothed[where] != wanted) {
                    where = smoothed[0] == other;
                    smoothed[where] = wanted;
                    smooth_row(stage, &at, plane[p], stride, wanted, &there, at.smooth[where]);
                }
                row[k ^ second_first] = at.smooth[where];
            }
            stage->kernels->zoom_row(&down, row, at.across, target->width, low * pass->matrix[0],
                                     high * pass->matrix[0], at.made);
            put_row(target, p, pass->flip & GL_FLIP_VERTICAL ? target->height - 1 - y : y, at.made);
        }
    }
}

const char *gl_zoom_check(const gl_pass *pass, gl_shape *shape) {
    if (!(pass->matrix[0] >= 0 && pass->matrix[0] <= 1))
        return "a zoom scales by 0 to 1";
    for (int axis = 0; axis < 2; axis++)
        for (int32_t i = 0; i < GL_SMOOTH_MAX; i++)
            if (!(pass->smooth[axis][i] >= 0 && pass->smooth[axis][i] <= 1))
                return "weights of a zoom are 0 to 1";
    return gl_keep_check(pass->out, pass->width, pass->height, shape);
}

int gl_zoom_begin(gl_stage *stage) {
    const places sizes = sizes_of(stage);
    if (gl_buffer_grow(&stage->scratch->middle, bytes_of(&sizes)) != 0)
        return -1;
    return gl_whole_begin(stage, whole_zoom);
}
