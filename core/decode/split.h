/* split.h: interleaved RGB to planes, for every decoder that ends in interleaved rows.
 *
 * A vector of plane bytes is gathered from three vectors of pixels by byte shuffles whose masks are zero where the byte
 * comes from another one.  All versions give the same bytes. */
#ifndef GOLOADER_DECODE_SPLIT_H
#define GOLOADER_DECODE_SPLIT_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "../cpu.h"

/* Splits n pixels of rgb.  Reads up to 3 * GL_SPLIT_SLACK bytes behind the last pixel, and writes up to GL_SPLIT_SLACK
 * bytes behind the last byte of each plane. */
typedef void (*gl_split)(const uint8_t *rgb, size_t n, uint8_t *r, uint8_t *g, uint8_t *b);
enum { GL_SPLIT_SLACK = 32 };

static inline void gl_split_plain(const uint8_t *restrict rgb, size_t n, uint8_t *restrict r, uint8_t *restrict g,
                                  uint8_t *restrict b) {
    for (size_t i = 0; i < n; i++) {
        r[i] = rgb[3 * i];
        g[i] = rgb[3 * i + 1];
        b[i] = rgb[3 * i + 2];
    }
}

#if defined(__x86_64__)
#include <immintrin.h>

/* Masks for 16 pixels in three vectors of 16 bytes: byte 3 i + channel of the 48 goes to byte i. */
#define Z -128
static const int8_t gl_split_masks[3][3][16] __attribute__((aligned(16))) = {
    {{0, 3, 6, 9, 12, 15, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, Z, 2, 5, 8, 11, 14, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 1, 4, 7, 10, 13}},
    {{1, 4, 7, 10, 13, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, 0, 3, 6, 9, 12, 15, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 2, 5, 8, 11, 14}},
    {{2, 5, 8, 11, 14, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, 1, 4, 7, 10, 13, Z, Z, Z, Z, Z, Z},
     {Z, Z, Z, Z, Z, Z, Z, Z, Z, Z, 0, 3, 6, 9, 12, 15}},
};
#undef Z

__attribute__((target("ssse3"))) static inline void gl_split_ssse3(const uint8_t *rgb, size_t n, uint8_t *r, uint8_t *g,
                                                                   uint8_t *b) {
    uint8_t *const plane[3] = {r, g, b};
    for (size_t i = 0; i < n; i += 16) {
        const __m128i *in = (const __m128i *)(rgb + 3 * i);
        __m128i v0 = _mm_loadu_si128(in), v1 = _mm_loadu_si128(in + 1), v2 = _mm_loadu_si128(in + 2);
        for (int c = 0; c < 3; c++) {
            const __m128i *mask = (const __m128i *)gl_split_masks[c];
            __m128i out = _mm_or_si128(_mm_or_si128(_mm_shuffle_epi8(v0, mask[0]), _mm_shuffle_epi8(v1, mask[1])),
                                       _mm_shuffle_epi8(v2, mask[2]));
            _mm_storeu_si128((__m128i *)(plane[c] + i), out);
        }
    }
}

__attribute__((target("avx2"))) static inline void gl_split_avx2(const uint8_t *rgb, size_t n, uint8_t *r, uint8_t *g,
                                                                 uint8_t *b) {
    uint8_t *const plane[3] = {r, g, b};
    for (size_t i = 0; i < n; i += 32) {
        const __m128i *in = (const __m128i *)(rgb + 3 * i);
        /* Pixels 0 to 15 in the low halves, 16 to 31 in the high ones: shuffles stay within halves. */
        __m256i v0 = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(in)), _mm_loadu_si128(in + 3), 1);
        __m256i v1 =
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(in + 1)), _mm_loadu_si128(in + 4), 1);
        __m256i v2 =
            _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128(in + 2)), _mm_loadu_si128(in + 5), 1);
        for (int c = 0; c < 3; c++) {
            const __m128i *mask = (const __m128i *)gl_split_masks[c];
            __m256i out =
                _mm256_or_si256(_mm256_or_si256(_mm256_shuffle_epi8(v0, _mm256_broadcastsi128_si256(mask[0])),
                                                _mm256_shuffle_epi8(v1, _mm256_broadcastsi128_si256(mask[1]))),
                                _mm256_shuffle_epi8(v2, _mm256_broadcastsi128_si256(mask[2])));
            _mm256_storeu_si256((__m256i *)(plane[c] + i), out);
        }
    }
}
#elif defined(__aarch64__)
#include <arm_neon.h>

static inline void gl_split_neon(const uint8_t *rgb, size_t n, uint8_t *r, uint8_t *g, uint8_t *b) {
    for (size_t i = 0; i < n; i += 16) {
        uint8x16x3_t v = vld3q_u8(rgb + 3 * i);
        vst1q_u8(r + i, v.val[0]);
        vst1q_u8(g + i, v.val[1]);
        vst1q_u8(b + i, v.val[2]);
    }
}
#endif

/* gl_best_split gives the fastest version this processor runs.  GOLOADER_KERNELS=plain in the environment asks for the
 * one without vector instructions (tests only). */
static inline gl_split gl_best_split(void) {
    const char *asked = getenv("GOLOADER_KERNELS");
    if (asked && strcmp(asked, "plain") == 0) {
        return gl_split_plain;
    }
#if defined(__x86_64__)
    if (gl_cpu_has(GL_CPU_AVX2)) {
        return gl_split_avx2;
    }
    if (gl_cpu_has(GL_CPU_SSSE3)) {
        return gl_split_ssse3;
    }
#elif defined(__aarch64__)
    return gl_split_neon;
#endif
    return gl_split_plain;
}

#endif
