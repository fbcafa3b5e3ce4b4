/* jpeg_stages.c: where the time of a JPEG goes, from its bytes to a finished sample.
 *
 *   jpeg_stages <file>...
 *
 * One round, one line of JSON: microseconds of CPU an image, by variant and stage.  A sample is what training takes: a
 * window like those of RandomResizedCrop, the same one for all variants, resized to 224x224 (bilinear), as float32
 * [3, 224, 224] in a slot of 64.  `sample` is what a worker (core/op) takes for it.  The stages come from a loop like
 * that of the decoder's engine.c, with more and more of it carried out, so their sum is near `sample`, not equal to it.
 *
 * bench/jpeg.py builds and runs this, and says how to read it. */
#include <math.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <jpeglib.h>

#include "../core/decode/jpeg/engine.h"
#include "../core/op/kernels.h"
#include "../core/op/op.h"

enum {
    SIDE = 224,
    BATCH = 64,
    RUN = 16, /* images a call: what a worker is given at most */
    SEEK_BYTES = 4096,
    SAMPLE_BYTES = 3 * SIDE * SIDE * (int)sizeof(float)
};

typedef struct image {
    const char *path;
    uint8_t *data;
    size_t size;
    int32_t width, height;
    gl_window crop;
    gl_seek seek;
} image;

typedef struct images {
    image *at;
    int32_t n;
} images;

static double cpu_seconds(void) {
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

static void stop(const char *what, const char *path) {
    fprintf(stderr, "%s: %s\n", path, what);
    exit(1);
}

static image load(const char *path) {
    static gl_jpeg_frame frame;
    image im = {.path = path};
    FILE *f = fopen(path, "rb");
    if (!f) {
        stop("cannot be opened", path);
    }
    fseek(f, 0, SEEK_END);
    im.size = (size_t)ftell(f);
    rewind(f);
    im.data = malloc(im.size);
    if (fread(im.data, 1, im.size, f) != im.size) {
        stop("cannot be read", path);
    }
    fclose(f);
    if (gl_jpeg_parse(im.data, im.size, &frame) != GL_JPEG_OK) {
        stop("not a file for our own engine", path);
    }
    im.width = frame.width;
    im.height = frame.height;
    im.crop = random_crop(frame.width, frame.height);
    im.seek = (gl_seek){malloc(SEEK_BYTES), SEEK_BYTES, 0};
    return im;
}

/* ---- the stages of decoding */

enum stage { PARSE, UNSTUFF, ENTROPY, IDCT, COLOUR, STAGES };
static const char *const stage_names[STAGES] = {"parse", "unstuff", "entropy", "idct", "colour"};

/* The last stage that is carried out.  What a stage takes is what decoding takes with it, less what it takes without:
 * a clock read between the parts of one image would cost more than some of them. */
static enum stage last;
static gl_jpeg_kernels kernels;

static int no_idct(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out, ptrdiff_t stride) {
    (void)block, (void)quant, (void)out, (void)stride;
    return 0;
}

typedef struct lane {
    gl_jpeg_lane read; /* first: scan.c sees only this */
    int32_t number;
    int with_index;
    images *rest; /* images that nobody has yet */
    image *image; /* NULL: none */
    gl_jpeg_frame frame;
    gl_jpeg_stream stream;
    gl_jpeg_index index;
    gl_jpeg_region region;
} lane;

static gl_jpeg_tables tables;

static void drop_strip(gl_sink *sink, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    (void)sink, (void)y, (void)rows, (void)plane, (void)stride;
}

/* Returns 0 if the last stage is done. */
static int begin_image(lane *l) {
    image *im = l->image;
    gl_jpeg_frame *frame = &l->frame;
    gl_jpeg_scan *scan = &l->read.scan;
    if (gl_jpeg_header_refusal(im->data, im->size) || gl_jpeg_parse(im->data, im->size, frame) != GL_JPEG_OK) {
        stop("refused", im->path);
    }
    if (last == PARSE) {
        return 0;
    }
    const size_t scan_size = im->size - (size_t)(frame->scan - im->data);
    if (gl_jpeg_unstuff(frame->scan, scan_size, frame->restart_units > 0, &l->stream) != GL_JPEG_OK) {
        stop("refused", im->path);
    }
    if (last == UNSTUFF) {
        return 0;
    }
    *scan = (gl_jpeg_scan){.bytes = l->stream.bytes.data};
    memcpy(&scan->size, l->stream.starts.data + l->stream.intervals * sizeof scan->size, sizeof scan->size);
    gl_jpeg_tables_release(&tables, l->number);
    for (int c = 0; c < frame->components; c++) {
        const gl_jpeg_component *component = &frame->component[c];
        const gl_jpeg_block_kind kind = {gl_jpeg_tables_dc(&tables, &frame->dc[component->dc], l->number),
                                         gl_jpeg_tables_ac(&tables, &frame->ac[component->ac], l->number), c};
        for (int32_t i = 0; i < component->across * component->down; i++) {
            scan->block[scan->unit_blocks++] = kind;
        }
    }
    gl_jpeg_index_open(&l->index, l->with_index ? &im->seek : NULL, im->data, im->size, frame);
    if (gl_jpeg_region_begin(&l->region, &kernels, frame, &l->stream, &l->index, scan->unit_blocks, im->crop) !=
        GL_JPEG_OK) {
        stop("refused", im->path);
    }
    return 1;
}

static int next(gl_jpeg_lane *read, int status) {
    static gl_jpeg_buffer strip;
    lane *l = (lane *)read;
    gl_sink sink = {drop_strip};
    for (;;) {
        if (l->image) {
            if (status != GL_JPEG_OK ||
                gl_jpeg_region_next(&l->region, &l->read.scan, &l->read.stretch) != GL_JPEG_OK) {
                stop("refused", l->image->path);
            }
            if (l->read.stretch.units > 0) {
                return 1;
            }
            gl_jpeg_index_close(&l->index);
            if (last == COLOUR) {
                gl_jpeg_rows_hand_over(&l->region, &kernels, &l->frame, l->image->crop, &strip, &sink);
            }
        }
        do {
            if (l->rest->n == 0) {
                return 0;
            }
            l->image = l->rest->at++;
            l->rest->n--;
        } while (!begin_image(l));
    }
}

static double time_decoding(images all, int lanes, int with_index) {
    static lane lane[2];
    const double from = cpu_seconds();
    for (int32_t done = 0; done < all.n; done += RUN) {
        images rest = {all.at + done, all.n - done < RUN ? all.n - done : RUN};
        int reads = 0;
        for (int i = 0; i < lanes; i++) {
            lane[i].read.next = next;
            lane[i].number = i;
            lane[i].with_index = with_index;
            lane[i].rest = &rest;
            lane[i].image = NULL;
            reads += next(&lane[i].read, GL_JPEG_OK);
        }
        if (reads > 0) {
            gl_jpeg_kernels_chosen()->scan(&lane[0].read, reads == 2 ? &lane[1].read : NULL);
        }
    }
    return (cpu_seconds() - from) / all.n * 1e6;
}

/* Microseconds an image, by stage. */
static void time_stages(images all, int lanes, int with_index, double us[STAGES]) {
    double before = 0;
    for (int stage = 0; stage < STAGES; stage++) {
        last = (enum stage)stage;
        kernels = *gl_jpeg_kernels_chosen();
        if (last == ENTROPY) {
            kernels.idct = no_idct;
        }
        const double with = time_decoding(all, lanes, with_index);
        us[stage] = with - before;
        before = with;
    }
}

/* ---- whole samples, by a worker */

/* A decoder of what is decoded already: data is a `planes`. */
typedef struct planes {
    gl_sink sink; /* first: as a sink it collects what it later gives */
    uint8_t *plane[3];
    ptrdiff_t stride;
    int32_t height;
} planes;

static void keep_strip(gl_sink *sink, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    planes *p = (planes *)sink;
    for (int c = 0; c < 3; c++) {
        for (int32_t i = 0; i < rows; i++) {
            memcpy(p->plane[c] + (y + i) * p->stride, plane[c] + i * stride, (size_t)p->stride - GL_ROW_SLACK);
        }
    }
}

static void *no_state(void) {
    return malloc(1);
}

static int give_planes(void *state, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                       gl_seek *seek, gl_sink *sink, char why[GL_WHY_BYTES]) {
    enum { ROWS = 16 };
    (void)state, (void)size, (void)width, (void)height, (void)seek, (void)why;
    const planes *p = (const planes *)(const void *)data;
    for (int32_t y = 0; y < want.height; y += ROWS) {
        const uint8_t *strip[3];
        for (int c = 0; c < 3; c++) {
            strip[c] = p->plane[c] + y * p->stride;
        }
        sink->strip(sink, y, want.height - y < ROWS ? want.height - y : ROWS, strip, p->stride);
    }
    return GL_DECODED;
}

static const gl_decoder decoded_already = {"planes", no_state, free, give_planes, NULL};

static uint8_t *slot;
static gl_store store = {3, sizeof(float), 0, NULL};

static gl_job job_of(image *im, int32_t number, const gl_decoder *decoder, int with_index) {
    gl_job job = {
        .decoder = decoder,
        .data = im->data,
        .size = im->size,
        .width = im->width,
        .height = im->height,
        .npass = 1,
        .dst = slot + (size_t)(number % BATCH) * SAMPLE_BYTES,
        .dst_size = SAMPLE_BYTES,
        .store = &store,
    };
    job.pass[0] = (gl_pass){.kind = GL_RESAMPLE,
                            .src = im->crop,
                            .width = SIDE,
                            .height = SIDE,
                            .filter = GL_BILINEAR,
                            .out = {0, 0, SIDE, SIDE},
                            .flip = number % 2 ? GL_FLIP_HORIZONTAL : 0};
    if (with_index) {
        job.seek = im->seek;
    }
    return job;
}

static double time_samples(images all, gl_worker *worker, const gl_decoder *decoder, int run, int with_index) {
    static gl_job jobs[RUN];
    double seconds = 0;
    for (int32_t done = 0; done < all.n; done += run) {
        const int32_t n = all.n - done < run ? all.n - done : run;
        for (int32_t i = 0; i < n; i++) {
            jobs[i] = job_of(&all.at[done + i], done + i, decoder, with_index);
        }
        const double from = cpu_seconds();
        gl_worker_run(worker, jobs, n, NULL);
        seconds += cpu_seconds() - from;
        for (int32_t i = 0; i < n; i++) {
            if (jobs[i].status != GL_DECODED) {
                stop(jobs[i].why, all.at[done + i].path);
            }
            if (with_index) {
                all.at[done + i].seek = jobs[i].seek;
            }
        }
    }
    return seconds / all.n * 1e6;
}

/* Everything behind the decoder; *store_us is the part of it that looks up and writes. */
static double time_resample(images all, gl_worker *worker, double *store_us) {
    static gl_shelf shelf;
    void *state = gl_jpeg_own.open();
    uint8_t *pixels = calloc(1, SIDE * SIDE);
    double seconds = 0, store_seconds = 0;
    gl_shelf_fill(&shelf, &store);
    for (int32_t i = 0; i < all.n; i++) {
        image *im = &all.at[i];
        planes p = {.sink = {keep_strip}, .stride = im->crop.width + GL_ROW_SLACK, .height = im->crop.height};
        for (int c = 0; c < 3; c++) {
            p.plane[c] = calloc(1, (size_t)p.stride * (size_t)p.height + GL_ROW_SLACK);
        }
        char why[GL_WHY_BYTES];
        gl_jpeg_own.decode(state, im->data, im->size, im->width, im->height, im->crop, NULL, &p.sink, why);
        gl_job job = job_of(im, i, &decoded_already, 0);
        job.data = (const uint8_t *)&p;
        const double from = cpu_seconds();
        gl_worker_run(worker, &job, 1, NULL);
        const double between = cpu_seconds();
        for (int32_t c = 0; c < 3; c++) {
            gl_kernels_chosen()->put(&shelf, c, pixels, SIDE * SIDE,
                                     (uint8_t *)job.dst + (size_t)c * SIDE * SIDE * sizeof(float), 1);
        }
        store_seconds += cpu_seconds() - between;
        seconds += between - from;
        for (int c = 0; c < 3; c++) {
            free(p.plane[c]);
        }
    }
    free(pixels);
    gl_jpeg_own.close(state);
    *store_us = store_seconds / all.n * 1e6;
    return seconds / all.n * 1e6;
}

/* ---- libjpeg-turbo by itself: whole files to interleaved RGB, as its users call it */

static double time_libjpeg(images all) {
    struct jpeg_decompress_struct c;
    struct jpeg_error_mgr errors;
    uint8_t *rgb = NULL;
    size_t room = 0;
    c.err = jpeg_std_error(&errors);
    jpeg_create_decompress(&c);
    const double from = cpu_seconds();
    for (int32_t i = 0; i < all.n; i++) {
        const image *im = &all.at[i];
        jpeg_mem_src(&c, im->data, im->size);
        jpeg_read_header(&c, TRUE);
        c.out_color_space = JCS_RGB;
        jpeg_start_decompress(&c);
        const size_t stride = (size_t)im->width * 3, bytes = stride * (size_t)im->height;
        if (bytes > room) {
            rgb = realloc(rgb, bytes);
            room = bytes;
        }
        while (c.output_scanline < c.output_height) {
            JSAMPROW row = rgb + c.output_scanline * stride;
            jpeg_read_scanlines(&c, &row, 1);
        }
        jpeg_finish_decompress(&c);
    }
    const double seconds = cpu_seconds() - from;
    jpeg_destroy_decompress(&c);
    free(rgb);
    return seconds / all.n * 1e6;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        fprintf(stderr, "usage: jpeg_stages <file>...\n");
        return 2;
    }
    images all = {calloc((size_t)argc, sizeof *all.at), argc - 1};
    for (int32_t i = 0; i < all.n; i++) {
        all.at[i] = load(argv[1 + i]);
    }
    float table[3 * 256];
    for (int i = 0; i < 3 * 256; i++) {
        table[i] = ((float)(i % 256) / 255 - 0.45F) / 0.225F;
    }
    store.table = table;
    slot = aligned_alloc(64, (size_t)BATCH * SAMPLE_BYTES);
    memset(slot, 0, (size_t)BATCH * SAMPLE_BYTES);
    gl_worker *worker = gl_worker_open(GL_SHRINK_FIRST);

    time_samples(all, worker, &gl_jpeg_own, RUN, 1); /* makes tables and indexes */
    printf("{\"images\": %d, \"kernels\": \"%s\"", all.n, gl_jpeg_kernels_chosen()->name);
    double store_us;
    const double behind_us = time_resample(all, worker, &store_us);
    printf(", \"resample\": %.1f, \"store\": %.1f", behind_us - store_us, store_us);
    static const char *const names[2][2] = {{"one lane", "one lane, index"}, {"two lanes", "two lanes, index"}};
    for (int lanes = 1; lanes <= 2; lanes++) {
        for (int with_index = 0; with_index < 2; with_index++) {
            double us[STAGES];
            time_stages(all, lanes, with_index, us);
            printf(", \"%s\": {", names[lanes - 1][with_index]);
            for (int s = 0; s < STAGES; s++) {
                printf("\"%s\": %.1f, ", stage_names[s], us[s]);
            }
            printf("\"sample\": %.1f}", time_samples(all, worker, &gl_jpeg_own, lanes == 1 ? 1 : RUN, with_index));
        }
    }
    printf(", \"libjpeg-turbo, window\": {\"sample\": %.1f}", time_samples(all, worker, &gl_jpeg_turbo, 1, 0));
    printf(", \"libjpeg-turbo, whole\": {\"decode\": %.1f}}\n", time_libjpeg(all));
    gl_worker_close(worker);
    return 0;
}
