/* gaussian.h: the weights of torchvision's gaussian_blur, bit by bit as torch computes them in float32. */
#ifndef GL_DRAW_GAUSSIAN_H
#define GL_DRAW_GAUSSIAN_H

#include <stdint.h>

enum { GL_GAUSSIAN_MAX = 31 };

/* How weights are made of where they are: n places `at`, around 0.
 *   softmax  v2: torch.softmax of -(at / sigma)^2; else v1: torch.exp of -0.5 * (at / sigma)^2, over their sum
 *   mkl      exponentials are MKL's (gl_gaussian_use); else SLEEF's, with fused multiply-adds
 *   lanes    of the vectors that torch adds them by: 8 or 16 */
typedef struct gl_gaussian {
    int32_t softmax, mkl, lanes, n;
    float at[GL_GAUSSIAN_MAX];
} gl_gaussian;

/* gl_gaussian_use tells where the process has MKL's VMSEXP, of Fortran's form, which stays there. */
void gl_gaussian_use(void *vmsexp);
int gl_gaussian_has_mkl(void);

/* gl_gaussian_weights writes n weights for a sigma, which is not 0. */
void gl_gaussian_weights(const gl_gaussian *law, float sigma, float *weights);

#endif
