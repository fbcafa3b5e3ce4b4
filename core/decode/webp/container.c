/* container.c: a WebP file's chunks ("WebP Container Specification", developers.google.com/speed/webp/docs).
 *
 * libwebp's demuxer, by which Pillow opens files, wants all bytes that the sizes promise; its leniencies (chunks it does not
 * know, bytes behind the last one) are refused here. */
#include "webp.h"

enum { RIFF_BYTES = 12, HEADER_BYTES = 8, EXTENDED_BYTES = 10 };
enum {
    HAS_XMP = 1 << 2,
    HAS_EXIF = 1 << 3,
    HAS_ALPHA = 1 << 4,
    HAS_PROFILE = 1 << 5
}; /* of VP8X; animation is 1 << 1 */

static int is_named(const uint8_t *chunk, const char *name) {
    return memcmp(chunk, name, 4) == 0;
}

/* The flag of a chunk beside the pixels; 0 if it is none. */
static int flag_of(const uint8_t *chunk) {
    static const struct {
        const char *name;
        int flag;
    } known[] = {{"ICCP", HAS_PROFILE}, {"ALPH", HAS_ALPHA}, {"EXIF", HAS_EXIF}, {"XMP ", HAS_XMP}};
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (is_named(chunk, known[i].name)) {
            return known[i].flag;
        }
    }
    return 0;
}

const char *gl_webp_read_chunks(const uint8_t *data, size_t size, int32_t width, int32_t height,
                                gl_webp_chunks *chunks) {
    if (size < RIFF_BYTES + HEADER_BYTES || !is_named(data, "RIFF") || !is_named(data + 8, "WEBP")) {
        return "not a WebP file";
    }
    if ((size & 1) || size > INT32_MAX || gl_little32(data + 4) != size - 8) {
        return "not of the size that its header says";
    }
    int flags = 0, found = 0, has_pixels = 0, is_lossless = 0, is_extended = 0;
    for (size_t at = RIFF_BYTES; at < size;) {
        const uint8_t *chunk = data + at;
        if (size - at < HEADER_BYTES || size - at - HEADER_BYTES < gl_little32(chunk + 4)) {
            return "chunk ends behind the file";
        }
        const size_t bytes = gl_little32(chunk + 4), padded = bytes + (bytes & 1);
        const int is_first = at == RIFF_BYTES, flag = flag_of(chunk);
        at += HEADER_BYTES + padded; /* both are even, so that the padding is there */
        if (is_named(chunk, "VP8X")) {
            if (!is_first || bytes != EXTENDED_BYTES) {
                return "irregular VP8X";
            }
            flags = chunk[HEADER_BYTES];
            is_extended = 1;
            if (flags & ~(HAS_XMP | HAS_EXIF | HAS_ALPHA | HAS_PROFILE)) {
                return "an animation, or a flag that is not known";
            }
            const uint32_t canvas[2] = {gl_little32(chunk + 12) & 0xFFFFFF, gl_little32(chunk + 14) >> 8};
            if (canvas[0] + 1 != (uint32_t)width || canvas[1] + 1 != (uint32_t)height) {
                return "a canvas of another size";
            }
        } else if (is_named(chunk, "VP8 ") || is_named(chunk, "VP8L")) {
            if (has_pixels || !(is_first || is_extended)) {
                return "more than one image";
            }
            has_pixels = 1;
            chunks->colours = chunk;
            chunks->alpha = found & HAS_ALPHA ? chunks->alpha : chunk;
            chunks->end = data + at;
            is_lossless = chunk[3] == 'L';
        } else if (flag && is_extended) {
            if ((found & flag) || (flag & (HAS_ALPHA | HAS_PROFILE) && has_pixels)) {
                return "chunk out of place";
            }
            found |= flag;
            chunks->alpha = flag == HAS_ALPHA ? chunk : chunks->alpha;
        } else {
            return "a chunk that is not known";
        }
    }
    if (!has_pixels) {
        return "no image";
    }
    /* The alpha of a lossless image is in its pixels. */
    if (is_lossless ? found & HAS_ALPHA || (found | HAS_ALPHA) != (flags | HAS_ALPHA) : found != flags) {
        return "VP8X promises other chunks";
    }
    return NULL;
}
