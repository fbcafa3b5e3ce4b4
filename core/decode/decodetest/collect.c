#include "collect.h"

#include <string.h>

typedef struct collector {
    gl_sink sink; /* first: the decoder sees only this */
    gl_window want;
    uint8_t *rgb;
    int32_t rows;
    volatile uint8_t slack; /* where the bytes behind a row are read to */
} collector;

static void collect(gl_sink *sink, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    collector *c = (collector *)sink;
    if (y != c->rows || rows < 1 || y + rows > c->want.height) {
        c->rows = -1;
    }
    if (c->rows < 0) {
        return;
    }
    for (int32_t i = 0; i < rows; i++) {
        uint8_t *out = c->rgb + ((size_t)y + i) * c->want.width * 3;
        for (int32_t x = 0; x < c->want.width; x++) {
            for (int p = 0; p < 3; p++) {
                *out++ = plane[p][i * stride + x];
            }
        }
        for (int p = 0; p < 3; p++) {
            for (int32_t x = 0; x < GL_ROW_SLACK; x++) { /* promised to be readable */
                c->slack ^= plane[p][i * stride + c->want.width + x];
            }
        }
    }
    c->rows += rows;
}

void *gl_test_open(const gl_decoder *decoder) {
    return decoder->open();
}

void gl_test_close(const gl_decoder *decoder, void *state) {
    decoder->close(state);
}

int gl_test_decode(const gl_decoder *decoder, void *state, const uint8_t *data, size_t size, int32_t width,
                   int32_t height, gl_window want, gl_seek *seek, uint8_t *rgb, int32_t *rows, char why[GL_WHY_BYTES]) {
    collector c = {.sink = {collect}, .want = want, .rgb = rgb};
    int status = decoder->decode(state, data, size, width, height, want, seek, &c.sink, why);
    *rows = c.rows;
    return status;
}

/* ---- by turns */

typedef struct feeder feeder;

/* An image that the decoder has in hand. */
typedef struct turn {
    collector collector; /* first: its sink is the image's */
    feeder *feeder;
    gl_test_image *image; /* NULL: none */
    gl_image given;
} turn;

struct feeder {
    gl_feed feed;
    gl_test_image *images;
    int32_t n, next, done;
    turn turn[GL_IMAGES_AT_ONCE];
    turn *handing_over; /* whose strips are coming; NULL: nobody's */
};

static void collect_turn(gl_sink *sink, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    turn *t = (turn *)sink;
    feeder *f = t->feeder;
    if (f->handing_over && f->handing_over != t) {
        t->collector.rows = f->handing_over->collector.rows = -1;
    }
    f->handing_over = t;
    collect(sink, y, rows, plane, stride);
}

static gl_image *next_image(gl_feed *feed) {
    feeder *f = (feeder *)feed;
    turn *t = f->turn;
    if (f->next == f->n) {
        return NULL;
    }
    while (t->image) {
        t++;
    }
    gl_test_image *image = &f->images[f->next++];
    *t = (turn){.collector = {.sink = {collect_turn}, .want = image->want, .rgb = image->rgb}, .feeder = f};
    t->image = image;
    t->given = (gl_image){.data = image->data,
                          .size = image->size,
                          .width = image->width,
                          .height = image->height,
                          .want = image->want,
                          .seek = image->seek,
                          .sink = &t->collector.sink,
                          .why = image->why};
    return &t->given;
}

static void image_done(gl_feed *feed, gl_image *given) {
    feeder *f = (feeder *)feed;
    turn *t = (turn *)given->sink;
    t->image->rows = t->collector.rows;
    t->image->status = given->status;
    t->image = NULL;
    f->handing_over = NULL;
    f->done++;
}

int32_t gl_test_decode_all(const gl_decoder *decoder, void *state, gl_test_image *images, int32_t n) {
    feeder f = {.feed = {next_image, image_done}, .images = images, .n = n};
    decoder->decode_all(state, &f.feed);
    return f.done;
}
