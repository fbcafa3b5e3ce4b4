/* OpenCV's INTER_LINEAR, affine transforms and HSV for AVX2. */
#if defined(__x86_64__)

#include <immintrin.h>

#include "kernels.h"

#define TARGET __attribute__((target("avx2")))
/* Nothing here but what is spelled out may be fused: no product that is added has a single use. */
#define TARGET_FMA __attribute__((target("avx2,fma")))

/* Eight outputs, in 32 bits. */
TARGET static inline __m256i eight(const uint8_t *src, const int32_t *first, const int32_t *weight) {
    const __m256i spread = _mm256_broadcastsi128_si256(
        _mm_setr_epi8(0, -1, 1, -1, 4, -1, 5, -1, 8, -1, 9, -1, 12, -1, 13, -1)); /* two bytes to 16 bits each */
    const __m256i at = _mm256_loadu_si256((const __m256i *)first);
    const __m256i pairs = _mm256_shuffle_epi8(_mm256_i32gather_epi32((const int *)src, at, 1), spread);
    const __m256i sums = _mm256_madd_epi16(pairs, _mm256_loadu_si256((const __m256i *)weight));
    return _mm256_srai_epi32(sums, 4);
}

TARGET void gl_avx2_linear_across(const gl_pairs *across, const uint8_t *src, int16_t *dst) {
    const int32_t n = across->n;
    int32_t x = 0;
    for (; x + 16 <= n; x += 16) {
        const __m256i low = eight(src, across->first + x, across->weight + x);
        const __m256i high = eight(src, across->first + x + 8, across->weight + x + 8);
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
        _mm256_storeu_si256((__m256i *)(dst + x), packed);
    }
    const gl_pairs rest = {.n = n - x, .first = across->first + x, .weight = across->weight + x};
    gl_plain_linear_across(&rest, src, dst + x);
}

TARGET static inline __m256i blend(const int16_t *upper, const int16_t *lower, __m256i low, __m256i high) {
    const __m256i a = _mm256_mulhi_epi16(_mm256_loadu_si256((const __m256i *)upper), low);
    const __m256i b = _mm256_mulhi_epi16(_mm256_loadu_si256((const __m256i *)lower), high);
    return _mm256_srai_epi16(_mm256_add_epi16(_mm256_add_epi16(a, b), _mm256_set1_epi16(2)), 2);
}

TARGET void gl_avx2_linear_down(const int16_t *upper, const int16_t *lower, int32_t weight, int32_t width,
                                uint8_t *dst) {
    const __m256i low = _mm256_set1_epi16((int16_t)weight), high = _mm256_set1_epi16((int16_t)(weight >> 16));
    int32_t x = 0;
    for (; x + 32 <= width; x += 32) {
        const __m256i left = blend(upper + x, lower + x, low, high);
        const __m256i right = blend(upper + x + 16, lower + x + 16, low, high);
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi16(left, right), 0xD8);
        _mm256_storeu_si256((__m256i *)(dst + x), packed);
    }
    gl_plain_linear_down(upper + x, lower + x, weight, width - x, dst + x);
}

TARGET_FMA static inline __m256i load_eight(const uint8_t *src) {
    return _mm256_cvtepu8_epi32(_mm_loadl_epi64((const __m128i *)src));
}

TARGET_FMA static inline void store_eight(__m256i values, uint8_t *dst) {
    const __m256i words = _mm256_packs_epi32(values, values);
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const __m128i low = _mm256_castsi256_si128(bytes), high = _mm256_extracti128_si256(bytes, 1);
    _mm_storel_epi64((__m128i *)dst, _mm_unpacklo_epi32(low, high));
}

/* ---- affine transforms */

/* Where eight outputs come from, the first of them number i. */
TARGET_FMA static inline __m256 places_from(float step, float start, int32_t i) {
    const __m256i number = _mm256_add_epi32(_mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7), _mm256_set1_epi32(i));
    const __m256 at = _mm256_fmadd_ps(_mm256_set1_ps(step), _mm256_cvtepi32_ps(number), _mm256_set1_ps(start));
    return _mm256_min_ps(_mm256_max_ps(at, _mm256_set1_ps(-GL_WARP_FAR)), _mm256_set1_ps(GL_WARP_FAR));
}

TARGET_FMA void gl_avx2_warp_along(float step, float start, int32_t n, int32_t *whole, float *part) {
    for (int32_t i = 0; i < n; i += 8) {
        const __m256 at = places_from(step, start, i), before = _mm256_floor_ps(at);
        _mm256_storeu_si256((__m256i *)(whole + i), _mm256_cvtps_epi32(before));
        _mm256_storeu_ps(part + i, _mm256_sub_ps(at, before));
    }
}

TARGET_FMA void gl_avx2_warp_nearest(gl_line along_x, gl_line along_y, int32_t n, ptrdiff_t stride, int32_t *x,
                                     int32_t *y, int32_t *at) {
    const __m256i line = _mm256_set1_epi32((int32_t)stride);
    for (int32_t i = 0; i < n; i += 8) {
        const __m256i column = _mm256_cvtps_epi32(places_from(along_x.step, along_x.start, i));
        const __m256i row = _mm256_cvtps_epi32(places_from(along_y.step, along_y.start, i));
        _mm256_storeu_si256((__m256i *)(x + i), column);
        _mm256_storeu_si256((__m256i *)(y + i), row);
        _mm256_storeu_si256((__m256i *)(at + i), _mm256_add_epi32(_mm256_mullo_epi32(row, line), column));
    }
}

TARGET_FMA void gl_avx2_warp_pack(const uint8_t *const plane[3], int32_t n, uint32_t *dst) {
    for (int32_t i = 0; i < n; i += 8) {
        const __m256i green = _mm256_slli_epi32(load_eight(plane[1] + i), 8);
        const __m256i blue = _mm256_slli_epi32(load_eight(plane[2] + i), 16);
        const __m256i words = _mm256_or_si256(_mm256_or_si256(load_eight(plane[0] + i), green), blue);
        _mm256_storeu_si256((__m256i *)(dst + i), words);
    }
}

TARGET_FMA void gl_avx2_warp_unpack(const uint32_t *src, int32_t n, uint8_t *const plane[3]) {
    const __m256i byte = _mm256_set1_epi32(0xFF);
    for (int32_t i = 0; i < n; i += 8) {
        const __m256i words = _mm256_loadu_si256((const __m256i *)(src + i));
        store_eight(_mm256_and_si256(words, byte), plane[0] + i);
        store_eight(_mm256_and_si256(_mm256_srli_epi32(words, 8), byte), plane[1] + i);
        store_eight(_mm256_and_si256(_mm256_srli_epi32(words, 16), byte), plane[2] + i);
    }
}

/* Two pixels, four numbers each, from words in the low halves. */
TARGET_FMA static inline __m256 blend_two(__m128i first, __m128i second, __m128i third, __m128i fourth, __m256 right,
                                          __m256 down) {
    const __m256i a = _mm256_cvtepu8_epi32(first), c = _mm256_cvtepu8_epi32(third);
    const __m256 across = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepu8_epi32(second), a));
    const __m256 below = _mm256_cvtepi32_ps(_mm256_sub_epi32(_mm256_cvtepu8_epi32(fourth), c));
    const __m256 upper = _mm256_fmadd_ps(right, across, _mm256_cvtepi32_ps(a));
    const __m256 lower = _mm256_fmadd_ps(right, below, _mm256_cvtepi32_ps(c));
    return _mm256_fmadd_ps(down, _mm256_sub_ps(lower, upper), upper);
}

/* part[0] four times, and part[1]. */
TARGET_FMA static inline __m256 twice_four(const float *part) {
    const __m128 two = _mm_castsi128_ps(_mm_loadl_epi64((const __m128i *)part));
    return _mm256_permutevar8x32_ps(_mm256_castps128_ps256(two), _mm256_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1));
}

TARGET_FMA static inline void store_four(__m256 low, __m256 high, uint32_t *dst) {
    const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(low), _mm256_cvtps_epi32(high));
    const __m256i bytes = _mm256_packus_epi16(words, words);
    const __m128i first = _mm256_castsi256_si128(bytes), second = _mm256_extracti128_si256(bytes, 1);
    _mm_storeu_si128((__m128i *)dst, _mm_unpacklo_epi32(first, second));
}

TARGET_FMA static inline __m128i load_two(const uint32_t *src, int32_t one, int32_t other) {
    return _mm_unpacklo_epi32(_mm_cvtsi32_si128((int)src[one]), _mm_cvtsi32_si128((int)src[other]));
}

TARGET_FMA void gl_avx2_warp_blend(const uint32_t *src, const int32_t *const at[4], const float *right,
                                   const float *down, int32_t n, uint32_t *dst) {
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256 made[2];
        for (int32_t half = 0; half < 2; half++) {
            const int32_t j = i + 2 * half;
            made[half] = blend_two(load_two(src, at[0][j], at[0][j + 1]), load_two(src, at[1][j], at[1][j + 1]),
                                   load_two(src, at[2][j], at[2][j + 1]), load_two(src, at[3][j], at[3][j + 1]),
                                   twice_four(right + j), twice_four(down + j));
        }
        store_four(made[0], made[1], dst + i);
    }
    const int32_t *const rest[4] = {at[0] + i, at[1] + i, at[2] + i, at[3] + i};
    gl_plain_warp_blend(src, rest, right + i, down + i, n - i, dst + i);
}

/* Words 0 and 1 of two places: the first ones, then the second ones. */
TARGET_FMA static inline __m128i load_pairs(const uint32_t *one, const uint32_t *other) {
    return _mm_unpacklo_epi32(_mm_loadl_epi64((const __m128i *)one), _mm_loadl_epi64((const __m128i *)other));
}

TARGET_FMA void gl_avx2_warp_inside(const uint32_t *src, ptrdiff_t stride, const int32_t *at, const float *right,
                                    const float *down, int32_t n, uint32_t *dst) {
    int32_t i = 0;
    for (; i + 4 <= n; i += 4) {
        __m256 made[2];
        for (int32_t half = 0; half < 2; half++) {
            const int32_t j = i + 2 * half;
            const uint32_t *one = src + at[j], *other = src + at[j + 1];
            const __m128i above = load_pairs(one, other), below = load_pairs(one + stride, other + stride);
            made[half] = blend_two(above, _mm_unpackhi_epi64(above, above), below, _mm_unpackhi_epi64(below, below),
                                   twice_four(right + j), twice_four(down + j));
        }
        store_four(made[0], made[1], dst + i);
    }
    gl_plain_warp_inside(src, stride, at + i, right + i, down + i, n - i, dst + i);
}

/* ---- HSV */

/* Parts of wholes, as in gl_plain_to_hsv: in float32 no quotient comes near a half.  Of nothing a part is nothing. */
TARGET_FMA static inline __m256i share(__m256i part, float scale, __m256i whole) {
    const __m256i ratio = _mm256_cvtps_epi32(_mm256_div_ps(_mm256_set1_ps(scale), _mm256_cvtepi32_ps(whole)));
    return _mm256_srai_epi32(_mm256_add_epi32(_mm256_mullo_epi32(part, ratio), _mm256_set1_epi32(2048)), 12);
}

TARGET_FMA void gl_avx2_to_hsv(const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]) {
    size_t i = 0;
    for (; i + 8 <= n; i += 8) {
        const __m256i red = load_eight(rgb[0] + i), green = load_eight(rgb[1] + i), blue = load_eight(rgb[2] + i);
        const __m256i high = _mm256_max_epi32(_mm256_max_epi32(red, green), blue);
        const __m256i chroma = _mm256_sub_epi32(high, _mm256_min_epi32(_mm256_min_epi32(red, green), blue));
        const __m256i twice = _mm256_add_epi32(chroma, chroma);
        const __m256i of_red = _mm256_sub_epi32(green, blue);
        const __m256i of_green = _mm256_add_epi32(_mm256_sub_epi32(blue, red), twice);
        const __m256i of_blue = _mm256_add_epi32(_mm256_sub_epi32(red, green), _mm256_add_epi32(twice, twice));
        __m256i turn = _mm256_blendv_epi8(of_blue, of_green, _mm256_cmpeq_epi32(high, green));
        turn = _mm256_blendv_epi8(turn, of_red, _mm256_cmpeq_epi32(high, red));
        const __m256i hue = share(turn, 30 << 12, chroma);
        const __m256i full = _mm256_and_si256(_mm256_srai_epi32(hue, 31), _mm256_set1_epi32(180));
        store_eight(_mm256_add_epi32(hue, full), out[0] + i);
        store_eight(share(chroma, 255 << 12, high), out[1] + i);
        store_eight(high, out[2] + i);
    }
    const uint8_t *const rest[3] = {rgb[0] + i, rgb[1] + i, rgb[2] + i};
    uint8_t *const to[3] = {out[0] + i, out[1] + i, out[2] + i};
    gl_plain_to_hsv(rest, n - i, to);
}

TARGET_FMA void gl_avx2_from_hsv(const uint8_t *const hsv[3], size_t n, uint8_t *const out[3]) {
    const __m256 one = _mm256_set1_ps(1.0f), byte = _mm256_set1_ps(1.0f / 255.0f), bytes = _mm256_set1_ps(255.0f);
    const size_t cut = n - n % GL_HSV_BLOCK;
    for (size_t i = 0; i < cut; i += 8) {
        const __m256 turn = _mm256_mul_ps(_mm256_cvtepi32_ps(load_eight(hsv[0] + i)), _mm256_set1_ps(6.0f / 180.0f));
        const __m256 s = _mm256_mul_ps(_mm256_cvtepi32_ps(load_eight(hsv[1] + i)), byte);
        const __m256 v = _mm256_mul_ps(_mm256_cvtepi32_ps(load_eight(hsv[2] + i)), byte);
        const __m256i whole = _mm256_cvttps_epi32(turn); /* 0 ... 8 */
        const __m256 part = _mm256_sub_ps(turn, _mm256_cvtepi32_ps(whole));
        const __m256 falling = _mm256_mul_ps(v, _mm256_fnmadd_ps(s, part, one));
        const __m256 rising = _mm256_mul_ps(v, _mm256_fnmadd_ps(s, _mm256_sub_ps(one, part), one));
        const __m256i level[4] = {_mm256_cvttps_epi32(_mm256_mul_ps(v, bytes)),
                                  _mm256_cvttps_epi32(_mm256_mul_ps(_mm256_mul_ps(v, _mm256_sub_ps(one, s)), bytes)),
                                  _mm256_cvttps_epi32(_mm256_mul_ps(falling, bytes)),
                                  _mm256_cvttps_epi32(_mm256_mul_ps(rising, bytes))};
        /* Which level each channel has in each sixth of a turn. */
        const __m256i sixth = _mm256_sub_epi32(
            whole, _mm256_and_si256(_mm256_cmpgt_epi32(whole, _mm256_set1_epi32(5)), _mm256_set1_epi32(6)));
        static const int32_t which[3][8] = {
            {0, 2, 1, 1, 3, 0, 0, 0}, {3, 0, 0, 2, 1, 1, 0, 0}, {1, 1, 3, 0, 0, 2, 0, 0}};
        for (int32_t c = 0; c < 3; c++) {
            const __m256i at = _mm256_permutevar8x32_epi32(_mm256_loadu_si256((const __m256i *)which[c]), sixth);
            __m256i made = level[0];
            for (int32_t l = 1; l < 4; l++)
                made = _mm256_blendv_epi8(made, level[l], _mm256_cmpeq_epi32(at, _mm256_set1_epi32(l)));
            store_eight(made, out[c] + i);
        }
    }
    const uint8_t *const rest[3] = {hsv[0] + cut, hsv[1] + cut, hsv[2] + cut};
    uint8_t *const to[3] = {out[0] + cut, out[1] + cut, out[2] + cut};
    gl_plain_from_hsv(rest, n - cut, to);
}

#endif
