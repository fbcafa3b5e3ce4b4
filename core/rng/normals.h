/* normals.h: normal deviates in float32, as torch makes them of uniform ones. */
#ifndef GL_RNG_NORMALS_H
#define GL_RNG_NORMALS_H

#include <stdint.h>

/* gl_rng_normals replaces 16 numbers of [0, 1) by normal deviates, 8 pairs of them by Box and Muller's method
 * (normal_fill_16 in ATen/native/cpu/DistributionTemplates.h).
 *   wide  by the polynomials of torch's AVX2 kernels; else by the C library's functions */
void gl_rng_normals(float *data, int wide);

#endif
