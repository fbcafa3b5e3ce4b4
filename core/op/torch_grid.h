/* torch_grid.h: the inner loops of affine and perspective transforms of tensors, as torchvision has them
 * (_apply_grid_transform in transforms/v2/functional/_geometry.py): a grid of places in float32 by linspace and bmm, then
 * torch's grid_sample with zeros outside and align_corners=False (aten/src/ATen/native/cpu/GridSamplerKernel.cpp), then
 * the fill and, of uint8 tensors, the nearest byte.
 *
 * Of the steps before a pixel's place in the grid linspace is exact: halves of whole numbers.  bmm adds three products in
 * order, the last of them a number itself; grid_sample adds four.  Each adds with one rounding or with two, as torch and MKL
 * were built for the processor.  Loops are compiled for each set of instructions; the compiler must not fuse by itself. */
#ifndef GOLOADER_TORCH_GRID_H
#define GOLOADER_TORCH_GRID_H

#include "torch.h"

enum {
    GL_GRID_BLOCK = 256, /* outputs of a row that are made at a time */
    /* Beyond an edge of the input there are so many words more: a pair of neighbours finds its place there. */
    GL_GRID_EDGE = 2
};
/* Sides up to which float32 has the halves between pixels. */
#define GL_GRID_SIDE_MAX (1 << 22)

/* What a row's places depend on. */
typedef struct gl_grid {
    float across[3], down[3]; /* what x, y and 1 are multiplied with */
    float depth[3];           /* of a perspective transform */
    float first;              /* x of column 0 */
    int32_t width, height;    /* of the input */
    int32_t stride;           /* words from a row of the input to the next */
} gl_grid;

/* Numbers of some outputs in a row.  There are always 16 or a multiple: those behind the end of a row are like others. */
typedef struct gl_grid_block {
    float x[GL_GRID_BLOCK], y[GL_GRID_BLOCK];
    int32_t at[GL_GRID_BLOCK];           /* places among words; of four neighbours the upper left one's */
    float weight[4][GL_GRID_BLOCK];      /* of four neighbours: the upper ones, the lower ones */
    union {                              /* the neighbours: */
        uint32_t word[4][GL_GRID_BLOCK]; /* a byte for each plane, */
        float number[4][GL_GRID_BLOCK];  /* or a plane's numbers */
    };
    float sum[GL_GRID_BLOCK];  /* of a plane */
    float mask[GL_GRID_BLOCK]; /* of what is inside */
} gl_grid_block;

/* A set of them. */
typedef struct gl_grid_loops {
    /* Places of n outputs in the grid, from column x on of row y; the latter as the grid counts. */
    void (*along)(const gl_grid *grid, int32_t x, float y, int fused, int32_t n, gl_grid_block *block);
    /* The same with a perspective. */
    void (*deep)(const gl_grid *grid, int32_t x, float y, int fused, int32_t n, gl_grid_block *block);
    /* Places in the grid become places in the input, in pixels. */
    void (*scale)(const gl_grid *grid, int fused, int32_t n, gl_grid_block *block);
    void (*nearest)(const gl_grid *grid, int32_t n, gl_grid_block *block);
    void (*corners)(const gl_grid *grid, int32_t n, gl_grid_block *block);
    /* The sum of four neighbours' bytes number c. */
    void (*sum)(int c, int fused, int32_t n, const gl_grid_block *block, float *dst);
    /* The same of their numbers. */
    void (*sum_numbers)(int fused, int32_t n, const gl_grid_block *block, float *dst);
    /* v1's and v2's blends of the sums with the fill; sums become bytes. */
    void (*blend_v1)(float fill, int32_t n, gl_grid_block *block);
    void (*blend_v2)(float fill, int32_t n, gl_grid_block *block);
    void (*round)(int32_t n, const gl_grid_block *block, uint8_t *dst);
} gl_grid_loops;

extern const gl_grid_loops gl_plain_grid;
#if defined(__x86_64__)
extern const gl_grid_loops gl_avx2_grid;
#endif

GL_TORCH_LOOP float gl_grid_sum_of(const float of[3], float x, float y, int fused) {
    const float first = x * of[0];
    return gl_torch_add(first, y, of[1], fused) + of[2];
}

GL_TORCH_LOOP void gl_grid_along_loop(const gl_grid *grid, int32_t x, float y, int fused, int is_deep, int32_t n,
                                      gl_grid_block *block) {
    const gl_grid g = *grid;
    for (int32_t i = 0; i < n; i++) {
        const float column = (float)(x + i) + g.first;
        float across = gl_grid_sum_of(g.across, column, y, fused), down = gl_grid_sum_of(g.down, column, y, fused);
        if (is_deep) {
            const float depth = gl_grid_sum_of(g.depth, column, y, fused);
            across = across / depth - 1.0f;
            down = down / depth - 1.0f;
        }
        block->x[i] = across;
        block->y[i] = down;
    }
}

GL_TORCH_LOOP float gl_grid_scaled(float at, float half, int fused) {
    return fused ? __builtin_fmaf(at + 1.0f, half, -0.5f) : (at + 1.0f) * half - 0.5f;
}

GL_TORCH_LOOP void gl_grid_scale_loop(const gl_grid *grid, int fused, int32_t n, gl_grid_block *block) {
    const float half_width = (float)grid->width / 2.0f, half_height = (float)grid->height / 2.0f;
    for (int32_t i = 0; i < n; i++) {
        block->x[i] = gl_grid_scaled(block->x[i], half_width, fused);
        block->y[i] = gl_grid_scaled(block->y[i], half_height, fused);
    }
}

/* A whole place, or the nearest one beyond the edge; for no number one beyond it too. */
GL_TORCH_LOOP int32_t gl_grid_whole(float at, int32_t n) {
    const float high = (float)n, low = (float)-GL_GRID_EDGE;
    at = at < high ? at : high;
    return (int32_t)(at > low ? at : low);
}

GL_TORCH_LOOP int32_t gl_grid_place(const gl_grid *grid, float x, float y) {
    return (gl_grid_whole(y, grid->height) + GL_GRID_EDGE) * grid->stride + gl_grid_whole(x, grid->width) +
           GL_GRID_EDGE;
}

GL_TORCH_LOOP void gl_grid_nearest_loop(const gl_grid *grid, int32_t n, gl_grid_block *block) {
    const gl_grid g = *grid;
    for (int32_t i = 0; i < n; i++)
        block->at[i] = gl_grid_place(&g, __builtin_rintf(block->x[i]), __builtin_rintf(block->y[i]));
}

/* floorf, of which compilers make no vectors. */
GL_TORCH_LOOP float gl_grid_floor(float v) {
    const float near = __builtin_rintf(v);
    const int32_t above = -(near > v);
    return near + (float)above;
}

GL_TORCH_LOOP void gl_grid_corners_loop(const gl_grid *grid, int32_t n, gl_grid_block *block) {
    const gl_grid g = *grid;
    for (int32_t i = 0; i < n; i++) {
        const float x = block->x[i], y = block->y[i], column = gl_grid_floor(x), line = gl_grid_floor(y);
        const float right = x - column, left = 1.0f - right, below = y - line, above = 1.0f - below;
        block->at[i] = gl_grid_place(&g, column, line);
        block->weight[0][i] = above * left;
        block->weight[1][i] = above * right;
        block->weight[2][i] = below * left;
        block->weight[3][i] = below * right;
    }
}

GL_TORCH_LOOP void gl_grid_sum_loop(int c, int fused, int32_t n, const gl_grid_block *block, float *dst) {
    for (int32_t i = 0; i < n; i++) {
        float of = (float)(int32_t)(block->word[0][i] >> 8 * c & 0xFF) * block->weight[0][i];
        for (int k = 1; k < 4; k++)
            of = gl_torch_add(of, (float)(int32_t)(block->word[k][i] >> 8 * c & 0xFF), block->weight[k][i], fused);
        dst[i] = of;
    }
}

GL_TORCH_LOOP void gl_grid_round_loop(int32_t n, const gl_grid_block *block, uint8_t *dst) {
    for (int32_t i = 0; i < n; i++)
        dst[i] = gl_torch_rounded(block->sum[i]);
}

GL_TORCH_LOOP void gl_grid_sum_numbers_loop(int fused, int32_t n, const gl_grid_block *block, float *dst) {
    for (int32_t i = 0; i < n; i++) {
        float of = block->number[0][i] * block->weight[0][i];
        for (int k = 1; k < 4; k++)
            of = gl_torch_add(of, block->number[k][i], block->weight[k][i], fused);
        dst[i] = of;
    }
}

GL_TORCH_LOOP void gl_grid_blend_v1_loop(float fill, int32_t n, gl_grid_block *block) {
    for (int32_t i = 0; i < n; i++) {
        const float inside = block->sum[i] * block->mask[i], outside = (1.0f - block->mask[i]) * fill;
        block->sum[i] = inside + outside;
    }
}

GL_TORCH_LOOP void gl_grid_blend_v2_loop(float fill, int32_t n, gl_grid_block *block) {
    for (int32_t i = 0; i < n; i++) {
        const float more = (block->sum[i] - fill) * block->mask[i];
        block->sum[i] = more + fill;
    }
}

#endif
