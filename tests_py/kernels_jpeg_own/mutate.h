/* mutate.h: windows and damage by chance, the same for the same seed. */
#ifndef GOLOADER_TEST_MUTATE_H
#define GOLOADER_TEST_MUTATE_H

#include <string.h>

#include "../../core/decode/decoder.h"

static inline uint32_t next_random(uint64_t *seed) {
    *seed = *seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(*seed >> 33);
}

static inline int32_t below(uint64_t *seed, int64_t n) {
    return (int32_t)(next_random(seed) % n);
}

/* The whole, or a window whose edges often lie on borders of blocks. */
static inline gl_window random_window(uint64_t *seed, int32_t width, int32_t height) {
    if (below(seed, 4) == 0) {
        return (gl_window){0, 0, width, height};
    }
    gl_window w = {.x = below(seed, width), .y = below(seed, height)};
    if (below(seed, 2)) {
        w.x = w.x / 8 * 8;
        w.y = w.y / 8 * 8;
    }
    w.width = 1 + below(seed, width - w.x);
    w.height = 1 + below(seed, height - w.y);
    return w;
}

/* Changes, cuts out or doubles some bytes; four in five changes hit the scan.  data has room for 64 bytes more than
 * size.  Returns the new size. */
static inline size_t mutate(uint8_t *data, size_t size, uint64_t *seed) {
    const size_t head = size < 700 ? size / 2 : 640;
    for (int n = 1 + below(seed, 6); n > 0; n--) {
        const size_t at =
            below(seed, 5) ? head + (size_t)below(seed, (int64_t)(size - head)) : (size_t)below(seed, (int64_t)head);
        const size_t run = 1 + (size_t)below(seed, 8);
        switch (below(seed, 8)) {
        case 0:
            if (at + run < size && size > 200) {
                memmove(data + at, data + at + run, size - at - run);
                size -= run;
            }
            break;
        case 1:
            if (at + run < size) {
                memmove(data + at + run, data + at, size - at); /* the buffer has room */
                size += run;
            }
            break;
        case 2:
            data[at] = 0xFF;
            break;
        case 3:
            data[at] ^= (uint8_t)(1u << below(seed, 8));
            break;
        case 4:
            if (at + 1 < size) {
                data[at] = 0xFF;
                data[at + 1] = (uint8_t)(0xD0 + below(seed, 10));
            }
            break;
        default:
            data[at] = (uint8_t)next_random(seed);
        }
    }
    if (below(seed, 10) == 0) { /* ends early, but with a marker */
        size = size / 2 + (size_t)below(seed, (int64_t)(size / 2));
        data[size - 2] = 0xFF;
        data[size - 1] = 0xD9;
    }
    return size;
}

#endif
