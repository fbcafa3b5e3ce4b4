/* bench.c: our JPEG decoder beside libjpeg-turbo, both as a worker calls them.
 *
 *   bench <rounds> <file>...
 *
 * Each file is decoded whole and in one window like those of RandomResizedCrop, by the two decoders in turn, from
 * memory; the sink looks at nothing.  Prints microseconds an image (the best round) and the ratio. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "../../core/decode/jpeg/engine.h"

typedef struct image {
    uint8_t *data;
    size_t size;
    int32_t width, height;
    gl_window crop;
} image;

static void nothing(gl_sink *sink, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    (void)sink, (void)y, (void)rows, (void)plane, (void)stride;
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static double uniform(double low, double high) {
    return low + (high - low) * rand() / RAND_MAX;
}

/* 8% to 100% of the area, aspect 3/4 to 4/3. */
static gl_window random_crop(int32_t width, int32_t height) {
    for (int i = 0; i < 10; i++) {
        const double area = uniform(0.08, 1) * width * height, aspect = exp(uniform(log(0.75), log(4.0 / 3)));
        const int32_t w = (int32_t)lround(sqrt(area * aspect)), h = (int32_t)lround(sqrt(area / aspect));
        if (w >= 1 && h >= 1 && w <= width && h <= height) {
            return (gl_window){rand() % (width - w + 1), rand() % (height - h + 1), w, h};
        }
    }
    return (gl_window){0, 0, width, height};
}

static int load(const char *path, image *out) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        return -1;
    }
    fseek(f, 0, SEEK_END);
    out->size = (size_t)ftell(f);
    rewind(f);
    out->data = malloc(out->size);
    const int read_all = fread(out->data, 1, out->size, f) == out->size;
    fclose(f);
    static gl_jpeg_frame frame;
    if (!read_all || gl_jpeg_parse(out->data, out->size, &frame) != GL_JPEG_OK) {
        free(out->data);
        return -1;
    }
    out->width = frame.width;
    out->height = frame.height;
    out->crop = random_crop(frame.width, frame.height);
    return 0;
}

static double seconds(const gl_decoder *decoder, void *state, const image *images, int n, int whole) {
    gl_sink sink = {nothing};
    char why[GL_WHY_BYTES];
    const double from = now();
    for (int i = 0; i < n; i++) {
        const image *im = &images[i];
        const gl_window want = whole ? (gl_window){0, 0, im->width, im->height} : im->crop;
        if (decoder->decode(state, im->data, im->size, im->width, im->height, want, NULL, &sink, why) != GL_DECODED) {
            fprintf(stderr, "%s refused: %s\n", decoder->name, why);
            exit(1);
        }
    }
    return now() - from;
}

int main(int argc, char **argv) {
    if (argc < 3) {
        fprintf(stderr, "usage: bench <rounds> <file>...\n");
        return 2;
    }
    const int rounds = atoi(argv[1]);
    image *images = calloc((size_t)argc, sizeof *images);
    int n = 0;
    for (int i = 2; i < argc; i++) {
        n += load(argv[i], &images[n]) == 0;
    }
    const gl_decoder *decoders[2] = {&gl_jpeg_own_alone, &gl_jpeg_turbo};
    void *states[2] = {decoders[0]->open(), decoders[1]->open()};
    printf("%d images, kernels %s\n", n, gl_jpeg_kernels_chosen()->name);
    for (int whole = 1; whole >= 0; whole--) {
        double best[2] = {INFINITY, INFINITY};
        for (int r = 0; r < rounds; r++) {
            for (int d = 0; d < 2; d++) {
                best[d] = fmin(best[d], seconds(decoders[d], states[d], images, n, whole));
            }
        }
        printf("%-6s own %6.1f us  libjpeg-turbo %6.1f us  ratio %.2f\n", whole ? "whole" : "crop", best[0] / n * 1e6,
               best[1] / n * 1e6, best[1] / best[0]);
    }
    for (int d = 0; d < 2; d++) {
        decoders[d]->close(states[d]);
    }
    for (int i = 0; i < n; i++) {
        free(images[i].data);
    }
    free(images);
    return 0;
}
