/* shim.c: the functions of goloader.h, in front of Go.
 *
 * Each one that enters Go first looks whether this process is a fork of the one that loaded the library: in such a
 * child Go has no threads and entering it would hang for ever. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "../core/mem/block.h"
#include "_cgo_export.h"
#include "goloader.h"

static volatile int forked;

/* A socket (top.go) that the child would keep open behind its parent. */
static volatile int observer = -1;

__attribute__((visibility("hidden"))) void keep_from_children(int fd) {
    observer = fd;
}

static void after_fork_in_child(void) {
    forked = 1;
    if (observer >= 0)
        close(observer);
    observer = -1;
}

__attribute__((constructor)) static void watch_forks(void) {
    pthread_atfork(NULL, NULL, after_fork_in_child);
}

static gl_status refuse_forked(gl_error *err) {
    if (err)
        snprintf(err->text, sizeof err->text,
                 "this process was forked after goloader was loaded; "
                 "its loaders work only in the process that made them");
    return GL_FORKED;
}

#define ENTER(err)                                                                                                     \
    if (forked)                                                                                                        \
    return refuse_forked(err)

uint32_t gl_abi_version(void) {
    return GL_ABI_VERSION;
}

const char *gl_dtype_name(int32_t dtype) {
    return forked ? NULL : go_dtype_name(dtype);
}

const char *gl_kernels(void) {
    return forked ? NULL : go_kernels();
}

gl_status gl_open(const char *plan, size_t plan_bytes, const gl_source *source, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_open((char *)plan, plan_bytes, (gl_source *)source, out, err);
}

gl_status gl_use_libwebp(void *init_config, void *get_features, void *decode, gl_error *err) {
    ENTER(err);
    return go_use_libwebp(init_config, get_features, decode, err);
}

gl_status gl_use_mkl(void *vmsexp, gl_error *err) {
    ENTER(err);
    return go_use_mkl(vmsexp, err);
}

gl_status gl_array_headers(const char *format, const char *paths, int32_t count, char *out, size_t each,
                           gl_error *err) {
    ENTER(err);
    return go_array_headers((char *)format, (char *)paths, count, out, each, err);
}

gl_status gl_files_list(const gl_tree *tree, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_files_list((gl_tree *)tree, out, err);
}

gl_status gl_shards_list(const gl_shards *shards, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_shards_list((gl_shards *)shards, out, err);
}

gl_status gl_files_wait(gl_handle list, int32_t timeout_ms, gl_files *files, gl_error *err) {
    ENTER(err);
    return go_files_wait(list, timeout_ms, files, err);
}

gl_status gl_remote_use(const char *settings, gl_error *err) {
    ENTER(err);
    return go_remote_use((char *)settings, err);
}

gl_status gl_cache_open(const gl_cache *cache, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_cache_open((gl_cache *)cache, out, err);
}

gl_status gl_cache_stats(gl_handle cache, char *json, size_t bytes, gl_error *err) {
    ENTER(err);
    return go_cache_stats(cache, json, bytes, err);
}

gl_status gl_cache_look(const char *folder, int32_t what, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_cache_look((char *)folder, what, out, err);
}

gl_status gl_fetch(const char *name, int64_t offset, int64_t length, gl_handle cache, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_fetch((char *)name, offset, length, cache, out, err);
}

gl_status gl_fetch_wait(gl_handle fetch, int32_t timeout_ms, void **data, int64_t *bytes, gl_error *err) {
    ENTER(err);
    return go_fetch_wait(fetch, timeout_ms, data, bytes, err);
}

gl_status gl_start(gl_handle loader, const gl_run_options *options, gl_handle *out, int32_t *out_fd, gl_error *err) {
    ENTER(err);
    return go_start(loader, (gl_run_options *)options, out, out_fd, err);
}

gl_status gl_submit(gl_handle run, const int64_t *indices, int64_t n, void *lent, int64_t lent_bytes, gl_error *err) {
    ENTER(err);
    return go_submit(run, (int64_t *)indices, n, lent, lent_bytes, err);
}

gl_status gl_submit_seeded(gl_handle run, const int64_t *indices, const uint64_t *seeds, int64_t n, void *lent,
                           int64_t lent_bytes, gl_error *err) {
    ENTER(err);
    return go_submit_seeded(run, (int64_t *)indices, (uint64_t *)seeds, n, lent, lent_bytes, err);
}

gl_status gl_submit_recipes(gl_handle run, const uint8_t *message, size_t bytes, void *lent, int64_t lent_bytes,
                            gl_error *err) {
    ENTER(err);
    return go_submit_recipes(run, (uint8_t *)message, bytes, lent, lent_bytes, err);
}

gl_status gl_lane_open(gl_handle run, int32_t lane, const char *order, size_t bytes, int32_t partial, gl_error *err) {
    ENTER(err);
    return go_lane_open(run, lane, (char *)order, bytes, partial, err);
}

gl_status gl_submit_next(gl_handle run, int32_t lane, int64_t n, void *lent, int64_t lent_bytes, gl_error *err) {
    ENTER(err);
    return go_submit_next(run, lane, n, lent, lent_bytes, err);
}

gl_status gl_asked_sample(gl_handle run, void **data, int64_t *bytes, gl_error *err) {
    ENTER(err);
    return go_asked_sample(run, data, bytes, err);
}

gl_status gl_leave_out(gl_handle run, int32_t stop, gl_error *err) {
    ENTER(err);
    return go_leave_out(run, stop, err);
}

gl_status gl_lane_state(gl_handle run, int32_t lane, char *json, int64_t room, int64_t *bytes, gl_error *err) {
    ENTER(err);
    return go_lane_state(run, lane, json, room, bytes, err);
}

gl_status gl_next(gl_handle run, gl_batch *batch, gl_ask *ask, gl_error *err) {
    ENTER(err);
    return go_next(run, batch, ask, err);
}

gl_status gl_wait(int32_t fd, int32_t timeout_ms) {
    struct pollfd watched = {.fd = fd, .events = POLLIN};
    if (poll(&watched, 1, timeout_ms) <= 0)
        return GL_EMPTY;
    uint64_t count;
    /* Another thread may have been first; then there is nothing to read, which is fine. */
    return read(fd, &count, sizeof count) < 0 && errno != EAGAIN ? GL_EMPTY : GL_OK;
}

gl_status gl_answer_pixels(gl_handle run, const uint8_t *rgb, int32_t width, int32_t height, gl_error *err) {
    ENTER(err);
    return go_answer_pixels(run, (uint8_t *)rgb, width, height, err);
}

gl_status gl_reject(gl_handle run, gl_error *err) {
    ENTER(err);
    return go_reject(run, err);
}

gl_status gl_answer_exp(gl_handle run, float x, float y, gl_error *err) {
    ENTER(err);
    return go_answer_exp(run, x, y, err);
}

gl_status gl_rng_set(gl_handle run, const uint8_t *state, size_t bytes, gl_error *err) {
    ENTER(err);
    return go_rng_set(run, (uint8_t *)state, bytes, err);
}

gl_status gl_follow(gl_handle run, int32_t stream, const uint8_t *state, size_t bytes, int32_t each, gl_error *err) {
    ENTER(err);
    return go_follow(run, stream, (uint8_t *)state, bytes, each, err);
}

gl_status gl_states_set(gl_handle run, int32_t stream, const uint8_t *states, size_t bytes, gl_error *err) {
    ENTER(err);
    return go_states_set(run, stream, (uint8_t *)states, bytes, err);
}

gl_status gl_asked_states(gl_handle run, uint8_t *states, size_t bytes, gl_error *err) {
    ENTER(err);
    return go_asked_states(run, states, bytes, err);
}

gl_status gl_skip(gl_handle run, const uint8_t *states, size_t bytes, gl_error *err) {
    ENTER(err);
    return go_skip(run, (uint8_t *)states, bytes, err);
}

gl_status gl_position(gl_handle run, int64_t *drawn, int32_t numbers, gl_error *err) {
    ENTER(err);
    return go_position(run, drawn, numbers, err);
}

gl_status gl_resume(gl_handle run, int64_t sequence, const int64_t *drawn, int32_t numbers, gl_error *err) {
    ENTER(err);
    return go_resume(run, sequence, (int64_t *)drawn, numbers, err);
}

gl_status gl_reset(gl_handle run, gl_error *err) {
    ENTER(err);
    return go_reset(run, err);
}

void gl_release(void *lease) {
    if (lease)
        gl_block_release(lease);
}

gl_status gl_close(gl_handle handle, gl_error *err) {
    ENTER(err);
    return go_close(handle, err);
}

gl_status gl_doubts(gl_handle run, int64_t *images, int32_t n, int32_t *count, gl_error *err) {
    ENTER(err);
    return go_doubts(run, images, n, count, err);
}

gl_status gl_doing(gl_handle run, char *text, size_t bytes, gl_error *err) {
    ENTER(err);
    return go_doing(run, text, bytes, err);
}

gl_status gl_events(int64_t from, gl_event *events, int32_t n, int32_t *count, int64_t *next, int64_t *lost,
                    gl_error *err) {
    ENTER(err);
    return go_events(from, events, n, count, next, lost, err);
}

gl_status gl_join(int32_t rank, int32_t ranks, int32_t cores, gl_error *err) {
    ENTER(err);
    return go_join(rank, ranks, cores, err);
}

gl_status gl_common(const char *name, int64_t bytes, int32_t *fd, gl_error *err) {
    ENTER(err);
    return go_common((char *)name, bytes, fd, err);
}

gl_status gl_settle(int32_t timeout_ms, gl_error *err) {
    ENTER(err);
    return go_settle(timeout_ms, err);
}

gl_status gl_observe(int32_t allowed, gl_error *err) {
    ENTER(err);
    return go_observe(allowed, err);
}

gl_status gl_stats(gl_handle loader, char *json, size_t bytes, gl_error *err) {
    ENTER(err);
    return go_stats(loader, json, bytes, err);
}

gl_status gl_live(char *json, size_t bytes, gl_error *err) {
    ENTER(err);
    return go_live(json, bytes, err);
}

gl_status gl_permutation(uint64_t seed, int64_t *out, int64_t n, gl_error *err) {
    ENTER(err);
    return go_permutation(seed, out, n, err);
}

gl_status gl_weighted_open(const void *weights, int32_t wide, int64_t n, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_weighted_open((void *)weights, wide, n, out, err);
}

gl_status gl_balanced_open(const int64_t *labels, int64_t n, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_balanced_open((int64_t *)labels, n, out, err);
}

gl_status gl_shuffled_open(int64_t n, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_shuffled_open(n, out, err);
}

gl_status gl_draw(gl_handle sampler, uint64_t seed, int64_t first, int64_t step, int64_t *out, int64_t n,
                  gl_error *err) {
    ENTER(err);
    return go_draw(sampler, seed, first, step, out, n, err);
}

gl_status gl_augmentation_open(const char *json, size_t bytes, gl_handle *out, gl_error *err) {
    ENTER(err);
    return go_augmentation_open((char *)json, bytes, out, err);
}

gl_status gl_augmentation_draw(gl_handle augmentation, const void *state, gl_drawn *drawn, gl_error *err) {
    ENTER(err);
    return go_augmentation_draw(augmentation, (void *)state, drawn, err);
}

gl_status gl_mix(uint64_t seed, const int64_t *lengths, const double *weights, int64_t *drawn, int32_t sources,
                 int64_t first, int64_t step, int64_t *out, int64_t n, gl_error *err) {
    ENTER(err);
    return go_mix(seed, (int64_t *)lengths, (double *)weights, drawn, sources, first, step, out, n, err);
}

gl_status gl_mix_up(void *images, int64_t n, int64_t items, int32_t wide, double lam, gl_error *err) {
    ENTER(err);
    return go_mix_up(images, n, items, wide, lam, err);
}

gl_status gl_cut_mix(void *images, const int64_t *shape, int32_t item, const int64_t *box, gl_error *err) {
    ENTER(err);
    return go_cut_mix(images, (int64_t *)shape, item, (int64_t *)box, err);
}

gl_status gl_seeds(uint64_t seed, int64_t skip, int64_t *out, int64_t n, gl_error *err) {
    ENTER(err);
    return go_seeds(seed, skip, out, n, err);
}
