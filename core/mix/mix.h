/* mix.h: what is done to all images of a batch, in the memory that they lie in. */
#ifndef GOLOADER_MIX_H
#define GOLOADER_MIX_H

#include <stdint.h>

/* Each image becomes share of itself and rest of the one before it, the first one of the last: torch's
 * images.roll(1, 0) * rest + images * share, where each product and each sum is rounded.
 *   images  [n, items], contiguous */
void gl_mix_up_float32(float *images, int64_t n, int64_t items, float rest, float share);
void gl_mix_up_float64(double *images, int64_t n, int64_t items, double rest, double share);

/* A box of each image becomes that of the one before it, of the first one that of the last.
 *   images  [n, planes, height, width] items of so many bytes, contiguous
 *   box     its left, top, right and bottom: not below 0, and within the image */
void gl_mix_box(uint8_t *images, int64_t n, int64_t planes, int64_t height, int64_t width, int64_t item,
                const int64_t box[4]);

#endif
