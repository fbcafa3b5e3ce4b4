#include <fenv.h>
#include <string.h>

#include "expr.h"
#include "kernels.h"

typedef struct loop {
    int ndim;
    int64_t extent[GL_EXPR_DIMS];
    int64_t stride[1 + GL_EXPR_OPERANDS][GL_EXPR_DIMS];
} loop;

/* Dimensions that go on where the next one ends are one. */
static void set_up(loop *l, const gl_expr_step *s, int64_t n) {
    l->ndim = 0;
    for (int d = s->ndim - 1; d >= 0; d--) {
        int64_t extent = d == 0 ? n : s->shape[d];
        if (extent == 1)
            continue;
        int last = l->ndim - 1, joined = last >= 0;
        for (int k = 0; joined && k <= s->operands; k++) {
            const gl_expr_place *p = k == 0 ? &s->into : &s->from[k - 1];
            joined = p->stride[d] == l->stride[k][last] * l->extent[last];
        }
        if (joined) {
            l->extent[last] *= extent;
            continue;
        }
        l->extent[l->ndim] = extent;
        for (int k = 0; k <= s->operands; k++)
            l->stride[k][l->ndim] = (k == 0 ? &s->into : &s->from[k - 1])->stride[d];
        l->ndim++;
    }
    if (l->ndim == 0) {
        l->ndim = 1;
        l->extent[0] = 1;
        for (int k = 0; k <= s->operands; k++)
            l->stride[k][0] = 0;
    }
}

/* The innermost dimension is number 0. */
static int run_dims(const loop *l, int d, gl_kernel *kernel, uint8_t *const at[1 + GL_EXPR_OPERANDS]) {
    int64_t extent = l->extent[d];
    if (d == 0)
        return kernel(at[0], l->stride[0][0], at[1], l->stride[1][0], at[2], l->stride[2][0], at[3], l->stride[3][0],
                      extent);
    uint8_t *moved[1 + GL_EXPR_OPERANDS];
    memcpy(moved, at, sizeof moved);
    int bad = 0;
    for (int64_t i = 0; i < extent; i++) {
        bad |= run_dims(l, d - 1, kernel, moved);
        for (int k = 0; k <= GL_EXPR_OPERANDS; k++)
            if (moved[k])
                moved[k] += l->stride[k][d];
    }
    return bad;
}

static inline void copy(uint8_t *to, const uint8_t *from, int64_t bytes) {
    switch (bytes) { /* of points and small rows, without a call */
    case 4:
        memcpy(to, from, 4);
        return;
    case 8:
        memcpy(to, from, 8);
        return;
    case 12:
        memcpy(to, from, 12);
        return;
    case 16:
        memcpy(to, from, 16);
        return;
    case 24:
        memcpy(to, from, 24);
        return;
    default:
        memcpy(to, from, (size_t)bytes);
    }
}

/* Copies from dimension d on. Dimensions from `rest` on are so many bytes in one piece. */
static int take_dims(const gl_expr_step *s, int d, int rest, int64_t bytes, int64_t n, uint8_t *to, const uint8_t *from,
                     const uint8_t *which) {
    int64_t extent = d == 0 ? n : s->shape[d];
    for (int64_t i = 0; i < extent; i++) {
        const uint8_t *item = from;
        if (d == s->taken.axis) {
            int64_t at;
            memcpy(&at, which, sizeof at);
            if (at < 0)
                at += s->taken.extent;
            if (at < 0 || at >= s->taken.extent)
                return 1;
            item += at * s->taken.stride;
        }
        if (d + 1 == rest)
            copy(to, item, bytes);
        else if (take_dims(s, d + 1, rest, bytes, n, to, item, which))
            return 1;
        to += s->into.stride[d];
        from += s->from[0].stride[d];
        which += s->from[1].stride[d];
    }
    return 0;
}

static int take(const gl_expr_step *s, int64_t n, uint8_t *const at[1 + GL_EXPR_OPERANDS]) {
    int rest = s->ndim;
    int64_t bytes = s->taken.item;
    while (rest - 1 > s->taken.axis &&
           (s->shape[rest - 1] == 1 || (s->into.stride[rest - 1] == bytes && s->from[0].stride[rest - 1] == bytes))) {
        rest--;
        bytes *= s->shape[rest];
    }
    return take_dims(s, 0, rest, bytes, n, at[0], at[1], at[2]);
}

int32_t gl_expr_run(const gl_expr_step *steps, int32_t nsteps, uint8_t *scratch, const uint8_t *constants, uint8_t *out,
                    int64_t n) {
    uint8_t *const rooms[] = {scratch, (uint8_t *)constants, out};
    loop l;
    memset(&l, 0, sizeof l);
    for (int32_t i = 0; i < nsteps; i++) {
        const gl_expr_step *s = &steps[i];
        uint8_t *at[1 + GL_EXPR_OPERANDS] = {rooms[s->into.room] + s->into.offset};
        for (int k = 0; k < s->operands; k++)
            at[k + 1] = rooms[s->from[k].room] + s->from[k].offset;
        if (s->kernel == GL_EXPR_TAKE) {
            if (take(s, n, at))
                return i + 1;
            continue;
        }
        set_up(&l, s, n);
        if (s->watch)
            feclearexcept(FE_ALL_EXCEPT);
        if (run_dims(&l, l.ndim - 1, gl_expr_kernels[s->kernel].run, at))
            return i + 1;
        if (s->watch && fetestexcept(FE_DIVBYZERO | FE_OVERFLOW | FE_INVALID))
            return i + 1;
    }
    return 0;
}

int32_t gl_expr_kernel(const char *op, const char *from, const char *to, int32_t *operands) {
    for (int32_t i = 0; gl_expr_kernels[i].op; i++) {
        const gl_named_kernel *k = &gl_expr_kernels[i];
        if (!strcmp(k->op, op) && !strcmp(k->from, from) && !strcmp(k->to, to)) {
            *operands = k->operands;
            return i;
        }
    }
    return -1;
}
