/* The kernels for AVX2.
 *
 * A weight w is split into high * 2^11 + low with 0 <= low < 2^11, so that both halves fit pmaddwd's signed 16 bits;
 * one pmaddwd each multiplies and adds two taps of eight outputs. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "colour_loops.h"
#include "kernels.h"

#define TARGET __attribute__((target("avx2")))

enum { SPLIT_BITS = 11 };
enum {
    PAIRS_LAYOUT = 1, /* taps in pairs, gathered by a byte shuffle from 16 bytes a group of four outputs */
    LONG_LAYOUT = 2   /* many taps: each output by itself, 16 taps at a time */
};

static int splits(const gl_axis *axis) {
    const int32_t limit = INT16_MAX << SPLIT_BITS;
    for (int32_t i = 0; i < axis->n; i++)
        for (int32_t j = 0; j < axis->count[i]; j++) {
            const int32_t weight = axis->weight[(size_t)i * (size_t)axis->taps + (size_t)j];
            if (weight > limit || weight < -limit)
                return 0;
        }
    return 1;
}

static int32_t taps_most(const gl_axis *axis) {
    int32_t most = 0;
    for (int32_t i = 0; i < axis->n; i++)
        most = axis->count[i] > most ? axis->count[i] : most;
    return most;
}

static int32_t weight_at(const gl_axis *axis, int32_t i, int32_t tap) {
    return tap < axis->count[i] ? axis->weight[(size_t)i * (size_t)axis->taps + (size_t)tap] : 0;
}

static uint16_t low_half(int32_t weight) {
    return (uint16_t)(weight & ((1 << SPLIT_BITS) - 1));
}
static uint16_t high_half(int32_t weight) {
    return (uint16_t)(weight >> SPLIT_BITS);
}

/* ---- horizontal */

enum { BLOCK = 8, LANE = 4 }; /* outputs a vector, and a half of it */

/* The output that position `at` of the vectors computes; positions behind the last repeat it. */
static int32_t output_at(const gl_axis *axis, int32_t at) {
    return at < axis->n ? at : axis->n - 1;
}

/* The leftmost input of tap pair `pair` over four outputs, or -1 if a 16 byte window from there is too short. */
static int32_t lane_base(const gl_axis *axis, int32_t at, int32_t pair) {
    int32_t left = INT32_MAX, right = 0;
    for (int32_t j = 0; j < LANE; j++) {
        const int32_t i = output_at(axis, at + j), input = axis->first[i] + 2 * pair;
        if (2 * pair >= axis->count[i])
            continue;
        left = input < left ? input : left;
        right = input > right ? input : right;
    }
    if (left == INT32_MAX)
        return 0; /* no output of the lane has such a tap */
    return right + 1 - left < 16 ? left : -1;
}

static int pairs_fit(const gl_axis *axis, int32_t pairs) {
    for (int32_t at = 0; at < axis->n; at += LANE)
        for (int32_t pair = 0; pair < pairs; pair++)
            if (lane_base(axis, at, pair) < 0)
                return 0;
    return 1;
}

static size_t pack_pairs(const gl_axis *axis, gl_table *table, uint8_t *room, int32_t pairs) {
    const int32_t blocks = (axis->n + BLOCK - 1) / BLOCK;
    const size_t steps = (size_t)blocks * (size_t)pairs;
    /* A step: 32 bytes of low halves, 32 of high halves, 32 of shuffle, two bases. */
    if (room == NULL)
        return steps * (64 + 32 + 2 * sizeof(int32_t));
    uint16_t *weight = (uint16_t *)room;
    uint8_t *index = room + steps * 64;
    int32_t *base = (int32_t *)(index + steps * 32);
    *table = (gl_table){.n = axis->n, .low = axis->low, .high = axis->high, .layout = PAIRS_LAYOUT, .taps = pairs};
    table->weight = weight;
    table->index = index;
    table->base = base;
    for (int32_t block = 0; block < blocks; block++)
        for (int32_t pair = 0; pair < pairs; pair++, weight += 32, index += 32, base += 2)
            for (int32_t j = 0; j < BLOCK; j++) {
                const int32_t at = block * BLOCK + j, i = output_at(axis, at), lane = j / LANE;
                if (j % LANE == 0)
                    base[lane] = lane_base(axis, at, pair);
                const int32_t first = weight_at(axis, i, 2 * pair), second = weight_at(axis, i, 2 * pair + 1);
                const int32_t offset = 2 * pair < axis->count[i] ? axis->first[i] + 2 * pair - base[lane] : 0;
                weight[2 * j] = low_half(first);
                weight[2 * j + 1] = low_half(second);
                weight[16 + 2 * j] = high_half(first);
                weight[16 + 2 * j + 1] = high_half(second);
                index[4 * j] = (uint8_t)offset;
                index[4 * j + 1] = 0x80; /* a zero byte: pixels become 16 bits */
                index[4 * j + 2] = (uint8_t)(offset + 1);
                index[4 * j + 3] = 0x80;
            }
    return steps * (64 + 32 + 2 * sizeof(int32_t));
}

static size_t pack_long(const gl_axis *axis, gl_table *table, uint8_t *room, int32_t most) {
    const int32_t steps = (most + 15) / 16;
    const size_t n = (size_t)axis->n, bytes = n * (size_t)steps * 64 + n * 2 * sizeof(int32_t);
    if (room == NULL)
        return bytes;
    uint16_t *weight = (uint16_t *)room;
    int32_t *first = (int32_t *)(room + n * (size_t)steps * 64), *count = first + n;
    *table = (gl_table){.n = axis->n, .low = axis->low, .high = axis->high, .layout = LONG_LAYOUT, .taps = steps};
    table->weight = weight;
    table->first = first;
    table->count = count;
    for (int32_t i = 0; i < axis->n; i++) {
        first[i] = axis->first[i];
        count[i] = (axis->count[i] + 15) / 16; /* in steps */
        for (int32_t step = 0; step < steps; step++, weight += 32)
            for (int32_t j = 0; j < 16; j++) {
                weight[j] = low_half(weight_at(axis, i, step * 16 + j));
                weight[16 + j] = high_half(weight_at(axis, i, step * 16 + j));
            }
    }
    return bytes;
}

static size_t pack_horizontal(const gl_axis *axis, gl_table *table, uint8_t *room) {
    const int32_t most = taps_most(axis), pairs = (most + 1) / 2;
    if (!splits(axis))
        return gl_plain_pack(axis, table, room);
    if (pairs_fit(axis, pairs))
        return pack_pairs(axis, table, room, pairs);
    return pack_long(axis, table, room, most);
}

TARGET static inline __m256i join_halves(__m256i low, __m256i high) {
    return _mm256_add_epi32(low, _mm256_slli_epi32(high, SPLIT_BITS));
}

/* One block of eight outputs, all rows. `pairs` is a constant where this is inlined for a usual number of taps: weights
 * and shuffles then stay in registers. */
TARGET static inline __attribute__((always_inline)) void block_pairs(int32_t pairs, const int32_t *base,
                                                                     const __m256i *index, const __m256i *weight,
                                                                     const uint8_t *row, ptrdiff_t src_stride,
                                                                     int32_t rows, uint8_t *out, ptrdiff_t dst_stride) {
    for (int32_t y = 0; y < rows; y++, row += src_stride, out += dst_stride) {
        __m256i low = _mm256_set1_epi32(GL_HALF), high = _mm256_setzero_si256();
        for (int32_t pair = 0; pair < pairs; pair++) {
            const __m128i left = _mm_loadu_si128((const __m128i *)(row + base[2 * pair]));
            const __m128i right = _mm_loadu_si128((const __m128i *)(row + base[2 * pair + 1]));
            const __m256i both = _mm256_inserti128_si256(_mm256_castsi128_si256(left), right, 1);
            const __m256i pixels = _mm256_shuffle_epi8(both, index[pair]);
            low = _mm256_add_epi32(low, _mm256_madd_epi16(pixels, weight[2 * pair]));
            high = _mm256_add_epi32(high, _mm256_madd_epi16(pixels, weight[2 * pair + 1]));
        }
        const __m256i sum = _mm256_srai_epi32(join_halves(low, high), GL_WEIGHT_BITS);
        __m128i bytes = _mm_packs_epi32(_mm256_castsi256_si128(sum), _mm256_extracti128_si256(sum, 1));
        bytes = _mm_packus_epi16(bytes, bytes);
        _mm_storel_epi64((__m128i *)out, bytes);
    }
}

#define BLOCK_PAIRS(name, pairs)                                                                                       \
    TARGET static void name(const int32_t *base, const __m256i *index, const __m256i *weight, const uint8_t *row,      \
                            ptrdiff_t src_stride, int32_t rows, uint8_t *out, ptrdiff_t dst_stride) {                  \
        int32_t bases[2 * (pairs)];                                                                                    \
        __m256i indices[pairs], weights[2 * (pairs)];                                                                  \
        for (int i = 0; i < 2 * (pairs); i++) {                                                                        \
            bases[i] = base[i];                                                                                        \
            indices[i / 2] = index[i / 2];                                                                             \
            weights[i] = weight[i];                                                                                    \
        }                                                                                                              \
        block_pairs(pairs, bases, indices, weights, row, src_stride, rows, out, dst_stride);                           \
    }
BLOCK_PAIRS(block_one, 1)
BLOCK_PAIRS(block_two, 2)
BLOCK_PAIRS(block_three, 3)

TARGET static void horizontal_pairs(const gl_table *table, const uint8_t *src, ptrdiff_t src_stride, int32_t rows,
                                    uint8_t *dst, ptrdiff_t dst_stride) {
    const int32_t pairs = table->taps, blocks = (table->n + BLOCK - 1) / BLOCK;
    const int32_t *base = table->base;
    const __m256i *index = (const __m256i *)table->index, *weight = table->weight;
    for (int32_t block = 0; block < blocks;
         block++, base += 2 * pairs, index += pairs, weight += 2 * pairs, dst += BLOCK) {
        switch (pairs) {
        case 1:
            block_one(base, index, weight, src, src_stride, rows, dst, dst_stride);
            break;
        case 2:
            block_two(base, index, weight, src, src_stride, rows, dst, dst_stride);
            break;
        case 3:
            block_three(base, index, weight, src, src_stride, rows, dst, dst_stride);
            break;
        default:
            block_pairs(pairs, base, index, weight, src, src_stride, rows, dst, dst_stride);
        }
    }
}

TARGET static void horizontal_long(const gl_table *table, const uint8_t *src, ptrdiff_t src_stride, int32_t rows,
                                   uint8_t *dst, ptrdiff_t dst_stride) {
    for (int32_t y = 0; y < rows; y++, src += src_stride, dst += dst_stride)
        for (int32_t i = 0; i < table->n; i++) {
            const __m256i *weight = (const __m256i *)table->weight + (size_t)i * (size_t)table->taps * 2;
            const uint8_t *from = src + table->first[i];
            __m256i low = _mm256_setzero_si256(), high = low;
            for (int32_t step = 0; step < table->count[i]; step++) {
                const __m256i pixels = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(from + 16 * step)));
                low = _mm256_add_epi32(low, _mm256_madd_epi16(pixels, weight[2 * step]));
                high = _mm256_add_epi32(high, _mm256_madd_epi16(pixels, weight[2 * step + 1]));
            }
            const __m256i eight = join_halves(low, high);
            __m128i sum = _mm_add_epi32(_mm256_castsi256_si128(eight), _mm256_extracti128_si256(eight, 1));
            sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4E));
            sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xB1));
            sum = _mm_srai_epi32(_mm_add_epi32(sum, _mm_set1_epi32(GL_HALF)), GL_WEIGHT_BITS);
            sum = _mm_packs_epi32(sum, sum);
            dst[i] = (uint8_t)_mm_cvtsi128_si32(_mm_packus_epi16(sum, sum));
        }
}

static void horizontal(const gl_table *table, const uint8_t *src, ptrdiff_t src_stride, int32_t rows, uint8_t *dst,
                       ptrdiff_t dst_stride) {
    switch (table->layout) {
    case PAIRS_LAYOUT:
        horizontal_pairs(table, src, src_stride, rows, dst, dst_stride);
        break;
    case LONG_LAYOUT:
        horizontal_long(table, src, src_stride, rows, dst, dst_stride);
        break;
    default:
        gl_plain_horizontal(table, src, src_stride, rows, dst, dst_stride);
    }
}

/* ---- vertical */

static size_t pack_vertical(const gl_axis *axis, gl_table *table, uint8_t *room) {
    if (!splits(axis))
        return gl_plain_pack(axis, table, room);
    const int32_t pairs = (taps_most(axis) + 1) / 2;
    const size_t n = (size_t)axis->n, bytes = n * ((size_t)pairs * 8 + 2 * sizeof(int32_t));
    if (room == NULL)
        return bytes;
    uint32_t *weight = (uint32_t *)room; /* [n][pairs][low halves, high halves] */
    int32_t *first = (int32_t *)(weight + n * (size_t)pairs * 2), *count = first + n;
    *table = (gl_table){.n = axis->n, .low = axis->low, .high = axis->high, .layout = PAIRS_LAYOUT, .taps = pairs};
    table->weight = weight;
    table->first = first;
    table->count = count;
    for (int32_t i = 0; i < axis->n; i++) {
        first[i] = axis->first[i];
        count[i] = axis->count[i];
        for (int32_t pair = 0; pair < pairs; pair++, weight += 2) {
            const int32_t one = weight_at(axis, i, 2 * pair), two = weight_at(axis, i, 2 * pair + 1);
            weight[0] = low_half(one) | (uint32_t)low_half(two) << 16;
            weight[1] = high_half(one) | (uint32_t)high_half(two) << 16;
        }
    }
    return bytes;
}

TARGET static void vertical_pairs(const gl_table *table, int32_t from, int32_t rows, const uint8_t *src,
                                  ptrdiff_t src_stride, int32_t width, uint8_t *dst, ptrdiff_t dst_stride) {
    const __m256i zero = _mm256_setzero_si256(), half = _mm256_set1_epi32(GL_HALF);
    for (int32_t i = from; i < from + rows; i++, dst += dst_stride) {
        const uint32_t *weights = (const uint32_t *)table->weight + (size_t)i * (size_t)table->taps * 2;
        const uint8_t *top = src + table->first[i] * src_stride;
        const int32_t count = table->count[i];
        for (int32_t x = 0; x < width; x += 32) {
            __m256i low0 = half, low1 = half, low2 = half, low3 = half;
            __m256i high0 = zero, high1 = zero, high2 = zero, high3 = zero;
            const uint32_t *weight = weights;
            for (int32_t j = 0; j < count; j += 2, weight += 2) {
                const uint8_t *row = top + j * src_stride + x;
                const __m256i one = _mm256_loadu_si256((const __m256i *)row);
                /* The odd last tap has a partner of weight 0: any row will do. */
                const __m256i two = _mm256_loadu_si256((const __m256i *)(j + 1 < count ? row + src_stride : row));
                const __m256i left = _mm256_unpacklo_epi8(one, two), right = _mm256_unpackhi_epi8(one, two);
                const __m256i pixels0 = _mm256_unpacklo_epi8(left, zero), pixels1 = _mm256_unpackhi_epi8(left, zero);
                const __m256i pixels2 = _mm256_unpacklo_epi8(right, zero), pixels3 = _mm256_unpackhi_epi8(right, zero);
                const __m256i weight_low = _mm256_set1_epi32((int32_t)weight[0]);
                const __m256i weight_high = _mm256_set1_epi32((int32_t)weight[1]);
                low0 = _mm256_add_epi32(low0, _mm256_madd_epi16(pixels0, weight_low));
                low1 = _mm256_add_epi32(low1, _mm256_madd_epi16(pixels1, weight_low));
                low2 = _mm256_add_epi32(low2, _mm256_madd_epi16(pixels2, weight_low));
                low3 = _mm256_add_epi32(low3, _mm256_madd_epi16(pixels3, weight_low));
                high0 = _mm256_add_epi32(high0, _mm256_madd_epi16(pixels0, weight_high));
                high1 = _mm256_add_epi32(high1, _mm256_madd_epi16(pixels1, weight_high));
                high2 = _mm256_add_epi32(high2, _mm256_madd_epi16(pixels2, weight_high));
                high3 = _mm256_add_epi32(high3, _mm256_madd_epi16(pixels3, weight_high));
            }
            low0 = _mm256_srai_epi32(join_halves(low0, high0), GL_WEIGHT_BITS);
            low1 = _mm256_srai_epi32(join_halves(low1, high1), GL_WEIGHT_BITS);
            low2 = _mm256_srai_epi32(join_halves(low2, high2), GL_WEIGHT_BITS);
            low3 = _mm256_srai_epi32(join_halves(low3, high3), GL_WEIGHT_BITS);
            /* Both packs undo the order that the unpacks made. */
            _mm256_storeu_si256((__m256i *)(dst + x),
                                _mm256_packus_epi16(_mm256_packs_epi32(low0, low1), _mm256_packs_epi32(low2, low3)));
        }
    }
}

static void vertical(const gl_table *table, int32_t from, int32_t rows, const uint8_t *src, ptrdiff_t src_stride,
                     int32_t width, uint8_t *dst, ptrdiff_t dst_stride) {
    if (table->layout == PAIRS_LAYOUT)
        vertical_pairs(table, from, rows, src, src_stride, width, dst, dst_stride);
    else
        gl_plain_vertical(table, from, rows, src, src_stride, width, dst, dst_stride);
}

/* ---- store, grey, split */

TARGET static void put_float(const uint8_t *table, const uint8_t *src, size_t n, uint8_t *dst, int stream) {
    size_t i = 0;
    if (stream && (uintptr_t)dst % 4 == 0)
        for (; i < n && (uintptr_t)(dst + 4 * i) % 32 != 0; i++)
            memcpy(dst + 4 * i, table + 4 * src[i], 4);
    else
        stream = 0;
    const int32_t *const values = (const int32_t *)table;
    for (; i + 8 <= n; i += 8) {
        /* Eight loads, not a gather: on Zen 4 the step then takes about a quarter less. */
        uint64_t p;
        memcpy(&p, src + i, sizeof p);
        const __m128i left =
            _mm_setr_epi32(values[p & 255], values[p >> 8 & 255], values[p >> 16 & 255], values[p >> 24 & 255]);
        const __m128i right =
            _mm_setr_epi32(values[p >> 32 & 255], values[p >> 40 & 255], values[p >> 48 & 255], values[p >> 56]);
        const __m256i eight = _mm256_inserti128_si256(_mm256_castsi128_si256(left), right, 1);
        if (stream)
            _mm256_stream_si256((__m256i *)(dst + 4 * i), eight);
        else
            _mm256_storeu_si256((__m256i *)(dst + 4 * i), eight);
    }
    for (; i < n; i++)
        memcpy(dst + 4 * i, table + 4 * src[i], 4);
}

static void put(const gl_shelf *shelf, int32_t channel, const uint8_t *src, size_t n, uint8_t *dst, int stream) {
    if (shelf->itemsize == 4)
        put_float(shelf->table + (size_t)channel * 256 * 4, src, n, dst, stream);
    else
        gl_plain_put(shelf, channel, src, n, dst, stream);
}

TARGET void gl_avx2_grey(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst) {
    /* 38470 does not fit 16 bits: 38470 G = 65536 G - 27066 G, and (65536 G + rest) >> 16 = G + (rest >> 16). */
    const __m256i red_green = _mm256_set1_epi32(19595 | (int32_t)((uint32_t)(38470 - 65536) << 16));
    const __m256i blue_half = _mm256_set1_epi32(7471 | 16384 << 16), two = _mm256_set1_epi16(2);
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m256i r = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(red + i)));
        const __m256i g = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(green + i)));
        const __m256i b = _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *)(blue + i)));
        const __m256i low = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpacklo_epi16(r, g), red_green),
                                             _mm256_madd_epi16(_mm256_unpacklo_epi16(b, two), blue_half));
        const __m256i high = _mm256_add_epi32(_mm256_madd_epi16(_mm256_unpackhi_epi16(r, g), red_green),
                                              _mm256_madd_epi16(_mm256_unpackhi_epi16(b, two), blue_half));
        const __m256i rest = _mm256_packs_epi32(_mm256_srai_epi32(low, 16), _mm256_srai_epi32(high, 16));
        const __m256i grey = _mm256_add_epi16(g, rest);
        _mm_storeu_si128((__m128i *)(dst + i),
                         _mm_packus_epi16(_mm256_castsi256_si128(grey), _mm256_extracti128_si256(grey, 1)));
    }
    gl_plain_grey(red + i, green + i, blue + i, n - i, dst + i);
}

/* pick[c][v]: where in the v-th 16 of 48 bytes channel c's 16 pixels lie; -1 (a zero) for pixels of the other two. */
#define AT(c, v, j) (3 * (j) + (c) - 16 * (v) >= 0 && 3 * (j) + (c) - 16 * (v) < 16 ? 3 * (j) + (c) - 16 * (v) : -1)
#define FOUR(c, v, j) AT(c, v, j), AT(c, v, j + 1), AT(c, v, j + 2), AT(c, v, j + 3)
#define SIXTEEN(c, v) {FOUR(c, v, 0), FOUR(c, v, 4), FOUR(c, v, 8), FOUR(c, v, 12)}
#define CHANNEL(c) {SIXTEEN(c, 0), SIXTEEN(c, 1), SIXTEEN(c, 2)}
static const int8_t pick[3][3][16] = {CHANNEL(0), CHANNEL(1), CHANNEL(2)};

TARGET static void split(const uint8_t *rgb, size_t n, uint8_t *red, uint8_t *green, uint8_t *blue) {
    uint8_t *const planes[3] = {red, green, blue};
    size_t i = 0;
    for (; i + 16 <= n; i += 16) {
        const __m128i one = _mm_loadu_si128((const __m128i *)(rgb + 3 * i));
        const __m128i two = _mm_loadu_si128((const __m128i *)(rgb + 3 * i + 16));
        const __m128i three = _mm_loadu_si128((const __m128i *)(rgb + 3 * i + 32));
        for (int c = 0; c < 3; c++) {
            const __m128i a = _mm_shuffle_epi8(one, _mm_loadu_si128((const __m128i *)pick[c][0]));
            const __m128i b = _mm_shuffle_epi8(two, _mm_loadu_si128((const __m128i *)pick[c][1]));
            const __m128i d = _mm_shuffle_epi8(three, _mm_loadu_si128((const __m128i *)pick[c][2]));
            _mm_storeu_si128((__m128i *)(planes[c] + i), _mm_or_si128(_mm_or_si128(a, b), d));
        }
    }
    gl_plain_split(rgb + 3 * i, n - i, red + i, green + i, blue + i);
}

/* ---- colour */

TARGET void gl_avx2_blend(const uint8_t *from, const uint8_t *to, float factor, size_t n, uint8_t *dst) {
    gl_blend_loop(from, to, factor, n, dst);
}

TARGET void gl_avx2_smooth(const uint8_t *above, const uint8_t *src, const uint8_t *below, size_t n, uint8_t *dst) {
    gl_smooth_loop(above, src, below, n, dst);
}

TARGET void gl_avx2_stencil(int side, const float *weights, float offset, const uint8_t *const *rows, size_t n,
                            uint8_t *dst) {
    gl_stencil_loop(side, weights, offset, rows, n, dst);
}

TARGET static void blur(const gl_box *box, const uint8_t *src, int32_t n, uint8_t *dst) {
    gl_blur_loop(box, src, n, dst);
}

/* GL_CONVOLVE_ROWS rows of sums at a time, so that an input serves them all. */
__attribute__((target("avx2,fma"))) static void convolve(const gl_taps *taps, const float *const *row, int32_t rows,
                                                         int32_t width, uint8_t *dst, ptrdiff_t stride) {
    enum { VECTOR = 8, PAIR = 2 * VECTOR };
    const __m256 down = _mm256_set1_ps(1 / GL_TAPS_SCALE);
    const int32_t across = taps->across;
    for (int32_t x = 0; x < width; x += PAIR) {
        __m256 sum[GL_CONVOLVE_ROWS][2];
        for (int y = 0; y < GL_CONVOLVE_ROWS; y++)
            sum[y][0] = sum[y][1] = _mm256_setzero_ps();
        for (int32_t i = 0; i < taps->down + GL_ZERO_ROWS; i++) {
            const float *from = row[i] + x, *weight = taps->weight + (GL_ZERO_ROWS + i) * across;
            for (int32_t j = 0; j < across; j++) {
                const __m256 left = _mm256_loadu_ps(from + j), right = _mm256_loadu_ps(from + j + VECTOR);
                for (int y = 0; y < GL_CONVOLVE_ROWS; y++) {
                    const __m256 w = _mm256_broadcast_ss(weight + j - y * across);
                    sum[y][0] = _mm256_fmadd_ps(w, left, sum[y][0]);
                    sum[y][1] = _mm256_fmadd_ps(w, right, sum[y][1]);
                }
            }
        }
        for (int y = 0; y < rows; y++) {
            const __m256i left = _mm256_cvtps_epi32(_mm256_mul_ps(sum[y][0], down));
            const __m256i right = _mm256_cvtps_epi32(_mm256_mul_ps(sum[y][1], down));
            const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(left, right), 0xD8);
            uint8_t bytes[PAIR];
            _mm_storeu_si128((__m128i *)bytes,
                             _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
            memcpy(dst + y * stride + x, bytes, (size_t)(width - x < PAIR ? width - x : PAIR));
        }
    }
}

__attribute__((target("avx2,fma"))) void gl_avx2_convolve_apart(const gl_taps *taps, const float *const *row,
                                                                const int32_t *y, const int32_t *x, int32_t n,
                                                                float *sum) {
    gl_convolve_apart_loop(taps, row, y, x, n, sum);
}

__attribute__((target("avx2,fma"))) static void weigh(const float *weights, int32_t taps, const float *const *row,
                                                      int32_t n, float *dst) {
    enum { VECTOR = 8, VECTORS = 8, CHUNK = VECTOR * VECTORS };
    int32_t x = 0;
    for (; x <= n - CHUNK; x += CHUNK) {
        __m256 sum[VECTORS];
        for (int v = 0; v < VECTORS; v++)
            sum[v] = _mm256_setzero_ps();
        for (int32_t i = 0; i < taps; i++) {
            const __m256 w = _mm256_broadcast_ss(weights + i);
            for (int v = 0; v < VECTORS; v++)
                sum[v] = _mm256_fmadd_ps(w, _mm256_loadu_ps(row[i] + x + v * VECTOR), sum[v]);
        }
        for (int v = 0; v < VECTORS; v++)
            _mm256_storeu_ps(dst + x + v * VECTOR, sum[v]);
    }
    for (; x <= n - VECTOR; x += VECTOR) {
        __m256 sum = _mm256_setzero_ps();
        for (int32_t i = 0; i < taps; i++)
            sum = _mm256_fmadd_ps(_mm256_broadcast_ss(weights + i), _mm256_loadu_ps(row[i] + x), sum);
        _mm256_storeu_ps(dst + x, sum);
    }
    for (; x < n; x++) {
        float sum = 0;
        for (int32_t i = 0; i < taps; i++)
            sum = __builtin_fmaf(weights[i], row[i][x], sum);
        dst[x] = sum;
    }
}

/* gl_plain_hue, eight pixels at a time, in float32 where it divides integers: no quotient is so near to an integer that
 * float32 would round it to that.  Grey comes out as it was. */
typedef uint8_t bytes8 __attribute__((vector_size(8)));
typedef int32_t ints8 __attribute__((vector_size(32)));
typedef float floats8 __attribute__((vector_size(32)));
#define INTS(v) __builtin_convertvector(v, ints8) /* cut off */
#define FLOATS(v) __builtin_convertvector(v, floats8)
#define CHOSEN(mask, yes, no) (((mask) & (yes)) | (~(mask) & (no)))

TARGET static inline void hue_eight(int32_t shift, const uint8_t *const rgb[3], uint8_t *const out[3]) {
    bytes8 bytes[3];
    for (int c = 0; c < 3; c++)
        memcpy(&bytes[c], rgb[c], sizeof bytes[c]);
    const ints8 r = INTS(bytes[0]), g = INTS(bytes[1]), b = INTS(bytes[2]);
    const ints8 most = CHOSEN(r > g, r, g), least = CHOSEN(r < g, r, g);
    const ints8 high = CHOSEN(most > b, most, b), chroma = high - CHOSEN(least < b, least, b);
    /* How far the middle one is below the highest. */
    const floats8 middle = FLOATS(3 * high - chroma - r - g - b) / FLOATS(chroma - (chroma == 0));
    const ints8 is_red = r == high, is_green = ~is_red & (g == high), is_blue = ~is_red & ~is_green;
    const ints8 goes_on = CHOSEN(is_red, b > g, CHOSEN(is_green, b <= r, r <= g)); /* from base, or back to it */
    const ints8 base =
        1 + 2 * (is_red & goes_on) + (is_green & ~goes_on & 2) + (is_blue & 2) + (is_blue & ~goes_on & 2);
    const floats8 sixths = FLOATS(base) + FLOATS(-1 - 2 * goes_on) * middle;
    const floats8 turn = sixths / 6.0f - FLOATS(sixths < 0.0f);
    const ints8 hue = (INTS(turn * 255.0f) + shift) & 255;
    const ints8 saturation = INTS(FLOATS(255 * chroma) / FLOATS(high - (high == 0)));
    const ints8 sector = ((6 * hue + 1) * 257) >> 16, rest = 6 * hue - 255 * sector;      /* by 255 */
    const ints8 faded = high * (255 - saturation) + 128, p = (faded + (faded >> 8)) >> 8; /* by 255, rounded */
    const ints8 q = high - INTS(FLOATS(high * saturation * rest + 32512) / 65025.0f);
    const ints8 t = high - INTS(FLOATS(high * saturation * (255 - rest) + 32512) / 65025.0f);
    const ints8 in0 = (sector == 0) | (sector == 6), in1 = sector == 1, in2 = sector == 2, in3 = sector == 3,
                in4 = sector == 4, in5 = sector == 5;
    const ints8 made[3] = {
        CHOSEN(in0 | in5, high, CHOSEN(in1, q, CHOSEN(in4, t, p))),
        CHOSEN(in1 | in2, high, CHOSEN(in3, q, CHOSEN(in0, t, p))),
        CHOSEN(in3 | in4, high, CHOSEN(in5, q, CHOSEN(in2, t, p))),
    };
    for (int c = 0; c < 3; c++) {
        bytes[c] = __builtin_convertvector(made[c], bytes8);
        memcpy(out[c], &bytes[c], sizeof bytes[c]);
    }
}

TARGET static void hue(int32_t shift, const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]) {
    enum { EIGHT = sizeof(bytes8) };
    size_t i = 0;
    for (; i + EIGHT <= n; i += EIGHT)
        hue_eight(shift, (const uint8_t *const[3]){rgb[0] + i, rgb[1] + i, rgb[2] + i},
                  (uint8_t *const[3]){out[0] + i, out[1] + i, out[2] + i});
    if (i == n)
        return;
    uint8_t rest[3][EIGHT] = {{0}};
    for (int c = 0; c < 3; c++)
        memcpy(rest[c], rgb[c] + i, n - i);
    hue_eight(shift, (const uint8_t *const[3]){rest[0], rest[1], rest[2]},
              (uint8_t *const[3]){rest[0], rest[1], rest[2]});
    for (int c = 0; c < 3; c++)
        memcpy(out[c] + i, rest[c], n - i);
}

/* A row of 16 entries at a time: bytes of other rows get their highest bit set, for which a shuffle gives zero. */
TARGET static void lookup(const uint8_t table[256], const uint8_t *src, size_t n, uint8_t *dst) {
    const __m256i beyond = _mm256_set1_epi8(0x70), row = _mm256_set1_epi8(16);
    size_t i = 0;
    for (; i + 32 <= n; i += 32) {
        __m256i at = _mm256_loadu_si256((const __m256i *)(src + i)), found = _mm256_setzero_si256();
        for (int k = 0; k < 256; k += 16, at = _mm256_sub_epi8(at, row)) {
            const __m256i entries = _mm256_broadcastsi128_si256(_mm_loadu_si128((const __m128i *)(table + k)));
            found = _mm256_or_si256(found, _mm256_shuffle_epi8(entries, _mm256_adds_epu8(at, beyond)));
        }
        _mm256_storeu_si256((__m256i *)(dst + i), found);
    }
    gl_plain_lookup(table, src + i, n - i, dst + i);
}

TARGET void gl_avx2_zoom_smooth(const double *weights, int32_t radius, const double *const *row, int32_t n,
                                double *dst) {
    gl_zoom_smooth_loop(weights, radius, row, n, dst);
}

TARGET void gl_avx2_zoom_row(const gl_zoom_place *down, const double *const row[2], const gl_zoom_place *across,
                             int32_t n, double low, double high, double *dst) {
    gl_zoom_row_loop(down, row, across, n, low, high, dst);
}

const gl_kernels gl_avx2_kernels = {
    .name = "avx2",
    .torch = &gl_avx2_torch,
    .pack_horizontal = pack_horizontal,
    .pack_vertical = pack_vertical,
    .horizontal = horizontal,
    .vertical = vertical,
    .put = put,
    .linear_across = gl_avx2_linear_across,
    .linear_down = gl_avx2_linear_down,
    .grey = gl_avx2_grey,
    .split = split,
    .lookup = lookup,
    .blend = gl_avx2_blend,
    .smooth = gl_avx2_smooth,
    .hue = hue,
    .stencil = gl_avx2_stencil,
    .blur = blur,
    .convolve = convolve,
    .convolve_apart = gl_avx2_convolve_apart,
    .weigh = weigh,
    .warp_along = gl_avx2_warp_along,
    .warp_nearest = gl_avx2_warp_nearest,
    .warp_pack = gl_avx2_warp_pack,
    .warp_unpack = gl_avx2_warp_unpack,
    .warp_blend = gl_avx2_warp_blend,
    .warp_inside = gl_avx2_warp_inside,
    .to_hsv = gl_avx2_to_hsv,
    .from_hsv = gl_avx2_from_hsv,
    .zoom_smooth = gl_avx2_zoom_smooth,
    .zoom_row = gl_avx2_zoom_row,
    .grid = &gl_avx2_grid,
};

#endif
