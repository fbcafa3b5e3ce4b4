/* compare.c: our JPEG decoder against libjpeg, on files that may be damaged in any way.
 *
 * The law: for every window of every file our decoder either refuses, or libjpeg decodes the file, with or without
 * warnings, to the same pixels.  (Pillow minds no warnings.)  And no byte outside of the buffers is touched.  So it is
 * with any seek index: none, the file's own in any density, a damaged one, that of another file.  Only one that is
 * forged, seal and all, may change pixels, but not touch what is not its own.
 *
 *   clang -DFUZZ -fsanitize=fuzzer,address,undefined   coverage-guided, by LLVMFuzzerTestOneInput
 *   cc [-fsanitize=...]   compare <seed> <mutations of each file> <windows> <file>...
 *
 * The second form prints how many files it tried, accepted, and libjpeg warned of, and stops at the first difference.
 */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include "../../core/decode/decodetest/collect.h"
#include "../../core/decode/jpeg/engine.h"
#include "mutate.h"

enum {
    PIXELS_MAX = 4 << 20,
    MUTABLE = 64 /* bytes of a file that mutate.h can do something with */
};

typedef struct errors {
    struct jpeg_error_mgr base;
    jmp_buf escape;
} errors;

static void give_up(j_common_ptr cinfo) {
    longjmp(((errors *)cinfo->err)->escape, 1);
}

static void print_nothing(j_common_ptr cinfo) {
    (void)cinfo;
}

/* What libjpeg makes of the whole file, interleaved RGB; NULL on an error. */
static uint8_t *reference(const uint8_t *data, size_t size, int32_t width, int32_t height, long *warnings) {
    struct jpeg_decompress_struct c;
    errors e;
    uint8_t *volatile rgb = NULL;
    memset(&c, 0, sizeof c);
    c.err = jpeg_std_error(&e.base);
    e.base.error_exit = give_up;
    e.base.output_message = print_nothing;
    if (setjmp(e.escape)) {
        jpeg_destroy_decompress(&c);
        free(rgb);
        return NULL;
    }
    jpeg_create_decompress(&c);
    jpeg_mem_src(&c, data, size);
    jpeg_read_header(&c, TRUE);
    c.out_color_space = JCS_RGB;
    jpeg_start_decompress(&c);
    if (c.output_width != (JDIMENSION)width || c.output_height != (JDIMENSION)height || c.output_components != 3) {
        give_up((j_common_ptr)&c);
    }
    rgb = malloc((size_t)width * height * 3);
    while (c.output_scanline < c.output_height) {
        JSAMPROW row = rgb + (size_t)c.output_scanline * width * 3;
        jpeg_read_scanlines(&c, &row, 1);
    }
    *warnings = e.base.num_warnings;
    jpeg_destroy_decompress(&c);
    return rgb;
}

typedef struct tally {
    long files, accepted, warned, windows, jumps;
} tally;

/* The seek index that goes from window to window and from file to file. */
enum { SEEK_BYTES_MAX = 4096, SEEK_HEADER = 32 };
static uint8_t seek_room[SEEK_BYTES_MAX];
static gl_seek kept;

static void damage(gl_seek *seek, uint64_t *seed) {
    for (int n = 1 + below(seed, 4); n > 0 && seek->size > 0; n--) {
        /* Half of the time in the header or the first places, where there are more rules to break. */
        const size_t within = below(seed, 2) && seek->size > 64 ? 64 : seek->size;
        const size_t at = (size_t)below(seed, (int64_t)within);
        seek->data[at] = below(seed, 2) ? (uint8_t)next_random(seed) : seek->data[at] ^ (uint8_t)(1u << below(seed, 8));
    }
    if (below(seed, 8) == 0) {
        seek->size = (size_t)below(seed, (int64_t)seek->room + 9); /* any size, even one that is not there */
    }
}

/* Decodes with a forged index: anything may come of it but a byte out of place. */
static void try_forged(void *state, const uint8_t *data, size_t size, gl_window w, int32_t width, int32_t height,
                       uint64_t *seed) {
    if (kept.size <= SEEK_HEADER || kept.size > kept.room) {
        return;
    }
    uint8_t *out = malloc((size_t)w.width * w.height * 3);
    /* Of its own exact size, for the sanitizers. */
    gl_seek forged = {malloc(kept.size), kept.size, kept.size};
    memcpy(forged.data, kept.data, kept.size);
    uint8_t seal_and_file[16];
    memcpy(seal_and_file, forged.data, sizeof seal_and_file);
    damage(&forged, seed);
    if (forged.size >= SEEK_HEADER && forged.size <= forged.room) {
        memcpy(forged.data, seal_and_file, sizeof seal_and_file);
        gl_jpeg_index_seal(&forged);
    }
    int32_t rows;
    char why[GL_WHY_BYTES];
    gl_test_decode(&gl_jpeg_own_alone, state, data, size, width, height, w, &forged, out, &rows, why);
    free(forged.data);
    free(out);
}

/* The index for the next window; NULL for none. */
static gl_seek *choose_seek(uint64_t *seed) {
    switch (below(seed, 6)) {
    case 0:
        return NULL;
    case 1: /* a new one, of some density */
        kept = (gl_seek){seek_room, (size_t)below(seed, below(seed, 2) ? 128 : SEEK_BYTES_MAX), 0};
        return &kept;
    case 2:
        damage(&kept, seed);
        return &kept;
    default:
        return &kept;
    }
}

static void fail(const char *what, gl_window w, const uint8_t *data, size_t size) {
    fprintf(stderr, "%s: window %dx%d at %d,%d\n", what, w.width, w.height, w.x, w.y);
    FILE *f = fopen("different.jpg", "wb");
    if (f) {
        fwrite(data, 1, size, f);
        fclose(f);
    }
    abort();
}

static void compare(void *state, const uint8_t *data, size_t size, int windows, uint64_t *seed, tally *t) {
    static gl_jpeg_frame frame;
    t->files++;
    if (gl_jpeg_parse(data, size, &frame) != GL_JPEG_OK || (int64_t)frame.width * frame.height > PIXELS_MAX) {
        return;
    }
    const int32_t width = frame.width, height = frame.height;
    uint8_t *want = NULL;
    long warnings = 0;
    for (int i = 0; i < windows; i++) {
        const gl_window w = random_window(seed, width, height);
        uint8_t *got = malloc((size_t)w.width * w.height * 3);
        int32_t rows;
        char why[GL_WHY_BYTES];
        gl_seek *const seek = choose_seek(seed);
        const size_t seek_size = seek ? seek->size : 0;
        const int status =
            gl_test_decode(&gl_jpeg_own_alone, state, data, size, width, height, w, seek, got, &rows, why);
        if (status == GL_DECODED) {
            t->jumps += seek && seek_size > SEEK_HEADER && seek->size >= seek_size;
            if (!want) {
                want = reference(data, size, width, height, &warnings);
                if (!want) {
                    fail("libjpeg refuses what we decode", w, data, size);
                }
                t->accepted++;
                t->warned += warnings > 0;
            }
            if (rows != w.height) {
                fail("rows are missing", w, data, size);
            }
            for (int32_t y = 0; y < w.height; y++) {
                if (memcmp(got + (size_t)y * w.width * 3, want + ((size_t)(w.y + y) * width + w.x) * 3,
                           (size_t)w.width * 3) != 0) {
                    fail("different pixels", w, data, size);
                }
            }
            t->windows++;
        } else if (rows != 0) {
            fail("rows handed over before a refusal", w, data, size);
        }
        free(got);
        try_forged(state, data, size, w, width, height, seed);
    }
    free(want);
}

#ifdef FUZZ
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static void *state;
    static tally t;
    if (!state) {
        state = gl_test_open(&gl_jpeg_own_alone);
    }
    /* The windows depend on the file alone, so that a find can be repeated. */
    uint64_t seed = size;
    for (size_t i = 0; i < size; i++) {
        seed = seed * 31 + data[i];
    }
    kept = (gl_seek){seek_room, SEEK_BYTES_MAX, 0};
    memset(seek_room, 0, sizeof seek_room);
    compare(state, data, size, 4, &seed, &t);
    return 0;
}
#else
int main(int argc, char **argv) {
    if (argc < 5) {
        fprintf(stderr, "usage: compare <seed> <mutations of each file> <windows> <file>...\n");
        return 2;
    }
    uint64_t seed = strtoull(argv[1], NULL, 10);
    const int mutations = atoi(argv[2]), windows = atoi(argv[3]);
    void *state = gl_test_open(&gl_jpeg_own_alone);
    tally t = {0};
    for (int i = 4; i < argc; i++) {
        FILE *f = fopen(argv[i], "rb");
        if (!f) {
            perror(argv[i]);
            return 1;
        }
        fseek(f, 0, SEEK_END);
        const size_t size = (size_t)ftell(f);
        rewind(f);
        uint8_t *file = malloc(size);
        if (fread(file, 1, size, f) != size) {
            return 1;
        }
        fclose(f);
        for (int m = 0; m <= (size < MUTABLE ? 0 : mutations); m++) {
            /* Exactly as large as the file, for the sanitizers. */
            uint8_t *work = malloc(size + 64);
            memcpy(work, file, size);
            const size_t n = m ? mutate(work, size, &seed) : size;
            uint8_t *exact = malloc(n);
            memcpy(exact, work, n);
            compare(state, exact, n, windows, &seed, &t);
            free(exact);
            free(work);
        }
        free(file);
    }
    gl_test_close(&gl_jpeg_own_alone, state);
    printf("%ld files, %ld accepted (libjpeg warned of %ld), %ld windows, %ld with an index, none differs\n", t.files,
           t.accepted, t.warned, t.windows, t.jumps);
    return 0;
}
#endif
