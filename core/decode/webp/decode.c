/* decode.c: the WebP decoder.
 *
 * The pixels are those of libwebp's decoder for still images, in RGB.  Pillow takes its decoder for animations, in RGBA, and
 * drops alpha: the same functions make the colours.
 *
 * Damage may be anywhere in a file, and libwebp looks only as far as the last wanted row.  So a file is decoded as a whole
 * the first time, and the seek index keeps that it is sound: later only the wanted part is, without its alpha.
 *
 * Of the time of a 42 KB photo of 500 x 375 (perf, libwebp 1.6), 61% is reading coefficients and 12% reading the ways in which
 * blocks are predicted: bits that follow one another from the image's top, 1.7 ms of 2.3. So among JPEGs, which take 0.4 ms
 * with all that follows, one WebP in 20 leaves 0.8 of the speed, whatever is done about the rest. Instructions of newer
 * processors make libwebp 5% faster; ffmpeg's decoder of the same files is slower. */
#include "webp.h"

#include <libdeflate.h>

enum {
    /* Columns and rows beside a window that its pixels depend on: chroma is interpolated from pairs of pixels, and an edge
     * of what is decoded is taken for the image's. */
    MARGIN = 2,
    SOUND_BYTES = 8 /* of the seek index: the file's CRC-32, and its size */
};

typedef struct state {
    gl_split split;
    gl_room pixels;
    gl_room planes;
} state;

static void *webp_open(void) {
    state *s = calloc(1, sizeof *s);
    if (s) {
        s->split = gl_best_split();
    }
    return s;
}

static void trim(state *s, size_t keep) {
    gl_room_trim(&s->pixels, keep);
    gl_room_trim(&s->planes, keep);
}

static void webp_close(void *context) {
    trim(context, 0);
    free(context);
}

static void describe(const uint8_t *data, size_t size, uint8_t sound[SOUND_BYTES]) {
    const uint32_t about[2] = {libdeflate_crc32(0, data, size), (uint32_t)size};
    memcpy(sound, about, SOUND_BYTES);
}

/* What has to be decoded for a window of a whole image: begins at even pixels. */
static gl_window around(gl_window want, int32_t width, int32_t height) {
    const int32_t x = want.x < MARGIN ? 0 : (want.x - MARGIN) & ~1, y = want.y < MARGIN ? 0 : (want.y - MARGIN) & ~1;
    const int32_t right = width - want.x - want.width < MARGIN ? width : want.x + want.width + MARGIN;
    const int32_t bottom = height - want.y - want.height < MARGIN ? height : want.y + want.height + MARGIN;
    return (gl_window){x, y, right - x, bottom - y};
}

static int decode_window(state *s, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                         gl_seek *seek, gl_sink *sink, char why[GL_WHY_BYTES]) {
    const gl_libwebp *libwebp = gl_webp_library();
    if (!libwebp) {
        return gl_refuse(why, "no libwebp is known");
    }
    gl_webp_chunks chunks = {0};
    const char *refusal = gl_webp_read_chunks(data, size, width, height, &chunks);
    if (refusal) {
        return gl_refuse(why, refusal);
    }
    uint8_t sound[SOUND_BYTES] = {0};
    int is_sound = 0;
    if (seek && seek->room >= SOUND_BYTES) {
        describe(data, size, sound);
        is_sound = seek->size == SOUND_BYTES && memcmp(seek->data, sound, SOUND_BYTES) == 0;
    }
    const gl_window made = is_sound ? around(want, width, height) : (gl_window){0, 0, width, height};
    uint8_t *pixels = gl_room_for(&s->pixels, (size_t)3 * made.width * made.height + GL_ROWS_SLACK);
    if (!pixels) {
        return GL_NO_MEMORY;
    }
    const uint8_t *image = is_sound ? chunks.colours : chunks.alpha;
    const size_t image_size = (size_t)(chunks.end - image);
    if (!gl_webp_decode_into(libwebp, image, image_size, width, height, is_sound ? &made : NULL, pixels)) {
        return gl_refuse(why, "libwebp finds it damaged, or of another size");
    }
    if (seek && seek->room >= SOUND_BYTES && !is_sound) {
        memcpy(seek->data, sound, SOUND_BYTES);
        seek->size = SOUND_BYTES;
    }
    const size_t bytes = (size_t)3 * made.width * made.height;
    const gl_pixel_rows rows = {.first = pixels,
                                .stride = (ptrdiff_t)3 * made.width,
                                .end = pixels + bytes + GL_ROWS_SLACK,
                                .step = 3,
                                .at = {0, 1, 2}};
    want.x -= made.x;
    want.y -= made.y;
    return gl_rows_hand_over(&rows, s->split, &s->planes, want, sink, why);
}

static int webp_decode(void *context, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                       gl_seek *seek, gl_sink *sink, char why[GL_WHY_BYTES]) {
    why[0] = 0;
    if ((int64_t)width * height > GL_PIXELS_WARNED) {
        return gl_refuse(why, "more pixels than Pillow takes without a warning");
    }
    int status = decode_window(context, data, size, width, height, want, seek, sink, why);
    trim(context, GL_BUFFER_KEEP);
    return status;
}

const gl_decoder gl_webp = {"webp", webp_open, webp_close, webp_decode, NULL};
