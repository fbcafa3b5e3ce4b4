/* Random jobs through core/op, for the sanitizers: memory is exactly as large as op.h and decoder.h promise, so a read
 * or write beyond that ends the program.  Prints a hash of all samples; every set of kernels must give the same.
 *
 * Arguments: the seed, the number of jobs. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../core/op/op.h"

static uint64_t state;

/* xorshift64*: low + a number below n. */
static int32_t pick(int32_t low, int32_t n) {
    state ^= state >> 12, state ^= state << 25, state ^= state >> 27;
    return low + (int32_t)((state * UINT64_C(0x2545F4914F6CDD1D) >> 33) % (uint64_t)n);
}

static int32_t side(void) {
    static const int32_t sides[] = {3, 20, 90, 300, 300, 1500};
    return pick(1, sides[pick(0, 6)]);
}

static gl_window window(int32_t width, int32_t height) {
    gl_window w = {pick(0, width), pick(0, height), 0, 0};
    w.width = pick(1, width - w.x);
    w.height = pick(1, height - w.y);
    return w;
}

/* A decoder of raw RGB whose strips end exactly at their slack; the slack holds other bytes each time, and none may
 * show. */
static void *open_state(void) {
    return malloc(1);
}
static void close_state(void *decoder_state) {
    free(decoder_state);
}

static int decode(void *decoder_state, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                  gl_seek *seek, gl_sink *sink, char *why) {
    static uint8_t junk;
    (void)decoder_state, (void)height, (void)seek, (void)why;
    if (size == 0)
        return GL_REFUSED;
    for (int32_t y = 0; y < want.height;) {
        const int32_t most = want.height - y < 24 ? want.height - y : 24,
                      rows = pick(0, 4) == 0 ? want.height - y : pick(1, most);
        const size_t stride = (size_t)want.width + (size_t)pick(0, 9),
                     bytes = stride * (size_t)(rows - 1) + (size_t)want.width;
        uint8_t *planes[3];
        for (int c = 0; c < 3; c++) {
            planes[c] = malloc(bytes + GL_ROW_SLACK);
            memset(planes[c], junk++, bytes + GL_ROW_SLACK);
            for (int32_t i = 0; i < rows; i++)
                for (int32_t x = 0; x < want.width; x++)
                    planes[c][(size_t)i * stride + (size_t)x] =
                        data[((size_t)(want.y + y + i) * (size_t)width + (size_t)(want.x + x)) * 3 + (size_t)c];
        }
        const uint8_t *const strips[3] = {planes[0], planes[1], planes[2]};
        sink->strip(sink, y, rows, strips, (ptrdiff_t)stride);
        for (int c = 0; c < 3; c++)
            free(planes[c]);
        y += rows;
    }
    return GL_DECODED;
}

/* By turns: of the two images in hand, any may be the first to be done. */
static void decode_all(void *decoder_state, gl_feed *feed) {
    gl_image *hand[GL_IMAGES_AT_ONCE] = {feed->next(feed), feed->next(feed)};
    while (hand[0] || hand[1]) {
        const int chosen = !hand[0] ? 1 : !hand[1] ? 0 : pick(0, 2);
        gl_image *image = hand[chosen];
        image->status = decode(decoder_state, image->data, image->size, image->width, image->height, image->want,
                               image->seek, image->sink, image->why);
        feed->done(feed, image);
        hand[chosen] = feed->next(feed);
    }
}

static const gl_decoder by_turns = {"stress, by turns", open_state, close_state, decode, decode_all};
static const gl_decoder one_by_one = {"stress", open_state, close_state, decode, NULL};

/* Memory of exactly a sample's size, at any offset that its items allow. */
typedef struct sample {
    uint8_t *data;
    size_t offset;
} sample;

static sample place_for(gl_job *job) {
    sample s = {.offset = (size_t)(pick(0, 3) * job->store->itemsize)};
    s.data = malloc(job->dst_size + s.offset);
    job->dst = s.data + s.offset;
    return s;
}

static const int32_t filters[] = {
    GL_NEAREST,        GL_LANCZOS,       GL_BILINEAR,       GL_BICUBIC,       GL_BOX,         GL_HAMMING,
    GL_TORCH_BILINEAR, GL_TORCH_BICUBIC, GL_OPENCV_NEAREST, GL_OPENCV_LINEAR, GL_OPENCV_AREA,
};

static void pick_grid(gl_pass *pass) {
    pass->filter = pick(0, 2) == 0 ? GL_NEAREST : GL_BILINEAR;
    pass->mode = pick(0, 3);
    pass->fused = pick(0, 4);
    for (int k = 0; k < 8; k++)
        pass->matrix[k] = (k % 4 == 0) + pick(-1000, 2001) / (pick(0, 4) == 0 ? 1e-3 : 1e3 * (k < 6 ? 1 : 1e3));
    for (int k = 0; k < 3; k++)
        pass->fill[k] = (uint8_t)pick(0, 256);
}

static gl_job make_job(gl_store *store) {
    static const gl_decoder *const decoders[] = {NULL, &one_by_one, &by_turns, &by_turns, &by_turns};
    gl_job job = {.width = side(), .height = side(), .decoder = decoders[pick(0, 5)]};
    job.size = (size_t)job.width * (size_t)job.height * 3;
    uint8_t *data = malloc(job.size);
    const int32_t harsh = pick(0, 2);
    for (size_t i = 0; i < job.size; i++) {
        const int32_t value = pick(0, 256);
        data[i] = (uint8_t)(harsh ? (value & 1) * 255 : value);
    }
    job.data = data;
    int32_t width = job.width, height = job.height, planes = 3;
    job.npass = pick(1, 4);
    for (int32_t i = 0; i < job.npass; i++) {
        gl_pass *pass = &job.pass[i];
        pass->kind = pick(0, 3) == 0 ? GL_RESAMPLE : pick(0, GL_TORCH_COLOUR + 3);
        if (pass->kind > GL_TORCH_COLOUR)
            pass->kind += GL_TORCH_AFFINE - GL_TORCH_COLOUR - 1;
        pass->flip = pick(0, 4);
        if (pass->kind == GL_PAD) {
            pass->left = pick(0, 30), pass->top = pick(0, 30), pass->right = pick(0, 30), pass->bottom = pick(0, 30);
            pass->mode = pick(0, 4);
            pass->out = window(width + pass->left + pass->right, height + pass->top + pass->bottom);
        } else if (pass->kind == GL_GREY) {
            planes = pass->planes = pick(0, 2) * 2 + 1;
            pass->mode = pick(0, 2);
            continue;
        } else if (pass->kind == GL_AFFINE || pass->kind == GL_PERSPECTIVE) {
            static const int32_t filters[] = {GL_NEAREST, GL_BILINEAR, GL_BICUBIC, GL_OPENCV_NEAREST, GL_OPENCV_LINEAR};
            pass->filter = filters[pick(0, pass->kind == GL_AFFINE ? 5 : 3)];
            pass->mode = pick(0, 4);
            for (int k = 0; k < 8; k++) /* as like to be wild as tame */
                pass->matrix[k] = (k % 4 == 0) + pick(-1000, 2001) / (pick(0, 4) == 0 ? 1e-3 : 1e3 * (k < 6 ? 1 : 1e3));
            if (pick(0, 3) == 0)
                pass->matrix[1] = pass->matrix[3] = 0;
            pass->width = width = side();
            pass->height = height = side();
            continue;
        } else if (pass->kind == GL_TORCH_AFFINE || pass->kind == GL_TORCH_PERSPECTIVE) {
            pick_grid(pass);
            continue;
        } else if (pass->kind == GL_STENCIL) {
            pass->width = pick(0, 2) * 2 + 3;
            pass->factor = (float)pick(-100, 201);
            for (int k = 0; k < pass->width * pass->width; k++)
                pass->weight[0][k] = (float)pick(-1000, 2001) / 5000;
            continue;
        } else if (pass->kind == GL_CONVOLVE) {
            pass->width = 1 + 2 * pick(0, width < 16 ? width : 16);
            pass->height = 1 + 2 * pick(0, height < 16 ? height : 16);
            for (int k = 0; k < 2 * GL_TAPS_MAX; k++)
                pass->weight[k / GL_TAPS_MAX][k % GL_TAPS_MAX] = (float)pick(0, 1001) / 5000;
            continue;
        } else if (pass->kind == GL_TURN) {
            const int32_t kept = width;
            width = height;
            height = kept;
            continue;
        } else if (pass->kind == GL_TORCH_COLOUR) {
            const int of_colours = planes == 3, is_small = width * height <= GL_TORCH_MEAN_MAX;
            pass->mode = of_colours ? pick(GL_TORCH_GREY, GL_TORCH_AUTOCONTRAST + 1) : GL_TORCH_SHARPNESS;
            if (pass->mode == GL_TORCH_CONTRAST && !is_small)
                pass->mode = GL_TORCH_AUTOCONTRAST;
            pass->factor = (float)pick(-500, 1001) / 1000;
            pass->rest = 1 - pass->factor;
            pass->fused = pick(0, 2);
            planes = pass->mode == GL_TORCH_GREY ? 1 : planes;
            continue;
        } else if (pass->kind == GL_SELECT) {
            pass->planes = pick(0, 2) * 2 + 1;
            for (int32_t p = 0; p < pass->planes; p++)
                pass->fill[p] = (uint8_t)pick(0, planes);
            planes = pass->planes;
            continue;
        } else if (pass->kind != GL_RESAMPLE) {
            pass->factor = (float)pick(-1000, 4001) / 1000;
            pass->shift = pick(0, 256);
            for (int k = 0; k < 2; k++)
                pass->radius[k] = (float)pick(0, pick(0, 4) == 0 ? 1 << 20 : 9000) / 1000;
            pass->times = pick(1, 4);
            for (int k = 0; k < 3 * 256; k++)
                pass->table[k / 256][k % 256] = (uint8_t)pick(0, 256);
            continue;
        } else {
            pass->src = window(width, height);
            pass->width = pick(0, 5) == 0 ? pass->src.width : side();
            pass->height = pick(0, 5) == 0 ? pass->src.height : side();
            pass->filter = filters[pick(0, sizeof filters / sizeof *filters)];
            pass->out = window(pass->width, pass->height);
        }
        width = pass->out.width;
        height = pass->out.height;
    }
    const int is_zoomed = pick(0, 4) == 0;
    if (is_zoomed) {
        gl_pass *pass = &job.pass[job.npass++];
        *pass =
            (gl_pass){.kind = GL_ZOOM, .width = side(), .height = side(), .flip = pick(0, 4), .matrix = {1.0 / 255}};
        for (int axis = 0; axis < 2; axis++)
            for (int k = pick(0, GL_SMOOTH_MAX); k >= 0; k--)
                pass->smooth[axis][k] = pick(1, 1000) / 1e3;
        pass->out = window(pass->width, pass->height);
        width = pass->out.width;
        height = pass->out.height;
    }
    const int32_t over = is_zoomed ? 0 : pick(0, 2) * pick(0, 5);
    for (int32_t i = 0; i < over; i++) {
        gl_pass *pass = &job.pass[job.npass++];
        static const int32_t kinds[] = {GL_RESAMPLE, GL_PAD,          GL_NORMALIZE,        GL_ERASE,
                                        GL_TURN,     GL_TORCH_AFFINE, GL_TORCH_PERSPECTIVE};
        *pass = (gl_pass){.kind = kinds[pick(0, 7)], .over_numbers = 1, .flip = pick(0, 4), .mode = pick(0, 4)};
        for (int k = 0; k < 3; k++) {
            pass->number[0][k] = (float)pick(-1000, 2001) / 1000;
            pass->number[1][k] = (float)pick(1, 1000) / 1000;
        }
        if (pass->kind == GL_PAD)
            pass->left = pick(0, 30), pass->top = pick(0, 30), pass->right = pick(0, 30), pass->bottom = pick(0, 30);
        pass->out = window(width + pass->left + pass->right, height + pass->top + pass->bottom);
        if (pass->kind == GL_RESAMPLE) {
            pass->src = pass->out;
            pass->width = pass->out.width, pass->height = pass->out.height;
            pass->out.x = pass->out.y = 0;
        } else if (pass->kind == GL_TURN) {
            const int32_t kept = width;
            width = height;
            height = kept;
        } else if (pass->kind == GL_TORCH_AFFINE || pass->kind == GL_TORCH_PERSPECTIVE) {
            pick_grid(pass);
        }
        if (pass->kind == GL_RESAMPLE || pass->kind == GL_PAD)
            width = pass->out.width, height = pass->out.height;
    }
    const int32_t itemsize = is_zoomed ? 4 << pick(0, 2) : over > 0 ? 4 : 1 << pick(0, 4);
    *store = (gl_store){planes, itemsize, over > 0 ? 0 : pick(0, 2), pick(1, 4), NULL};
    job.npatch = is_zoomed || over > 0 ? 0 : pick(0, 2) * pick(0, GL_PATCHES_MAX + 1);
    for (int32_t i = 0; i < job.npatch; i++)
        job.patch[i] = (gl_patch){window(width, height), pick(0, store->tables)};
    const int32_t bytes = store->tables * planes * 256 * store->itemsize;
    uint8_t *table = malloc((size_t)bytes);
    for (int32_t i = 0; i < bytes; i++)
        table[i] = (uint8_t)pick(0, 256);
    store->table = table;
    job.store = store;
    job.dst_size = (size_t)planes * (size_t)width * (size_t)height * (size_t)store->itemsize;
    return job;
}

/* Whether the job alone gives the sample that it gave in a run. */
static int is_same_alone(gl_job job, gl_worker *worker) {
    const uint8_t *want = job.dst;
    const sample place = place_for(&job);
    if (job.decoder == &by_turns)
        job.decoder = &one_by_one;
    gl_worker_run(worker, &job, 1, NULL);
    const int same = job.status == GL_DECODED && memcmp(job.dst, want, job.dst_size) == 0;
    free(place.data);
    return same;
}

int main(int argc, char **argv) {
    enum { RUN_MAX = 5 };
    state = UINT64_C(0x9E3779B97F4A7C15) + strtoull(argc > 1 ? argv[1] : "1", NULL, 10);
    const int jobs = argc > 2 ? atoi(argv[2]) : 100;
    uint64_t hash = 1469598103934665603u;
    gl_worker *workers[3], *others[3];
    for (int32_t order = 0; order < 3; order++) {
        workers[order] = gl_worker_open(order);
        others[order] = gl_worker_open(order);
    }
    for (int done = 0; done < jobs;) {
        gl_job run[RUN_MAX];
        gl_store stores[RUN_MAX];
        sample samples[RUN_MAX];
        const int32_t n = pick(1, RUN_MAX), order = pick(0, 3);
        for (int32_t i = 0; i < n; i++) {
            run[i] = make_job(&stores[i]);
            samples[i] = place_for(&run[i]);
        }
        gl_worker_run(workers[order], run, n, NULL);
        for (int32_t i = 0; i < n; i++, done++) {
            if (run[i].status != GL_DECODED || !is_same_alone(run[i], others[order])) {
                fprintf(stderr, "job %d: status %d: %s\n", done, run[i].status, run[i].why);
                return 1;
            }
            for (size_t k = 0; k < run[i].dst_size; k++)
                hash = (hash ^ samples[i].data[samples[i].offset + k]) * 1099511628211u;
        }
        for (int32_t i = 0; i < n; i++) {
            free(samples[i].data);
            free((void *)stores[i].table);
            free((void *)run[i].data);
        }
    }
    for (int32_t order = 0; order < 3; order++) {
        gl_worker_close(workers[order]);
        gl_worker_close(others[order]);
    }
    if (gl_worker_bytes_live() != 0)
        return 2;
    printf("%s %016llx\n", gl_kernels_name(), (unsigned long long)hash);
    return 0;
}
