/* unstuff.c: entropy-coded bytes without the markers between them [B.1.1.5, F.1.2.3].
 *
 * A byte FF of the code is followed by a zero, which says that it is no marker.  Taking those zeros out beforehand
 * costs little (they are rare, and the rest is copied in long stretches) and lets the bit reader load eight bytes at a
 * time without looking at any of them. */
#include <string.h>

#include "engine.h"

/* Notes that an interval starts, or the bytes end, at `offset`. */
static int note(gl_jpeg_stream *stream, size_t offset) {
    const size_t used = stream->intervals * sizeof offset;
    if (used + sizeof offset > stream->starts.size) {
        gl_jpeg_buffer grown = {NULL, 0};
        if (gl_jpeg_buffer_grow(&grown, 2 * used + 4096) != 0) {
            return GL_JPEG_NOT_OURS;
        }
        if (used) {
            memcpy(grown.data, stream->starts.data, used);
        }
        gl_jpeg_buffer_free(&stream->starts);
        stream->starts = grown;
    }
    memcpy(stream->starts.data + used, &offset, sizeof offset);
    stream->intervals++;
    return GL_JPEG_OK;
}

int gl_jpeg_unstuff(const uint8_t *scan, size_t size, int restarts, gl_jpeg_stream *stream) {
    stream->intervals = 0;
    if (gl_jpeg_buffer_grow(&stream->bytes, size + GL_JPEG_STREAM_SLACK) != 0 || note(stream, 0) != GL_JPEG_OK) {
        return GL_JPEG_NOT_OURS;
    }
    const uint8_t *at = scan, *end = scan + size;
    uint8_t *to = stream->bytes.data;
    unsigned next_restart = 0;
    for (;;) {
        const uint8_t *mark = memchr(at, 0xFF, (size_t)(end - at));
        if (!mark || end - mark < 2) {
            return GL_JPEG_NOT_OURS; /* no end */
        }
        const uint8_t code = mark[1];
        const size_t copied = (size_t)(mark - at) + (code == 0);
        memcpy(to, at, copied);
        to += copied;
        at = mark + 2;
        if (code == 0) {
            continue;
        }
        if (code == 0xD9) { /* EOI */
            break;
        }
        if (!restarts || code != 0xD0 + next_restart || note(stream, (size_t)(to - stream->bytes.data)) != GL_JPEG_OK) {
            return GL_JPEG_NOT_OURS;
        }
        next_restart = (next_restart + 1) % 8;
    }
    memset(to, 0, GL_JPEG_STREAM_SLACK);
    if (note(stream, (size_t)(to - stream->bytes.data)) != GL_JPEG_OK) {
        return GL_JPEG_NOT_OURS;
    }
    stream->intervals--; /* the last one is the end */
    return GL_JPEG_OK;
}
