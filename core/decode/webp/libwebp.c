/* libwebp.c: calls into the libwebp that the process has. */
#include "webp.h"

#include <stdatomic.h>

static _Atomic(const gl_libwebp *) library;

const gl_libwebp *gl_webp_library(void) {
    return atomic_load_explicit(&library, memory_order_acquire);
}

int gl_webp_decode_into(const gl_libwebp *libwebp, const uint8_t *data, size_t size, int32_t width, int32_t height,
                        const gl_window *window, uint8_t *out) {
    gl_webp_config config;
    if (!libwebp->init_config(&config, GL_WEBP_ABI) ||
        libwebp->get_features(data, size, &config.input, GL_WEBP_ABI) != 0) {
        return 0;
    }
    if (config.input.width != width || config.input.height != height || config.input.has_animation) {
        return 0;
    }
    const gl_window all = {0, 0, width, height};
    if (window) {
        config.options.use_cropping = 1;
        config.options.crop_left = window->x;
        config.options.crop_top = window->y;
        config.options.crop_width = window->width;
        config.options.crop_height = window->height;
    } else {
        window = &all;
    }
    config.output.colorspace = GL_WEBP_RGB;
    config.output.is_external_memory = 1;
    config.output.u.rgba.rgba = out;
    config.output.u.rgba.stride = 3 * window->width;
    config.output.u.rgba.size = (size_t)3 * window->width * window->height;
    return libwebp->decode(data, size, &config) == 0;
}

int gl_webp_use(const gl_libwebp *functions) {
    /* (255, 0, 1), (3, 200, 77), without loss. */
    static const uint8_t file[] =
        "RIFF\x24\0\0\0WEBPVP8L\x18\0\0\0/\x01\0\0\0\x0f\x30\xc8\x04\x02\x14\x85\xff\x97-\xd3\xfc"
        "\x87{\xa1\x02\x11\xfd\x0f";
    static const uint8_t colours[] = {255, 0, 1, 3, 200, 77};
    uint8_t found[sizeof colours] = {0};
    if (gl_webp_library()) {
        return 1;
    }
    if (!functions->init_config || !functions->get_features || !functions->decode ||
        !gl_webp_decode_into(functions, file, sizeof file - 1, 2, 1, NULL, found) ||
        memcmp(found, colours, sizeof colours) != 0) {
        return 0;
    }
    gl_libwebp *kept = malloc(sizeof *kept);
    if (!kept) {
        return 0;
    }
    *kept = *functions;
    const gl_libwebp *none = NULL;
    if (!atomic_compare_exchange_strong(&library, &none, kept)) {
        free(kept); /* another thread was sooner */
    }
    return 1;
}
