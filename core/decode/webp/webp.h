/* webp.h: the WebP decoder, by whatever libwebp the process has loaded already.
 *
 *   container.c  the file's chunks, with the eyes of libwebp's demuxer, which Pillow asks
 *   libwebp.c    where libwebp's functions are
 *   decode.c     the decoder
 *
 * No libwebp is linked: Pillow brings one, and the pixels are to be that one's.  Its functions are told by address. */
#ifndef GOLOADER_DECODE_WEBP_H
#define GOLOADER_DECODE_WEBP_H

#include "../rows.h"

/* gl_webp refuses every file until gl_webp_use said where libwebp is. */
extern const gl_decoder gl_webp;

/* What is used of webp/decode.h, by the names that libwebp gives it; "Internal" functions take the ABI's number.  The ABI
 * is that of libwebp 0.5.2 and later, which accepts any 0x02xx. */
enum { GL_WEBP_ABI = 0x0209, GL_WEBP_RGB = 0 };

typedef struct gl_webp_features {
    int width, height, has_alpha, has_animation, format;
    uint32_t pad[5];
} gl_webp_features;

typedef struct gl_webp_config {
    gl_webp_features input;
    struct {
        int colorspace, width, height, is_external_memory;
        union {
            struct {
                uint8_t *rgba;
                int stride;
                size_t size;
            } rgba;
            struct {
                uint8_t *y, *u, *v, *a;
                int y_stride, u_stride, v_stride, a_stride;
                size_t y_size, u_size, v_size, a_size;
            } yuva;
        } u;
        uint32_t pad[4];
        uint8_t *private_memory;
    } output;
    struct {
        int bypass_filtering, no_fancy_upsampling;
        int use_cropping, crop_left, crop_top, crop_width, crop_height;
        int use_scaling, scaled_width, scaled_height;
        int use_threads, dithering_strength, flip, alpha_dithering_strength;
        uint32_t pad[5];
    } options;
} gl_webp_config;

typedef struct gl_libwebp {
    int (*init_config)(gl_webp_config *config, int abi); /* 1 if it knows the ABI */
    int (*get_features)(const uint8_t *data, size_t size, gl_webp_features *features, int abi); /* 0 if all is well */
    int (*decode)(const uint8_t *data, size_t size, gl_webp_config *config);                    /* likewise */
} gl_libwebp;

/* gl_webp_use tells where libwebp's functions are, which stay there as long as the process lives.  Returns 0, and believes
 * nothing, unless they decode a small file to the colours it has.  Any thread, any number of times: the first counts. */
int gl_webp_use(const gl_libwebp *functions);

/* gl_webp_library gives what was told; NULL before. */
const gl_libwebp *gl_webp_library(void);

/* gl_webp_decode_into decodes a window of an image's chunks to `out`, rows of 3 * window->width bytes of RGB; a NULL window is all of
 * the image, `width` x `height`.  Returns 0 if libwebp refuses, or finds another size. */
int gl_webp_decode_into(const gl_libwebp *libwebp, const uint8_t *data, size_t size, int32_t width, int32_t height,
                        const gl_window *window, uint8_t *out);

/* The chunks of an image: its alpha, if that has one of its own, and its colours. */
typedef struct gl_webp_chunks {
    const uint8_t *alpha, *colours, *end; /* alpha is colours where there is none */
} gl_webp_chunks;

/* gl_webp_read_chunks finds the chunks of the pixels, those that the demuxer gives to the decoder: bytes behind them are not
 * for a damaged image to run into.  Returns NULL if the file is a still image of width x height, whole and plain, as far as
 * its container says, else the reason why that is not sure. */
const char *gl_webp_read_chunks(const uint8_t *data, size_t size, int32_t width, int32_t height,
                                gl_webp_chunks *chunks);

#endif
