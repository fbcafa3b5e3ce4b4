/* resample.h: Pillow's 8-bit resampling, one axis at a time.
 *
 * Pillow (src/libImaging/Resample.c) computes each output as a weighted sum of neighbouring inputs: weights in double
 * from the filter, divided by their sum, rounded half away from zero to 22 fractional bits; the sum in 32-bit integers,
 * plus one half, shifted down and clipped to a byte.  Integer sums do not depend on their order, not even where they
 * wrap, so every kernel here gives the same bits. */
#ifndef GOLOADER_RESAMPLE_H
#define GOLOADER_RESAMPLE_H

#include "buffer.h"

enum {
    GL_WEIGHT_BITS = 22, /* Pillow's PRECISION_BITS: 32 - 8 - 2 */
    GL_HALF = 1 << (GL_WEIGHT_BITS - 1)
};

/* Which outputs of which resize: outputs [from, from + n) of in -> out, last one first if flip. */
typedef struct gl_axis_key {
    int32_t in, out, filter;
    int32_t from, n, flip;
    int32_t vertical; /* packed for the vertical kernel, not the horizontal one */
} gl_axis_key;

/* One axis as Pillow has it. The arrays lie in a buffer of the caller's. */
typedef struct gl_axis {
    int32_t n;                       /* outputs */
    int32_t taps;                    /* weights from an output to the next; count[i] <= taps */
    int32_t low, high;               /* the inputs all of them together touch: [low, high) */
    int32_t *first, *count, *weight; /* output i sums weight[i * taps + j] * input[low + first[i] + j], j < count[i] */
} gl_axis;

/* gl_axis_build fills axis, its arrays in room; 0, or -1 if out of memory. */
int gl_axis_build(gl_axis *axis, gl_buffer *room, const gl_axis_key *key);

/* An axis packed for one kernel. The arrays follow the struct in the same memory. */
typedef struct gl_table {
    int32_t n, low, high; /* as in gl_axis */
    int32_t layout;       /* GL_PLAIN_LAYOUT, or a kernel's own */
    int32_t taps;         /* weights an output, or groups of them, as the layout says */
    const int32_t *first, *count;
    const int32_t *base;
    const uint8_t *index;
    const void *weight;
} gl_table;

/* first, count and weight as in gl_axis. Every kernel knows it: it is for weights too large to be split. */
enum { GL_PLAIN_LAYOUT = 0 };

/* A packer fills table, its arrays in room (aligned to GL_ALIGN), and returns the bytes of room used.  With room NULL
 * it only says how many. */
typedef size_t gl_pack(const gl_axis *axis, gl_table *table, uint8_t *room);
gl_pack gl_plain_pack;

/* Horizontal: `rows` rows of table->n outputs each.  src is at column table->low.  Up to GL_ROW_SLACK bytes behind
 * column table->high - 1 are read; dst gets up to 15 bytes more than n in each row, a block of columns for all rows at
 * a time. */
typedef void gl_horizontal(const gl_table *table, const uint8_t *src, ptrdiff_t src_stride, int32_t rows, uint8_t *dst,
                           ptrdiff_t dst_stride);
/* Vertical: outputs [from, from + rows), each `width` columns wide.  src is at row table->low.  Up to 63 bytes more
 * than width are read and written in each row; rows are written one after the other. */
typedef void gl_vertical(const gl_table *table, int32_t from, int32_t rows, const uint8_t *src, ptrdiff_t src_stride,
                         int32_t width, uint8_t *dst, ptrdiff_t dst_stride);
gl_horizontal gl_plain_horizontal;
gl_vertical gl_plain_vertical;

/* Nearest neighbour, Pillow's and torch's: map[i] is the input of output [from + i] of in -> out. */
void gl_nearest_map(int32_t *map, int32_t in, int32_t out, int32_t from, int32_t n);
void gl_torch_nearest_map(int32_t *map, int32_t in, int32_t out, int32_t from, int32_t n);

/* A bounded cache of tables, one a worker: random crops come back to the same sizes, and a table costs a few us.
 * Tables lie in a ring; a new one overwrites the oldest. */
typedef struct gl_table_cache gl_table_cache;
typedef struct gl_kernels gl_kernels;
gl_table_cache *gl_table_cache_open(const gl_kernels *kernels); /* NULL if out of memory */
void gl_table_cache_close(gl_table_cache *cache);
size_t gl_table_cache_bytes(const gl_table_cache *cache);
/* Gives memory back that one huge axis left larger than `keep` bytes; tables that were got are gone. */
void gl_table_cache_trim(gl_table_cache *cache, size_t keep);
/* gl_table_cache_get finds or makes the tables of two axes (either key may be NULL); both hold until the next call.
 * 0, or -1 if out of memory. */
int gl_table_cache_get(gl_table_cache *cache, const gl_axis_key *horizontal, const gl_table **horizontal_table,
                       const gl_axis_key *vertical, const gl_table **vertical_table);

#endif
