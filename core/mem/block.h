/* block.h: memory outside the Go heap that outlives whoever asked for it.
 *
 * A block is mapped anonymously (or lent by the caller, and then never freed here) and has a state, so that its last
 * reader can give it back from any thread, without a lock and without entering Go: that reader may be Python's garbage
 * collector, or code in a forked child, where nothing may enter Go at all. */
#ifndef GOLOADER_BLOCK_H
#define GOLOADER_BLOCK_H

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* What is mapped for one purpose. */
typedef struct gl_counter {
    _Atomic int64_t bytes, blocks;
} gl_counter;

/* What the owner does to a state it does in Go, by atomics on the same word (mem.go): a call into C costs ten times as
 * much, and a ring looks at all of its blocks at each turn. */
enum {
    GL_IDLE,    /* in its owner's list, free to take */
    GL_TAKEN,   /* the owner fills it */
    GL_LEASED,  /* somebody else reads it; release makes it idle */
    GL_ORPHANED /* leased, and its owner is gone; release frees it */
};

typedef struct gl_block {
    uint8_t *data;
    size_t size;
    gl_counter *counter;
    _Atomic int32_t state;
    int32_t lent;   /* data belongs to the caller */
    int32_t poison; /* debugging: overwrite released memory, so that a view that lives on is seen */
} gl_block;

enum { GL_POISON = 0xa5, GL_HUGE_PAGE = 2 << 20, GL_INHERIT_MIN = 256 << 10 };

/* gl_block_inherit says whether children that are forked from now on have the memory, too. What they have is copied here
 * as soon as it is written again, by whole huge pages: ten times the work of an image's transforms. */
static inline void gl_block_inherit(gl_block *block, int yes) {
    if (!block->lent && block->size >= GL_INHERIT_MIN)
        madvise(block->data, block->size, yes ? MADV_DOFORK : MADV_DONTFORK);
}

/* gl_block_of maps size bytes as mmap does; NULL if there is no memory.  The block is GL_TAKEN. */
static inline gl_block *gl_block_of(size_t size, void *lent, gl_counter *counter, int protection, int flags, int fd,
                                    off_t offset) {
    gl_block *block = calloc(1, sizeof *block);
    if (!block)
        return NULL;
    block->size = size;
    block->counter = counter;
    block->lent = lent != NULL;
    block->data = lent;
    if (!lent) {
        block->data = mmap(NULL, size, protection, flags, fd, offset);
        if (block->data == MAP_FAILED) {
            free(block);
            return NULL;
        }
        /* Halves the page faults' time of a fresh batch; a hint, so its result does not matter. */
        if (size >= GL_HUGE_PAGE)
            madvise(block->data, size, MADV_HUGEPAGE);
    }
    atomic_init(&block->state, GL_TAKEN);
    atomic_fetch_add(&counter->bytes, (int64_t)size);
    atomic_fetch_add(&counter->blocks, 1);
    return block;
}

/* gl_block_new maps size bytes, or wraps lent ones; NULL if there is no memory.  The block is GL_TAKEN. */
static inline gl_block *gl_block_new(size_t size, void *lent, gl_counter *counter) {
    return gl_block_of(size, lent, counter, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static inline void gl_block_free(gl_block *block) {
    atomic_fetch_sub(&block->counter->bytes, (int64_t)block->size);
    atomic_fetch_sub(&block->counter->blocks, 1);
    if (!block->lent)
        munmap(block->data, block->size);
    free(block);
}

/* gl_block_release ends a lease: the owner may take the block again, or it is freed if there is no owner any more. */
static inline void gl_block_release(gl_block *block) {
    if (block->poison && !block->lent)
        memset(block->data, GL_POISON, block->size);
    gl_block_inherit(block, 0);
    int32_t leased = GL_LEASED;
    if (!atomic_compare_exchange_strong(&block->state, &leased, GL_IDLE))
        gl_block_free(block);
}

/* gl_block_abandon ends ownership of a block that is idle or leased. */
static inline void gl_block_abandon(gl_block *block) {
    int32_t leased = GL_LEASED;
    if (!atomic_compare_exchange_strong(&block->state, &leased, GL_ORPHANED))
        gl_block_free(block);
}

#endif
