/* goloader.h: the C ABI of goloader's Go core, and the whole of it.
 *
 * A plan (core/plan, JSON) and a source are opened once as a loader; a loader is started as a run; a run is fed batches
 * of indices, or of recipes if the plan has no source, and answers with finished batches, in the order they were
 * submitted.  Only indices or recipes, and leases, cross per batch, never pixels.
 *
 * Rules for all functions
 * - They return a gl_status: GL_OK, another non-negative one that is news and not an error, or a negative error with
 *   its text in *err.
 * - `err` may be NULL.  Its text is cut to fit and always NUL-terminated.
 * - A handle is a number that is never used again; a closed or invented one gives GL_BAD_HANDLE.
 * - Any thread may call; one thread at a time per run.
 * - Core never calls back.  What it cannot know (pixels of a kind only Pillow decodes, torch's exp) it asks for
 *   (GL_ASK).
 * - In a child made by fork, where Go's threads do not exist, all but gl_wait, gl_release, gl_abi_version and those of
 *   slots answer GL_FORKED (names: NULL). */
#ifndef GOLOADER_H
#define GOLOADER_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Major in the high 16 bits: another major is another ABI.  Minor in the low: additions. */
#define GL_ABI_VERSION 0x00170002u

typedef int32_t gl_status;
enum {
    GL_OK = 0,
    GL_EMPTY = 1,    /* nothing yet: gl_wait, then again */
    GL_ASK = 2,      /* core needs an answer (gl_ask) before it can go on */
    GL_IDLE_RUN = 3, /* nothing, and nothing to come: no batch is outstanding */
    GL_LEFT = 4,     /* done, but reads did not come back and were left: memory that was lent, and that the loader was
                        opened over, is used until they do: keep it until gl_live says that none are left */
    GL_END = 5,      /* of gl_next: the batch's lane has no samples for it, now and later */

    GL_ERROR = -1,        /* anything without a kind of its own */
    GL_BAD_HANDLE = -2,   /* closed, or never opened */
    GL_BAD_ARGUMENT = -3, /* a plan or an argument is not valid */
    GL_FORKED = -4,       /* this process is a fork of the one that loaded the library */
    GL_BUG = -5,          /* a panic in core; the text holds its stack */
    GL_MEMORY = -6,       /* out of memory, or an image on the way of more than 2^31 - 1 pixels */
    GL_SHAPE = -7,        /* samples of one batch differ in shape; text as torch.stack's */
    GL_RANGE = -8,        /* a sample that is not there was asked for */
    GL_UNREADABLE = -9,   /* a file of arrays or an archive cannot be opened or read, is damaged or too short */
    GL_UNMADE = -10,      /* the core has no result for a sample: the caller's own code makes the batch */
    GL_MISSING = -11,     /* there is no such file, bucket or object */
    GL_DENIED = -12       /* a file, bucket or object that the caller must not read */
};

typedef int64_t gl_handle;

enum { GL_ERROR_BYTES = 4096, GL_NDIM_MAX = 8, GL_FIELDS_MAX = 64, GL_REASON_BYTES = 256 };

typedef struct gl_error {
    char text[GL_ERROR_BYTES];
} gl_error;

/* How an array lies in chunks, all of the same extents; those at its end are filled up.  Copied, but for
 * places, which are to be kept until the loader is closed. */
typedef struct gl_chunks {
    const int64_t *shape; /* of the array, in items */
    const int64_t *chunk; /* of a chunk */
    int32_t ndim;
    int32_t item;     /* bytes of one */
    const void *fill; /* an item of chunks that were never written */
    /* Of each chunk, those along the last dimension one after the other: where it begins, its bytes (-1: to the end of its
     * file; 0: it was never written), and a bit for each filter that was not applied to it, the first filter's lowest. */
    const int64_t *places;
    int64_t count;
    const char
        *filters; /* as they were applied: "shuffle:4 zlib"; also zstd, blosc, lzf, crc32c, fletcher32.  "": none */
    /* NULL: all chunks are in the array's file.  Else each is a file, whose name is the array's path, and the chunk's number
     * along each dimension with this in between. */
    const char *separator;
    /* How many chunks along each dimension lie in one file, which has the number of their place among such files; NULL: one. */
    const int64_t *shard;
} gl_chunks;

/* A column of tables in files, Parquet's or Arrow's: its values lie in parts.  Copied, but for parts, which are to be kept
 * until the loader is closed. */
typedef struct gl_column {
    const char *name;
    const char *paths; /* of the files, each NUL-terminated, one after the other */
    int32_t npaths;
    int32_t item;          /* bytes of a value; 1 for texts, whose bytes are its values */
    const char *encodings; /* as core/source/tables has them, each NUL-terminated, one after the other */
    int32_t nencodings;
    /* Of each part the number of its file and of its encoding, where it begins, its bytes there, and those of its values. */
    const int64_t *parts;
    int64_t count;
} gl_column;

/* Arrays that are in a file each, and that come in the order of their files: rows of an array of all.  All is to be kept
 * until the loader is closed.  The text of each file's header is to be head, the extent and tail; or head alone if there are no
 * extents.  Files with others are not read (GL_UNMADE). */
typedef struct gl_array_files {
    /* "npy": the text is numpy's, without the white space behind it.  "npz:NAME", "pickle:WAY", "pt:WAY",
     * "raw:BYTES", "text:DTYPE:SKIP:DELIMITER", "wav:AS:CHUNKS": the packages of these names, in core/source, say what they are and
     * which text they have. */
    const char *format;
    const char *paths;      /* each followed by a NUL */
    const int64_t *offsets; /* [count + 1]: where in paths each begins, and the end */
    const int64_t *begins;  /* [count + 1]: of each array's bytes behind those of all before it, and the end */
    const int64_t *extents; /* [count]: the extent by which the arrays' shapes differ; NULL if they do not */
    const char *head;
    const char *tail;
    int64_t count;
} gl_array_files;

/* One array: count rows, stride[0] bytes from one to the next; items of a row are stride[1], ... bytes apart, a stride
 * for each dimension.  A stride may be 0 or negative. */
typedef struct gl_array {
    const void *data; /* its first item; not copied: to be kept until the loader is closed.  NULL for a file */
    int64_t count;
    int64_t stride[GL_NDIM_MAX];
    const char *path; /* NULL, or the file that it is in: opened by gl_open, read as batches need it */
    int64_t offset;   /* of the first item in the file */
    int32_t direct;   /* read past the page cache */
    int32_t counts;   /* there is no memory: row i is the number i, int64 */
    /* Where rows lie anyhow: where each begins, in bytes from the first item; NULL if stride[0] says it. */
    const int64_t *begins;
    /* Where rows differ in length (a ragged field of the plan): of each, in items, which lie one after the other. */
    const int64_t *lengths;
    int64_t bytes; /* that there are from data on, if there are begins: a row beyond them is refused.  Not of a file */
    /* NULL, or of rows that a script names in arrays in memory, which do not overlap: where each of these ends, in bytes
     * from data on, ascending.  A row goes no further than the array in which it begins: zeros are behind it. */
    const int64_t *ends;
    int64_t nends;
    /* NULL, or how the file's bytes are found: rows, offset and strides are then of the array as if it lay in one piece. */
    const gl_chunks *chunks;
    const gl_column *column; /* NULL, or the same of a column, whose first file is the array's path */
    const gl_array_files
        *files; /* NULL, or the same of files of an array each, of which the first is the array's path */
} gl_array;

/* Where a field's rows are: in arrays, counted one after the other. */
typedef struct gl_rows {
    const gl_array *arrays; /* copied, not so their memory */
    int64_t narrays;
    const int64_t *index; /* sample -> row, gl_source.count of them; NULL: sample i is row i.  Kept as the arrays are */
} gl_rows;

/* Where a sample is in memory: an encoded file, or an image of uint8 whose pixels follow each other. */
typedef struct gl_place {
    const void *data;
    int64_t bytes;
    int64_t label;
    int64_t height; /* of an image that is not encoded */
    int64_t width;
} gl_place;

/* Where samples live.  Which members count is the plan's matter (source.kind). */
typedef struct gl_source {
    int64_t count; /* samples */
    /* "folder": paths, or URLs as gl_fetch has them, one after the other, each NUL-terminated; count + 1 offsets; count
     * labels.  Not copied: to be kept until the loader is closed.
     * "pairs": the same of 2 * count files, each sample's image and then its target; labels do not count. */
    const char *paths;
    const int64_t *offsets;
    const int64_t *labels;
    /* NULL, or for files in archives count times where it begins there, and its bytes; each path is then the archive's, a
     * NUL, and the name in it with a NUL.  Kept as the labels are. */
    const int64_t *spans;
    /* "folder", instead of these four: a list made by gl_files_list or gl_shards_list, shared and not copied.  0: none. */
    gl_handle files;
    gl_handle cache; /* "folder", not of such a list: what its files are read through (gl_cache_open); 0: none */
    /* "array": one a field, or one for each input of a field with a program.  "pixels" and "pixel_views": one a part, each
     * of one array of images (uint8) and no index; and labels, which are then kept as the arrays are. */
    const gl_rows *rows;
    /* "places": of each sample where it is.  Not copied: to be kept until the loader is closed, and written only while no
     * batch is outstanding.  What is read of it are the samples of a batch. */
    const gl_place *places;
} gl_source;

typedef struct gl_field {
    int64_t offset; /* bytes from the batch's data */
    int32_t dtype;  /* index into gl_dtype_name */
    int32_t ndim;
    int64_t shape[GL_NDIM_MAX];
} gl_field;

/* A finished batch.  data is readable and writable until gl_release(lease), also after gl_close. */
typedef struct gl_batch {
    void *data;
    int64_t bytes;
    void *lease;      /* for gl_release, also if the memory was lent; NULL if the batch has no samples */
    int64_t sequence; /* 0 for the first batch submitted since the run was started or reset */
    int32_t nfields;
    gl_field field[GL_FIELDS_MAX];
} gl_batch;

/* What a question is about. */
enum {
    GL_ASK_PIXELS = 1, /* decode sample `index` with Pillow: gl_answer_pixels, or gl_reject if that raises */
    GL_ASK_SAMPLE = 2, /* transforms refuse sample `index`: raise what the dataset raises for it, after gl_reject */
    GL_ASK_EXP = 3,    /* what is torch.exp(x) of a float32?  gl_answer_exp */
    GL_ASK_BATCH = 4,  /* a script leaves the batch to the caller's own code: gl_skip */
    GL_ASK_SHARD =
        5,          /* shard `index` of a lane is damaged, as the reason says; -1: it had no samples.  gl_leave_out, or
                          gl_reject if that is an error */
    GL_ASK_LATE = 6 /* sample `index` is not read within sample_timeout_ms, as the reason says: gl_reject or gl_skip.
                          This is no news to wait for: gl_next has to be called again */
};

typedef struct gl_ask {
    int32_t kind;
    int32_t position; /* of the sample in its batch */
    int64_t sequence; /* of the batch */
    int64_t index;    /* of the sample, or of the file of "pairs", in the source; or of the image in its message */
    float x;
    char reason[GL_REASON_BYTES]; /* why core cannot do it itself */
} gl_ask;

typedef struct gl_run_options {
    int32_t workers;        /* goroutines; 0: one a core */
    int32_t streams;        /* random streams; batch k draws from stream k mod streams (torch's workers) */
    uint64_t base_seed;     /* stream w is seeded with base_seed + w, ... */
    int32_t poison;         /* overwrite released slots: debugging */
    const uint64_t *seeds;  /* ... or with seeds[w]: `streams` of them, copied; NULL for base_seed */
    int32_t hold_directory; /* relative paths begin at the working directory of this call, wherever the process goes */
    int64_t sample_timeout_ms; /* images: a read that takes longer is asked about (GL_ASK_LATE); 0: none is */
    int32_t nice;              /* niceness of the threads that make samples, -20 to 19; 0: as the process's */
    int32_t ncpus;             /* cores that they run on: the numbers in cpus, copied; 0: those of the process */
    const int32_t *cpus;
} gl_run_options;

/* gl_abi_version tells what was built; callable at any time, also in a forked child. */
uint32_t gl_abi_version(void);

/* gl_dtype_name names a gl_field.dtype as numpy does ("bfloat16" as torch does); NULL past the last. */
const char *gl_dtype_name(int32_t dtype);

/* gl_kernels names the instruction set in use: "avx512", "avx2", "neon" or "plain". */
const char *gl_kernels(void);

/* gl_open compiles a plan over a source.
 *   plan    JSON, plan_bytes long, not NUL-terminated; copied
 *   out     on GL_OK the loader, to be closed by gl_close
 *   err     on GL_OK a warning (a saved seek index that is damaged, say), or an empty text */
gl_status gl_open(const char *plan, size_t plan_bytes, const gl_source *source, gl_handle *out, gl_error *err);

/* An image folder to list. */
typedef struct gl_tree {
    const char *root;           /* a path, or the URL of a folder in a bucket */
    const char *const *classes; /* folders in root, whose files get labels 0, 1, ... */
    int32_t nclasses;
    const char *const *extensions; /* in small letters, with their dots: ".jpg"; other files are left out */
    int32_t nextensions;
    const char
        *index; /* NULL, or a file that keeps the list for the next time: written if it is not there or out of date */
} gl_tree;

/* Tar archives of samples to list: files that follow each other and share a name up to the first dot are a sample. */
typedef struct gl_shards {
    const char *const *paths; /* or URLs, all of them */
    int32_t npaths;
    /* Suffixes ("jpg", "seg.png"), the first that a sample has names its image, which alone is listed.  None: all files are
     * listed, and labelled with the number of their sample. */
    const char *const *images;
    int32_t nimages;
    const char *target; /* suffix of the file with an image's class number in decimal digits */
    const char *index;  /* as gl_tree has it */
} gl_shards;

typedef struct gl_files {
    int64_t count; /* files; as long as the list is not made, how many were found so far */
    const char *paths;
    const int64_t *offsets;
    const int64_t *labels;
    const int64_t *spans;         /* as gl_source has it */
    int32_t indexed;              /* the list came from the index file */
    char notice[GL_REASON_BYTES]; /* what went wrong with the index file, or "" */
} gl_files;

/* gl_array_headers reads the headers of files that have an array each, before a plan is made of them.
 *   format  as gl_array_files has it
 *   paths   each followed by a NUL
 *   out     [count][each]: the text of each header, NUL-terminated; "" of a file that cannot be read, has another format, or
 *           a longer header */
gl_status gl_array_headers(const char *format, const char *paths, int32_t count, char *out, size_t each, gl_error *err);

/* gl_files_list begins to list the files of an image folder, in the order of torchvision's ImageFolder, in the
 * background.
 *   tree    copied
 *   out     on GL_OK the list, to be closed by gl_close, at any time; loaders that share it go on */
gl_status gl_files_list(const gl_tree *tree, gl_handle *out, gl_error *err);

/* gl_shards_list does the same for tar archives, in the order of their files.  gl_files_wait then fails for an archive that
 * is damaged, and for a sample without an image or class number. */
gl_status gl_shards_list(const gl_shards *shards, gl_handle *out, gl_error *err);

/* gl_files_wait waits until the list is made, at most timeout_ms: GL_OK and all of *files, good until the list is
 * closed, or GL_EMPTY and files->count. */
gl_status gl_files_wait(gl_handle list, int32_t timeout_ms, gl_files *files, gl_error *err);

/* gl_remote_use tells how remote stores are reached from now on, by loaders and lists that are open, too.
 *   settings  JSON: "timeout_ms", the longest that a server may take for a byte (10 s if it is 0 or left out), and "stores":
 *             by the name of a scheme ("s3", "hf") the Config of its package in core/source, and "clients": by a name the
 *             Config of package s3, by which s3+NAME://bucket/key is read; copied. What is left out is not known: where a
 *             store is, or who asks */
gl_status gl_remote_use(const char *settings, gl_error *err);

/* Where what is read of a store is kept, as it was read; sizes in bytes, -1 for no limit. */
typedef struct gl_cache {
    int64_t ram_bytes_max; /* 0: not in memory */
    const char *disk;      /* NULL, or a folder, which processes share; made if there is none */
    int64_t disk_bytes_max;
    /* 1: of images in folders and archives their pixels are kept, after the first steps, those that are the same in each
     * epoch; of other files nothing.  0: files are kept as they are stored */
    int32_t decoded;
} gl_cache;

/* gl_cache_open makes a cache.
 *   out     on GL_OK the cache, to be closed by gl_close, at any time: what still uses it reads without it
 *   err     on GL_OK a warning (nothing can be written there), or an empty text */
gl_status gl_cache_open(const gl_cache *cache, gl_handle *out, gl_error *err);

/* gl_cache_stats writes what a cache has done and holds as JSON, NUL-terminated: "ram_hits", "disk_hits" and "misses",
 * "ram_bytes" and "disk_bytes"; of those on the disk all processes have written together.
 *   err     on GL_OK a warning (the disk is full, say), given once, or an empty text */
gl_status gl_cache_stats(gl_handle cache, char *json, size_t bytes, gl_error *err);

/* gl_cache_look begins to look at what a folder keeps, in the background.
 *   what    0: nothing more; 1: removes what is damaged; 2: removes all
 *   out     on GL_OK a fetch, whose bytes are JSON: "entries" and their "bytes", how many were "removed", and when one was
 *           used last ("used_ns", since 1970, to within an hour) */
gl_status gl_cache_look(const char *folder, int32_t what, gl_handle *out, gl_error *err);

/* gl_fetch begins to read from a remote store, or with a cache a file, in the background.
 *   name    "s3://bucket/key", "http://..." or "https://...", a '#', and the version that gl_files_list or gl_shards_list
 *           found, which may be empty: of an object whole (offset 0, length -1), or a piece; or a path; or a URL of a
 *           folder, a slash at its end (length 0, no cache): the names of the folders directly below it, each followed by a NUL
 *   cache   0, or a gl_cache_open's
 *   out     on GL_OK the fetch, to be closed by gl_close, at any time */
gl_status gl_fetch(const char *name, int64_t offset, int64_t length, gl_handle cache, gl_handle *out, gl_error *err);

/* gl_fetch_wait waits until all is there, at most timeout_ms: GL_OK and the bytes, good until the fetch is closed, or
 * GL_EMPTY. */
gl_status gl_fetch_wait(gl_handle fetch, int32_t timeout_ms, void **data, int64_t *bytes, gl_error *err);

/* gl_use_libwebp tells where the process has libwebp's WebPInitDecoderConfigInternal, WebPGetFeaturesInternal and WebPDecode,
 * which are to stay there: whoever brings them decides on the pixels.  They are tried, and refused with GL_BAD_ARGUMENT if
 * they do not decode.  The first that were accepted count; before, WebP files are asked for (GL_ASK_PIXELS). */
gl_status gl_use_libwebp(void *init_config, void *get_features, void *decode, gl_error *err);

/* gl_use_mkl tells where the process has MKL's VMSEXP, of Fortran's form (n, x, y, mode; all by address), which is to stay
 * there: the weights of blurs are made with it where torch was built with MKL. */
gl_status gl_use_mkl(void *vmsexp, gl_error *err);

/* gl_start makes a run of a loader, whose goroutines start with its first batch; several runs of one loader may be
 * alive at once.
 *   out     on GL_OK the run, to be closed by gl_close before its loader
 *   out_fd  a descriptor for gl_wait, poll, select or asyncio: readable when gl_next has news; closed with the run */
gl_status gl_start(gl_handle loader, const gl_run_options *options, gl_handle *out, int32_t *out_fd, gl_error *err);

/* gl_submit asks for one more batch.
 *   indices     n sample numbers, 0 <= i < count, copied; GL_RANGE, and nothing asked for, if one is not, or if its
 *               index (gl_rows) names no row.  n may be 0: the batch then has no fields.  Of a plan of kind "script" -1
 *               is a sample that the caller alone knows of: GL_ASK_BATCH
 *   lent        NULL, or memory of the caller for this batch (torch's pinned memory, say), alive until the batch is
 *               delivered or the run is closed; GL_SHAPE from gl_next if lent_bytes are too few */
gl_status gl_submit(gl_handle run, const int64_t *indices, int64_t n, void *lent, int64_t lent_bytes, gl_error *err);

/* gl_submit_seeded is gl_submit for samples with random generators of their own: sample i draws as after
 * torch.manual_seed(seeds[i]), of a plan of kind "script" also as after Python's random.seed(seeds[i]) and
 * numpy.random.seed(seeds[i] % 2**32), whatever its batch, stream or run.
 *   seeds       n seeds, copied */
gl_status gl_submit_seeded(gl_handle run, const int64_t *indices, const uint64_t *seeds, int64_t n, void *lent,
                           int64_t lent_bytes, gl_error *err);

/* gl_submit_recipes asks for one more batch of a loader whose plan has no source (source.kind "recipe").
 *   message     the batch's recipes in wire form (core/recipe/batch.go says how it is laid out): where the bytes of each
 *               image are, its steps with every number known, and the fields that the finished images fill, at most
 *               GL_FIELDS_MAX; copied.  GL_BAD_ARGUMENT if it is not well formed
 *   lent        as gl_submit takes it
 * The batch's fields are the message's, in its order, without labels.  GL_ASK_PIXELS names images by their number in the
 * message; an answer of another size than the recipe's is refused. */
gl_status gl_submit_recipes(gl_handle run, const uint8_t *message, size_t bytes, void *lent, int64_t lent_bytes,
                            gl_error *err);

/* gl_lane_open says what a lane of a loader of streams (source.kind "stream") gives: each random stream of a run has one, as
 * each of torch's workers has an iterator.  It is gone with gl_reset.
 *   order   JSON, bytes long: "order" (core/source/stream, Order), and "state", null or what gl_lane_state gave
 *   partial whether its last batch may have fewer samples than it was asked for; else such a batch is left out */
gl_status gl_lane_open(gl_handle run, int32_t lane, const char *order, size_t bytes, int32_t partial, gl_error *err);

/* gl_submit_next asks for one more batch, of the n samples that a lane gives next, or of as many as batches of its order have.
 *   lent    as gl_submit takes it
 * Its fields are the plan's images, and its columns: numbers are int64 [n]; of others there are two fields, int64 [n], where
 * each sample's bytes end, and all bytes.  gl_ask.index counts the images of the batch. */
gl_status gl_submit_next(gl_handle run, int32_t lane, int64_t n, void *lent, int64_t lent_bytes, gl_error *err);

/* gl_asked_sample gives all of the sample of a stream that GL_ASK_PIXELS or GL_ASK_SAMPLE asks about, as core/source/stream
 * has it (Pack); good until the next gl_asked_sample or gl_close. */
gl_status gl_asked_sample(gl_handle run, void **data, int64_t *bytes, gl_error *err);

/* gl_leave_out answers GL_ASK_PIXELS, GL_ASK_SAMPLE and GL_ASK_SHARD of a stream: it goes on without the sample, or the rest
 * of the shard; or, with `stop`, it ends in front of the sample, or this round of it with the shard.  After gl_reject a lane
 * gives nothing more.  GL_OK, or after 50 ms GL_LEFT. */
gl_status gl_leave_out(gl_handle run, int32_t stop, gl_error *err);

/* gl_lane_state writes where a lane stands behind the batches that gl_next has handed out or reported lost, as JSON,
 * NUL-terminated.
 *   room    bytes there are for it; it may be as long as 40 bytes for each sample of a shuffle buffer
 *   bytes   how many it takes: GL_EMPTY, and nothing is written, if there is no room */
gl_status gl_lane_state(gl_handle run, int32_t lane, char *json, int64_t room, int64_t *bytes, gl_error *err);

/* gl_next takes the next finished batch, never waits: GL_OK and *batch, GL_EMPTY, GL_IDLE_RUN, GL_END, GL_ASK and *ask, or the
 * batch's error and batch->sequence, after which the next call goes on with the next batch. */
gl_status gl_next(gl_handle run, gl_batch *batch, gl_ask *ask, gl_error *err);

/* gl_wait waits until fd is readable, at most timeout_ms; GL_OK or GL_EMPTY.  Returns early on a signal, so that
 * callers that loop with short waits hear Ctrl-C. */
gl_status gl_wait(int32_t fd, int32_t timeout_ms);

/* gl_answer_pixels answers GL_ASK_PIXELS: width x height pixels, RGB interleaved, or a byte each where the plan
 * or the recipe takes one plane (palette indices or grey); copied. */
gl_status gl_answer_pixels(gl_handle run, const uint8_t *rgb, int32_t width, int32_t height, gl_error *err);

/* gl_reject answers GL_ASK_PIXELS, GL_ASK_SAMPLE and GL_ASK_LATE with "the sample is in error": its batch is dropped, and
 * the random stream stands where torch's worker would stand after that error.  GL_OK, or after 50 ms GL_LEFT. */
gl_status gl_reject(gl_handle run, gl_error *err);

/* gl_answer_exp answers GL_ASK_EXP. */
gl_status gl_answer_exp(gl_handle run, float x, float y, gl_error *err);

/* gl_rng_set puts torch's CPU generator state (torch.get_rng_state()) into stream 0.  For num_workers=0, where
 * draws come from the process's own generator.  No batch may be outstanding. */
gl_status gl_rng_set(gl_handle run, const uint8_t *state, size_t bytes, gl_error *err);

/* gl_follow says that the caller has done its own part of all batches that gl_next gave or reported lost, and where it left
 * the generators of a stream.  Batches that have drawn from these begin anew.
 *   state  torch's generator as torch.get_rng_state() gives it, of a script the states that gl_states_set takes, and bytes;
 *          NULL if the caller has drawn nothing.  gl_position counts the stream's words from there on
 *   each   not 0: from now on a batch draws only after this was said of the batch before it in its stream
 * GL_OK, or after 50 ms GL_LEFT.  Not for plans of kind "stream", nor for scripts that are not "followed". */
gl_status gl_follow(gl_handle run, int32_t stream, const uint8_t *state, size_t bytes, int32_t each, gl_error *err);

/* gl_states_set is gl_rng_set for a run of a plan of kind "script", and for any of its streams: the states of torch's
 * generator, of Python's random module, of numpy.random, and of as many of the user's own random.Random as the script says
 * ("generators"), each in the form of torch's, 5,056 bytes. */
gl_status gl_states_set(gl_handle run, int32_t stream, const uint8_t *states, size_t bytes, gl_error *err);

/* gl_asked_states writes these as they were when the batch began that is asked about. */
gl_status gl_asked_states(gl_handle run, uint8_t *states, size_t bytes, gl_error *err);

/* gl_skip answers GL_ASK_BATCH, and of a plan of kind "script" GL_ASK_PIXELS and GL_ASK_LATE: the caller's own code has made
 * the batch, or failed to, and its generators stand in these states.  GL_OK, or after 50 ms GL_LEFT. */
gl_status gl_skip(gl_handle run, const uint8_t *states, size_t bytes, gl_error *err);

/* gl_position writes where a run stands: how many 32-bit words each of its streams has drawn for the batches that gl_next
 * has handed out or reported lost, since it was seeded, gl_rng_set or gl_states_set; what is under way does not count.
 *   drawn    room for a number a stream; of a plan of kind "script" one a generator, in the order of gl_states_set, which are -1
 *            where only the caller's own code can know; of a script that seeds generators, the states themselves
 *   numbers  how many these are */
gl_status gl_position(gl_handle run, int64_t *drawn, int32_t numbers, gl_error *err);

/* gl_resume puts a run that was just started to where another with its options stood: the next batch is number
 * `sequence`, and the streams have drawn so many words, as gl_position wrote them.  Takes about 1 ns a word. */
gl_status gl_resume(gl_handle run, int64_t sequence, const int64_t *drawn, int32_t numbers, gl_error *err);

/* gl_reset forgets outstanding batches and starts counting at 0; random streams stay where they are.  GL_OK, or after 50 ms
 * GL_LEFT. */
gl_status gl_reset(gl_handle run, gl_error *err);

/* gl_release ends the lease of a batch.  Never blocks, never enters Go: any thread, a garbage collector or a forked
 * child may call it.  Exactly once a lease. */
void gl_release(void *lease);

/* gl_doubts writes which images gl_next will ask for (GL_ASK_PIXELS), by what is known now, so that they may be decoded
 * before: those of the earliest batches first, each once.
 *   images  room for n numbers, as gl_ask.index has them
 *   count   on GL_OK how many were written */
gl_status gl_doubts(gl_handle run, int64_t *images, int32_t n, int32_t *count, gl_error *err);

/* gl_doing writes, for messages, a line about the batch that a run's taker waits for, and one about each goroutine: what it
 * does, of which file and for how long already, or what it did last; an empty text if no batch is outstanding.  Any thread may
 * call. */
gl_status gl_doing(gl_handle run, char *text, size_t bytes, gl_error *err);

/* Something that was done. */
typedef struct gl_event {
    int64_t begin_ns; /* CLOCK_MONOTONIC */
    int64_t took_ns;
    int64_t batch;  /* gl_batch.sequence */
    int64_t sample; /* the first of `count`, as gl_ask.index has it; -1: the whole batch */
    int32_t loader; /* "number" in gl_stats */
    int32_t run;    /* another one for each gl_start */
    int32_t role;   /* 0: who submits and takes batches, 1: a worker, 2: who only reads */
    int32_t worker; /* its number among those of its role */
    int32_t stage;  /* of gl_stats: 0 read, 1 decode, 2 op, 3 gather, 4 wait, 5 hand_out */
    int32_t count;  /* samples that were done in one go */
} gl_event;

/* gl_events copies what all loaders of the library did, as it ended.  The last 16,384 events are kept, but for those that took
 * less than a microsecond, and those of stage hand_out; of less than 10 us only while somebody calls this every 10 s.
 *   from    the event to begin with; negative: none, but *next is the one that comes next
 *   events  room for n
 *   count   how many were copied
 *   next    what to go on from
 *   lost    how many behind `from` are gone, others having come since */
gl_status gl_events(int64_t from, gl_event *events, int32_t n, int32_t *count, int64_t *next, int64_t *lost,
                    gl_error *err);

/* gl_close closes a run (waits for its workers, milliseconds; GL_OK, or after 50 ms GL_LEFT), a loader, a list of files or a sampler, which no other call
 * may be using.  Of two threads that close one, one gets GL_BAD_HANDLE.  Leased batches stay readable.  A seek index with
 * a path is written, if there is enough that is new: closing a run begins that and goes on, closing a loader waits for it,
 * 5 seconds at most.
 *   err     on GL_OK a warning (the seek index could not be written, now or earlier), or an empty text */
gl_status gl_close(gl_handle handle, gl_error *err);

/* gl_join says that this process is one of several ranks on this machine, before it opens loaders: they have seek indexes
 * and lists of files in memory together, and runs with at least their share of the cores may have more goroutines while
 * other ranks need fewer.  Once a process; it is never waited for others.
 *   rank, ranks  which of them it is, from 0 on, and how many there are
 *   cores        that they share; 0: each has its own
 * Fails with GL_BAD_ARGUMENT where the ranks cannot find each other: each then has its share. */
gl_status gl_join(int32_t rank, int32_t ranks, int32_t cores, gl_error *err);

/* gl_common gives memory that processes of this machine have by its name, zeroed by the first that asks: those that one
 * process has started, or one of which started the others.
 *   name   with the size it says what is in it
 *   bytes  its size, above 0
 *   fd     to be mapped, once or more, and never closed */
gl_status gl_common(const char *name, int64_t bytes, int32_t *fd, gl_error *err);

/* gl_settle waits until no seek index is being written, at most so long: for who is about to exit.
 *   err     on GL_OK a warning of what could not be written, or not in that time, or an empty text */
gl_status gl_settle(int32_t timeout_ms, gl_error *err);

/* gl_observe says whether people may look at this process; not if it was not called. While loaders are open they can connect to
 * a socket in Linux's abstract namespace, "goloader-PID-" and a random number, and are sent one line of JSON, if they are of the
 * same user or root: {"loaders": [what gl_stats says, and "runs": [{"number", "doing": [{"who", "what"}, ...]}, ...]}, ...]}.
 * Go answers, whatever the program does. */
gl_status gl_observe(int32_t allowed, gl_error *err);

/* gl_stats writes a loader's counters as JSON, NUL-terminated; GL_BAD_ARGUMENT if bytes are too few (32 KiB are enough).
 * "stages" has a histogram of nanoseconds for each of read, decode, op, gather, wait and hand_out, whose buckets are pairs
 * of [end, count]; "detours" why images had to be made by Python (core/stats has both). */
gl_status gl_stats(gl_handle loader, char *json, size_t bytes, gl_error *err);

/* gl_live writes what is alive in the whole library as JSON (handles, bytes and blocks by purpose): for leak checks. */
gl_status gl_live(char *json, size_t bytes, gl_error *err);

/* gl_permutation writes torch.randperm(n, generator=torch.Generator().manual_seed(seed)). */
gl_status gl_permutation(uint64_t seed, int64_t *out, int64_t n, gl_error *err);

/* gl_seeds writes n seeds as torch draws them from torch.Generator().manual_seed(seed) with
 * torch.empty((), dtype=torch.int64).random_(), after leaving out the first `skip`. */
gl_status gl_seeds(uint64_t seed, int64_t skip, int64_t *out, int64_t n, gl_error *err);

/* gl_weighted_open makes a sampler that draws indices with given weights, by an alias table of 8 bytes an index; gl_draw
 * draws, gl_close closes it.
 *   weights  n, finite and not negative, float64 if `wide`, else float32; read, not kept */
gl_status gl_weighted_open(const void *weights, int32_t wide, int64_t n, gl_handle *out, gl_error *err);

/* gl_balanced_open makes a sampler that draws each class as often as any other, and in a class each index.
 *   labels   n, the class of each index; read, not kept */
gl_status gl_balanced_open(const int64_t *labels, int64_t n, gl_handle *out, gl_error *err);

/* gl_shuffled_open makes a sampler that draws each of n indices once, in random order, and then in another one; it keeps no order. */
gl_status gl_shuffled_open(int64_t n, gl_handle *out, gl_error *err);

/* gl_draw writes draws number first, first + step, ... of a sampler and a seed: they depend on nothing else. */
gl_status gl_draw(gl_handle sampler, uint64_t seed, int64_t first, int64_t step, int64_t *out, int64_t n,
                  gl_error *err);

/* gl_mix makes the next n * step draws from several sources, numbered through all of them: at any time each was drawn from as
 * often as its weight says, to within 1, and through its samples in random order.  It writes n of them: number first, first +
 * step, ... of these.
 *   lengths, weights  of `sources` sources
 *   drawn             how often each was drawn from before, and after; with the seed, all that has to be kept */
gl_status gl_mix(uint64_t seed, const int64_t *lengths, const double *weights, int64_t *drawn, int32_t sources,
                 int64_t first, int64_t step, int64_t *out, int64_t n, gl_error *err);

/* gl_mix_up makes each image of a batch lam of itself and 1 - lam of the one before it, the first one of the last, in place:
 * torch's images.roll(1, 0) * (1 - lam) + images * lam, where each product and each sum is rounded. Any thread; it does not wait.
 *   images  [n, items] float32, float64 if `wide`, contiguous, n and items > 0; the caller's */
gl_status gl_mix_up(void *images, int64_t n, int64_t items, int32_t wide, double lam, gl_error *err);

/* gl_cut_mix makes a box of each image that of the one before it, of the first one that of the last, in place. Any thread; it
 * does not wait.
 *   images  of shape [n, planes, height, width], each > 0, items of so many bytes, contiguous; the caller's
 *   box     left, top, right, bottom: within the image */
gl_status gl_cut_mix(void *images, const int64_t *shape, int32_t item, const int64_t *box, gl_error *err);

enum { GL_STEPS_MAX = 16, GL_STEP_BYTES = 800, GL_WORDS_MAX = 64 };

/* What transforms do to one image. */
typedef struct gl_drawn {
    int32_t width; /* of the image; and then of what is made of it */
    int32_t height;
    int32_t count; /* steps */
    int32_t words; /* that were drawn, as random_() of an int32 gives them */
    uint32_t word[GL_WORDS_MAX];
    int32_t ends[GL_STEPS_MAX];                  /* of each step its end in steps */
    uint8_t steps[GL_STEPS_MAX * GL_STEP_BYTES]; /* in wire form: core/recipe/batch.go */
} gl_drawn;

/* gl_augmentation_open makes transforms that belong to no plan (core/plan, JSON), for images that the caller records
 * itself; gl_augmentation_draw draws what they do to an image, gl_close closes them. */
gl_status gl_augmentation_open(const char *json, size_t bytes, gl_handle *out, gl_error *err);

/*   state  the bytes of torch.get_rng_state(), from which words are drawn; may be NULL where nothing is random
 * GL_EMPTY where only the transforms' own library can tell what happens. */
gl_status gl_augmentation_draw(gl_handle augmentation, const void *state, gl_drawn *drawn, gl_error *err);

/* Slots: memory that one process fills and another reads, for batches made by worker processes.
 *
 * One anonymous file (memfd) holds a table and the bytes of all slots; it has no name, so nothing is left when the last
 * process that has it is gone, however it went.  A slot is free, or held: by the process that took it, by the message
 * that carries it, by the process that leases it.  Holding and freeing are single atomic steps in the table, so that a
 * process may be killed at any point; what it held comes back by gl_slots_reclaim.
 *
 * All of it is C alone and never waits: any thread may call, and a child made by fork may go on with the slots of its
 * parent.  A lease belongs to the process that got it: in a forked child gl_slot_release of the parent's does nothing. */

typedef struct gl_slot {
    void *data;       /* mapped in this process */
    int64_t bytes;    /* as asked for; more may be mapped */
    int64_t lease;    /* for gl_slot_release */
    int64_t sequence; /* tells one use of a slot from the next */
    int32_t number;   /* names the slot in every process */
} gl_slot;

typedef struct gl_slots_usage {
    int64_t slots; /* that have memory */
    int64_t held;  /* of these, not free */
    int64_t bytes; /* of all */
    int64_t bytes_max;
} gl_slots_usage;

/* gl_slots_create makes an anonymous file for slots of bytes_max bytes together.
 *   out_fd  close-on-exec, to be closed by the caller after gl_slots_close; another process gets at it by fork or by
 *           passing it over a socket, and calls gl_slots_open
 *   out     for the functions below, to be closed by gl_slots_close
 * GL_MEMORY if the system gives no such file, or none that is long enough (RLIMIT_FSIZE). */
gl_status gl_slots_create(int64_t bytes_max, int32_t *out_fd, void **out, gl_error *err);

/* gl_slots_open opens the file of another process. */
gl_status gl_slots_open(int32_t fd, void **out, gl_error *err);

/* gl_slots_close unmaps everything: no lease may be in use. */
void gl_slots_close(void *slots);

/* gl_slot_take takes a free slot of at least `bytes` > 0 bytes, new or used before, 4,096-aligned.
 *   owner   > 0, for gl_slots_reclaim
 *   out     on GL_OK the slot, held until gl_slot_release(out->lease)
 * GL_EMPTY if that would need more than bytes_max, a longer file or more slots than there are, or the process may map
 * no more. */
gl_status gl_slot_take(void *slots, int64_t bytes, int32_t owner, gl_slot *out);

/* gl_slot_fill copies `bytes` bytes to the start of a slot. */
void gl_slot_fill(const gl_slot *slot, const void *from, int64_t bytes);

/* gl_slot_send holds a taken slot for the process that will lease it by its number and sequence. */
void gl_slot_send(void *slots, int32_t number);

/* gl_slot_lease leases a slot that was sent.
 *   bytes   how many are wanted; out->bytes on GL_OK
 * GL_EMPTY if the process may map no more: gl_slot_copy; GL_BAD_HANDLE if it is not on its way any more. */
gl_status gl_slot_lease(void *slots, int32_t number, int64_t sequence, int64_t bytes, gl_slot *out, gl_error *err);

/* gl_slot_copy copies what was sent into memory of the caller, and frees the slot. */
gl_status gl_slot_copy(void *slots, int32_t number, int64_t sequence, void *to, int64_t bytes, gl_error *err);

/* gl_slot_release ends what gl_slot_take or gl_slot_lease began; a garbage collector may call it.  Does nothing for a
 * lease that this process does not have. */
void gl_slot_release(void *slots, int64_t lease);

/* gl_slots_reclaim frees what an owner took, and what it sent and nobody leased.  Only once its processes are gone. */
void gl_slots_reclaim(void *slots, int32_t owner);

/* gl_slots_trim begins an epoch: free slots that the last one did not use give their memory back. */
void gl_slots_trim(void *slots);

/* gl_slots_count tells what the slots use. */
void gl_slots_count(void *slots, gl_slots_usage *out);

#ifdef __cplusplus
}
#endif
#endif
