/* unpack.c: TIFF's own compressions (TIFF 6.0 specification, sections 9, 13 and 14). */
#include "tiff.h"

int gl_tiff_unpack_bits(const uint8_t *data, size_t size, uint8_t *out, size_t n) {
    size_t at = 0;
    while (n > 0) {
        if (at == size) {
            return 0;
        }
        const int head = (int8_t)data[at++];
        if (head == -128) {
            continue;
        }
        const size_t run = (size_t)(head < 0 ? 1 - head : 1 + head), taken = head < 0 ? 1 : run;
        if (run > n || taken > size - at) {
            return 0;
        }
        if (head < 0) {
            memset(out, data[at], run);
        } else {
            memcpy(out, data + at, run);
        }
        at += taken;
        out += run;
        n -= run;
    }
    return 1;
}

/* A code's string is where it was written last: of the code before, and the sample behind it. */
int gl_tiff_unpack_lzw(gl_tiff_strings *t, const uint8_t *data, size_t size, uint8_t *out, size_t n) {
    enum { CLEAR = 256, END = 257, FIRST = 258, WIDTH_MIN = 9, WIDTH_MAX = 12 };
    uint32_t next = FIRST, width = WIDTH_MIN, nheld = 0;
    uint64_t held = 0;
    size_t from = 0, at = 0, before = 0, before_length = 0; /* the last string; no length right after a clear code */
    for (int is_first = 1; at < n; is_first = 0) {
        if (nheld < width) {
            if (size - from >= 4) {
                const uint8_t *p = data + from;
                held = held << 32 | (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
                nheld += 32;
                from += 4;
            }
            while (nheld < width) {
                if (from == size) {
                    return 0;
                }
                held = held << 8 | data[from++];
                nheld += 8;
            }
        }
        const uint32_t code = (uint32_t)(held >> (nheld - width)) & ((1u << width) - 1);
        nheld -= width;
        if (code == CLEAR) {
            next = FIRST;
            width = WIDTH_MIN;
            before_length = 0;
            continue;
        }
        if (is_first || code == END) {
            return 0; /* libtiff takes what does not begin with a clear code for another kind */
        }
        size_t length = 1;
        if (before_length == 0) {
            if (code > CLEAR) {
                return 0;
            }
        } else {
            if (next == GL_TIFF_CODES) {
                return 0; /* a full table */
            }
            t->at[next] = (uint32_t)before;
            t->length[next] = (uint32_t)before_length + 1;
            next++;
            if (next == (1u << width) - 1 && width < WIDTH_MAX) {
                width++;
            }
        }
        if (code < CLEAR) {
            out[at] = (uint8_t)code;
        } else {
            if (code >= next) {
                return 0;
            }
            length = t->length[code];
            if (length > n - at) {
                return 0;
            }
            const uint8_t *string = out + t->at[code];
            uint64_t eight; /* most strings are as short */
            memcpy(&eight, string, sizeof eight);
            memcpy(out + at, &eight, sizeof eight);
            if (length > sizeof eight) {
                memcpy(out + at + sizeof eight, string + sizeof eight, length - 1 - sizeof eight);
            }
            out[at + length - 1] = string[length - 1 == at - t->at[code] ? 0 : length - 1];
        }
        before = at;
        before_length = length;
        at += length;
    }
    return 1;
}

static inline __attribute__((always_inline)) void add(uint8_t *rows, int32_t count, size_t row_bytes, size_t samples) {
    for (int32_t y = 0; y < count; y++, rows += row_bytes) {
        for (size_t i = samples; i < row_bytes; i++) {
            rows[i] = (uint8_t)(rows[i] + rows[i - samples]);
        }
    }
}

void gl_tiff_add(uint8_t *rows, int32_t count, size_t row_bytes, int samples) {
    switch (samples) {
    case 1:
        add(rows, count, row_bytes, 1);
        break;
    case 3:
        add(rows, count, row_bytes, 3);
        break;
    default:
        add(rows, count, row_bytes, (size_t)samples);
        break;
    }
}
