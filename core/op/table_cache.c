/* Packed tables in a ring of memory, found by a small hash.
 *
 * A table's place is its offset in the endless stream of all tables ever made; the ring holds the last ring_bytes of
 * that stream.  So whether a table still lies there is one comparison, and nothing is ever freed one by one. */
#include <string.h>

#include "kernels.h"

enum {
    RING_BYTES = 4 << 20, /* about 500 tables of a 224 pixel side */
    SETS = 256,           /* times WAYS: places enough for a ring full of small tables */
    WAYS = 4,
    CACHED_MAX = RING_BYTES / 8 /* a larger table would push out too many: it is made anew each time */
};

typedef struct entry {
    gl_axis_key key;
    uint64_t start, bytes; /* in the stream; bytes is 0 while unused */
} entry;

struct gl_table_cache {
    gl_buffer self; /* the memory this struct lies in */
    const gl_kernels *kernels;
    uint64_t end; /* of the stream */
    entry entries[SETS][WAYS];
    gl_buffer ring;
    gl_buffer axis;     /* where weights are computed */
    gl_buffer large[2]; /* tables too large for the ring: horizontal, vertical */
};

gl_table_cache *gl_table_cache_open(const gl_kernels *kernels) {
    gl_buffer self = {NULL, 0};
    if (gl_buffer_grow(&self, sizeof(gl_table_cache)) != 0)
        return NULL;
    gl_table_cache *cache = (gl_table_cache *)self.data;
    memset(cache, 0, sizeof *cache);
    cache->self = self;
    cache->kernels = kernels;
    if (gl_buffer_grow(&cache->ring, RING_BYTES) != 0) {
        gl_buffer_free(&self);
        return NULL;
    }
    return cache;
}

void gl_table_cache_close(gl_table_cache *cache) {
    gl_buffer_free(&cache->ring);
    gl_buffer_free(&cache->axis);
    gl_buffer_free(&cache->large[0]);
    gl_buffer_free(&cache->large[1]);
    gl_buffer self = cache->self;
    gl_buffer_free(&self);
}

void gl_table_cache_trim(gl_table_cache *cache, size_t keep) {
    gl_buffer *const kept[] = {&cache->axis, &cache->large[0], &cache->large[1]};
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
        if (kept[i]->size > keep)
            gl_buffer_free(kept[i]);
}

size_t gl_table_cache_bytes(const gl_table_cache *cache) {
    return cache->self.size + cache->ring.size + cache->axis.size + cache->large[0].size + cache->large[1].size;
}

static int held(const gl_table_cache *cache, const entry *e) {
    return e->bytes != 0 && e->start + RING_BYTES >= cache->end;
}

static entry *set_of(gl_table_cache *cache, const gl_axis_key *key) {
    const int32_t words[] = {key->in, key->out, key->filter, key->from, key->n, key->flip * 2 + key->vertical};
    uint64_t hash = 0;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        hash = (hash ^ (uint32_t)words[i]) * UINT64_C(0x9E3779B97F4A7C15), hash ^= hash >> 29;
    return cache->entries[hash % SETS];
}

static int same(const gl_axis_key *a, const gl_axis_key *b) {
    return a->in == b->in && a->out == b->out && a->filter == b->filter && a->from == b->from && a->n == b->n &&
           a->flip == b->flip && a->vertical == b->vertical;
}

static const gl_table *find(gl_table_cache *cache, const gl_axis_key *key) {
    const entry *set = set_of(cache, key);
    for (int i = 0; i < WAYS; i++)
        if (held(cache, &set[i]) && same(&set[i].key, key))
            return (const gl_table *)(cache->ring.data + set[i].start % RING_BYTES);
    return NULL;
}

/* place finds room for a table of the given bytes in the ring and enters it. */
static gl_table *place(gl_table_cache *cache, const gl_axis_key *key, size_t bytes) {
    const uint64_t to_wrap = RING_BYTES - cache->end % RING_BYTES;
    if (to_wrap < bytes)
        cache->end += to_wrap; /* a table lies in one piece */
    entry *set = set_of(cache, key), *oldest = set;
    for (int i = 1; i < WAYS; i++)
        if (set[i].start < oldest->start)
            oldest = &set[i];
    *oldest = (entry){.key = *key, .start = cache->end, .bytes = bytes};
    cache->end += bytes;
    return (gl_table *)(cache->ring.data + oldest->start % RING_BYTES);
}

static const gl_table *make(gl_table_cache *cache, const gl_axis_key *key) {
    gl_pack *const pack = key->vertical ? cache->kernels->pack_vertical : cache->kernels->pack_horizontal;
    const size_t head = gl_round_up(sizeof(gl_table), GL_ALIGN);
    gl_axis axis;
    if (gl_axis_build(&axis, &cache->axis, key) != 0)
        return NULL;
    const size_t bytes = gl_round_up(head + pack(&axis, NULL, NULL), GL_ALIGN);
    gl_table *table;
    if (bytes <= CACHED_MAX) {
        table = place(cache, key, bytes);
    } else {
        if (gl_buffer_grow(&cache->large[key->vertical], bytes) != 0)
            return NULL;
        table = (gl_table *)cache->large[key->vertical].data;
    }
    pack(&axis, table, (uint8_t *)table + head);
    return table;
}

static const gl_table *find_or_make(gl_table_cache *cache, const gl_axis_key *key) {
    const gl_table *table = find(cache, key);
    return table != NULL ? table : make(cache, key);
}

int gl_table_cache_get(gl_table_cache *cache, const gl_axis_key *horizontal, const gl_table **horizontal_table,
                       const gl_axis_key *vertical, const gl_table **vertical_table) {
    if (horizontal != NULL && (*horizontal_table = find_or_make(cache, horizontal)) == NULL)
        return -1;
    const uint64_t end = cache->end;
    if (vertical != NULL && (*vertical_table = find_or_make(cache, vertical)) == NULL)
        return -1;
    /* Making the second may have overwritten an old first; made again it lies behind the second and harms nothing. */
    if (horizontal != NULL && cache->end != end && (*horizontal_table = find_or_make(cache, horizontal)) == NULL)
        return -1;
    return 0;
}
