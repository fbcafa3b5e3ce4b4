/* normals.h: normal deviates in float32, as torch makes them of uniform ones. */
#ifndef GL_RNG_NORMALS_H
#define GL_RNG_NORMALS_H

#include <stddef.h>

/* gl_rng_normals replaces blocks of 16 numbers of [0, 1) by normal deviates, 8 pairs of them by Box and Muller's method
 * (normal_fill_16 in ATen/native/cpu/DistributionTemplates.h).
 *   wide  by the polynomials of torch's kernels for AVX2, where the processor has that; else by the C library's functions */
void gl_rng_normals(float *data, size_t blocks, int wide);

#endif
