/* Affine and perspective transforms of tensors, as torchvision has them; torch_grid.h says how.
 *
 * Bytes become words, a pixel each, with an edge around them that is outside: so a pixel's neighbours are loads for all of
 * its planes, wherever it comes from. Numbers have such an edge around each plane. */
#include "torch_grid.h"

#include <string.h>

#include "stage.h"

/* Only what is spelled out is fused. */
#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

static void along(const gl_grid *grid, int32_t x, float y, int fused, int32_t n, gl_grid_block *block) {
    gl_grid_along_loop(grid, x, y, fused, 0, n, block);
}

static void deep(const gl_grid *grid, int32_t x, float y, int fused, int32_t n, gl_grid_block *block) {
    gl_grid_along_loop(grid, x, y, fused, 1, n, block);
}

static void scale(const gl_grid *grid, int fused, int32_t n, gl_grid_block *block) {
    gl_grid_scale_loop(grid, fused, n, block);
}

static void nearest(const gl_grid *grid, int32_t n, gl_grid_block *block) {
    gl_grid_nearest_loop(grid, n, block);
}

static void corners(const gl_grid *grid, int32_t n, gl_grid_block *block) {
    gl_grid_corners_loop(grid, n, block);
}

static void sum(int c, int fused, int32_t n, const gl_grid_block *block, float *dst) {
    gl_grid_sum_loop(c, fused, n, block, dst);
}

static void to_bytes(int32_t n, const gl_grid_block *block, uint8_t *dst) {
    gl_grid_round_loop(n, block, dst);
}

static void sum_numbers(int fused, int32_t n, const gl_grid_block *block, float *dst) {
    gl_grid_sum_numbers_loop(fused, n, block, dst);
}

static void blend_v1(float fill, int32_t n, gl_grid_block *block) {
    gl_grid_blend_v1_loop(fill, n, block);
}

static void blend_v2(float fill, int32_t n, gl_grid_block *block) {
    gl_grid_blend_v2_loop(fill, n, block);
}

const gl_grid_loops gl_plain_grid = {.along = along,
                                     .deep = deep,
                                     .scale = scale,
                                     .nearest = nearest,
                                     .corners = corners,
                                     .sum = sum,
                                     .sum_numbers = sum_numbers,
                                     .blend_v1 = blend_v1,
                                     .blend_v2 = blend_v2,
                                     .round = to_bytes};

enum {
    SPILL = 7,       /* words that warp_pack writes behind a row */
    BMM_LEAST = 400, /* products from which on torch leaves a bmm to MKL */
    MASK = 3         /* the byte of a word that says whether it is inside */
};

/* Words of an input of this size, its edges included.  Beside a row there is one edge: it is the next row's as well. */
static int64_t words_of(int64_t width, int64_t height) {
    return (height + 2 * GL_GRID_EDGE) * (width + GL_GRID_EDGE) + GL_GRID_EDGE;
}

static void divided(const double from[3], int32_t side, float to[3]) {
    const float half = (float)(0.5 * side);
    for (int k = 0; k < 3; k++)
        to[k] = (float)from[k] / half;
}

static int is_deep(const gl_stage *stage) {
    return stage->pass->kind == GL_TORCH_PERSPECTIVE;
}

static gl_grid grid_of(const gl_stage *stage) {
    const double *m = stage->pass->matrix;
    gl_grid grid = {.width = stage->in_width, .height = stage->in_height, .stride = stage->in_width + GL_GRID_EDGE};
    divided(m, grid.width, grid.across);
    divided(m + 3, grid.height, grid.down);
    grid.depth[0] = (float)m[6];
    grid.depth[1] = (float)m[7];
    grid.depth[2] = 1.0f;
    return grid;
}

/* Column or row 0 as the grid counts: from the middle on, or with a perspective from the edge. */
static float first_of(const gl_stage *stage, int32_t side) {
    return is_deep(stage) ? 0.5f : -(float)(side - 1) / 2.0f;
}

static void set(uint32_t *words, ptrdiff_t n, uint32_t word) {
    for (ptrdiff_t i = 0; i < n; i++)
        words[i] = word;
}

static void pack(const gl_stage *stage, const gl_grid *grid, const uint8_t *const plane[3], ptrdiff_t stride,
                 uint32_t outside, uint32_t inside, uint32_t *words) {
    const ptrdiff_t rows = GL_GRID_EDGE * (ptrdiff_t)grid->stride;
    set(words, rows + GL_GRID_EDGE, outside);
    words += rows + GL_GRID_EDGE;
    for (int32_t y = 0; y < grid->height; y++, words += grid->stride) {
        const uint8_t *const from[3] = {plane[0] + y * stride, plane[1] + y * stride, plane[2] + y * stride};
        stage->kernels->warp_pack(from, grid->width, words);
        for (int32_t x = 0; x < grid->width; x++)
            words[x] |= inside;
        set(words + grid->width, GL_GRID_EDGE, outside);
    }
    set(words, rows, outside);
}

/* The four neighbours' words, or numbers: items of the input of four bytes each.  Not in loops for a set of instructions: gathers
 * are no faster everywhere. */
static void fetch(const void *input, ptrdiff_t stride, int32_t n, gl_grid_block *block) {
    const ptrdiff_t size = sizeof(uint32_t), below = stride * size;
    for (int32_t i = 0; i < n; i++) {
        const unsigned char *from = (const unsigned char *)input + block->at[i] * size;
        memcpy(&block->word[0][i], from, (size_t)size);
        memcpy(&block->word[1][i], from + size, (size_t)size);
        memcpy(&block->word[2][i], from + below, (size_t)size);
        memcpy(&block->word[3][i], from + below + size, (size_t)size);
    }
}

/* What a plane's sums are with its fill. */
static void blend(const gl_stage *stage, float fill, int32_t n, gl_grid_block *block) {
    const gl_grid_loops *loops = stage->kernels->grid;
    if (stage->pass->mode != GL_OUTSIDE_ZEROS)
        (stage->pass->mode == GL_OUTSIDE_V1 ? loops->blend_v1 : loops->blend_v2)(fill, n, block);
}

static void bilinear(const gl_stage *stage, const gl_grid *grid, const uint32_t *words, int32_t n, gl_grid_block *block,
                     uint8_t *const to[3]) {
    const gl_pass *pass = stage->pass;
    const gl_grid_loops *loops = stage->kernels->grid;
    const int fused = (pass->fused & GL_FUSED_SAMPLE) != 0;
    fetch(words, grid->stride, n, block);
    if (pass->mode != GL_OUTSIDE_ZEROS)
        loops->sum(MASK, fused, n, block, block->mask);
    for (int32_t p = 0; p < stage->in_planes; p++) {
        loops->sum(p, fused, n, block, block->sum);
        blend(stage, pass->fill[p], n, block);
        loops->round(n, block, to[p]);
    }
}

static void neighbour(const gl_stage *stage, const gl_grid *grid, const uint32_t *words, int32_t n,
                      gl_grid_block *block, uint8_t *const to[3]) {
    (void)grid;
    for (int32_t i = 0; i < n; i++)
        block->word[0][i] = words[block->at[i]];
    uint8_t *const other = (uint8_t *)block->word[1]; /* words of one plane have it three times */
    uint8_t *const three[3] = {to[0], stage->in_planes == 3 ? to[1] : other, stage->in_planes == 3 ? to[2] : other};
    stage->kernels->warp_unpack(block->word[0], n, three);
}

/* Rows of the output, a block at a time: `make` gets the block's places in the input, and where it is. */
typedef void make_block(const gl_stage *stage, const gl_grid *grid, const void *input, int32_t n, gl_grid_block *block,
                        int32_t x, void *const row[3]);

static void make_row(const gl_stage *stage, gl_grid *grid, const void *input, int32_t y, make_block *make,
                     void *const row[3]) {
    const gl_pass *pass = stage->pass;
    const gl_target *target = &stage->target;
    const gl_grid_loops *loops = stage->kernels->grid;
    const int64_t products = 6 * (int64_t)target->width * target->height;
    const int fused = (pass->fused & GL_FUSED_GRID) != 0 && products >= BMM_LEAST;
    const float line = first_of(stage, grid->height) + (float)y;
    gl_grid_block block;
    grid->first = first_of(stage, grid->width);
    for (int32_t x = 0; x < target->width; x += GL_GRID_BLOCK) {
        const int32_t left = target->width - x;
        const int32_t n = left < GL_GRID_BLOCK ? (int32_t)gl_round_up((size_t)left, 16) : GL_GRID_BLOCK;
        (is_deep(stage) ? loops->deep : loops->along)(grid, x, line, fused, n, &block);
        loops->scale(grid, (pass->fused & GL_FUSED_SAMPLE) != 0, n, &block);
        (pass->filter == GL_NEAREST ? loops->nearest : loops->corners)(grid, n, &block);
        make(stage, grid, input, n, &block, x, row);
    }
}

static void make_bytes(const gl_stage *stage, const gl_grid *grid, const void *input, int32_t n, gl_grid_block *block,
                       int32_t x, void *const row[3]) {
    uint8_t *const to[3] = {(uint8_t *)row[0] + x, row[1] == NULL ? NULL : (uint8_t *)row[1] + x,
                            row[2] == NULL ? NULL : (uint8_t *)row[2] + x};
    (stage->pass->filter == GL_NEAREST ? neighbour : bilinear)(stage, grid, input, n, block, to);
}

static void whole_grid(gl_stage *stage, const uint8_t *const plane[3], ptrdiff_t stride) {
    const gl_pass *pass = stage->pass;
    const gl_target *target = &stage->target;
    /* Only the nearest neighbour knows the fill as a word. */
    const int is_filled = pass->filter == GL_NEAREST && pass->mode != GL_OUTSIDE_ZEROS;
    const uint8_t *fill = pass->fill;
    const uint32_t outside = is_filled ? fill[0] | (uint32_t)fill[1] << 8 | (uint32_t)fill[2] << 16 : 0;
    uint32_t *words = (uint32_t *)stage->scratch->words.data;
    gl_grid grid = grid_of(stage);
    pack(stage, &grid, plane, stride, outside, 1u << 8 * MASK, words);
    for (int32_t y = 0; y < target->height; y++) {
        uint8_t *out[3];
        gl_stage_places(stage, y, out);
        void *const row[3] = {out[0], target->planes == 3 ? out[1] : NULL, target->planes == 3 ? out[2] : NULL};
        make_row(stage, &grid, words, y, make_bytes, row);
        for (int32_t p = 0; p < target->planes; p++)
            gl_target_put(target, p, y, 1, out[p], target->stride);
    }
}

/* A plane with its edge; where `src` is NULL all of it is 1. */
static void lay_out(const gl_grid *grid, const float *src, float outside, float *dst) {
    const int64_t all = words_of(grid->width, grid->height);
    for (int64_t i = 0; i < all; i++)
        dst[i] = outside;
    for (int32_t y = 0; y < grid->height; y++) {
        float *row = dst + (ptrdiff_t)(y + GL_GRID_EDGE) * grid->stride + GL_GRID_EDGE;
        for (int32_t x = 0; x < grid->width; x++)
            row[x] = src != NULL ? src[(ptrdiff_t)y * grid->width + x] : 1.0f;
    }
}

static void make_numbers(const gl_stage *stage, const gl_grid *grid, const void *input, int32_t n, gl_grid_block *block,
                         int32_t x, void *const row[3]) {
    const gl_pass *pass = stage->pass;
    const gl_grid_loops *loops = stage->kernels->grid;
    const int fused = (pass->fused & GL_FUSED_SAMPLE) != 0;
    const int64_t all = words_of(grid->width, grid->height);
    const int32_t left = stage->target.width - x, planes = stage->in_planes;
    const size_t bytes = (size_t)(left < n ? left : n) * sizeof(float);
    const float *plane = input;
    if (pass->filter != GL_NEAREST && pass->mode != GL_OUTSIDE_ZEROS) {
        fetch(plane + planes * all, grid->stride, n, block);
        loops->sum_numbers(fused, n, block, block->mask);
    }
    for (int32_t p = 0; p < planes; p++, plane += all) {
        if (pass->filter == GL_NEAREST) {
            for (int32_t i = 0; i < n; i++)
                block->sum[i] = plane[block->at[i]];
        } else {
            fetch(plane, grid->stride, n, block);
            loops->sum_numbers(fused, n, block, block->sum);
            blend(stage, pass->number[0][p], n, block);
        }
        memcpy((float *)row[p] + x, block->sum, bytes);
    }
}

int gl_torch_grid_numbers(gl_stage *stage, const float *src, float *dst) {
    const gl_pass *pass = stage->pass;
    const int32_t width = stage->in_width, height = stage->in_height, planes = stage->in_planes;
    const int64_t all = words_of(width, height), pixels = (int64_t)width * height;
    const int is_nearest = pass->filter == GL_NEAREST, is_filled = pass->mode != GL_OUTSIDE_ZEROS;
    if (gl_buffer_grow(&stage->scratch->words, (size_t)(planes + 1) * (size_t)all * sizeof(float)) != 0)
        return -1;
    float *input = (float *)(void *)stage->scratch->words.data;
    gl_grid grid = grid_of(stage);
    for (int32_t p = 0; p < planes; p++)
        lay_out(&grid, src + p * pixels, is_nearest && is_filled ? pass->number[0][p] : 0.0f, input + p * all);
    if (!is_nearest && is_filled)
        lay_out(&grid, NULL, 0.0f, input + planes * all);
    for (int32_t y = 0; y < height; y++) {
        float *const first = dst + (int64_t)y * width;
        void *const row[3] = {first, planes == 3 ? first + pixels : NULL, planes == 3 ? first + 2 * pixels : NULL};
        make_row(stage, &grid, input, y, make_numbers, row);
    }
    return 0;
}

const char *gl_torch_grid_check(const gl_pass *pass, gl_shape *shape) {
    if (pass->filter != GL_NEAREST && pass->filter != GL_BILINEAR)
        return "no such filter of torch's";
    if (pass->mode < GL_OUTSIDE_ZEROS || pass->mode > GL_OUTSIDE_V2)
        return "no such way to fill what is outside";
    for (int32_t i = 0; i < (pass->kind == GL_TORCH_AFFINE ? 6 : 8); i++)
        if (!isfinite((float)pass->matrix[i]))
            return "a matrix that float32 does not hold";
    if (shape->width > GL_GRID_SIDE_MAX || shape->height > GL_GRID_SIDE_MAX ||
        words_of(shape->width, shape->height) > INT32_MAX)
        return "an image too large for torch's transforms";
    return NULL;
}

int gl_torch_grid_begin(gl_stage *stage) {
    const size_t words = (size_t)words_of(stage->in_width, stage->in_height) + SPILL;
    if (gl_buffer_grow(&stage->scratch->words, words * sizeof(uint32_t)) != 0)
        return -1;
    return gl_places_grow(stage) != 0 ? -1 : gl_whole_begin(stage, whole_grid);
}
