/* complete.c: does a scan surely end well?
 *
 * A decoder that reads entropy-coded bytes never goes past a marker: it makes up zeros instead.  So if the first marker
 * behind a scan (restart markers aside) is EOI, no reader of a single-scan file can run out of data, and how the rows
 * below the wanted ones decode is nobody's business. */
#include "jpeg.h"

#include <string.h>

int gl_jpeg_scan_end(const uint8_t *scan, size_t size) {
    const uint8_t *at = scan, *end = scan + size;
    for (;;) {
        at = memchr(at, 0xFF, (size_t)(end - at));
        if (!at || end - at < 2) {
            return GL_JPEG_NO_END;
        }
        uint8_t code = at[1];
        if (code == 0xD9) {
            return GL_JPEG_ENDS;
        }
        if (code == 0xFF) {
            return GL_JPEG_FILL;
        }
        if (code != 0 && (code < 0xD0 || code > 0xD7)) {
            return GL_JPEG_OTHER;
        }
        at += 2;
    }
}
