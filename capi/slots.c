/* slots.c: slots in an anonymous file, for batches made by worker processes.
 *
 * The file begins with a table that every process maps; the bytes of slots lie behind it, each slot's in an extent of
 * its own.  Places in the file are never used twice, so an extent's offset says whether a mapping is still right.  The
 * table holds no locks and no lists: a slot is claimed and freed by one compare-and-swap of its state, and how much
 * memory there is, is counted from the slots whenever it is asked for.  Hence a process may be killed anywhere. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <linux/memfd.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "goloader.h"

enum {
    SLOT_BITS = 12,
    SLOTS = 1 << SLOT_BITS,
    PAGE = 4096,
    MAGIC = 0x676c736c /* "glsl", then the layout's version */
};

/* So far into a sparse file no program will come: at 10 GB/s of new extents it lasts for seven years.  Less where files
 * are limited (ulimit -f): extents are used again, so that only batches that grow come to the end of it. */
static const int64_t FILE_BYTES_MAX = (int64_t)1 << 61;

/* A slot may be this many times larger than what it is taken for, unless there is no memory for another. */
enum { OVERSIZE_MAX = 2 };

/* Who holds a slot.  Its state is these, and its owner in the high half; 0 is free. */
enum { TAKEN = 1, SENT = 2, LEASED = 4, HELD = TAKEN | SENT | LEASED };

typedef struct entry {
    _Atomic uint64_t state;
    /* Written by who claimed the slot while nobody else holds it. */
    _Atomic int64_t offset, bytes, sequence, epoch;
    int64_t unused[3]; /* a cache line a slot */
} entry;

typedef struct table {
    uint64_t magic;
    int64_t bytes_max;
    int64_t file_bytes;
    _Atomic int64_t end;   /* of the last extent */
    _Atomic int64_t count; /* slots that ever had memory */
    _Atomic int64_t epoch;
    int64_t unused[2];
    entry slots[SLOTS];
} table;

/* What this process has of a slot. */
typedef struct mapping {
    void *data;
    int64_t offset, bytes;
    _Atomic int64_t lease; /* 0 for none */
    int32_t holder;        /* what release takes out of the state */
} mapping;

typedef struct slots {
    table *table;
    int fd;
    int forks; /* of this process's line, when leases were last looked at */
    mapping mapped[SLOTS];
} slots;

static volatile int forks;
static _Atomic int64_t leases;

static void after_fork_in_child(void) {
    forks++;
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

static gl_status fail(gl_error *err, gl_status status, const char *what) {
    if (err)
        snprintf(err->text, sizeof err->text, "slots: %s: %s", what, strerror(errno));
    return status;
}

/* own returns the slots of this process: leases that its parent had when it forked are not its own. */
static slots *own(void *opened) {
    slots *all = opened;
    if (all->forks != forks) {
        for (int i = 0; i < SLOTS; i++)
            if (atomic_load(&all->mapped[i].lease))
                atomic_store(&all->mapped[i].lease, 0);
        all->forks = forks;
    }
    return all;
}

static int64_t page_aligned(int64_t bytes) {
    return (bytes + PAGE - 1) & ~(int64_t)(PAGE - 1);
}

/* extent_bytes rounds up to eighths of a power of two, so that batches that differ a little can use each other's. */
static int64_t extent_bytes(int64_t bytes) {
    int64_t step = PAGE;
    while (step * 16 < bytes)
        step *= 2;
    return (bytes + step - 1) / step * step;
}

/* A state without some holders; nobody left means free. */
static uint64_t without(uint64_t state, uint64_t holders) {
    state &= ~holders;
    return state & HELD ? state : 0;
}

static void drop(entry *slot, uint64_t holders) {
    uint64_t before = atomic_load(&slot->state);
    while (!atomic_compare_exchange_weak(&slot->state, &before, without(before, holders)))
        ;
}

static int claim(entry *slot, int32_t owner) {
    uint64_t free = 0;
    return atomic_load(&slot->state) == 0 &&
           atomic_compare_exchange_strong(&slot->state, &free, (uint64_t)owner << 32 | TAKEN);
}

/* empty gives the memory of a claimed slot back.  A process killed between the two steps leaves an extent without
 * pages, which is as good as one with. */
static void empty(slots *all, entry *slot) {
    int64_t bytes = atomic_load(&slot->bytes);
    if (!bytes)
        return;
    fallocate(all->fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, atomic_load(&slot->offset), bytes);
    atomic_store(&slot->bytes, 0);
}

static int64_t total_bytes(table *shared) {
    int64_t total = 0, count = atomic_load(&shared->count);
    for (int64_t i = 0; i < count; i++)
        total += atomic_load(&shared->slots[i].bytes);
    return total;
}

/* make_room empties free slots until `bytes` more fit; 0 if they do not. */
static int make_room(slots *all, int64_t bytes, int32_t owner) {
    table *shared = all->table;
    int64_t total = total_bytes(shared), count = atomic_load(&shared->count);
    for (int64_t i = 0; i < count && total + bytes > shared->bytes_max; i++) {
        entry *slot = &shared->slots[i];
        if (!atomic_load(&slot->bytes) || !claim(slot, owner))
            continue;
        total -= atomic_load(&slot->bytes);
        empty(all, slot);
        drop(slot, HELD);
    }
    return total + bytes <= shared->bytes_max;
}

/* claim_fitting claims the smallest free slot of at least `bytes`; -1 if there is none of at most bytes_most. */
static int claim_fitting(slots *all, int64_t bytes, int64_t bytes_most, int32_t owner) {
    table *shared = all->table;
    for (;;) {
        int best = -1;
        int64_t least = bytes_most, count = atomic_load(&shared->count);
        for (int i = 0; i < count; i++) {
            entry *slot = &shared->slots[i];
            int64_t has = atomic_load(&slot->bytes);
            if (has < bytes || has > least || atomic_load(&slot->state))
                continue;
            /* Of equals the one that this process has mapped: its pages need not be found again. */
            if (best < 0 || has < least || all->mapped[i].offset == atomic_load(&slot->offset)) {
                best = i;
                least = has;
                if (has == bytes && all->mapped[i].offset == atomic_load(&slot->offset))
                    break;
            }
        }
        if (best < 0)
            return -1;
        if (claim(&shared->slots[best], owner)) {
            if (atomic_load(&shared->slots[best].bytes) >= bytes)
                return best;
            drop(&shared->slots[best], HELD); /* emptied meanwhile */
        }
    }
}

/* claim_new claims a slot and gives it an extent of `bytes`; -1 if there is no room. */
static int claim_new(slots *all, int64_t bytes, int32_t owner) {
    table *shared = all->table;
    if (bytes > shared->file_bytes - atomic_load(&shared->end) || !make_room(all, bytes, owner))
        return -1;
    for (int small = 0; small < 2; small++) /* first one without memory, then one with too little */
        for (int i = 0; i < SLOTS; i++) {
            entry *slot = &shared->slots[i];
            if ((!small && atomic_load(&slot->bytes)) || !claim(slot, owner))
                continue;
            if (!small && atomic_load(&slot->bytes)) {
                drop(slot, HELD);
                continue;
            }
            empty(all, slot);
            int64_t count = atomic_load(&shared->count);
            while (count <= i && !atomic_compare_exchange_weak(&shared->count, &count, i + 1))
                ;
            int64_t offset = atomic_fetch_add(&shared->end, bytes);
            atomic_store(&slot->offset, offset);
            atomic_store(&slot->bytes, bytes);
            if (total_bytes(shared) <= shared->bytes_max && bytes <= shared->file_bytes - offset)
                return i;
            /* Another process was as quick. */
            empty(all, slot);
            drop(slot, HELD);
            return -1;
        }
    return -1;
}

/* map returns a slot's bytes in this process; NULL if it may map no more.  Only who holds the slot may call. */
static void *map(slots *all, int number) {
    entry *slot = &all->table->slots[number];
    mapping *here = &all->mapped[number];
    int64_t offset = atomic_load(&slot->offset);
    if (here->data && here->offset == offset)
        return here->data;
    if (here->data)
        munmap(here->data, (size_t)here->bytes);
    here->data = NULL;
    int64_t bytes = atomic_load(&slot->bytes);
    void *data = mmap(NULL, (size_t)bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, all->fd, offset);
    if (data == MAP_FAILED)
        return NULL;
    here->data = data;
    here->offset = offset;
    here->bytes = bytes;
    return data;
}

static void lease(slots *all, int number, int32_t holder, int64_t bytes, gl_slot *out) {
    mapping *here = &all->mapped[number];
    out->data = here->data;
    out->bytes = bytes;
    out->number = number;
    out->sequence = atomic_load(&all->table->slots[number].sequence);
    out->lease = (atomic_fetch_add(&leases, 1) + 1) << SLOT_BITS | number;
    here->holder = holder;
    atomic_store(&here->lease, out->lease);
}

static gl_status open_file(int fd, void **out, gl_error *err) {
    slots *all = calloc(1, sizeof *all);
    if (!all)
        return fail(err, GL_MEMORY, "calloc");
    all->fd = fd;
    all->forks = forks;
    all->table = mmap(NULL, sizeof *all->table, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    if (all->table == MAP_FAILED) {
        free(all);
        return fail(err, GL_MEMORY, "mmap");
    }
    *out = all;
    return GL_OK;
}

/* file_bytes_allowed is how long this process may make a file; beyond it a signal would come. */
static int64_t file_bytes_allowed(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) < 0 || limit.rlim_cur >= (rlim_t)FILE_BYTES_MAX)
        return FILE_BYTES_MAX;
    return (int64_t)limit.rlim_cur & ~(int64_t)(PAGE - 1);
}

gl_status gl_slots_create(int64_t bytes_max, int32_t *out_fd, void **out, gl_error *err) {
    int64_t file_bytes = file_bytes_allowed();
    if (file_bytes <= (int64_t)sizeof(table)) {
        errno = EFBIG;
        return fail(err, GL_MEMORY, "a file of slots");
    }
    /* The system call itself: glibc has a function for it since 2.27, and wheels are for 2.17. */
    int fd = (int)syscall(SYS_memfd_create, "goloader-slots", MFD_CLOEXEC);
    if (fd < 0)
        return fail(err, GL_MEMORY, "memfd_create");
    if (ftruncate(fd, file_bytes) < 0) {
        gl_status status = fail(err, GL_MEMORY, "ftruncate");
        close(fd);
        return status;
    }
    gl_status status = open_file(fd, out, err);
    if (status != GL_OK) {
        close(fd);
        return status;
    }
    table *shared = ((slots *)*out)->table;
    shared->magic = MAGIC;
    shared->bytes_max = bytes_max;
    shared->file_bytes = file_bytes;
    atomic_init(&shared->end, page_aligned(sizeof *shared));
    *out_fd = fd;
    return GL_OK;
}

gl_status gl_slots_open(int32_t fd, void **out, gl_error *err) {
    struct stat file;
    if (fstat(fd, &file) < 0)
        return fail(err, GL_BAD_ARGUMENT, "fstat");
    errno = EINVAL;
    if (file.st_size <= (int64_t)sizeof(table))
        return fail(err, GL_BAD_ARGUMENT, "not a file of slots");
    gl_status status = open_file(fd, out, err);
    if (status != GL_OK)
        return status;
    table *shared = ((slots *)*out)->table;
    if (shared->magic != MAGIC || shared->file_bytes != file.st_size) {
        gl_slots_close(*out);
        errno = EINVAL;
        return fail(err, GL_BAD_ARGUMENT, "not a file of slots");
    }
    return GL_OK;
}

void gl_slots_close(void *opened) {
    slots *all = opened;
    for (int i = 0; i < SLOTS; i++)
        if (all->mapped[i].data)
            munmap(all->mapped[i].data, (size_t)all->mapped[i].bytes);
    munmap(all->table, sizeof *all->table);
    free(all);
}

gl_status gl_slot_take(void *opened, int64_t bytes, int32_t owner, gl_slot *out) {
    slots *all = own(opened);
    table *shared = all->table;
    if (bytes <= 0 || bytes > shared->bytes_max)
        return GL_EMPTY;
    int64_t rounded = extent_bytes(bytes);
    int number = claim_fitting(all, rounded, OVERSIZE_MAX * rounded, owner);
    if (number < 0)
        number = claim_new(all, rounded, owner);
    if (number < 0)
        number = claim_fitting(all, rounded, INT64_MAX, owner);
    if (number < 0)
        return GL_EMPTY;
    entry *slot = &shared->slots[number];
    atomic_fetch_add(&slot->sequence, 1);
    atomic_store(&slot->epoch, atomic_load(&shared->epoch));
    if (!map(all, number)) {
        drop(slot, HELD);
        return GL_EMPTY;
    }
    lease(all, number, TAKEN, bytes, out);
    return GL_OK;
}

void gl_slot_fill(const gl_slot *slot, const void *from, int64_t bytes) {
    memcpy(slot->data, from, (size_t)bytes);
}

void gl_slot_send(void *opened, int32_t number) {
    slots *all = own(opened);
    atomic_fetch_or(&all->table->slots[number].state, SENT);
}

/* receive turns SENT into `holder`; NULL if the slot is not on its way as `sequence` says. */
static entry *receive(slots *all, int32_t number, int64_t sequence, uint64_t holder, gl_error *err) {
    errno = ESTALE;
    if (number < 0 || number >= SLOTS) {
        fail(err, GL_BAD_HANDLE, "no such slot");
        return NULL;
    }
    entry *slot = &all->table->slots[number];
    uint64_t before = atomic_load(&slot->state);
    do {
        if (!(before & SENT) || atomic_load(&slot->sequence) != sequence) {
            fail(err, GL_BAD_HANDLE, "the batch is gone");
            return NULL;
        }
    } while (!atomic_compare_exchange_weak(&slot->state, &before, (before & ~(uint64_t)SENT) | holder));
    return slot;
}

gl_status gl_slot_lease(void *opened, int32_t number, int64_t sequence, int64_t bytes, gl_slot *out, gl_error *err) {
    slots *all = own(opened);
    entry *slot = receive(all, number, sequence, LEASED, err);
    if (!slot)
        return GL_BAD_HANDLE;
    if (!map(all, number)) {
        atomic_fetch_or(&slot->state, SENT);
        drop(slot, LEASED);
        return GL_EMPTY;
    }
    lease(all, number, LEASED, bytes, out);
    return GL_OK;
}

gl_status gl_slot_copy(void *opened, int32_t number, int64_t sequence, void *to, int64_t bytes, gl_error *err) {
    slots *all = own(opened);
    entry *slot = receive(all, number, sequence, LEASED, err);
    if (!slot)
        return GL_BAD_HANDLE;
    gl_status status = GL_OK;
    for (int64_t done = 0; done < bytes;) {
        ssize_t got = pread(all->fd, (char *)to + done, (size_t)(bytes - done), atomic_load(&slot->offset) + done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0) {
            errno = got < 0 ? errno : EIO; /* the file has become shorter */
            status = fail(err, GL_ERROR, "pread");
            break;
        }
        done += got;
    }
    drop(slot, LEASED);
    return status;
}

void gl_slot_release(void *opened, int64_t ended) {
    slots *all = own(opened);
    int number = (int)(ended & (SLOTS - 1));
    mapping *here = &all->mapped[number];
    int32_t holder = here->holder;
    if (ended && atomic_compare_exchange_strong(&here->lease, &ended, 0))
        drop(&all->table->slots[number], (uint64_t)holder);
}

void gl_slots_reclaim(void *opened, int32_t owner) {
    slots *all = own(opened);
    for (int i = 0; i < atomic_load(&all->table->count); i++) {
        entry *slot = &all->table->slots[i];
        uint64_t before = atomic_load(&slot->state);
        /* Whoever may have got the slot meanwhile keeps it. */
        while (before >> 32 == (uint64_t)owner &&
               !atomic_compare_exchange_weak(&slot->state, &before, without(before, TAKEN | SENT)))
            ;
    }
}

void gl_slots_trim(void *opened) {
    slots *all = own(opened);
    int64_t last = atomic_fetch_add(&all->table->epoch, 1);
    for (int i = 0; i < atomic_load(&all->table->count); i++) {
        entry *slot = &all->table->slots[i];
        if (atomic_load(&slot->epoch) >= last || !atomic_load(&slot->bytes) || !claim(slot, INT32_MAX))
            continue;
        empty(all, slot);
        drop(slot, HELD);
    }
}

void gl_slots_count(void *opened, gl_slots_usage *out) {
    slots *all = own(opened);
    *out = (gl_slots_usage){.bytes = total_bytes(all->table), .bytes_max = all->table->bytes_max};
    for (int i = 0; i < atomic_load(&all->table->count); i++) {
        entry *slot = &all->table->slots[i];
        out->slots += atomic_load(&slot->bytes) > 0;
        out->held += atomic_load(&slot->state) != 0;
    }
}
