/* Which kernels this processor gets. */
#include <stdlib.h>
#include <string.h>

#include "../cpu.h"
#include "kernels.h"
#include "op.h"

/* Best first. */
static const gl_kernels *const known[] = {
#if defined(__x86_64__)
    &gl_avx512_kernels,
    &gl_avx2_kernels,
#elif defined(__aarch64__)
    &gl_neon_kernels,
#endif
    &gl_plain_kernels,
};

static int supported(const gl_kernels *kernels) {
#if defined(__x86_64__)
    if (kernels == &gl_avx512_kernels) {
        return gl_cpu_has(GL_CPU_FMA | GL_CPU_AVX512F | GL_CPU_AVX512BW | GL_CPU_AVX512VL | GL_CPU_AVX512DQ |
                          GL_CPU_AVX512VBMI | GL_CPU_AVX512VNNI);
    }
    if (kernels == &gl_avx2_kernels) {
        return gl_cpu_has(GL_CPU_AVX2 | GL_CPU_FMA);
    }
#endif
    (void)kernels; /* NEON is part of every aarch64 */
    return 1;
}

const gl_kernels *gl_kernels_chosen(void) {
    static const gl_kernels *chosen; /* atomic; threads that race for the first call choose the same */
    const gl_kernels *kernels = __atomic_load_n(&chosen, __ATOMIC_ACQUIRE);
    if (kernels != NULL)
        return kernels;
    const char *wanted = getenv("GOLOADER_KERNELS");
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        if (!supported(known[i]))
            continue;
        if (kernels == NULL)
            kernels = known[i];
        if (wanted != NULL && strcmp(wanted, known[i]->name) == 0)
            kernels = known[i];
    }
    __atomic_store_n(&chosen, kernels, __ATOMIC_RELEASE);
    return kernels;
}

const char *gl_kernels_name(void) {
    return gl_kernels_chosen()->name;
}
