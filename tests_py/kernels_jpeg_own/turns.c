/* turns.c: images decoded by turns against the same images decoded one after the other.
 *
 * The law: whatever images share a call, each ends as if it were alone, and their strips do not mix (collect.c looks
 * at that).  Half of the files are damaged, so that lanes stop at any place; some have a seek index.
 *
 *   turns <seed> <rounds> <file>...    each round decodes up to LENGTH_MAX of the files */
#include <stdio.h>
#include <stdlib.h>

#include "../../core/decode/decodetest/collect.h"
#include "../../core/decode/jpeg/engine.h"
#include "mutate.h"

enum { LENGTH_MAX = 12, SEEK_BYTES = 1024 };

typedef struct file {
    uint8_t *data;
    size_t size;
} file;

static file load(const char *path) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    fseek(f, 0, SEEK_END);
    file out = {.size = (size_t)ftell(f)};
    rewind(f);
    out.data = malloc(out.size);
    if (fread(out.data, 1, out.size, f) != out.size) {
        exit(1);
    }
    fclose(f);
    return out;
}

/* A copy of exactly its size, for the sanitizers. */
static uint8_t *copy_of(const uint8_t *data, size_t size) {
    uint8_t *copy = malloc(size ? size : 1);
    memcpy(copy, data, size);
    return copy;
}

/* A window of a file that may be damaged; 0 if not even its size can be told. */
static int choose(gl_test_image *image, const file *from, uint64_t *seed) {
    uint8_t *work = malloc(from->size + 64);
    memcpy(work, from->data, from->size);
    const size_t size = below(seed, 2) ? mutate(work, from->size, seed) : from->size;
    *image = (gl_test_image){.data = copy_of(work, size), .size = size};
    free(work);
    static gl_jpeg_frame frame;
    if (gl_jpeg_parse(image->data, size, &frame) != GL_JPEG_OK || (int64_t)frame.width * frame.height > 1 << 20) {
        free((void *)image->data);
        return 0;
    }
    image->width = frame.width;
    image->height = frame.height;
    image->want = random_window(seed, frame.width, frame.height);
    image->rgb = malloc((size_t)image->want.width * image->want.height * 3);
    if (below(seed, 2)) {
        image->seek = malloc(sizeof *image->seek);
        *image->seek = (gl_seek){calloc(1, SEEK_BYTES), (size_t)below(seed, SEEK_BYTES), 0};
    }
    return 1;
}

static void drop(gl_test_image *image) {
    free((void *)image->data);
    free(image->rgb);
    if (image->seek) {
        free(image->seek->data);
        free(image->seek);
    }
}

static int check(const gl_test_image *got, const gl_decoder *decoder, void *state) {
    const size_t bytes = (size_t)got->want.width * got->want.height * 3;
    gl_test_image want = *got;
    want.rgb = malloc(bytes);
    want.status = gl_test_decode(decoder, state, got->data, got->size, got->width, got->height, got->want, NULL,
                                 want.rgb, &want.rows, want.why);
    const int same = got->status == want.status && got->rows == want.rows && strcmp(got->why, want.why) == 0 &&
                     (got->status != GL_DECODED || memcmp(got->rgb, want.rgb, bytes) == 0);
    free(want.rgb);
    return same;
}

int main(int argc, char **argv) {
    if (argc < 4) {
        fprintf(stderr, "usage: turns <seed> <rounds> <file>...\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    const int n_files = argc - 3;
    file *files = malloc((size_t)n_files * sizeof *files);
    for (int i = 0; i < n_files; i++) {
        files[i] = load(argv[3 + i]);
    }
    const gl_decoder *const decoders[2] = {&gl_jpeg_own, &gl_jpeg_own_alone};
    void *turns[2], *alone[2];
    for (int d = 0; d < 2; d++) {
        turns[d] = gl_test_open(decoders[d]);
        alone[d] = gl_test_open(decoders[d]);
    }
    long images = 0, decoded = 0;
    for (int round = atoi(argv[2]); round > 0; round--) {
        const int d = below(&seed, 2);
        gl_test_image run[LENGTH_MAX];
        int32_t n = 0;
        for (int i = below(&seed, LENGTH_MAX + 1); i > 0; i--) {
            n += choose(&run[n], &files[below(&seed, n_files)], &seed);
        }
        /* A second visit has an index where the first one left it. */
        for (int visit = 0; visit < 2; visit++) {
            if (gl_test_decode_all(decoders[d], turns[d], run, n) != n) {
                fprintf(stderr, "images were not given back\n");
                return 1;
            }
            for (int32_t i = 0; i < n; i++) {
                images++;
                decoded += run[i].status == GL_DECODED;
                if (!check(&run[i], decoders[d], alone[d])) {
                    fprintf(stderr, "image %d of %d: differs, status %d, rows %d\n", i, n, run[i].status, run[i].rows);
                    return 1;
                }
            }
        }
        for (int32_t i = 0; i < n; i++) {
            drop(&run[i]);
        }
    }
    for (int d = 0; d < 2; d++) {
        gl_test_close(decoders[d], turns[d]);
        gl_test_close(decoders[d], alone[d]);
    }
    for (int i = 0; i < n_files; i++) {
        free(files[i].data);
    }
    free(files);
    printf("%ld images, %ld decoded, none differs\n", images, decoded);
    return 0;
}
