/* colour_avx512.c: colour.c, 64 pixels at a time. */
#if defined(__x86_64__)
#define WIDTH 512
#include "colour_wide.h"
#endif
