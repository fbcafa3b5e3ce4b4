/* store.h: the last step, a table look-up a pixel. */
#ifndef GOLOADER_STORE_H
#define GOLOADER_STORE_H

#include "op.h"

enum {
    GL_ITEM_MAX = 8,
    GL_CHANNELS_MAX = 3,
    /* Samples from this size on are written past the cache: nobody reads them before the batch is done, and they would
     * push out planes and tables. About an eighth of a small second-level cache. */
    GL_STREAM_BYTES = 128 * 1024
};

/* A gl_store as kernels want it: the table itself, and its elements cut into bytes. */
typedef struct gl_shelf {
    int32_t channels, itemsize;
    int32_t identity; /* one byte an item, and every table maps a byte to itself */
    int32_t interleaved;
    size_t item_step; /* bytes of a pixel, if interleaved */
    _Alignas(64) uint8_t table[GL_CHANNELS_MAX * 256 * GL_ITEM_MAX];
    /* slice[c][b][v]: byte b of channel c's element v */
    _Alignas(64) uint8_t slice[GL_CHANNELS_MAX][GL_ITEM_MAX][256];
} gl_shelf;

/* gl_shelf_fill copies one of store's tables; quick if it is the one already there.  A zeroed shelf is empty. */
void gl_shelf_fill(gl_shelf *shelf, const gl_store *store, int32_t table);

/* A kernel's put looks n pixels of one channel up and writes n * itemsize bytes.  Exactly these bytes are touched.
 * stream: write past the cache; the caller fences. */
typedef void gl_put(const gl_shelf *shelf, int32_t channel, const uint8_t *src, size_t n, uint8_t *dst, int stream);
gl_put gl_plain_put;

/* gl_put_interleaved does the same for one channel of n pixels whose channels follow each other from dst on. */
void gl_put_interleaved(const gl_shelf *shelf, int32_t channel, const uint8_t *src, size_t n, uint8_t *dst);

#endif
