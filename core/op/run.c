/* The worker: runs the passes of one image after another. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "stage.h"

enum {
    /* A buffer that one huge image left larger than this goes back to the system after the run. */
    KEEP_BYTES = 64 << 20
};

typedef struct decoder_state {
    const gl_decoder *decoder;
    void *state;
} decoder_state;

/* An image on its way through the worker. */
typedef struct turn {
    gl_stage stage; /* of the pass under way; first, since decoders see only its sink */
    gl_worker *worker;
    gl_job *job; /* NULL: none */
    gl_image image;
    int32_t pass;   /* which one is under way */
    int32_t bytes;  /* how many passes are over bytes, before those over numbers */
    gl_shape shape; /* of what it makes */
    int is_started; /* its memory is ready for rows */
} turn;

struct gl_worker {
    gl_buffer self; /* the memory this struct lies in */
    const gl_kernels *kernels;
    int32_t pass_order;
    gl_table_cache *tables;
    decoder_state *decoders;
    size_t decoder_count;
    gl_scratch scratch;
    gl_buffer strip;      /* raw pixels on their way to planes */
    gl_buffer images[2];  /* between passes, by turns */
    gl_buffer numbers[2]; /* the same, of numbers */
    gl_buffer batch;      /* rows on their way into the sample */
    gl_buffer noise;
    gl_shelf shelf, patch_shelf[GL_PATCHES_MAX];
    turn turn[GL_IMAGES_AT_ONCE];
    int64_t passes_ns; /* of this run */
};

gl_worker *gl_worker_open(int32_t pass_order) {
    gl_buffer self = {NULL, 0};
    if (gl_buffer_grow(&self, sizeof(gl_worker)) != 0)
        return NULL;
    gl_worker *worker = (gl_worker *)self.data;
    memset(worker, 0, sizeof *worker);
    worker->self = self;
    worker->kernels = gl_kernels_chosen();
    worker->pass_order = pass_order;
    worker->tables = gl_table_cache_open(worker->kernels);
    if (worker->tables == NULL) {
        gl_buffer_free(&self);
        return NULL;
    }
    return worker;
}

/* The buffers that hold pixels. */
#define PIXEL_BUFFERS(worker)                                                                                          \
    {&(worker)->scratch.region, &(worker)->scratch.middle, &(worker)->scratch.maps, &(worker)->scratch.words,          \
     &(worker)->strip,          &(worker)->images[0],      &(worker)->images[1],    &(worker)->numbers[0],             \
     &(worker)->numbers[1],     &(worker)->batch,          &(worker)->noise}
enum { PIXEL_BUFFER_COUNT = 11 };

void gl_worker_close(gl_worker *worker) {
    if (worker == NULL)
        return;
    for (size_t i = 0; i < worker->decoder_count; i++)
        worker->decoders[i].decoder->close(worker->decoders[i].state);
    free(worker->decoders);
    gl_buffer *const buffers[PIXEL_BUFFER_COUNT] = PIXEL_BUFFERS(worker);
    for (size_t i = 0; i < PIXEL_BUFFER_COUNT; i++)
        gl_buffer_free(buffers[i]);
    gl_table_cache_close(worker->tables);
    gl_buffer self = worker->self;
    gl_buffer_free(&self);
}

size_t gl_worker_bytes(const gl_worker *worker) {
    const gl_buffer *const buffers[PIXEL_BUFFER_COUNT] = PIXEL_BUFFERS(worker);
    size_t bytes = worker->self.size + gl_table_cache_bytes(worker->tables);
    for (size_t i = 0; i < PIXEL_BUFFER_COUNT; i++)
        bytes += buffers[i]->size;
    return bytes;
}

size_t gl_worker_bytes_live(void) {
    return gl_buffer_bytes_live();
}

static void *state_of(gl_worker *worker, const gl_decoder *decoder) {
    for (size_t i = 0; i < worker->decoder_count; i++)
        if (worker->decoders[i].decoder == decoder)
            return worker->decoders[i].state;
    decoder_state *grown = realloc(worker->decoders, (worker->decoder_count + 1) * sizeof *grown);
    if (grown == NULL)
        return NULL;
    worker->decoders = grown;
    void *state = decoder->open();
    if (state != NULL)
        grown[worker->decoder_count++] = (decoder_state){decoder, state};
    return state;
}

/* ---- checks: whatever a job says, nothing is read or written outside its memory */

static gl_begin *const begin_of[] = {
#define GL_BEGIN(name, check, begin, over_numbers) begin,
    GL_PASSES(GL_BEGIN)
#undef GL_BEGIN
};

static gl_over_numbers *const over_numbers_of[] = {
#define GL_OVER(name, check, begin, over_numbers) over_numbers,
    GL_PASSES(GL_OVER)
#undef GL_OVER
};

/* How many passes are over bytes: the first ones. */
static int32_t byte_passes(const gl_job *job) {
    int32_t n = 0;
    while (n < job->npass && !job->pass[n].over_numbers)
        n++;
    return n;
}

/* What is wrong with a pass over an image of shape *in, or NULL and *in is what comes out. */
static const char *check_pass(const gl_pass *pass, gl_shape *in) {
    static gl_check *const check[] = {
#define GL_CHECK(name, check, begin, over_numbers) check,
        GL_PASSES(GL_CHECK)
#undef GL_CHECK
    };
    return pass->kind >= 0 && pass->kind < GL_PASS_KINDS ? check[pass->kind](pass, in) : "no such pass";
}

static gl_shape shape_in_data(const gl_job *job) {
    const int is_one_plane = job->decoder == NULL ? job->raw == GL_RAW_GREY : job->is_one_plane;
    return (gl_shape){is_one_plane ? 1 : 3, job->width, job->height};
}

/* Whether a pass writes numbers to the sample, and no bytes. */
static int makes_numbers(const gl_pass *pass) {
    return pass->kind == GL_ZOOM || (pass->kind == GL_RESAMPLE && gl_resizes_floats(pass->filter) &&
                                     (pass->width != pass->src.width || pass->height != pass->src.height));
}

/* Whether a store has what a pass needs that makes numbers. */
static int has_numbers(const gl_pass *pass, const gl_store *store) {
    if (pass->kind == GL_ZOOM)
        return store->itemsize == sizeof(float) || store->itemsize == sizeof(double);
    return store->itemsize == sizeof(float) && store->tables == 3 && !store->interleaved;
}

/* What is wrong with pass i of a job, which comes behind those over bytes, or NULL and *image is what comes out. */
static const char *check_over_numbers(const gl_job *job, int32_t i, gl_shape *image) {
    const gl_pass *pass = &job->pass[i];
    const char *wrong = check_pass(pass, image);
    if (wrong != NULL)
        return wrong;
    if (!pass->over_numbers || over_numbers_of[pass->kind] == gl_no_numbers || job->npatch > 0 ||
        (pass->kind == GL_RESAMPLE && (pass->width != pass->src.width || pass->height != pass->src.height)))
        return "a pass that is not known over numbers, or with patches";
    if (pass->kind == GL_ERASE && pass->noise != 0) {
        const size_t count = (size_t)image->planes * (size_t)pass->out.width * (size_t)pass->out.height;
        if (pass->noise < 0 || pass->noise > job->finish.noises || job->finish.noises > GL_NOISES_MAX ||
            job->finish.noise[pass->noise - 1].pixels || !gl_noise_is_of(&job->finish.noise[pass->noise - 1], count))
            return "no such noise";
    }
    return NULL;
}

/* What is wrong with a job, or NULL. */
static const char *check_job(const gl_job *job) {
    gl_shape image = shape_in_data(job);
    if (!gl_is_size(image.width, image.height))
        return "the image is empty or has more than 2^31 - 4096 pixels";
    if (job->decoder == NULL && (job->raw < GL_RAW_RGB || job->raw > GL_RAW_GREY))
        return "no such layout of raw pixels";
    if (job->decoder == NULL && job->size != (size_t)image.width * (size_t)image.height * (size_t)image.planes)
        return "raw pixels are not a byte for each";
    if (job->npass < 1 || job->npass > GL_PASSES_MAX)
        return "no passes, or too many";
    const int32_t bytes = byte_passes(job);
    const gl_store *store = job->store;
    for (int32_t i = 0; i < job->npass; i++) {
        if (i == bytes && (i == 0 || store == NULL || store->itemsize != sizeof(float) || store->interleaved))
            return "no bytes become numbers before a pass over these, or not planes of float32";
        const char *wrong = i < bytes ? check_pass(&job->pass[i], &image) : check_over_numbers(job, i, &image);
        if (wrong != NULL)
            return wrong;
        if (begin_of[job->pass[i].kind] == gl_no_bytes && i < bytes)
            return "a pass over bytes that is known over numbers alone";
        if (i == bytes - 1 && (store == NULL || store->channels != image.planes))
            return "the store is not for as many channels as the passes leave";
    }
    for (int32_t i = 0; i < job->npass; i++)
        if (makes_numbers(&job->pass[i]) &&
            (i < job->npass - 1 || job->npatch > 0 || !has_numbers(&job->pass[i], store)))
            return "numbers are made in a pass before the last, or without a store for it";
    if (store->itemsize != 1 && store->itemsize != 2 && store->itemsize != 4 && store->itemsize != 8)
        return "no such item size";
    if (job->npatch < 0 || job->npatch > GL_PATCHES_MAX)
        return "too many patches";
    for (int32_t i = 0; i < job->npatch; i++) {
        if (!gl_is_inside(job->patch[i].window, image.width, image.height))
            return "a patch is not inside the sample";
        if (job->patch[i].table < 0 || job->patch[i].table >= store->tables)
            return "the store has no table for a patch";
    }
    if (job->dst == NULL ||
        job->dst_size != (size_t)image.planes * (size_t)image.width * (size_t)image.height * (size_t)store->itemsize)
        return "the sample's place has another size than the sample";
    if (job->finish.terms > 0 && (store->itemsize != sizeof(float) || store->interleaved))
        return "arithmetic on a sample that is not planes of float32";
    return gl_finish_check(&job->finish, job->dst_size / (size_t)store->itemsize);
}

/* ---- running */

/* Where the numbers go that a turn's pass leaves: to the sample if those behind it change them in place, else to a buffer that is
 * not `from`.  NULL if out of memory. */
static void *place_behind(const turn *t, const void *from) {
    const gl_job *job = t->job;
    int32_t next = t->pass + 1;
    while (next < job->npass && gl_changes_in_place(&job->pass[next]))
        next++;
    if (next == job->npass)
        return job->dst;
    gl_buffer *const buffer = &t->worker->numbers[from == t->worker->numbers[0].data];
    const size_t count = (size_t)t->shape.planes * (size_t)t->shape.width * (size_t)t->shape.height;
    return gl_buffer_grow(buffer, count * sizeof(float)) == 0 ? buffer->data : NULL;
}

/* Where a turn's pass writes; it is what comes out of it that `shape` says. */
static int aim(const turn *t, gl_target *target) {
    gl_worker *worker = t->worker;
    const gl_job *job = t->job;
    const gl_shape shape = t->shape;
    *target = (gl_target){.planes = shape.planes, .width = shape.width, .height = shape.height};
    if (t->pass == t->bytes - 1) {
        target->stride = (ptrdiff_t)gl_round_up((size_t)shape.width, 16);
        void *const sample = place_behind(t, NULL);
        if (sample == NULL || gl_buffer_grow(&worker->batch, (size_t)target->stride * GL_BATCH + GL_ALIGN) != 0)
            return -1;
        target->kernels = worker->kernels;
        target->shelf = &worker->shelf;
        target->patch = job->patch;
        target->patch_shelf = worker->patch_shelf;
        target->patches = job->npatch;
        target->sample = sample;
        target->numbers = (const float *)job->store->table + 256 * job->store->channels;
        target->batch = worker->batch.data;
        target->stream = job->dst_size >= GL_STREAM_BYTES && job->finish.terms == 0 && t->bytes == job->npass;
        return 0;
    }
    gl_buffer *const buffer = &worker->images[t->pass % 2];
    if (gl_planes_grow(buffer, shape.planes, shape.width, shape.height) != 0)
        return -1;
    target->stride = gl_stride(shape.width);
    for (int32_t p = 0; p < shape.planes; p++)
        target->plane[p] = buffer->data + p * target->stride * shape.height;
    return 0;
}

static void timed_strip(gl_sink *sink, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride);

/* The stage of a turn's pass, over an image of shape `in`. */
static gl_stage stage_of(const turn *t, gl_shape in) {
    return (gl_stage){
        .sink = {timed_strip},
        .kernels = t->worker->kernels,
        .tables = t->worker->tables,
        .scratch = &t->worker->scratch,
        .pass = &t->job->pass[t->pass],
        .pass_order = t->worker->pass_order,
        .in_planes = in.planes,
        .in_width = in.width,
        .in_height = in.height,
        .noise = t->job->finish.noise,
    };
}

/* Makes the turn's pass ready for rows of an image of shape `in`: it then knows which it wants.  Tables and buffers
 * are the worker's, so that all this holds only until another turn begins a pass. */
static int begin_pass(turn *t, gl_shape in) {
    const gl_pass *pass = &t->job->pass[t->pass];
    t->stage = stage_of(t, in);
    t->shape = in;
    check_pass(pass, &t->shape);
    if (aim(t, &t->stage.target) != 0)
        return -1;
    return begin_of[pass->kind](&t->stage);
}

static void take(gl_stage *stage, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    if (y != stage->rows_taken || rows < 1 || rows > stage->want.height - y)
        return; /* a decoder out of step: rows_taken will fall short */
    stage->rows_taken += rows;
    stage->take(stage, y, rows, plane, stride);
}

/* The first rows: from now on the worker's memory is this turn's until it is complete. */
static void start(turn *t) {
    const gl_job *job = t->job;
    gl_shelf_fill(&t->worker->shelf, job->store, 0);
    for (int32_t i = 0; i < job->npatch; i++)
        gl_shelf_fill(&t->worker->patch_shelf[i], job->store, job->patch[i].table);
    t->is_started = 1;
    if (begin_pass(t, shape_in_data(t->job)) != 0)
        t->stage.no_memory = 1;
}

static int64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now); /* 20 to 25 ns, without a system call */
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void strip(gl_sink *sink, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    turn *t = (turn *)sink;
    if (!t->is_started)
        start(t);
    if (!t->stage.no_memory)
        take(&t->stage, y, rows, plane, stride);
}

/* strip, for decoders: it takes the time. */
static void timed_strip(gl_sink *sink, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride) {
    const int64_t from = now_ns();
    strip(sink, y, rows, plane, stride);
    ((turn *)sink)->worker->passes_ns += now_ns() - from;
}

static int decode_raw(gl_worker *worker, const gl_job *job, turn *t) {
    const gl_window want = t->stage.want;
    const ptrdiff_t stride = gl_stride(want.width);
    const int grey = job->raw == GL_RAW_GREY;
    if (gl_planes_grow(&worker->strip, 3, want.width, GL_BATCH) != 0)
        return GL_NO_MEMORY;
    uint8_t *const planes[3] = {worker->strip.data, worker->strip.data + GL_BATCH * stride,
                                worker->strip.data + 2 * GL_BATCH * stride};
    for (int32_t y = 0; y < want.height; y += GL_BATCH) {
        const int32_t rows = want.height - y < GL_BATCH ? want.height - y : GL_BATCH;
        for (int32_t i = 0; i < rows; i++) {
            const size_t pixel = (size_t)(want.y + y + i) * (size_t)job->width + (size_t)want.x;
            if (job->raw == GL_RAW_RGB) {
                worker->kernels->split(job->data + 3 * pixel, (size_t)want.width, planes[0] + i * stride,
                                       planes[1] + i * stride, planes[2] + i * stride);
                continue;
            }
            const size_t plane = (size_t)job->width * (size_t)job->height;
            for (int32_t p = 0; p < (grey ? 1 : 3); p++)
                memcpy(planes[p] + i * stride, job->data + (size_t)p * plane + pixel, (size_t)want.width);
        }
        const uint8_t *const strips[3] = {planes[0], planes[grey ? 0 : 1], planes[grey ? 0 : 2]};
        strip(&t->stage.sink, y, rows, strips, stride);
    }
    return GL_DECODED;
}

/* The planes the pass before left are one strip. */
static void pass_on(gl_stage *stage, const gl_target *from) {
    const gl_window want = stage->want;
    const uint8_t *planes[3];
    for (int32_t p = 0; p < 3; p++)
        planes[p] = from->plane[p < from->planes ? p : 0] + want.y * from->stride + want.x;
    take(stage, 0, want.height, planes, from->stride);
}

/* All rows of the pass should be there. */
static int finish_pass(turn *t) {
    gl_stage *stage = &t->stage;
    if (stage->no_memory)
        return GL_NO_MEMORY;
    if (stage->rows_taken != stage->want.height) {
        snprintf(t->job->why, sizeof t->job->why, "the decoder %s left out rows", t->job->decoder->name);
        return GL_REFUSED;
    }
    if (stage->finish != NULL)
        stage->finish(stage);
    return GL_DECODED;
}

/* Gives a job its turn: checks it and finds out which rows it wants.  If it cannot be decoded that is its status, and
 * 0 is returned. */
static int begin_turn(turn *t, gl_worker *worker, gl_job *job) {
    job->why[0] = '\0';
    const char *wrong = check_job(job);
    if (wrong != NULL) {
        snprintf(job->why, sizeof job->why, "%s", wrong);
        job->status = GL_BAD_JOB;
        return 0;
    }
    *t = (turn){.worker = worker, .job = job, .bytes = byte_passes(job)};
    if (begin_pass(t, shape_in_data(job)) != 0) {
        t->job = NULL;
        job->status = GL_NO_MEMORY;
        return 0;
    }
    return 1;
}

/* The passes behind those over bytes; 0, or -1 if out of memory. */
static int run_over_numbers(turn *t) {
    float *from = (float *)(void *)t->stage.target.sample;
    while (t->pass < t->job->npass - 1) {
        const gl_shape in = t->shape;
        const gl_pass *pass = &t->job->pass[++t->pass];
        t->stage = stage_of(t, in);
        check_pass(pass, &t->shape);
        t->stage.target = (gl_target){.planes = t->shape.planes, .width = t->shape.width, .height = t->shape.height};
        float *const to = gl_changes_in_place(pass) ? from : place_behind(t, from);
        if (to == NULL || over_numbers_of[pass->kind](&t->stage, from, to) != 0)
            return -1;
        from = to;
    }
    return 0;
}

/* Ends a turn: what is left to do once the decoder has said how it went. */
static void end_turn(turn *t, int status) {
    gl_job *job = t->job;
    if (status == GL_DECODED)
        status = finish_pass(t);
    while (status == GL_DECODED && t->pass < t->bytes - 1) {
        const gl_target last = t->stage.target;
        t->pass++;
        if (begin_pass(t, t->shape) != 0) {
            status = GL_NO_MEMORY;
            break;
        }
        pass_on(&t->stage, &last);
        status = finish_pass(t);
    }
#if defined(__x86_64__)
    if (t->stage.target.stream)
        __builtin_ia32_sfence(); /* streamed stores become visible before whatever says that the sample is there */
#endif
    if (status == GL_DECODED && run_over_numbers(t) != 0)
        status = GL_NO_MEMORY;
    if (status == GL_DECODED && job->finish.terms > 0) {
        const size_t pixels = (size_t)t->shape.width * (size_t)t->shape.height;
        if (gl_finish_run(&job->finish, &t->worker->noise, job->dst, t->shape.planes, pixels) != 0)
            status = GL_NO_MEMORY;
    }
    job->status = status;
    t->job = NULL;
}

/* end_turn, of an image that a decoder made: it takes the time. */
static void end_timed_turn(turn *t, int status) {
    const int64_t from = now_ns();
    end_turn(t, status);
    t->worker->passes_ns += now_ns() - from;
}

static gl_seek *seek_of(gl_job *job) {
    return job->seek.room > 0 ? &job->seek : NULL;
}

static void decode_one(gl_worker *worker, gl_job *job) {
    turn *t = &worker->turn[0];
    if (!begin_turn(t, worker, job))
        return;
    void *state = state_of(worker, job->decoder);
    const int status = state == NULL ? GL_NO_MEMORY
                                     : job->decoder->decode(state, job->data, job->size, job->width, job->height,
                                                            t->stage.want, seek_of(job), &t->stage.sink, job->why);
    end_timed_turn(t, status);
}

/* Jobs in a row for one decoder. */
typedef struct queue {
    gl_feed feed; /* first: the decoder sees only this */
    gl_worker *worker;
    gl_job *jobs;
    int32_t n, next;
    const volatile int32_t *cancel;
} queue;

static int is_cancelled(const volatile int32_t *cancel) {
    return cancel != NULL && *cancel != 0;
}

static gl_image *next_image(gl_feed *feed) {
    queue *q = (queue *)feed;
    gl_worker *worker = q->worker;
    while (q->next < q->n && !is_cancelled(q->cancel)) {
        gl_job *job = &q->jobs[q->next++];
        turn *t = worker->turn;
        while (t->job != NULL)
            t++; /* a decoder has no more than GL_IMAGES_AT_ONCE - 1 in hand when it asks */
        if (begin_turn(t, worker, job)) {
            t->image = (gl_image){.data = job->data,
                                  .size = job->size,
                                  .width = job->width,
                                  .height = job->height,
                                  .want = t->stage.want,
                                  .seek = seek_of(job),
                                  .sink = &t->stage.sink,
                                  .why = job->why};
            return &t->image;
        }
    }
    return NULL;
}

static void image_done(gl_feed *feed, gl_image *image) {
    (void)feed;
    end_timed_turn((turn *)image->sink, image->status);
}

/* Runs the jobs that follow the first one with the same decoder, by turns; says how many it took. */
static int32_t run_by_turns(gl_worker *worker, gl_job *jobs, int32_t n, const volatile int32_t *cancel) {
    const gl_decoder *decoder = jobs[0].decoder;
    void *state = state_of(worker, decoder);
    if (state == NULL) {
        jobs[0].status = GL_NO_MEMORY;
        return 1;
    }
    int32_t same = 1;
    while (same < n && jobs[same].decoder == decoder)
        same++;
    queue q = {{next_image, image_done}, worker, jobs, same, 0, cancel};
    decoder->decode_all(state, &q.feed);
    return q.next;
}

/* Runs the jobs that have pixels already, up to the first other one; says how many it took. */
static int32_t run_raw(gl_worker *worker, gl_job *jobs, int32_t n, const volatile int32_t *cancel) {
    const int64_t from = now_ns();
    int32_t i = 0;
    do {
        turn *t = &worker->turn[0];
        if (begin_turn(t, worker, &jobs[i]))
            end_turn(t, decode_raw(worker, &jobs[i], t));
        i++;
    } while (i < n && jobs[i].decoder == NULL && !is_cancelled(cancel));
    worker->passes_ns += now_ns() - from;
    return i;
}

int64_t gl_worker_run(gl_worker *worker, gl_job *jobs, int32_t n, const volatile int32_t *cancel) {
    worker->passes_ns = 0;
    for (int32_t i = 0; i < n;) {
        if (is_cancelled(cancel)) {
            jobs[i++].status = GL_CANCELLED;
        } else if (jobs[i].decoder == NULL) {
            i += run_raw(worker, &jobs[i], n - i, cancel);
        } else if (jobs[i].decoder->decode_all != NULL) {
            i += run_by_turns(worker, &jobs[i], n - i, cancel);
        } else {
            decode_one(worker, &jobs[i++]);
        }
    }
    gl_buffer *const buffers[PIXEL_BUFFER_COUNT] = PIXEL_BUFFERS(worker);
    for (size_t i = 0; i < PIXEL_BUFFER_COUNT; i++)
        if (buffers[i]->size > KEEP_BYTES)
            gl_buffer_free(buffers[i]);
    gl_table_cache_trim(worker->tables, KEEP_BYTES);
    return worker->passes_ns;
}
