/* kernels.h: the table of inner loops. */
#ifndef GL_EXPR_KERNELS_H
#define GL_EXPR_KERNELS_H

#include <stdint.h>

/* n items of a result `o` and of operands a, b and c, so many bytes apart. Returns other than 0 if an item has no result. */
typedef int gl_kernel(uint8_t *o, int64_t so, const uint8_t *a, int64_t sa, const uint8_t *b, int64_t sb,
                      const uint8_t *c, int64_t sc, int64_t n);

typedef struct gl_named_kernel {
    const char *op, *from, *to; /* types of core/tensor, of the operands and of the result */
    int32_t operands;
    gl_kernel *run;
} gl_named_kernel;

extern const gl_named_kernel gl_expr_kernels[]; /* the last has no op */

#endif
