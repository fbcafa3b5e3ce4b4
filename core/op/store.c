#include "store.h"

#include <string.h>

void gl_shelf_fill(gl_shelf *shelf, const gl_store *store, int32_t table) {
    const size_t entries = (size_t)store->channels * 256, itemsize = (size_t)store->itemsize;
    const uint8_t *from = (const uint8_t *)store->table + (size_t)table * entries * itemsize;
    shelf->interleaved = store->interleaved && store->channels > 1;
    shelf->item_step = (size_t)store->channels * itemsize;
    /* By content, not by address: a store may be freed and another made in its place. */
    if (shelf->channels == store->channels && shelf->itemsize == store->itemsize &&
        memcmp(shelf->table, from, entries * itemsize) == 0)
        return;
    shelf->channels = store->channels;
    shelf->itemsize = store->itemsize;
    memcpy(shelf->table, from, entries * itemsize);
    shelf->identity = itemsize == 1;
    for (size_t e = 0; e < entries; e++) {
        for (size_t b = 0; b < itemsize; b++)
            shelf->slice[e / 256][b][e % 256] = shelf->table[e * itemsize + b];
        shelf->identity &= shelf->table[e] == e % 256;
    }
}

/* Items are moved by memcpy of a constant size: dst need not be aligned to the item. */
#define LOOK_UP(type, step)                                                                                            \
    do {                                                                                                               \
        for (size_t i = 0; i < n; i++)                                                                                 \
            memcpy(dst + i * (step), table + src[i] * sizeof(type), sizeof(type));                                     \
    } while (0)

void gl_plain_put(const gl_shelf *shelf, int32_t channel, const uint8_t *src, size_t n, uint8_t *dst, int stream) {
    (void)stream;
    const uint8_t *table = shelf->table + (size_t)channel * 256 * (size_t)shelf->itemsize;
    if (shelf->identity) {
        memcpy(dst, src, n);
        return;
    }
    switch (shelf->itemsize) {
    case 1:
        LOOK_UP(uint8_t, sizeof(uint8_t));
        break;
    case 2:
        LOOK_UP(uint16_t, sizeof(uint16_t));
        break;
    case 4:
        LOOK_UP(uint32_t, sizeof(uint32_t));
        break;
    default:
        LOOK_UP(uint64_t, sizeof(uint64_t));
    }
}

void gl_put_interleaved(const gl_shelf *shelf, int32_t channel, const uint8_t *src, size_t n, uint8_t *dst) {
    const uint8_t *table = shelf->table + (size_t)channel * 256 * (size_t)shelf->itemsize;
    const size_t step = shelf->item_step;
    dst += channel * shelf->itemsize;
    switch (shelf->itemsize) {
    case 1:
        LOOK_UP(uint8_t, step);
        break;
    case 2:
        LOOK_UP(uint16_t, step);
        break;
    case 4:
        LOOK_UP(uint32_t, step);
        break;
    default:
        LOOK_UP(uint64_t, step);
    }
}
