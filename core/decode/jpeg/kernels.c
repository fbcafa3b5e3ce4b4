/* kernels.c: which inner loops this processor gets.  GOLOADER_KERNELS names another set (tests), as in core/op/cpu.c.
 */
#include <stdlib.h>
#include <string.h>

#include "../../cpu.h"
#include "engine.h"

static const gl_jpeg_kernels plain = {
    .name = "plain",
    .scan = gl_jpeg_scan_plain,
    .idct = gl_jpeg_idct_plain,
    .h2v1 = gl_jpeg_h2v1_plain,
    .h2v2 = gl_jpeg_h2v2_plain,
    .h1v2 = gl_jpeg_h1v2_plain,
    .colour = gl_jpeg_colour_plain,
};

#if defined(__x86_64__)
static const gl_jpeg_kernels avx2 = {
    .name = "avx2",
    .scan = gl_jpeg_scan_bmi2,
    .idct = gl_jpeg_idct_avx2,
    .h2v1 = gl_jpeg_h2v1_avx2,
    .h2v2 = gl_jpeg_h2v2_avx2,
    .h1v2 = gl_jpeg_h1v2_avx2,
    .colour = gl_jpeg_colour_avx2,
};

static const gl_jpeg_kernels avx512 = {
    .name = "avx512",
    .scan = gl_jpeg_scan_bmi2,
    .idct = gl_jpeg_idct_avx512,
    .h2v1 = gl_jpeg_h2v1_avx512,
    .h2v2 = gl_jpeg_h2v2_avx512,
    .h1v2 = gl_jpeg_h1v2_avx2, /* rare */
    .colour = gl_jpeg_colour_avx512,
};
#endif

#if defined(__aarch64__)
static const gl_jpeg_kernels neon = {
    .name = "neon",
    .scan = gl_jpeg_scan_plain, /* nothing in it is alike for eight values at once */
    .idct = gl_jpeg_idct_neon,
    .h2v1 = gl_jpeg_h2v1_neon,
    .h2v2 = gl_jpeg_h2v2_neon,
    .h1v2 = gl_jpeg_h1v2_neon,
    .colour = gl_jpeg_colour_neon,
};
#endif

/* Best first. */
static const gl_jpeg_kernels *const known[] = {
#if defined(__x86_64__)
    &avx512,
    &avx2,
#elif defined(__aarch64__)
    &neon,
#endif
    &plain,
};

static int is_supported(const gl_jpeg_kernels *kernels) {
#if defined(__x86_64__)
    const unsigned as_avx2 = GL_CPU_AVX2 | GL_CPU_BMI | GL_CPU_BMI2;
    if (kernels == &avx512) {
        return gl_cpu_has(as_avx2 | GL_CPU_AVX512F | GL_CPU_AVX512BW | GL_CPU_AVX512VL | GL_CPU_AVX512DQ);
    }
    if (kernels == &avx2) {
        return gl_cpu_has(as_avx2);
    }
#endif
    (void)kernels;
    return 1;
}

const gl_jpeg_kernels *gl_jpeg_kernels_chosen(void) {
    static const gl_jpeg_kernels *chosen; /* atomic; threads that race for the first call choose the same */
    const gl_jpeg_kernels *kernels = __atomic_load_n(&chosen, __ATOMIC_ACQUIRE);
    if (kernels) {
        return kernels;
    }
    const char *wanted = getenv("GOLOADER_KERNELS");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!is_supported(known[i])) {
            continue;
        }
        if (!kernels || (wanted && strcmp(wanted, known[i]->name) == 0)) {
            kernels = known[i];
        }
    }
    __atomic_store_n(&chosen, kernels, __ATOMIC_RELEASE);
    return kernels;
}
