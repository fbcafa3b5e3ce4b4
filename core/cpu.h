/* cpu.h: what this x86-64 processor can do, asked of the processor itself.
 *
 * __builtin_cpu_supports is of the compiler's runtime library, and that of zig, which compiles the wheels, answers no to
 * everything.  Features' bits: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2, CPUID and XGETBV.
 */
#ifndef GL_CPU_H
#define GL_CPU_H

#if defined(__x86_64__)
#include <cpuid.h>

enum {
    GL_CPU_SSSE3 = 1 << 0,
    GL_CPU_FMA = 1 << 1,
    GL_CPU_AVX2 = 1 << 2,
    GL_CPU_BMI = 1 << 3,
    GL_CPU_BMI2 = 1 << 4,
    GL_CPU_AVX512F = 1 << 5,
    GL_CPU_AVX512BW = 1 << 6,
    GL_CPU_AVX512VL = 1 << 7,
    GL_CPU_AVX512DQ = 1 << 8,
    GL_CPU_AVX512VBMI = 1 << 9,
    GL_CPU_AVX512VNNI = 1 << 10,
};

/* gl_cpu_features gives the features that both the processor and the system have: the system must save the registers. */
static inline unsigned gl_cpu_features(void) {
    unsigned a, b, c, d, found = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d)) {
        return 0;
    }
    found |= c & bit_SSSE3 ? GL_CPU_SSSE3 : 0;
    unsigned saved = 0; /* by the system: bits of XCR0 */
    if (c & bit_OSXSAVE) {
        __asm__("xgetbv" : "=a"(saved), "=d"(d) : "c"(0));
    }
    const int wide = (saved & 0x06) == 0x06;  /* XMM and YMM */
    const int wider = (saved & 0xe6) == 0xe6; /* and ZMM and the masks */
    found |= wide && c & bit_FMA ? GL_CPU_FMA : 0;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) {
        return found;
    }
    found |= b & bit_BMI ? GL_CPU_BMI : 0;
    found |= b & bit_BMI2 ? GL_CPU_BMI2 : 0;
    found |= wide && b & bit_AVX2 ? GL_CPU_AVX2 : 0;
    if (wider) {
        found |= b & bit_AVX512F ? GL_CPU_AVX512F : 0;
        found |= b & bit_AVX512BW ? GL_CPU_AVX512BW : 0;
        found |= b & bit_AVX512VL ? GL_CPU_AVX512VL : 0;
        found |= b & bit_AVX512DQ ? GL_CPU_AVX512DQ : 0;
        found |= c & bit_AVX512VBMI ? GL_CPU_AVX512VBMI : 0;
        found |= c & bit_AVX512VNNI ? GL_CPU_AVX512VNNI : 0;
    }
    return found;
}

/* gl_cpu_has is true if there are all of these features.  The processor is asked once: in a virtual machine that takes some
 * 50 us. */
static inline int gl_cpu_has(unsigned features) {
    static unsigned kept; /* atomic; threads that race for the first call find the same */
    const unsigned known = 1u << 31;
    unsigned found = __atomic_load_n(&kept, __ATOMIC_RELAXED);
    if (found == 0) {
        found = gl_cpu_features() | known;
        __atomic_store_n(&kept, found, __ATOMIC_RELAXED);
    }
    return (found & features) == features;
}
#endif

#endif
