/* expr.h: steps of arithmetic over the rows of some samples. */
#ifndef GL_EXPR_H
#define GL_EXPR_H

#include <stdint.h>

enum { GL_EXPR_DIMS = 9, GL_EXPR_OPERANDS = 3 };

/* Where a place's bytes are. */
enum { GL_EXPR_SCRATCH, GL_EXPR_CONSTANTS, GL_EXPR_OUT };

/* Items of a step's result, or of an operand. Strides are in bytes, the first from sample to sample. */
typedef struct gl_expr_place {
    int32_t room;
    int64_t offset;
    int64_t stride[GL_EXPR_DIMS];
} gl_expr_place;

/* Not a kernel: items of from[0] are copied, of which from[1], an int64, says which along an axis. */
enum { GL_EXPR_TAKE = -2 };

/* Which items those are: number 0 ... extent-1, or, counted from behind, -extent ... -1. */
typedef struct gl_expr_taken {
    int32_t axis;
    int64_t extent, stride, item; /* stride and the size of an item in bytes */
} gl_expr_taken;

/* One step: what the kernel makes of each item. */
typedef struct gl_expr_step {
    int32_t kernel; /* of gl_expr_kernel; GL_EXPR_TAKE */
    int32_t watch;  /* fails where numpy would warn: at a division by zero, an overflow, an invalid operation */
    int32_t ndim, operands;
    int64_t shape[GL_EXPR_DIMS]; /* the first is the number of samples, and set by gl_expr_run */
    gl_expr_place into, from[GL_EXPR_OPERANDS];
    gl_expr_taken taken;
} gl_expr_step;

/* gl_expr_kernel finds the kernel of an operation, by the types of its operands and of its result; -1 if there is none.
 *   operands  on success: how many it takes */
int32_t gl_expr_kernel(const char *op, const char *from, const char *to, int32_t *operands);

/* gl_expr_run makes n samples. Returns 0, or the number, from 1, of a step that failed: one whose result for these numbers
 * is not defined, or comes with a warning or an error in numpy or torch. */
int32_t gl_expr_run(const gl_expr_step *steps, int32_t nsteps, uint8_t *scratch, const uint8_t *constants, uint8_t *out,
                    int64_t n);

#endif
