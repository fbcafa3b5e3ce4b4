/* decode.c: the GIF decoder. */
#include "gif.h"

typedef struct state {
    gl_split split;
    gl_gif_strings strings;
    gl_room samples; /* of the picture, in the file's order */
    gl_room screen;  /* the picture's rows in order and at their place, where that is not how they come */
    gl_room planes;
} state;

static void *gif_open(void) {
    state *s = calloc(1, sizeof *s);
    if (s) {
        s->split = gl_best_split();
    }
    return s;
}

static void trim(state *s, size_t keep) {
    gl_room_trim(&s->samples, keep);
    gl_room_trim(&s->screen, keep);
    gl_room_trim(&s->planes, keep);
}

static void gif_close(void *context) {
    trim(context, 0);
    free(context);
}

/* Puts the picture on the screen. */
static void place(const gl_gif_layout *l, const uint8_t *samples, uint8_t *screen) {
    static const int32_t begins[] = {0, 4, 2, 1}, steps[] = {8, 8, 4, 2};
    memset(screen, l->background, (size_t)l->width * (size_t)l->height);
    const gl_window *p = &l->picture;
    const int passes = l->is_interlaced ? 4 : 1;
    for (int pass = 0; pass < passes; pass++) {
        const int32_t step = l->is_interlaced ? steps[pass] : 1;
        for (int32_t y = l->is_interlaced ? begins[pass] : 0; y < p->height; y += step) {
            memcpy(screen + (size_t)(p->y + y) * (size_t)l->width + p->x, samples, (size_t)p->width);
            samples += p->width;
        }
    }
}

static int decode_window(state *s, gl_form form, const uint8_t *data, size_t size, int32_t width, int32_t height,
                         gl_window want, gl_sink *sink, char why[GL_WHY_BYTES]) {
    gl_gif_layout l;
    const char *refusal = gl_gif_read_blocks(data, size, &l);
    if (refusal) {
        return gl_refuse(why, refusal);
    }
    if (l.width != width || l.height != height) {
        return gl_refuse(why, "not the size the caller saw in the header");
    }
    const size_t n = (size_t)l.picture.width * (size_t)l.picture.height, all = (size_t)width * (size_t)height;
    if (n / ((GL_LZW_CODES - 1) * 8 / 3) > size) {
        return gl_refuse(why, "too little data for the picture's size");
    }
    uint8_t *samples = gl_room_for(&s->samples, n + GL_ROWS_SLACK);
    if (!samples) {
        return GL_NO_MEMORY;
    }
    if (!gl_gif_unpack(&s->strings, l.lzw, l.code_bits, samples, n)) {
        return gl_refuse(why, "damaged or incomplete picture");
    }
    if (l.is_interlaced || n != all) {
        uint8_t *screen = gl_room_for(&s->screen, all + GL_ROWS_SLACK);
        if (!screen) {
            return GL_NO_MEMORY;
        }
        place(&l, samples, screen);
        samples = screen;
    }
    gl_pixel_rows rows = {.first = samples,
                          .stride = width,
                          .end = samples + all + GL_ROWS_SLACK,
                          .step = 1,
                          .is_grey = 1,
                          .palette = l.is_grey ? NULL : &l.palette};
    refusal = gl_rows_keep(&rows, form);
    if (refusal) {
        return gl_refuse(why, refusal);
    }
    return gl_rows_hand_over(&rows, s->split, &s->planes, want, sink, why);
}

GL_DECODERS(gif, decode_window)
