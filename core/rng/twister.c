#include "twister.h"

#include "../cpu.h"

enum { WORDS = GL_TWISTER_WORDS, OFFSET = 397 };

static inline __attribute__((always_inline)) uint32_t twist(uint32_t u, uint32_t v) {
    const uint32_t y = (u & 0x80000000U) | (v & 0x7fffffffU);
    return y >> 1 ^ (-(v & 1) & 0x9908b0dfU);
}

static inline __attribute__((always_inline)) void refill(uint32_t *s) {
    for (int i = 0; i < WORDS - OFFSET; i++)
        s[i] = s[i + OFFSET] ^ twist(s[i], s[i + 1]);
    for (int i = WORDS - OFFSET; i < WORDS - 1; i++)
        s[i] = s[i + OFFSET - WORDS] ^ twist(s[i], s[i + 1]);
    s[WORDS - 1] = s[OFFSET - 1] ^ twist(s[WORDS - 1], s[0]);
}

#if defined(__x86_64__)
__attribute__((target("avx2"))) static void refill_avx2(uint32_t *s) {
    refill(s);
}
#endif

void gl_twister_refill(uint32_t *state) {
#if defined(__x86_64__)
    if (gl_cpu_has(GL_CPU_AVX2)) {
        refill_avx2(state);
        return;
    }
#endif
    refill(state);
}
