/* main.c: a C program that uses goloader by its header alone.  Each scenario prints what it sees, a line a call;
 * boundary_test.go knows what it has to see.
 *
 *   main SCENARIO PLAN FILE...
 *
 * PLAN is a file with the plan's JSON; FILE... are the samples, whose labels are 100, 101 ... */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "goloader.h"

enum { SAMPLES_MAX = 64, HANG_S = 60, WAIT_MS = 100, STATE_BYTES = 5056 };

static gl_error error;
static char plan[1 << 16];
static size_t plan_bytes;
static gl_source files;

/* said prints a status, with the error's text if it is one, and hands the status on. */
static gl_status said(const char *what, gl_status status) {
    printf("%s: %d%s%s\n", what, status, status < 0 ? " " : "", status < 0 ? error.text : "");
    return status;
}
#define SAY(call) said(#call, call)

/* must ends the program if a call that is not the scenario's matter fails. */
static void must(const char *what, gl_status status) {
    if (status < 0) {
        fprintf(stderr, "%s: %d %s\n", what, status, error.text);
        exit(1);
    }
}
#define MUST(call) must(#call, call)

static void read_plan(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file) {
        perror(path);
        exit(1);
    }
    plan_bytes = fread(plan, 1, sizeof plan, file);
    fclose(file);
}

/* set_files lays paths out as gl_source wants them.  The memory is the program's, to its end. */
static void set_files(int n, char **path) {
    static char paths[SAMPLES_MAX * 512];
    static int64_t offsets[SAMPLES_MAX + 1], labels[SAMPLES_MAX];
    for (int i = 0; i < n; i++) {
        size_t bytes = strlen(path[i]) + 1;
        memcpy(paths + offsets[i], path[i], bytes);
        offsets[i + 1] = offsets[i] + (int64_t)bytes;
        labels[i] = 100 + i;
    }
    files = (gl_source){.count = n, .paths = paths, .offsets = offsets, .labels = labels};
}

static gl_handle opened(const gl_source *source) {
    gl_handle loader;
    MUST(gl_open(plan, plan_bytes, source, &loader, &error));
    return loader;
}

static int32_t fd;

static gl_handle started(gl_handle loader, int32_t streams) {
    gl_run_options options = {.workers = 2, .streams = streams, .base_seed = 7, .poison = 1};
    gl_handle run;
    MUST(gl_start(loader, &options, &run, &fd, &error));
    return run;
}

/* next waits for news. */
static gl_status next(gl_handle run, gl_batch *batch, gl_ask *ask) {
    for (;;) {
        gl_status status = gl_next(run, batch, ask, &error);
        if (status != GL_EMPTY)
            return status;
        gl_wait(fd, WAIT_MS);
    }
}

static void print_bytes(const char *what, const void *data, int64_t n) {
    printf("%s: ", what);
    for (int64_t i = 0; i < n; i++)
        printf("%02x", ((const uint8_t *)data)[i]);
    printf("\n");
}

/* print_batch prints all fields, as "sequence", then "dtype[shape]: bytes" for each. */
static void print_batch(const gl_batch *batch) {
    printf("sequence: %lld\n", (long long)batch->sequence);
    for (int32_t i = 0; i < batch->nfields; i++) {
        const gl_field *field = &batch->field[i];
        char name[256];
        int at = snprintf(name, sizeof name, "%s[", gl_dtype_name(field->dtype));
        int64_t items = 1;
        for (int32_t k = 0; k < field->ndim; k++) {
            at += snprintf(name + at, sizeof name - at, k ? ", %lld" : "%lld", (long long)field->shape[k]);
            items *= field->shape[k];
        }
        snprintf(name + at, sizeof name - at, "]");
        int64_t end = i + 1 < batch->nfields ? batch->field[i + 1].offset : batch->bytes;
        int64_t item = items ? (end - field->offset) / items : 0;
        if (!strcmp(gl_dtype_name(field->dtype), "uint8"))
            item = 1; /* a gap may follow it */
        print_bytes(name, (const char *)batch->data + field->offset, items * item);
    }
}

static void print_live(void) {
    char json[1024];
    MUST(gl_live(json, sizeof json, &error));
    printf("live: %s\n", json);
}

static void batches(void) {
    print_live();
    gl_handle loader = opened(&files), run = started(loader, 2);
    int64_t indices[3][2] = {{0, 1}, {2, 0}, {1, 2}};
    uint8_t *lent = calloc(1, 4096);
    MUST(gl_submit(run, indices[0], 2, NULL, 0, &error));
    MUST(gl_submit(run, indices[1], 2, lent, 4096, &error));
    MUST(gl_submit(run, indices[2], 0, NULL, 0, &error));
    MUST(gl_submit(run, indices[2], 2, NULL, 0, &error));
    gl_batch batch, last;
    gl_ask ask;
    MUST(next(run, &batch, &ask));
    print_batch(&batch);
    gl_release(batch.lease);
    MUST(next(run, &batch, &ask));
    print_batch(&batch);
    printf("in lent memory: %d\n", batch.data == (void *)lent);
    gl_release(batch.lease);
    MUST(next(run, &batch, &ask));
    printf("of nothing: %d %d %d\n", batch.data == NULL, batch.lease == NULL, batch.nfields);
    gl_release(batch.lease);
    MUST(next(run, &last, &ask));
    SAY(gl_next(run, &batch, &ask, &error));
    SAY(gl_wait(fd, 0));
    char json[8192];
    MUST(gl_stats(loader, json, sizeof json, &error));
    printf("stats: %s\n", json);
    SAY(gl_close(loader, &error));
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    print_live();
    print_batch(&last); /* a lease outlives its run and its loader */
    gl_release(last.lease);
    print_live();
    free(lent);
}

/* questions: sample 0 is left to Pillow, sample 1 is broken, sample 2 is sound. */
static void questions(void) {
    gl_handle loader = opened(&files), run = started(loader, 1);
    int64_t indices[3] = {0, 1, 2};
    for (int i = 0; i < 3; i++)
        MUST(gl_submit(run, &indices[i], 1, NULL, 0, &error));
    gl_batch batch;
    gl_ask ask;
    printf("news: %d\n", next(run, &batch, &ask));
    printf("ask: %d position %d sequence %lld index %lld\nreason: %s\n", ask.kind, ask.position,
           (long long)ask.sequence, (long long)ask.index, ask.reason);
    uint8_t rgb[3 * 2 * 2] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
    SAY(gl_answer_pixels(run, rgb, 0, 2, &error));
    SAY(gl_answer_pixels(run, rgb, -2, -2, &error));
    SAY(gl_answer_pixels(run, rgb, 2, 2, &error));
    printf("news: %d\n", next(run, &batch, &ask));
    print_batch(&batch);
    gl_release(batch.lease);
    printf("news: %d\n", next(run, &batch, &ask));
    printf("ask: %d position %d sequence %lld index %lld\n", ask.kind, ask.position, (long long)ask.sequence,
           (long long)ask.index);
    SAY(gl_reject(run, &error));
    SAY(gl_reject(run, &error));
    printf("news: %d\n", next(run, &batch, &ask));
    print_batch(&batch);
    gl_release(batch.lease);
    SAY(gl_answer_exp(run, 1.0f, 2.7182817f, &error));
    SAY(gl_answer_exp(run, 1.0f, 3.0f, &error));
    SAY(gl_answer_exp(run, 1.0f, NAN, &error));
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    print_live();
}

/* errors: samples 0 and 1 differ in size. */
static void errors(void) {
    gl_handle none, loader, run;
    SAY(gl_open("{}", 2, &files, &none, &error));
    SAY(gl_open("nonsense", 8, &files, &none, &error));
    SAY(gl_open(plan, plan_bytes, &(gl_source){.count = -1}, &none, &error));
    gl_source cut = files;
    cut.count--; /* the plan says otherwise */
    SAY(gl_open(plan, plan_bytes, &cut, &none, &error));
    int64_t offsets[] = {0, 2, 1};
    SAY(gl_open(plan, plan_bytes, &(gl_source){.count = 2, .paths = "a", .offsets = offsets, .labels = offsets}, &none,
                &error));

    static char long_plan[3 * GL_ERROR_BYTES];
    memset(long_plan, 'x', sizeof long_plan);
    memcpy(long_plan, "{\"version\": 1, \"", 16);
    memcpy(long_plan + sizeof long_plan - 6, "\": 1, ", 6);
    memset(error.text, 1, sizeof error.text);
    printf("long: %d\n", gl_open(long_plan, sizeof long_plan, &files, &none, &error));
    printf("ends: %d, as long as possible or shorter: %d\n", memchr(error.text, 0, sizeof error.text) != NULL,
           strlen(error.text) < sizeof error.text);
    printf("without a place for the text: %d\n", gl_open("{}", 2, &files, &none, NULL));

    loader = opened(&files);
    SAY(gl_start(loader, &(gl_run_options){.streams = 0}, &none, &fd, &error));
    run = started(loader, 1);
    int64_t indices[2] = {0, 1}, bad[2] = {0, 99};
    SAY(gl_submit(run, bad, 2, NULL, 0, &error));
    SAY(gl_submit(run, bad, -1, NULL, 0, &error));
    uint8_t state[8] = {0};
    SAY(gl_submit(run, indices, 1, state, -1, &error));
    SAY(gl_rng_set(run, state, sizeof state, &error));
    char json[8];
    SAY(gl_stats(loader, json, sizeof json, &error));
    SAY(gl_stats(loader, json, 0, &error));
    SAY(gl_live(json, sizeof json, &error));
    int64_t numbers[4];
    SAY(gl_permutation(1, numbers, -1, &error));
    SAY(gl_seeds(1, -1, numbers, 1, &error));
    SAY(gl_seeds(1, 0, numbers, -1, &error));
    SAY(gl_use_libwebp(NULL, NULL, NULL, &error));
    SAY(gl_use_mkl(NULL, &error));

    gl_batch batch;
    gl_ask ask;
    MUST(gl_submit(run, indices, 2, NULL, 0, &error));
    MUST(gl_submit(run, indices, 1, state, sizeof state, &error));
    MUST(gl_submit(run, indices, 1, NULL, 0, &error));
    SAY(next(run, &batch, &ask));
    SAY(next(run, &batch, &ask));
    SAY(next(run, &batch, &ask));
    gl_release(batch.lease);
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    printf("past the last dtype: %d %d %d\n", gl_dtype_name(0) == NULL, gl_dtype_name(-1) == NULL,
           gl_dtype_name(1000) == NULL);
    print_live();
}

/* handles: stale ones, invented ones, and ones of the other kind, in every function that takes one. */
enum { LOADER = 1, RUN = 2, LIST = 4, ANY = 7 };

static void use_handle(const char *what, gl_handle handle, int as) {
    gl_handle none;
    gl_batch batch;
    gl_ask ask;
    gl_files list;
    void *data;
    int64_t index = 0, drawn = 0;
    uint64_t seed = 0;
    uint8_t state[STATE_BYTES] = {0};
    char json[1024];
    printf("%s\n", what);
    if (as & LOADER) {
        printf("gl_start: %d\n", gl_start(handle, &(gl_run_options){.streams = 1}, &none, &fd, &error));
        printf("gl_stats: %d\n", gl_stats(handle, json, sizeof json, &error));
    }
    if (as & RUN) {
        printf("gl_submit: %d\n", gl_submit(handle, &index, 1, NULL, 0, &error));
        printf("gl_submit_seeded: %d\n", gl_submit_seeded(handle, &index, &seed, 1, NULL, 0, &error));
        printf("gl_submit_recipes: %d\n", gl_submit_recipes(handle, state, 0, NULL, 0, &error));
        printf("gl_lane_open: %d\n", gl_lane_open(handle, 0, "{}", 2, 1, &error));
        printf("gl_submit_next: %d\n", gl_submit_next(handle, 0, 1, NULL, 0, &error));
        printf("gl_asked_sample: %d\n", gl_asked_sample(handle, &data, &index, &error));
        printf("gl_leave_out: %d\n", gl_leave_out(handle, 0, &error));
        printf("gl_lane_state: %d\n", gl_lane_state(handle, 0, json, sizeof json, &index, &error));
        printf("gl_next: %d\n", gl_next(handle, &batch, &ask, &error));
        printf("gl_answer_pixels: %d\n", gl_answer_pixels(handle, state, 1, 1, &error));
        printf("gl_reject: %d\n", gl_reject(handle, &error));
        printf("gl_answer_exp: %d\n", gl_answer_exp(handle, 1.0f, 2.7182817f, &error));
        printf("gl_rng_set: %d\n", gl_rng_set(handle, state, sizeof state, &error));
        printf("gl_follow: %d\n", gl_follow(handle, 0, state, sizeof state, 1, &error));
        printf("gl_states_set: %d\n", gl_states_set(handle, 0, state, sizeof state, &error));
        printf("gl_asked_states: %d\n", gl_asked_states(handle, state, sizeof state, &error));
        printf("gl_skip: %d\n", gl_skip(handle, state, sizeof state, &error));
        printf("gl_position: %d\n", gl_position(handle, &drawn, 1, &error));
        printf("gl_resume: %d\n", gl_resume(handle, 0, &drawn, 1, &error));
        printf("gl_reset: %d\n", gl_reset(handle, &error));
        printf("gl_doubts: %d\n", gl_doubts(handle, &drawn, 1, &fd, &error));
        printf("gl_doing: %d\n", gl_doing(handle, json, sizeof json, &error));
    }
    if (as & LIST) {
        printf("gl_files_wait: %d\n", gl_files_wait(handle, 0, &list, &error));
        printf("gl_fetch_wait: %d\n", gl_fetch_wait(handle, 0, &data, &index, &error));
        printf("gl_cache_stats: %d\n", gl_cache_stats(handle, json, sizeof json, &error));
    }
    if (as == ANY)
        printf("gl_close: %d\n", gl_close(handle, &error));
}

static void stale(void) {
    gl_handle loader = opened(&files), run = started(loader, 1);
    gl_handle small[] = {0, 1, -1, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof small / sizeof *small; i++)
        use_handle("invented", small[i], ANY);
    use_handle("a loader as a run", loader, RUN | LIST);
    use_handle("a run as a loader", run, LOADER | LIST);
    MUST(gl_close(run, &error));
    use_handle("a closed run", run, ANY);
    MUST(gl_close(loader, &error));
    use_handle("a closed loader", loader, ANY);
    SAY(gl_close(loader, &error) == GL_BAD_HANDLE);
    /* The next objects have other numbers. */
    gl_handle again = opened(&files);
    printf("used again: %d\n", again == loader || again == run);
    MUST(gl_close(again, &error));
    print_live();
}

static gl_batch kept;

/* child calls every function; all but three may only say that this is a fork, at once. */
static void child(gl_handle loader, gl_handle run) {
    alarm(HANG_S);
    gl_handle none;
    gl_batch batch;
    gl_ask ask;
    gl_tree tree = {.root = "."};
    gl_shards shards = {.npaths = 0};
    gl_files list;
    int64_t numbers[1] = {0};
    uint64_t seed = 0;
    uint8_t state[STATE_BYTES] = {0};
    char json[1024];
    printf("gl_abi_version: %d\n", gl_abi_version() == GL_ABI_VERSION);
    printf("gl_dtype_name: %d\n", gl_dtype_name(1) == NULL);
    printf("gl_kernels: %d\n", gl_kernels() == NULL);
    SAY(gl_open(plan, plan_bytes, &files, &none, &error));
    SAY(gl_start(loader, &(gl_run_options){.streams = 1}, &none, &fd, &error));
    SAY(gl_use_libwebp(NULL, NULL, NULL, &error));
    SAY(gl_use_mkl(json, &error));
    SAY(gl_files_list(&tree, &none, &error));
    SAY(gl_shards_list(&shards, &none, &error));
    SAY(gl_files_wait(loader, 0, &list, &error));
    SAY(gl_array_headers("npy", "a.npy", 1, json, sizeof json, &error));
    void *data;
    SAY(gl_remote_use("{}", &error));
    SAY(gl_observe(1, &error));
    SAY(gl_cache_open(&(gl_cache){.ram_bytes_max = 1}, &none, &error));
    SAY(gl_cache_stats(loader, json, sizeof json, &error));
    SAY(gl_cache_look("/", 0, &none, &error));
    SAY(gl_fetch("s3://bucket/key", 0, -1, 0, &none, &error));
    SAY(gl_fetch_wait(loader, 0, &data, numbers, &error));
    SAY(gl_submit(run, numbers, 1, NULL, 0, &error));
    SAY(gl_submit_seeded(run, numbers, &seed, 1, NULL, 0, &error));
    SAY(gl_submit_recipes(run, state, 0, NULL, 0, &error));
    SAY(gl_lane_open(run, 0, "{}", 2, 1, &error));
    SAY(gl_submit_next(run, 0, 1, NULL, 0, &error));
    SAY(gl_asked_sample(run, &data, numbers, &error));
    SAY(gl_leave_out(run, 0, &error));
    SAY(gl_lane_state(run, 0, json, sizeof json, numbers, &error));
    SAY(gl_next(run, &batch, &ask, &error));
    SAY(gl_answer_pixels(run, state, 1, 1, &error));
    SAY(gl_reject(run, &error));
    SAY(gl_answer_exp(run, 1.0f, 2.7182817f, &error));
    SAY(gl_rng_set(run, state, sizeof state, &error));
    SAY(gl_follow(run, 0, state, sizeof state, 0, &error));
    SAY(gl_states_set(run, 0, state, sizeof state, &error));
    SAY(gl_asked_states(run, state, sizeof state, &error));
    SAY(gl_skip(run, state, sizeof state, &error));
    SAY(gl_position(run, numbers, 1, &error));
    SAY(gl_resume(run, 0, numbers, 1, &error));
    SAY(gl_reset(run, &error));
    SAY(gl_doubts(run, numbers, 1, &fd, &error));
    SAY(gl_doing(run, json, sizeof json, &error));
    gl_event event;
    int64_t next, lost;
    SAY(gl_events(0, &event, 1, &fd, &next, &lost, &error));
    SAY(gl_close(run, &error));
    SAY(gl_close(loader, &error));
    SAY(gl_join(0, 2, 2, &error));
    SAY(gl_settle(0, &error));
    SAY(gl_common("bytes", 1, &fd, &error));
    SAY(gl_stats(loader, json, sizeof json, &error));
    SAY(gl_live(json, sizeof json, &error));
    SAY(gl_permutation(1, numbers, 1, &error));
    SAY(gl_seeds(1, 0, numbers, 1, &error));
    double weight = 1;
    SAY(gl_weighted_open(&weight, 1, 1, &none, &error));
    SAY(gl_balanced_open(numbers, 1, &none, &error));
    SAY(gl_shuffled_open(1, &none, &error));
    SAY(gl_draw(loader, 1, 0, 1, numbers, 1, &error));
    SAY(gl_mix(1, numbers, &weight, numbers, 1, 0, 1, numbers, 1, &error));
    SAY(gl_mix_up(&weight, 1, 1, 1, 1, &error));
    SAY(gl_cut_mix(&weight, numbers, 8, numbers, &error));
    SAY(gl_augmentation_open("{}", 2, &none, &error));
    SAY(gl_augmentation_draw(loader, state, &(gl_drawn){.width = 1}, &error));
    printf("without a place for the text: %d\n", gl_close(loader, NULL));
    int pipes[2];
    if (pipe(pipes) || write(pipes[1], "12345678", 8) != 8)
        exit(1);
    SAY(gl_wait(pipes[0], 0));
    SAY(gl_wait(pipes[0], 0));
    print_bytes("kept", kept.data, 12);
    gl_release(kept.lease);
    printf("released\n");
    /* A fork of a fork is one too. */
    fflush(stdout);
    pid_t grandchild = fork();
    if (grandchild == 0) {
        SAY(gl_live(json, sizeof json, &error));
        fflush(stdout);
        _exit(0);
    }
    waitpid(grandchild, NULL, 0);
    fflush(stdout);
    _exit(0);
}

static void forks(void) {
    gl_handle loader = opened(&files), run = started(loader, 1);
    int64_t index = 0;
    gl_batch batch;
    gl_ask ask;
    for (int i = 0; i < 2; i++)
        MUST(gl_submit(run, &index, 1, NULL, 0, &error));
    MUST(next(run, &kept, &ask));
    fflush(stdout);
    pid_t pid = fork();
    if (pid == 0)
        child(loader, run);
    int status;
    waitpid(pid, &status, 0);
    printf("child: %d\n", status);
    /* The parent's run goes on, and its slot is its own. */
    MUST(next(run, &batch, &ask));
    print_bytes("parent", batch.data, 12);
    print_bytes("parent kept", kept.data, 12);
    gl_release(batch.lease);
    gl_release(kept.lease);
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    print_live();
}

/* rows: an "array" source of three fields, int32[2] in memory, uint8 in a file and ragged int32 in memory, and the functions of random numbers. */
static void rows(void) {
    int32_t pairs[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    uint8_t bytes[5] = {0, 10, 20, 30, 40};
    char path[] = "/tmp/goloader-rows-XXXXXX";
    int file = mkstemp(path);
    if (file < 0 || write(file, bytes, sizeof bytes) != sizeof bytes)
        exit(1);
    close(file);
    /* The pairs as two arrays, the second one from its end to its begin, and an index that puts them right. */
    gl_array halves[] = {{.data = pairs, .count = 2, .stride = {8, 4}},
                         {.data = pairs[3], .count = 2, .stride = {-8, 4}}},
             whole = {.count = 4, .stride = {1}, .path = path, .offset = 1};
    int64_t order[] = {0, 1, 3, 2};
    int32_t values[] = {1, 2, 3, 4, 5};
    int64_t begins[] = {0, 12, 12, 8}, lengths[] = {3, 0, 2, 1};
    gl_array ragged = {.data = values, .count = 4, .begins = begins, .lengths = lengths, .bytes = 20};
    gl_rows fields[] = {{halves, 2, order}, {&whole, 1, NULL}, {&ragged, 1, NULL}};
    gl_handle loader, run;
    ragged.bytes = 19;
    SAY(gl_open(plan, plan_bytes, &(gl_source){.count = 4, .rows = fields}, &loader, &error));
    ragged.bytes = 20;
    loader = opened(&(gl_source){.count = 4, .rows = fields}), run = started(loader, 1);
    int64_t indices[] = {3, 0, 3};
    MUST(gl_submit(run, indices, 3, NULL, 0, &error));
    gl_batch batch;
    gl_ask ask;
    MUST(next(run, &batch, &ask));
    const int32_t *got = (const int32_t *)((const char *)batch.data + batch.field[0].offset);
    printf("pairs: %d %d %d %d %d %d\n", got[0], got[1], got[2], got[3], got[4], got[5]);
    print_bytes("bytes", (const char *)batch.data + batch.field[1].offset, 3);
    got = (const int32_t *)((const char *)batch.data + batch.field[2].offset);
    const int64_t *long_are = (const int64_t *)((const char *)batch.data + batch.field[3].offset);
    printf("padded to %lld:", (long long)batch.field[2].shape[1]);
    for (int i = 0; i < 12; i++)
        printf(" %d", got[i]);
    printf("; lengths: %lld %lld %lld\n", (long long)long_are[0], (long long)long_are[1], (long long)long_are[2]);
    gl_release(batch.lease);
    uint8_t state[STATE_BYTES] = {7, [8] = 1, [12] = 1}; /* seed, left, seeded */
    int64_t drawn;
    MUST(gl_rng_set(run, state, sizeof state, &error));
    MUST(gl_position(run, &drawn, 1, &error));
    printf("drawn: %lld\n", (long long)drawn);
    MUST(gl_submit(run, indices, 3, NULL, 0, &error));
    MUST(gl_reset(run, &error));
    MUST(gl_submit(run, indices, 1, NULL, 0, &error));
    MUST(next(run, &batch, &ask));
    printf("sequence: %lld\n", (long long)batch.sequence);
    gl_release(batch.lease);
    if (truncate(path, 2) != 0)
        exit(1);
    MUST(gl_submit(run, indices, 3, NULL, 0, &error));
    SAY(next(run, &batch, &ask));
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    unlink(path);
    int64_t numbers[5];
    MUST(gl_permutation(42, numbers, 5, &error));
    printf("permutation: %lld %lld %lld %lld %lld\n", (long long)numbers[0], (long long)numbers[1],
           (long long)numbers[2], (long long)numbers[3], (long long)numbers[4]);
    int64_t seeds[4], skipped[2];
    MUST(gl_seeds(42, 0, seeds, 4, &error));
    MUST(gl_seeds(42, 2, skipped, 2, &error));
    printf("seeds: %lld skipped %d\n", (long long)seeds[0], skipped[0] == seeds[2] && skipped[1] == seeds[3]);
    print_live();
}

/* folders: the first argument is a folder with the classes b and a, whose images are listed, then read. */
static void folders(void) {
    const char *classes[] = {"b", "a"}, *extensions[] = {".png"};
    gl_tree tree = {.root = files.paths, .classes = classes, .nclasses = 2, .extensions = extensions, .nextensions = 1};
    gl_handle list, loader, run, none;
    gl_files found;
    tree.nclasses = -1;
    SAY(gl_files_list(&tree, &none, &error));
    tree.nclasses = 2;
    MUST(gl_files_list(&tree, &list, &error));
    gl_status status;
    while ((status = gl_files_wait(list, WAIT_MS, &found, &error)) == GL_EMPTY)
        ;
    printf("listed: %d, %lld files, indexed %d, notice \"%s\"\n", status, (long long)found.count, found.indexed,
           found.notice);
    for (int64_t i = 0; i < found.count; i++)
        printf("%lld %s\n", (long long)found.labels[i], found.paths + found.offsets[i]);
    char header[32];
    SAY(gl_array_headers("none", found.paths, 1, header, sizeof header, &error));
    MUST(gl_array_headers("raw:1", found.paths + found.offsets[0], 1, header, sizeof header, &error));
    printf("items: %s\n", header);
    MUST(gl_array_headers("npy", found.paths + found.offsets[0], 1, header, sizeof header, &error));
    printf("no array: \"%s\"\n", header);
    loader = opened(&(gl_source){.count = found.count, .files = list});
    MUST(gl_close(list, &error)); /* the loader goes on */
    run = started(loader, 1);
    int64_t indices[] = {1, 0};
    MUST(gl_submit(run, indices, 2, NULL, 0, &error));
    gl_batch batch;
    gl_ask ask;
    MUST(next(run, &batch, &ask));
    print_batch(&batch);
    gl_release(batch.lease);
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    tree.root = "/nonexistent";
    MUST(gl_files_list(&tree, &list, &error));
    while ((status = gl_files_wait(list, WAIT_MS, &found, &error)) == GL_EMPTY)
        ;
    printf("missing: %d, %lld files\n", status, (long long)found.count);
    MUST(gl_close(list, &error));
    const char *paths[] = {"/nonexistent"};
    gl_shards shards = {.paths = paths, .npaths = -1, .images = extensions, .nimages = 1, .target = "cls"};
    SAY(gl_shards_list(&shards, &none, &error));
    shards.npaths = 1;
    MUST(gl_shards_list(&shards, &list, &error));
    while ((status = gl_files_wait(list, WAIT_MS, &found, &error)) == GL_EMPTY)
        ;
    printf("no archive: %d\n", status);
    MUST(gl_close(list, &error));
    print_live();
}

/* fetches: the first argument is the URL of a server of a bucket that has the object "key". */
static void fetches(void) {
    gl_handle fetch, none;
    void *data;
    int64_t bytes;
    char settings[512];
    const char *form = "{\"timeout_ms\": 1000, \"stores\": {\"s3\": {\"endpoint\": \"%s\", \"access_key\": \"key\", "
                       "\"secret_key\": \"secret\"}}}";
    snprintf(settings, sizeof settings, form, files.paths);
    MUST(gl_remote_use(settings, &error));
    SAY(gl_remote_use("{\"stores\": {\"s4\": {}}}", &error));
    const char *urls[] = {"s3://bucket/key", "s3://bucket/key#", "s3://bucket/", "s3://bucket/none"};
    const int64_t spans[][2] = {{0, -1}, {1, 2}, {0, 0}, {0, -1}};
    for (int i = 0; i < 4; i++) {
        MUST(gl_fetch(urls[i], spans[i][0], spans[i][1], 0, &fetch, &error));
        gl_status status;
        while ((status = gl_fetch_wait(fetch, WAIT_MS, &data, &bytes, &error)) == GL_EMPTY)
            ;
        printf("%s: %d\n", urls[i], status);
        if (status == GL_OK)
            print_bytes("bytes", data, bytes);
        MUST(gl_close(fetch, &error));
    }
    SAY(gl_fetch("key", 0, -1, 0, &none, &error));
    SAY(gl_fetch("s3://bucket/key", 1, -1, 0, &none, &error));
    SAY(gl_fetch("s3://bucket/key", 0, -2, 0, &none, &error));
    SAY(gl_fetch("s3://bucket/key", 0, -1, 1, &none, &error));
    MUST(gl_fetch(urls[0], 0, -1, 0, &fetch, &error));
    MUST(gl_close(fetch, &error)); /* on its way */
    print_live();
}

/* positions: a run goes on where another stood. */
static void positions(void) {
    gl_handle loader = opened(&files), run = started(loader, 2);
    int64_t indices[] = {0, 1}, drawn[] = {-1, -1};
    uint64_t seeds[] = {1, 2};
    gl_batch batch;
    gl_ask ask;
    MUST(gl_submit_seeded(run, indices, seeds, 2, NULL, 0, &error));
    MUST(next(run, &batch, &ask));
    gl_release(batch.lease);
    SAY(gl_position(run, drawn, 1, &error));
    SAY(gl_position(run, drawn, 2, &error));
    printf("drawn: %lld %lld\n", (long long)drawn[0], (long long)drawn[1]);
    char doing[64];
    SAY(gl_doing(run, doing, 0, &error));
    SAY(gl_doing(run, doing, sizeof doing, &error));
    printf("doing: \"%s\"\n", doing);
    SAY(gl_resume(run, 1, drawn, 2, &error));
    MUST(gl_close(run, &error));
    run = started(loader, 2);
    SAY(gl_resume(run, -1, drawn, 2, &error));
    SAY(gl_resume(run, 7, drawn, 1, &error));
    SAY(gl_resume(run, 7, drawn, 2, &error));
    MUST(gl_submit(run, indices, 2, NULL, 0, &error));
    MUST(next(run, &batch, &ask));
    print_batch(&batch);
    gl_release(batch.lease);
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    print_live();
}

/* scripts: sample 0 draws one number of Python's generator; sample 1 is left to the caller. */
static void scripts(void) {
    gl_handle loader = opened(&files), run = started(loader, 1);
    static uint8_t states[3 * STATE_BYTES], asked[3 * STATE_BYTES];
    for (int k = 0; k < 3; k++) {
        uint8_t *state = states + k * STATE_BYTES;
        state[8] = state[12] = 1; /* left, seeded */
        for (int i = 0; i < 624; i++)
            state[24 + 8 * i] = (uint8_t)(7 * i + k);
    }
    SAY(gl_states_set(run, 0, states, sizeof states - 1, &error));
    SAY(gl_states_set(run, 1, states, sizeof states, &error));
    SAY(gl_states_set(run, 0, states, sizeof states, &error));
    int64_t indices[] = {0, 1, 0}, drawn[3];
    for (int i = 0; i < 3; i++)
        MUST(gl_submit(run, &indices[i], 1, NULL, 0, &error));
    gl_batch batch;
    gl_ask ask;
    MUST(next(run, &batch, &ask));
    printf("drawn: %.17g\n", *(const double *)((const char *)batch.data + batch.field[1].offset));
    gl_release(batch.lease);
    SAY(gl_asked_states(run, asked, sizeof asked, &error));
    printf("news: %d\n", next(run, &batch, &ask));
    printf("ask: %d sequence %lld\nreason: %s\n", ask.kind, (long long)ask.sequence, ask.reason);
    SAY(gl_reject(run, &error));
    SAY(gl_asked_states(run, asked, sizeof asked - 1, &error));
    SAY(gl_asked_states(run, asked, sizeof asked, &error));
    printf("other generators stand where they were: %d\n", !memcmp(asked, states, STATE_BYTES));
    SAY(gl_skip(run, asked, 1, &error));
    SAY(gl_skip(run, asked, sizeof asked, &error));
    SAY(gl_skip(run, asked, sizeof asked, &error));
    MUST(next(run, &batch, &ask));
    printf("drawn: %.17g\n", *(const double *)((const char *)batch.data + batch.field[1].offset));
    gl_release(batch.lease);
    MUST(gl_position(run, drawn, 3, &error));
    printf("words: %lld %lld %lld\n", (long long)drawn[0], (long long)drawn[1], (long long)drawn[2]);
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    print_live();
}

/* samplers: weighted, balanced and mixed draws. */
static void samplers(void) {
    gl_handle wide, narrow, balanced, shuffled, none;
    double weights[] = {1, 0, 3}, bad[] = {-1};
    float same[] = {1, 0, 3};
    int64_t labels[] = {5, 6, 5}, drawn[2][100], numbers[8];
    SAY(gl_weighted_open(bad, 1, 1, &none, &error));
    SAY(gl_weighted_open(weights, 1, -1, &none, &error));
    SAY(gl_balanced_open(labels, 0, &none, &error));
    SAY(gl_balanced_open(labels, -1, &none, &error));
    SAY(gl_shuffled_open(0, &none, &error));
    MUST(gl_weighted_open(weights, 1, 3, &wide, &error));
    MUST(gl_weighted_open(same, 0, 3, &narrow, &error));
    MUST(gl_balanced_open(labels, 3, &balanced, &error));
    MUST(gl_draw(wide, 7, 0, 1, drawn[0], 100, &error));
    MUST(gl_draw(narrow, 7, 0, 1, drawn[1], 100, &error));
    int second = 0;
    for (int i = 0; i < 100; i++)
        second += drawn[0][i] == 1;
    printf("weighted: %d %d\n", memcmp(drawn[0], drawn[1], sizeof drawn[0]), second);
    MUST(gl_draw(balanced, 7, 0, 1, drawn[0], 100, &error));
    MUST(gl_draw(balanced, 7, 10, 9, numbers, 8, &error));
    printf("numbered: %d\n", numbers[2] == drawn[0][28]);
    MUST(gl_shuffled_open(100, &shuffled, &error));
    MUST(gl_draw(shuffled, 7, 0, 1, drawn[0], 100, &error));
    MUST(gl_draw(shuffled, 7, 10, 9, numbers, 8, &error));
    int64_t sum = 0;
    for (int i = 0; i < 100; i++)
        sum += drawn[0][i];
    printf("shuffled: %d %lld\n", numbers[2] == drawn[0][28], (long long)sum);
    MUST(gl_close(shuffled, &error));
    SAY(gl_draw(balanced, 7, -1, 1, numbers, 1, &error));
    SAY(gl_draw(balanced, 7, 0, 0, numbers, 1, &error));
    SAY(gl_draw(balanced, 7, 0, 1, numbers, -1, &error));
    MUST(gl_close(wide, &error));
    MUST(gl_close(narrow, &error));
    MUST(gl_close(balanced, &error));
    SAY(gl_draw(wide, 7, 0, 1, numbers, 1, &error));
    int64_t lengths[] = {4, 2}, counts[] = {0, 0};
    double shares[] = {3, 1};
    MUST(gl_mix(7, lengths, shares, counts, 2, 0, 1, numbers, 8, &error));
    printf("mixed: %lld %lld\n", (long long)counts[0], (long long)counts[1]);
    SAY(gl_mix(7, lengths, shares, counts, 2, 0, 1, numbers, -1, &error));
    lengths[1] = 0;
    SAY(gl_mix(7, lengths, shares, counts, 2, 0, 1, numbers, 1, &error));
    print_live();
}

/* augmentations: what transforms do to an image that the caller records itself. */
static void augmentations(void) {
    static const char *const none_of_them = "{\"version\": 1, \"channels\": 3, \"transforms\": [{\"op\": \"mystery\"}],"
                                            "\"rng\": {\"fma\": true, \"correctly_rounded_exp\": false}}";
    static const char *const crop = "{\"version\": 1, \"channels\": 3, \"rng\": {\"fma\": true,"
                                    "\"correctly_rounded_exp\": false}, \"transforms\": [{\"op\": \"random_crop\","
                                    "\"size\": [4, 3], \"padding\": null, \"pad_if_needed\": false, \"fill\": [0],"
                                    "\"padding_mode\": \"constant\", \"api\": \"v1\"}]}";
    static const char *const flip = "{\"version\": 1, \"channels\": 3, \"rng\": {\"fma\": true,"
                                    "\"correctly_rounded_exp\": false}, \"transforms\": [{\"op\": \"center_crop\","
                                    "\"size\": [4, 3]}]}";
    gl_handle drawing, fixed, none;
    gl_drawn drawn = {.width = 8, .height = 9};
    char state[5056] = {0};
    SAY(gl_augmentation_open("{}", 2, &none, &error));
    SAY(gl_augmentation_open(none_of_them, strlen(none_of_them), &none, &error));
    MUST(gl_augmentation_open(crop, strlen(crop), &drawing, &error));
    MUST(gl_augmentation_open(flip, strlen(flip), &fixed, &error));
    SAY(gl_augmentation_draw(drawing, NULL, &drawn, &error));
    SAY(gl_augmentation_draw(drawing, state, &drawn, &error));
    state[8] = state[12] = 1; /* left, seeded */
    drawn.width = 2;
    SAY(gl_augmentation_draw(drawing, state, &drawn, &error));
    drawn.width = 8;
    MUST(gl_augmentation_draw(drawing, state, &drawn, &error));
    printf("drawn: %d x %d, %d step of %d bytes, kind %d, %d words\n", drawn.width, drawn.height, drawn.count,
           drawn.ends[0], drawn.steps[0], drawn.words);
    drawn.width = 5, drawn.height = 4;
    MUST(gl_augmentation_draw(fixed, NULL, &drawn, &error));
    printf("fixed: %d x %d, %d step\n", drawn.width, drawn.height, drawn.count);
    MUST(gl_close(drawing, &error));
    MUST(gl_close(fixed, &error));
    SAY(gl_augmentation_draw(fixed, NULL, &drawn, &error));
    print_live();
}

static void print_usage(void *slots) {
    gl_slots_usage usage;
    gl_slots_count(slots, &usage);
    printf("slots %lld held %lld bytes %lld of %lld\n", (long long)usage.slots, (long long)usage.held,
           (long long)usage.bytes, (long long)usage.bytes_max);
}

/* slots: what this program sends, another opening of the file leases. */
static void slots(void) {
    enum { OWNER = 1, BYTES = 5000, BYTES_MAX = 3 * 8192 };
    int32_t file;
    void *ours, *theirs;
    MUST(gl_slots_create(BYTES_MAX, &file, &ours, &error));
    MUST(gl_slots_open(file, &theirs, &error));
    printf("not slots: %d\n", gl_slots_open(0, &(void *){NULL}, &error));
    gl_slot slot, leased, more[4];
    SAY(gl_slot_take(ours, BYTES, OWNER, &slot));
    gl_slot_fill(&slot, "sent", 5);
    gl_slot_send(ours, slot.number);
    gl_slot_release(ours, slot.lease);
    print_usage(theirs);
    SAY(gl_slot_lease(theirs, slot.number, slot.sequence, BYTES, &leased, &error));
    printf("%s\n", (const char *)leased.data);
    SAY(gl_slot_lease(theirs, slot.number, slot.sequence, BYTES, &leased, &error));
    gl_slot_release(theirs, leased.lease);
    gl_slot_release(theirs, leased.lease); /* of no effect */
    print_usage(ours);
    SAY(gl_slot_take(ours, BYTES, OWNER, &more[0]));
    printf("the same slot: %d\n", more[0].number == slot.number && more[0].sequence != slot.sequence);
    gl_slot_fill(&more[0], "copied", 7);
    gl_slot_send(ours, more[0].number);
    gl_slot_release(ours, more[0].lease);
    char text[7];
    SAY(gl_slot_copy(theirs, more[0].number, more[0].sequence, text, sizeof text, &error));
    printf("%s\n", text);
    SAY(gl_slot_copy(theirs, more[0].number, more[0].sequence, text, sizeof text, &error));
    for (int i = 0; i < 4; i++)
        SAY(gl_slot_take(ours, BYTES, OWNER, &more[i]));
    print_usage(ours);
    gl_slots_reclaim(theirs, OWNER);
    print_usage(ours);
    gl_slots_trim(theirs);
    gl_slots_trim(theirs);
    print_usage(ours);
    gl_slots_close(theirs);
    gl_slots_close(ours);
    close(file);
}

/* shapes: an "array" source of one row, each field one byte. */
static void shapes(void) {
    uint8_t byte = 1;
    gl_array array = {.data = &byte, .count = 1};
    gl_rows fields[SAMPLES_MAX];
    for (int i = 0; i < SAMPLES_MAX; i++)
        fields[i] = (gl_rows){&array, 1, NULL};
    gl_handle loader;
    if (SAY(gl_open(plan, plan_bytes, &(gl_source){.count = 1, .rows = fields}, &loader, &error)) == GL_OK) {
        gl_handle run = started(loader, 1);
        int64_t index = 0;
        MUST(gl_submit(run, &index, 1, NULL, 0, &error));
        gl_batch batch;
        gl_ask ask;
        MUST(next(run, &batch, &ask));
        print_batch(&batch);
        gl_release(batch.lease);
        MUST(gl_close(run, &error));
        MUST(gl_close(loader, &error));
    }
    print_live();
}

/* streams: the first file holds the order of a lane whose second sample has a number that is none. */
static void streams(void) {
    gl_handle loader = opened(&(gl_source){0}), run = started(loader, 1);
    static char order[1 << 16], state[1 << 12];
    FILE *file = fopen(files.paths, "rb");
    if (!file)
        exit(1);
    size_t bytes = fread(order, 1, sizeof order, file);
    fclose(file);
    int64_t index = 0, size = 0;
    void *data;
    gl_batch batch;
    gl_ask ask;
    SAY(gl_submit(run, &index, 1, NULL, 0, &error));
    SAY(gl_submit_next(run, 0, 1, NULL, 0, &error));
    SAY(gl_lane_open(run, 0, "{", 1, 1, &error));
    SAY(gl_lane_open(run, 1, order, bytes, 1, &error));
    MUST(gl_lane_open(run, 0, order, bytes, 1, &error));
    SAY(gl_lane_open(run, 0, order, bytes, 1, &error));
    SAY(gl_submit_next(run, 0, 0, NULL, 0, &error));
    SAY(gl_asked_sample(run, &data, &size, &error));
    SAY(gl_leave_out(run, 0, &error));
    for (int i = 0; i < 3; i++)
        MUST(gl_submit_next(run, 0, 2, NULL, 0, &error));
    printf("news: %d\n", next(run, &batch, &ask));
    printf("ask: %d position %d index %lld\nreason: %s\n", ask.kind, ask.position, (long long)ask.index, ask.reason);
    MUST(gl_asked_sample(run, &data, &size, &error));
    printf("sample: %lld bytes\n", (long long)size);
    MUST(gl_leave_out(run, 0, &error));
    MUST(next(run, &batch, &ask));
    print_batch(&batch);
    gl_release(batch.lease);
    SAY(gl_lane_state(run, 0, state, 1, &size, &error));
    SAY(gl_lane_state(run, 0, state, sizeof state, &size, &error));
    printf("state: %d\n", strlen(state) + 1 == (size_t)size);
    for (int i = 0; i < 2; i++)
        printf("news: %d\n", next(run, &batch, &ask));
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    print_live();
}

/* recipes: the files hold messages for a plan without a source, the third one for which Pillow is asked. */
static void recipes(void) {
    gl_handle loader = opened(&(gl_source){0}), run = started(loader, 1);
    int64_t index = 0;
    SAY(gl_submit(run, &index, 1, NULL, 0, &error));
    SAY(gl_submit_recipes(run, (const uint8_t *)"GLB2", 4, NULL, 0, &error));
    for (int64_t i = 0; i < files.count; i++) {
        static uint8_t message[1 << 16];
        FILE *file = fopen(files.paths + files.offsets[i], "rb");
        if (!file) {
            perror(files.paths + files.offsets[i]);
            exit(1);
        }
        size_t bytes = fread(message, 1, sizeof message, file);
        fclose(file);
        MUST(gl_submit_recipes(run, message, bytes, NULL, 0, &error));
        memset(message, 0xFF, sizeof message); /* it was copied */
        gl_batch batch;
        gl_ask ask;
        gl_status status;
        while ((status = next(run, &batch, &ask)) == GL_ASK) {
            printf("ask: %d index %lld\nreason: %s\n", ask.kind, (long long)ask.index, ask.reason);
            uint8_t rgb[3 * 2 * 2] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
            SAY(gl_answer_pixels(run, rgb, 4, 1, &error));
            MUST(gl_answer_pixels(run, rgb, 2, 2, &error));
        }
        MUST(status);
        print_batch(&batch);
        gl_release(batch.lease);
    }
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    print_live();
}

static void *release_later(void *lease) {
    gl_release(lease);
    return NULL;
}

static atomic_int closing; /* threads that are about to close */

static void *close_too(void *handle) {
    atomic_fetch_add(&closing, 1);
    while (atomic_load(&closing) < 2)
        ;
    return (void *)(intptr_t)gl_close(*(gl_handle *)handle, NULL);
}

/* How many handles were closed once, though two threads tried at the same time. */
static int closed_once(int handles) {
    const double weights[] = {1, 2};
    int once = 0;
    for (int i = 0; i < handles; i++) {
        gl_handle sampler;
        pthread_t other;
        MUST(gl_weighted_open(weights, 1, 2, &sampler, &error));
        atomic_store(&closing, 0);
        if (pthread_create(&other, NULL, close_too, &sampler))
            exit(1);
        void *theirs, *ours = close_too(&sampler);
        pthread_join(other, &theirs);
        once += ((intptr_t)ours == GL_OK) + ((intptr_t)theirs == GL_OK) == 1;
    }
    return once;
}

/* images: those of a batch are mixed where they lie.  And two who ask for memory by one name have the same. */
static void images(void) {
    float mixed[] = {0, 1, 2, 4};
    const int64_t shape[] = {2, 1, 1, 2}, box[] = {1, 0, 2, 1}, beyond[] = {1, 0, 3, 1};
    SAY(gl_mix_up(mixed, 0, 2, 0, 0.75, &error));
    MUST(gl_mix_up(mixed, 2, 2, 0, 0.75, &error));
    printf("mixed up: %g %g %g %g\n", mixed[0], mixed[1], mixed[2], mixed[3]);
    SAY(gl_cut_mix(mixed, shape, sizeof *mixed, beyond, &error));
    MUST(gl_cut_mix(mixed, shape, sizeof *mixed, box, &error));
    printf("cut: %g %g %g %g\n", mixed[0], mixed[1], mixed[2], mixed[3]);
    int32_t one, other;
    char byte = 'a', seen = 0;
    SAY(gl_common("bytes", 0, &one, &error));
    MUST(gl_common("bytes", 64, &one, &error));
    MUST(gl_common("bytes", 64, &other, &error));
    if (pwrite(one, &byte, 1, 63) != 1 || pread(other, &seen, 1, 63) != 1)
        exit(1);
    printf("common: %c\n", seen);
    print_live();
}

/* threads: leases are released by threads that never saw Go, while the run goes on; a handle is closed by one of two. */
static void threads(void) {
    gl_handle loader = opened(&files), run = started(loader, 2);
    enum { BATCHES = 400, AHEAD = 4 };
    int64_t index = 0;
    pthread_t thread[BATCHES];
    int wrong = 0;
    for (int i = 0; i < AHEAD; i++)
        MUST(gl_submit(run, &index, 1, NULL, 0, &error));
    for (int i = 0; i < BATCHES; i++) {
        gl_batch batch;
        gl_ask ask;
        MUST(next(run, &batch, &ask));
        wrong += batch.sequence != i;
        if (pthread_create(&thread[i], NULL, release_later, batch.lease))
            exit(1);
        MUST(gl_submit(run, &index, 1, NULL, 0, &error));
    }
    for (int i = 0; i < BATCHES; i++)
        pthread_join(thread[i], NULL);
    printf("wrong: %d\n", wrong);
    printf("closed once: %d\n", closed_once(1000));
    MUST(gl_close(run, &error));
    MUST(gl_close(loader, &error));
    print_live();
}

/* leaves: the program ends with a run at work. */
static void leaves(void) {
    gl_handle loader = opened(&files), run = started(loader, 2);
    int64_t index = 0;
    for (int i = 0; i < 50; i++)
        MUST(gl_submit(run, &index, 1, NULL, 0, &error));
    printf("leaves\n");
}

static const struct {
    const char *name;
    void (*play)(void);
} scenarios[] = {{"batches", batches}, {"questions", questions}, {"errors", errors},   {"stale", stale},
                 {"forks", forks},     {"rows", rows},           {"shapes", shapes},   {"threads", threads},
                 {"leaves", leaves},   {"recipes", recipes},     {"folders", folders}, {"positions", positions},
                 {"slots", slots},     {"samplers", samplers},   {"fetches", fetches}, {"augmentations", augmentations},
                 {"scripts", scripts}, {"streams", streams},     {"images", images}};

int main(int argc, char **argv) {
    if (argc < 3 || argc - 3 > SAMPLES_MAX)
        return 2;
    alarm(HANG_S);
    read_plan(argv[2]);
    set_files(argc - 3, argv + 3);
    for (size_t i = 0; i < sizeof scenarios / sizeof *scenarios; i++)
        if (!strcmp(scenarios[i].name, argv[1])) {
            scenarios[i].play();
            return 0;
        }
    return 2;
}
