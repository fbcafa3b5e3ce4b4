/* upsample_avx512.c: upsample.c, 32 chroma samples at a time. */
#if defined(__x86_64__)
#define WIDTH 512
#include "upsample_wide.h"
#endif
