/* colour_avx2.c: colour.c, 32 pixels at a time. */
#if defined(__x86_64__)
#define WIDTH 256
#include "colour_wide.h"
#endif
