/* turbo.c: the JPEG engine over libjpeg-turbo.
 *
 * Pillow decodes with libjpeg-turbo too, at its default settings (accurate integer IDCT, fancy upsampling), and all
 * versions from 2.1 to 3.2 give the same pixels.  What is left to get right is to refuse whatever Pillow might treat
 * differently: any warning refuses, and decoding stops before the end of the file only where nothing behind can matter
 * (complete.c). */
#include "../split.h"
#include "jpeg.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

#include <jerror.h>

enum {
    ROWS_MAX = 16, /* rows of a strip */
    /* Columns decoded on each side of the wanted ones: the region decode of libjpeg-turbo upsamples its edges without
     * their neighbours.  One column is enough for the usual samplings, odd ones need two. */
    MARGIN = 2,
    /* Rows start so many bytes behind a 64-byte boundary: to aligned rows libjpeg-turbo writes around the cache, and we
     * read them right back. */
    OFF_BOUNDARY = 8,
    /* Strip buffers larger than this are not kept for the next image. */
    KEEP_BYTES = 16 << 20
};

/* Pillow warns of a decompression bomb from here on (Image.MAX_IMAGE_PIXELS): let it. */
static const int64_t PIXELS_MAX = 89478485;

/* What one worker keeps.  The buffer belongs to the state and only grows, up to KEEP_BYTES. */
typedef struct turbo {
    struct jpeg_decompress_struct cinfo;
    struct jpeg_error_mgr errors;
    jmp_buf escape;
    char *why; /* of the image in work */
    uint8_t *buffer;
    size_t capacity;
    gl_split split;
} turbo;

/* Errors and warnings both end the image: libjpeg's text becomes the reason. */
static void give_up(j_common_ptr cinfo) {
    turbo *t = cinfo->client_data;
    char text[JMSG_LENGTH_MAX];
    cinfo->err->format_message(cinfo, text);
    snprintf(t->why, GL_WHY_BYTES, "%s", text);
    longjmp(t->escape, 1);
}

static void on_message(j_common_ptr cinfo, int level) {
    if (level < 0) {
        give_up(cinfo);
    }
}

static void print_nothing(j_common_ptr cinfo) {
    (void)cinfo;
}

static int refuse(turbo *t, const char *why) {
    snprintf(t->why, GL_WHY_BYTES, "%s", why);
    return GL_REFUSED;
}

/* Makes room for a strip, on a 64-byte boundary; NULL if out of memory.  bytes is a multiple of 64. */
static uint8_t *reserve(turbo *t, size_t bytes) {
    if (bytes > t->capacity) {
        free(t->buffer);
        t->buffer = aligned_alloc(64, bytes);
        t->capacity = t->buffer ? bytes : 0;
    }
    return t->buffer;
}

static void *turbo_open(void) {
    turbo *t = calloc(1, sizeof *t);
    if (t) {
        t->split = gl_best_split();
    }
    return t;
}

static void turbo_close(void *state) {
    turbo *t = state;
    free(t->buffer);
    free(t);
}

/* A progressive file whose first coefficients never reached full precision is smoothed, by rules that look beyond the
 * window and changed between versions of the library. */
static int is_smoothed(const struct jpeg_decompress_struct *cinfo) {
    enum { LOOKED_AT = 10 }; /* the DC and nine AC coefficients */
    if (!cinfo->progressive_mode || !cinfo->coef_bits) {
        return 0;
    }
    for (int c = 0; c < cinfo->num_components; c++) {
        for (int i = 0; i < LOOKED_AT; i++) {
            if (cinfo->coef_bits[c][i] != 0) {
                return 1;
            }
        }
    }
    return 0;
}

/* Fewer bits than blocks means a file that claims a size it cannot fill; found out here, before the memory is asked
 * for. (Huffman codes take a bit or more; arithmetic coding may take less.) */
static int is_hollow(const struct jpeg_decompress_struct *cinfo, size_t size) {
    if (cinfo->arith_code) {
        return 0;
    }
    uint64_t across = (cinfo->image_width + 8 * cinfo->max_h_samp_factor - 1) / (8 * cinfo->max_h_samp_factor);
    uint64_t down = (cinfo->image_height + 8 * cinfo->max_v_samp_factor - 1) / (8 * cinfo->max_v_samp_factor);
    return across * down > (uint64_t)size * 8;
}

/* Decodes the window.  May leave by longjmp in any libjpeg call, so it holds nothing that would have to be freed. */
static int decode_window(turbo *t, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                         gl_sink *sink) {
    struct jpeg_decompress_struct *cinfo = &t->cinfo;
    jpeg_mem_src(cinfo, data, size);
    jpeg_read_header(cinfo, TRUE);
    if (cinfo->image_width != (JDIMENSION)width || cinfo->image_height != (JDIMENSION)height) {
        return refuse(t, "not the size the caller saw in the header");
    }
    if (cinfo->data_precision != 8) {
        return refuse(t, "not 8 bits a sample");
    }
    if (is_hollow(cinfo, size)) {
        return refuse(t, "fewer bits than the image has blocks");
    }
    const int components = cinfo->num_components;
    switch (components) {
    case 1:
        cinfo->out_color_space = JCS_GRAYSCALE;
        break;
    case 3:
        cinfo->out_color_space = JCS_RGB;
        break;
    case 4:
        cinfo->out_color_space = JCS_CMYK;
        break;
    default:
        return refuse(t, "neither 1, 3 nor 4 components");
    }

    /* With more than one scan jpeg_start_decompress reads all of the file; otherwise rows come as they are decoded. */
    const int streamed = !jpeg_has_multiple_scans(cinfo);
    int to_the_end = 0;
    if (streamed) {
        switch (gl_jpeg_scan_end(cinfo->src->next_input_byte, cinfo->src->bytes_in_buffer)) {
        case GL_JPEG_ENDS:
            to_the_end = cinfo->arith_code;
            break;
        case GL_JPEG_OTHER:
            to_the_end = 1;
            break;
        case GL_JPEG_NO_END:
            return refuse(t, "no end-of-image marker");
        default:
            return refuse(t, "fill bytes inside the scan");
        }
    }
    jpeg_start_decompress(cinfo);
    if (is_smoothed(cinfo)) {
        return refuse(t, "progressive file without its last scans");
    }

    JDIMENSION left = want.x > MARGIN ? (JDIMENSION)want.x - MARGIN : 0;
    JDIMENSION right = (JDIMENSION)want.x + (JDIMENSION)want.width + MARGIN;
    if (right > cinfo->output_width) {
        right = cinfo->output_width;
    }
    if (left > 0 || right < cinfo->output_width) {
        JDIMENSION columns = right - left;
        jpeg_crop_scanline(cinfo, &left, &columns);
    }
    if (want.y > 0 && jpeg_skip_scanlines(cinfo, (JDIMENSION)want.y) != (JDIMENSION)want.y) {
        return refuse(t, "rows above the window are missing");
    }

    /* rows: ROWS_MAX decoded ones, interleaved; planes: the wanted columns of them.  A grey row is its own plane. */
    const size_t row_bytes = ((size_t)cinfo->output_width * components + GL_ROW_SLACK + OFF_BOUNDARY + 63) / 64 * 64;
    const size_t stride = ((size_t)want.width + GL_ROW_SLACK + 63) / 64 * 64;
    uint8_t *buffer = reserve(t, ROWS_MAX * (row_bytes + (components > 1 ? 3 * stride : 0)));
    if (!buffer) {
        return GL_NO_MEMORY;
    }
    uint8_t *rows = buffer + OFF_BOUNDARY, *planes = buffer + ROWS_MAX * row_bytes;
    JSAMPROW row[ROWS_MAX];
    for (int i = 0; i < ROWS_MAX; i++) {
        row[i] = rows + i * row_bytes;
    }
    const size_t first = ((size_t)want.x - left) * components; /* byte of the first wanted column */
    for (int32_t y = 0; y < want.height;) {
        int32_t n = want.height - y < ROWS_MAX ? want.height - y : ROWS_MAX;
        for (JDIMENSION got = 0; got < (JDIMENSION)n;) {
            got += jpeg_read_scanlines(cinfo, row + got, (JDIMENSION)n - got);
        }
        if (components == 1) {
            const uint8_t *grey = rows + first;
            sink->strip(sink, y, n, (const uint8_t *[3]){grey, grey, grey}, (ptrdiff_t)row_bytes);
        } else {
            uint8_t *r = planes, *g = r + ROWS_MAX * stride, *b = g + ROWS_MAX * stride;
            for (int32_t i = 0; i < n; i++) {
                if (components == 3) {
                    t->split(row[i] + first, (size_t)want.width, r + i * stride, g + i * stride, b + i * stride);
                } else {
                    gl_jpeg_cmyk_to_rgb(row[i] + first, (size_t)want.width, r + i * stride, g + i * stride,
                                        b + i * stride);
                }
            }
            sink->strip(sink, y, n, (const uint8_t *[3]){r, g, b}, (ptrdiff_t)stride);
        }
        y += n;
    }

    if (to_the_end) {
        /* Not jpeg_skip_scanlines: what it may leave out is what we are here to see. */
        while (cinfo->output_scanline < cinfo->output_height) {
            jpeg_read_scanlines(cinfo, row, ROWS_MAX);
        }
        jpeg_finish_decompress(cinfo);
    }
    return GL_DECODED;
}

static int turbo_decode(void *state, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                        gl_seek *seek, gl_sink *sink, char why[GL_WHY_BYTES]) {
    (void)seek; /* libjpeg-turbo reads every file from its beginning */
    turbo *t = state;
    t->why = why;
    why[0] = 0;
    if ((int64_t)width * height > PIXELS_MAX) {
        return refuse(t, "more pixels than Pillow takes without a warning");
    }
    const char *refusal = gl_jpeg_header_refusal(data, size);
    if (refusal) {
        return refuse(t, refusal);
    }
    /* A fresh decompressor an image: an old one would lend a file that lacks its tables those of the file before. */
    memset(&t->cinfo, 0, sizeof t->cinfo);
    t->cinfo.err = jpeg_std_error(&t->errors);
    t->cinfo.client_data = t;
    t->errors.error_exit = give_up;
    t->errors.emit_message = on_message;
    t->errors.output_message = print_nothing;
    int status;
    if (setjmp(t->escape)) {
        status = t->errors.msg_code == JERR_OUT_OF_MEMORY ? GL_NO_MEMORY : GL_REFUSED;
    } else {
        jpeg_create_decompress(&t->cinfo);
        status = decode_window(t, data, size, width, height, want, sink);
    }
    jpeg_destroy_decompress(&t->cinfo);
    if (t->capacity > KEEP_BYTES) {
        free(t->buffer);
        t->buffer = NULL;
        t->capacity = 0;
    }
    return status;
}

const gl_decoder gl_jpeg_turbo = {"libjpeg-turbo", turbo_open, turbo_close, turbo_decode, NULL};
