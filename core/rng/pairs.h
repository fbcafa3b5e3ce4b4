/* pairs.h: normal deviates in float64, as torch makes two at a time of two uniform ones. */
#ifndef GL_RNG_PAIRS_H
#define GL_RNG_PAIRS_H

#include <stddef.h>
#include <stdint.h>

/* gl_rng_pairs makes n deviates, an even count, of 2 * n words, and rounds them to float32 (normal_distribution<double> in
 * ATen/core/DistributionsHelper.h, by Box and Muller's method with the C library's functions). */
void gl_rng_pairs(const uint32_t *words, float *dst, size_t n);

#endif
