/* The kernels for AVX-512 with VBMI and VNNI.
 *
 * A weight is cut into three signed bytes, high * 2^16 + middle * 2^8 + low; vpdpbusd multiplies four taps of sixteen
 * outputs by one of them.  vpermb brings the four pixels of each output together. */
#if defined(__x86_64__)

#include <immintrin.h>
#include <string.h>

#include "colour_loops.h"
#include "kernels.h"

#define FEATURES "avx512f,avx512bw,avx512vl,avx512dq,avx512vbmi,avx512vnni"
#define TARGET __attribute__((target(FEATURES)))
/* For loops that the compiler makes vectors of: by itself it would take half as wide ones. */
#if defined(__clang__)
#define WIDE TARGET
#else
#define WIDE __attribute__((target(FEATURES ",prefer-vector-width=512")))
#endif

void gl_avx2_blend(const uint8_t *from, const uint8_t *to, float factor, size_t n, uint8_t *dst);
void gl_avx2_stencil(int side, const float *weights, float offset, const uint8_t *const *rows, size_t n, uint8_t *dst);
void gl_avx2_smooth(const uint8_t *above, const uint8_t *src, const uint8_t *below, size_t n, uint8_t *dst);
void gl_avx2_grey(const uint8_t *red, const uint8_t *green, const uint8_t *blue, size_t n, uint8_t *dst);

enum { GROUP = 4, BLOCK = 16, VECTOR = 64 }; /* taps a vpdpbusd; outputs a vector; bytes a vector */
enum {
    NARROW_LAYOUT = 1, /* all taps of a block lie in 64 bytes */
    WIDE_LAYOUT = 2,   /* the taps of one group lie in 128 bytes */
    GATHER_LAYOUT = 3  /* each output's four pixels are loaded by themselves */
};

typedef struct digits {
    int8_t high, middle, low;
} digits;

static digits digits_of(int32_t weight) {
    const int8_t low = (int8_t)weight;
    weight = (weight - low) >> 8;
    const int8_t middle = (int8_t)weight;
    return (digits){.high = (int8_t)((weight - middle) >> 8), .middle = middle, .low = low};
}

static int fits_digits(const gl_axis *axis) {
    const int32_t limit = (127 << 16) + (127 << 8) + 127;
    for (int32_t i = 0; i < axis->n; i++)
        for (int32_t j = 0; j < axis->count[i]; j++) {
            const int32_t weight = axis->weight[(size_t)i * (size_t)axis->taps + (size_t)j];
            if (weight > limit || weight < -limit)
                return 0;
        }
    return 1;
}

static int32_t groups_most(const gl_axis *axis) {
    int32_t most = 0;
    for (int32_t i = 0; i < axis->n; i++)
        most = axis->count[i] > most ? axis->count[i] : most;
    return (most + GROUP - 1) / GROUP;
}

static digits digits_at(const gl_axis *axis, int32_t i, int32_t tap) {
    return digits_of(tap < axis->count[i] ? axis->weight[(size_t)i * (size_t)axis->taps + (size_t)tap] : 0);
}

/* ---- horizontal */

/* The output that position `at` of the vectors computes; positions behind the last repeat it. */
static int32_t output_at(const gl_axis *axis, int32_t at) {
    return at < axis->n ? at : axis->n - 1;
}

/* The inputs that taps [tap, tap_end) of a block's outputs touch: *left is the first, the result how
 * many (0 if no output has so many taps). */
static int32_t window(const gl_axis *axis, int32_t block, int32_t tap, int32_t tap_end, int32_t *left) {
    int32_t low = INT32_MAX, high = 0;
    for (int32_t j = 0; j < BLOCK; j++) {
        const int32_t i = output_at(axis, block * BLOCK + j);
        const int32_t end = axis->count[i] < tap_end ? axis->count[i] : tap_end;
        if (tap >= end)
            continue;
        low = axis->first[i] + tap < low ? axis->first[i] + tap : low;
        high = axis->first[i] + end > high ? axis->first[i] + end : high;
    }
    *left = low == INT32_MAX ? 0 : low;
    return low == INT32_MAX ? 0 : high - low;
}

static int32_t layout_of(const gl_axis *axis, int32_t blocks, int32_t groups) {
    int32_t layout = NARROW_LAYOUT, left;
    for (int32_t block = 0; block < blocks && layout == NARROW_LAYOUT; block++)
        if (window(axis, block, 0, groups * GROUP, &left) > VECTOR)
            layout = WIDE_LAYOUT;
    for (int32_t block = 0; block < blocks && layout == WIDE_LAYOUT; block++)
        for (int32_t group = 0; group < groups; group++)
            if (window(axis, block, group * GROUP, (group + 1) * GROUP, &left) > 2 * VECTOR)
                return GATHER_LAYOUT;
    return layout;
}

static size_t pack_horizontal(const gl_axis *axis, gl_table *table, uint8_t *room) {
    if (!fits_digits(axis))
        return gl_plain_pack(axis, table, room);
    const int32_t groups = groups_most(axis), blocks = (axis->n + BLOCK - 1) / BLOCK;
    /* A step is one group of one block: three vectors of digits, one of indices, one base. */
    const size_t steps = (size_t)blocks * (size_t)groups, bytes = steps * (4 * VECTOR + sizeof(int32_t));
    if (room == NULL)
        return bytes;
    int8_t *weight = (int8_t *)room;
    uint8_t *index = room + steps * 3 * VECTOR;
    int32_t *base = (int32_t *)(index + steps * VECTOR);
    const int32_t layout = layout_of(axis, blocks, groups);
    *table = (gl_table){.n = axis->n, .low = axis->low, .high = axis->high, .layout = layout, .taps = groups};
    table->weight = weight;
    table->index = index;
    table->base = base;
    for (int32_t block = 0; block < blocks; block++)
        for (int32_t group = 0; group < groups; group++, weight += 3 * VECTOR, index += VECTOR, base++) {
            if (layout == NARROW_LAYOUT)
                window(axis, block, 0, groups * GROUP, base);
            else
                window(axis, block, group * GROUP, (group + 1) * GROUP, base);
            for (int32_t j = 0; j < BLOCK; j++) {
                const int32_t i = output_at(axis, block * BLOCK + j);
                for (int32_t t = 0; t < GROUP; t++) {
                    const int32_t tap = group * GROUP + t, at = GROUP * j + t;
                    const digits d = digits_at(axis, i, tap);
                    weight[at] = d.high;
                    weight[VECTOR + at] = d.middle;
                    weight[2 * VECTOR + at] = d.low;
                    /* A tap that is not there has weight 0 and may look at any pixel. */
                    if (layout != GATHER_LAYOUT)
                        index[at] = tap < axis->count[i] ? (uint8_t)(axis->first[i] + tap - *base) : 0;
                }
                if (layout == GATHER_LAYOUT) {
                    const int32_t offset = axis->first[i] + (group * GROUP < axis->count[i] ? group * GROUP : 0);
                    memcpy(index + GROUP * j, &offset, sizeof offset);
                }
            }
        }
    return bytes;
}

/* A sum is built digit by digit, highest first: what earlier digits gave moves up eight bits before the next is added.
 * The half that rounds goes in with the highest. */
enum { HALF_HIGH = GL_HALF >> 16 };

TARGET static inline __m512i next_digit(__m512i sum, __m512i pixels, __m512i weights) {
    return _mm512_dpbusd_epi32(_mm512_slli_epi32(sum, 8), pixels, weights);
}

TARGET static inline void store_block(uint8_t *dst, __m512i sum) {
    sum = _mm512_max_epi32(_mm512_srai_epi32(sum, GL_WEIGHT_BITS), _mm512_setzero_si512());
    _mm_storeu_si128((__m128i *)dst, _mm512_cvtusepi32_epi8(sum));
}

/* One or two groups, the usual case, with everything but the pixels in registers. */
TARGET static void block_one(const int8_t *weight, const uint8_t *index, const uint8_t *row, ptrdiff_t src_stride,
                             int32_t rows, uint8_t *out, ptrdiff_t dst_stride) {
    const __m512i half = _mm512_set1_epi32(HALF_HIGH), pick = _mm512_load_si512(index);
    const __m512i high = _mm512_load_si512(weight), middle = _mm512_load_si512(weight + VECTOR);
    const __m512i low = _mm512_load_si512(weight + 2 * VECTOR);
    for (int32_t y = 0; y < rows; y++, row += src_stride, out += dst_stride) {
        const __m512i pixels = _mm512_permutexvar_epi8(pick, _mm512_loadu_si512(row));
        __m512i sum = _mm512_dpbusd_epi32(half, pixels, high);
        sum = next_digit(sum, pixels, middle);
        store_block(out, next_digit(sum, pixels, low));
    }
}

TARGET static void block_two(const int8_t *weight, const uint8_t *index, const uint8_t *row, ptrdiff_t src_stride,
                             int32_t rows, uint8_t *out, ptrdiff_t dst_stride) {
    const __m512i half = _mm512_set1_epi32(HALF_HIGH);
    const __m512i pick0 = _mm512_load_si512(index), pick1 = _mm512_load_si512(index + VECTOR);
    const __m512i high0 = _mm512_load_si512(weight), middle0 = _mm512_load_si512(weight + VECTOR);
    const __m512i low0 = _mm512_load_si512(weight + 2 * VECTOR), high1 = _mm512_load_si512(weight + 3 * VECTOR);
    const __m512i middle1 = _mm512_load_si512(weight + 4 * VECTOR), low1 = _mm512_load_si512(weight + 5 * VECTOR);
    for (int32_t y = 0; y < rows; y++, row += src_stride, out += dst_stride) {
        const __m512i all = _mm512_loadu_si512(row);
        const __m512i pixels0 = _mm512_permutexvar_epi8(pick0, all), pixels1 = _mm512_permutexvar_epi8(pick1, all);
        __m512i sum = _mm512_dpbusd_epi32(_mm512_dpbusd_epi32(half, pixels0, high0), pixels1, high1);
        sum = _mm512_dpbusd_epi32(next_digit(sum, pixels0, middle0), pixels1, middle1);
        store_block(out, _mm512_dpbusd_epi32(next_digit(sum, pixels0, low0), pixels1, low1));
    }
}

/* Any number of groups: a sum for each digit. */
TARGET static inline __m512i join_digits(__m512i high, __m512i middle, __m512i low) {
    const __m512i upper = _mm512_add_epi32(_mm512_slli_epi32(high, 8), middle);
    return _mm512_add_epi32(_mm512_slli_epi32(upper, 8), low);
}

TARGET static void block_many(const gl_table *table, const int8_t *weight, const uint8_t *index, const int32_t *base,
                              const uint8_t *row, ptrdiff_t src_stride, int32_t rows, uint8_t *out,
                              ptrdiff_t dst_stride) {
    for (int32_t y = 0; y < rows; y++, row += src_stride, out += dst_stride) {
        __m512i high = _mm512_setzero_si512(), middle = high, low = _mm512_set1_epi32(GL_HALF);
        for (int32_t group = 0; group < table->taps; group++) {
            const uint8_t *from = row + base[group];
            const int8_t *w = weight + (size_t)group * 3 * VECTOR;
            const __m512i pick = _mm512_load_si512(index + (size_t)group * VECTOR);
            __m512i pixels;
            if (table->layout == NARROW_LAYOUT)
                pixels = _mm512_permutexvar_epi8(pick, _mm512_loadu_si512(from));
            else if (table->layout == WIDE_LAYOUT)
                pixels = _mm512_permutex2var_epi8(_mm512_loadu_si512(from), pick, _mm512_loadu_si512(from + VECTOR));
            else
                pixels = _mm512_i32gather_epi32(pick, row, 1);
            high = _mm512_dpbusd_epi32(high, pixels, _mm512_load_si512(w));
            middle = _mm512_dpbusd_epi32(middle, pixels, _mm512_load_si512(w + VECTOR));
            low = _mm512_dpbusd_epi32(low, pixels, _mm512_load_si512(w + 2 * VECTOR));
        }
        store_block(out, join_digits(high, middle, low));
    }
}

static void horizontal(const gl_table *table, const uint8_t *src, ptrdiff_t src_stride, int32_t rows, uint8_t *dst,
                       ptrdiff_t dst_stride) {
    if (table->layout == GL_PLAIN_LAYOUT) {
        gl_plain_horizontal(table, src, src_stride, rows, dst, dst_stride);
        return;
    }
    const int32_t groups = table->taps, blocks = (table->n + BLOCK - 1) / BLOCK;
    for (int32_t block = 0; block < blocks; block++) {
        const size_t step = (size_t)block * (size_t)groups;
        const int8_t *weight = (const int8_t *)table->weight + step * 3 * VECTOR;
        const uint8_t *index = table->index + step * VECTOR;
        const int32_t *base = table->base + step;
        uint8_t *out = dst + block * BLOCK;
        if (table->layout == NARROW_LAYOUT && groups == 1)
            block_one(weight, index, src + *base, src_stride, rows, out, dst_stride);
        else if (table->layout == NARROW_LAYOUT && groups == 2)
            block_two(weight, index, src + *base, src_stride, rows, out, dst_stride);
        else
            block_many(table, weight, index, base, src, src_stride, rows, out, dst_stride);
    }
}

/* ---- vertical */

static size_t pack_vertical(const gl_axis *axis, gl_table *table, uint8_t *room) {
    if (!fits_digits(axis))
        return gl_plain_pack(axis, table, room);
    const int32_t groups = groups_most(axis);
    const size_t n = (size_t)axis->n, bytes = n * ((size_t)groups * 12 + 2 * sizeof(int32_t));
    if (room == NULL)
        return bytes;
    int8_t *weight = (int8_t *)room; /* [n][groups][high, middle, low][4 taps] */
    int32_t *first = (int32_t *)(room + n * (size_t)groups * 12), *count = first + n;
    *table = (gl_table){.n = axis->n, .low = axis->low, .high = axis->high, .layout = NARROW_LAYOUT, .taps = groups};
    table->weight = weight;
    table->first = first;
    table->count = count;
    for (int32_t i = 0; i < axis->n; i++) {
        first[i] = axis->first[i];
        count[i] = axis->count[i];
        for (int32_t group = 0; group < groups; group++, weight += 12)
            for (int32_t t = 0; t < GROUP; t++) {
                const digits d = digits_at(axis, i, group * GROUP + t);
                weight[t] = d.high;
                weight[4 + t] = d.middle;
                weight[8 + t] = d.low;
            }
    }
    return bytes;
}

/* Four pixels of each of 64 columns, in the order that the unpacks leave. */
typedef struct columns {
    __m512i part[4];
} columns;

/* The group's rows from `tap` on at one place; taps behind the last have weight 0, so any row will do for them. */
TARGET static inline columns load_columns(const uint8_t *row, ptrdiff_t stride, int32_t taps) {
    const uint8_t *second = taps > 1 ? row + stride : row, *third = taps > 2 ? second + stride : row;
    const uint8_t *fourth = taps > 3 ? third + stride : row;
    const __m512i a = _mm512_loadu_si512(row), b = _mm512_loadu_si512(second);
    const __m512i c = _mm512_loadu_si512(third), d = _mm512_loadu_si512(fourth);
    const __m512i ab_low = _mm512_unpacklo_epi8(a, b), ab_high = _mm512_unpackhi_epi8(a, b);
    const __m512i cd_low = _mm512_unpacklo_epi8(c, d), cd_high = _mm512_unpackhi_epi8(c, d);
    return (columns){{_mm512_unpacklo_epi16(ab_low, cd_low), _mm512_unpackhi_epi16(ab_low, cd_low),
                      _mm512_unpacklo_epi16(ab_high, cd_high), _mm512_unpackhi_epi16(ab_high, cd_high)}};
}

TARGET static inline __m512i weights_at(const uint8_t *weight) {
    int32_t word;
    memcpy(&word, weight, sizeof word);
    return _mm512_set1_epi32(word);
}

/* Both packs undo the order that the unpacks made. */
TARGET static inline void store_columns(uint8_t *dst, const __m512i sum[4]) {
    const __m512i left =
        _mm512_packs_epi32(_mm512_srai_epi32(sum[0], GL_WEIGHT_BITS), _mm512_srai_epi32(sum[1], GL_WEIGHT_BITS));
    const __m512i right =
        _mm512_packs_epi32(_mm512_srai_epi32(sum[2], GL_WEIGHT_BITS), _mm512_srai_epi32(sum[3], GL_WEIGHT_BITS));
    _mm512_storeu_si512(dst, _mm512_packus_epi16(left, right));
}

/* Up to four taps, the usual case. */
TARGET static void row_one(const uint8_t *weight, int32_t count, const uint8_t *top, ptrdiff_t src_stride,
                           int32_t width, uint8_t *dst) {
    const __m512i half = _mm512_set1_epi32(HALF_HIGH);
    const __m512i high = weights_at(weight), middle = weights_at(weight + 4), low = weights_at(weight + 8);
    for (int32_t x = 0; x < width; x += VECTOR) {
        const columns pixels = load_columns(top + x, src_stride, count);
        __m512i sum[4];
        for (int i = 0; i < 4; i++) {
            sum[i] = _mm512_dpbusd_epi32(half, pixels.part[i], high);
            sum[i] = next_digit(sum[i], pixels.part[i], middle);
            sum[i] = next_digit(sum[i], pixels.part[i], low);
        }
        store_columns(dst + x, sum);
    }
}

TARGET static void row_many(const uint8_t *weights, int32_t count, const uint8_t *top, ptrdiff_t src_stride,
                            int32_t width, uint8_t *dst) {
    const __m512i zero = _mm512_setzero_si512(), half = _mm512_set1_epi32(GL_HALF);
    for (int32_t x = 0; x < width; x += VECTOR) {
        __m512i high[4] = {zero, zero, zero, zero}, middle[4] = {zero, zero, zero, zero},
                low[4] = {half, half, half, half};
        const uint8_t *weight = weights;
        for (int32_t tap = 0; tap < count; tap += GROUP, weight += 12) {
            const columns pixels = load_columns(top + tap * src_stride + x, src_stride, count - tap);
            const __m512i weight_high = weights_at(weight), weight_middle = weights_at(weight + 4);
            const __m512i weight_low = weights_at(weight + 8);
            for (int i = 0; i < 4; i++) {
                high[i] = _mm512_dpbusd_epi32(high[i], pixels.part[i], weight_high);
                middle[i] = _mm512_dpbusd_epi32(middle[i], pixels.part[i], weight_middle);
                low[i] = _mm512_dpbusd_epi32(low[i], pixels.part[i], weight_low);
            }
        }
        __m512i sum[4];
        for (int i = 0; i < 4; i++)
            sum[i] = join_digits(high[i], middle[i], low[i]);
        store_columns(dst + x, sum);
    }
}

static void vertical(const gl_table *table, int32_t from, int32_t rows, const uint8_t *src, ptrdiff_t src_stride,
                     int32_t width, uint8_t *dst, ptrdiff_t dst_stride) {
    if (table->layout == GL_PLAIN_LAYOUT)
        gl_plain_vertical(table, from, rows, src, src_stride, width, dst, dst_stride);
    else
        for (int32_t i = from; i < from + rows; i++, dst += dst_stride) {
            const uint8_t *weight = (const uint8_t *)table->weight + (size_t)i * (size_t)table->taps * 12;
            const uint8_t *top = src + table->first[i] * src_stride;
            if (table->count[i] <= GROUP)
                row_one(weight, table->count[i], top, src_stride, width, dst);
            else
                row_many(weight, table->count[i], top, src_stride, width, dst);
        }
}

/* ---- store: one byte of 64 elements at a time, by vpermi2b over a table of 256 bytes in four registers */

typedef struct slice {
    __m512i part[4];
} slice;

TARGET static inline slice load_slice(const uint8_t *bytes) {
    return (slice){{_mm512_loadu_si512(bytes), _mm512_loadu_si512(bytes + 64), _mm512_loadu_si512(bytes + 128),
                    _mm512_loadu_si512(bytes + 192)}};
}

TARGET static inline __m512i look_up(const slice *s, __m512i pixels) {
    return _mm512_mask_blend_epi8(_mm512_movepi8_mask(pixels), _mm512_permutex2var_epi8(s->part[0], pixels, s->part[1]),
                                  _mm512_permutex2var_epi8(s->part[2], pixels, s->part[3]));
}

TARGET static inline void write_vector(uint8_t *dst, __m512i vector, int stream) {
    if (stream)
        _mm512_stream_si512((__m512i *)dst, vector);
    else
        _mm512_storeu_si512(dst, vector);
}

TARGET static void put_bytes(const gl_shelf *shelf, int32_t channel, const uint8_t *src, size_t n, uint8_t *dst,
                             int stream) {
    const slice s = load_slice(shelf->slice[channel][0]);
    size_t i = 0;
    for (; i + 64 <= n; i += 64)
        write_vector(dst + i, look_up(&s, _mm512_loadu_si512(src + i)), stream);
    if (i < n) {
        const __mmask64 rest = ~UINT64_C(0) >> (64 - (n - i));
        _mm512_mask_storeu_epi8(dst + i, rest, look_up(&s, _mm512_maskz_loadu_epi8(rest, src + i)));
    }
}

TARGET static void put_words(const gl_shelf *shelf, int32_t channel, const uint8_t *src, size_t n, uint8_t *dst,
                             int stream) {
    const slice s0 = load_slice(shelf->slice[channel][0]), s1 = load_slice(shelf->slice[channel][1]);
    /* The unpacks take eight bytes of each 16: put those of one result side by side beforehand. */
    const __m512i order = _mm512_setr_epi64(0, 4, 1, 5, 2, 6, 3, 7);
    for (size_t i = 0; i < n; i += 64) {
        const size_t left = n - i;
        const __mmask64 have = left < 64 ? ~UINT64_C(0) >> (64 - left) : ~UINT64_C(0);
        const __m512i pixels = _mm512_permutexvar_epi64(order, _mm512_maskz_loadu_epi8(have, src + i));
        const __m512i byte0 = look_up(&s0, pixels), byte1 = look_up(&s1, pixels);
        const __m512i low = _mm512_unpacklo_epi8(byte0, byte1), high = _mm512_unpackhi_epi8(byte0, byte1);
        if (left >= 64) {
            write_vector(dst + 2 * i, low, stream);
            write_vector(dst + 2 * i + 64, high, stream);
        } else {
            _mm512_mask_storeu_epi16(dst + 2 * i, (__mmask32)have, low);
            _mm512_mask_storeu_epi16(dst + 2 * i + 64, (__mmask32)(have >> 32), high);
        }
    }
}

TARGET static void put_floats(const gl_shelf *shelf, int32_t channel, const uint8_t *src, size_t n, uint8_t *dst,
                              int stream) {
    const slice s0 = load_slice(shelf->slice[channel][0]), s1 = load_slice(shelf->slice[channel][1]);
    const slice s2 = load_slice(shelf->slice[channel][2]), s3 = load_slice(shelf->slice[channel][3]);
    const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15);
    for (size_t i = 0; i < n; i += 64) {
        const size_t left = n - i;
        const __mmask64 have = left < 64 ? ~UINT64_C(0) >> (64 - left) : ~UINT64_C(0);
        const __m512i pixels = _mm512_permutexvar_epi32(order, _mm512_maskz_loadu_epi8(have, src + i));
        const __m512i byte0 = look_up(&s0, pixels), byte1 = look_up(&s1, pixels);
        const __m512i byte2 = look_up(&s2, pixels), byte3 = look_up(&s3, pixels);
        const __m512i word0 = _mm512_unpacklo_epi8(byte0, byte1), word1 = _mm512_unpackhi_epi8(byte0, byte1);
        const __m512i word2 = _mm512_unpacklo_epi8(byte2, byte3), word3 = _mm512_unpackhi_epi8(byte2, byte3);
        const __m512i out0 = _mm512_unpacklo_epi16(word0, word2), out1 = _mm512_unpackhi_epi16(word0, word2);
        const __m512i out2 = _mm512_unpacklo_epi16(word1, word3), out3 = _mm512_unpackhi_epi16(word1, word3);
        uint8_t *to = dst + 4 * i;
        if (left >= 64) {
            write_vector(to, out0, stream);
            write_vector(to + 64, out1, stream);
            write_vector(to + 128, out2, stream);
            write_vector(to + 192, out3, stream);
        } else {
            _mm512_mask_storeu_epi32(to, (__mmask16)have, out0);
            _mm512_mask_storeu_epi32(to + 64, (__mmask16)(have >> 16), out1);
            _mm512_mask_storeu_epi32(to + 128, (__mmask16)(have >> 32), out2);
            _mm512_mask_storeu_epi32(to + 192, (__mmask16)(have >> 48), out3);
        }
    }
}

static void put(const gl_shelf *shelf, int32_t channel, const uint8_t *src, size_t n, uint8_t *dst, int stream) {
    void (*const puts[])(const gl_shelf *, int32_t, const uint8_t *, size_t, uint8_t *,
                         int) = {[1] = put_bytes, [2] = put_words, [4] = put_floats};
    const size_t itemsize = (size_t)shelf->itemsize;
    if (itemsize == 8 || shelf->identity) {
        gl_plain_put(shelf, channel, src, n, dst, stream);
        return;
    }
    if (stream) { /* streaming needs whole, aligned vectors: a first piece reaches the boundary */
        const size_t short_of = (size_t)(-(uintptr_t)dst % VECTOR);
        stream = short_of % itemsize == 0 && short_of / itemsize <= n;
        if (stream && short_of != 0) {
            puts[itemsize](shelf, channel, src, short_of / itemsize, dst, 0);
            src += short_of / itemsize;
            n -= short_of / itemsize;
            dst += short_of;
        }
    }
    puts[itemsize](shelf, channel, src, n, dst, stream);
}

/* ---- split */

TARGET static void split(const uint8_t *rgb, size_t n, uint8_t *red, uint8_t *green, uint8_t *blue) {
    uint8_t *const planes[3] = {red, green, blue};
    /* 64 pixels are 192 bytes, three vectors: a channel takes `near` from the first two and, where it has 0x80, `far`
     * from the third. */
    uint8_t at[VECTOR];
    __m512i near[3], far[3];
    __mmask64 from_third[3];
    for (int c = 0; c < 3; c++) {
        for (int j = 0; j < VECTOR; j++)
            at[j] = (uint8_t)(3 * j + c);
        near[c] = _mm512_loadu_si512(at);
        far[c] = near[c]; /* vpermb looks at the low six bits only, and the third vector starts at 128 */
        from_third[c] = _mm512_movepi8_mask(near[c]);
    }
    for (size_t i = 0; i < n; i += VECTOR) {
        const size_t left = n - i;
        __mmask64 have[3] = {~UINT64_C(0), ~UINT64_C(0), ~UINT64_C(0)}, out = ~UINT64_C(0);
        if (left < VECTOR) {
            out >>= VECTOR - left;
            for (size_t v = 0; v < 3; v++) {
                const size_t bytes = 3 * left > v * VECTOR ? 3 * left - v * VECTOR : 0;
                have[v] = bytes >= VECTOR ? ~UINT64_C(0) : (UINT64_C(1) << bytes) - 1;
            }
        }
        const uint8_t *from = rgb + 3 * i;
        const __m512i one = _mm512_maskz_loadu_epi8(have[0], from),
                      two = _mm512_maskz_loadu_epi8(have[1], from + VECTOR);
        const __m512i three = _mm512_maskz_loadu_epi8(have[2], from + 2 * VECTOR);
        for (int c = 0; c < 3; c++) {
            const __m512i pixels =
                _mm512_mask_permutexvar_epi8(_mm512_permutex2var_epi8(one, near[c], two), from_third[c], far[c], three);
            _mm512_mask_storeu_epi8(planes[c] + i, out, pixels);
        }
    }
}

/* ---- colour */

TARGET static void lookup(const uint8_t table[256], const uint8_t *src, size_t n, uint8_t *dst) {
    const slice s = load_slice(table);
    for (size_t i = 0; i < n; i += VECTOR) {
        const __mmask64 have = n - i < VECTOR ? ~UINT64_C(0) >> (VECTOR - (n - i)) : ~UINT64_C(0);
        _mm512_mask_storeu_epi8(dst + i, have, look_up(&s, _mm512_maskz_loadu_epi8(have, src + i)));
    }
}

WIDE static void blur(const gl_box *box, const uint8_t *src, int32_t n, uint8_t *dst) {
    gl_blur_loop(box, src, n, dst);
}

/* GL_CONVOLVE_ROWS rows of sums at a time, so that an input serves them all. */
TARGET static void convolve(const gl_taps *taps, const float *const *row, int32_t rows, int32_t width, uint8_t *dst,
                            ptrdiff_t stride) {
    enum { PAIR = 2 * BLOCK };
    const __m512 down = _mm512_set1_ps(1 / GL_TAPS_SCALE);
    const int32_t across = taps->across;
    for (int32_t x = 0; x < width; x += PAIR) {
        __m512 sum[GL_CONVOLVE_ROWS][2];
        for (int y = 0; y < GL_CONVOLVE_ROWS; y++)
            sum[y][0] = sum[y][1] = _mm512_setzero_ps();
        for (int32_t i = 0; i < taps->down + GL_ZERO_ROWS; i++) {
            const float *from = row[i] + x, *weight = taps->weight + (GL_ZERO_ROWS + i) * across;
            for (int32_t j = 0; j < across; j++) {
                const __m512 left = _mm512_loadu_ps(from + j), right = _mm512_loadu_ps(from + j + BLOCK);
                for (int y = 0; y < GL_CONVOLVE_ROWS; y++) {
                    const __m512 w = _mm512_set1_ps(weight[j - y * across]);
                    sum[y][0] = _mm512_fmadd_ps(w, left, sum[y][0]);
                    sum[y][1] = _mm512_fmadd_ps(w, right, sum[y][1]);
                }
            }
        }
        const int32_t n = width - x < PAIR ? width - x : PAIR;
        const __mmask16 first = (__mmask16)(n < BLOCK ? (1u << n) - 1 : 0xFFFF);
        const __mmask16 second = (__mmask16)(n < BLOCK ? 0 : (1u << (n - BLOCK)) - 1);
        for (int y = 0; y < rows; y++) {
            uint8_t *to = dst + y * stride + x;
            const __m512i left = _mm512_cvtps_epi32(_mm512_mul_ps(sum[y][0], down));
            const __m512i right = _mm512_cvtps_epi32(_mm512_mul_ps(sum[y][1], down));
            _mm_mask_storeu_epi8(to, first, _mm512_cvtusepi32_epi8(left));
            _mm_mask_storeu_epi8(to + BLOCK, second, _mm512_cvtusepi32_epi8(right));
        }
    }
}

TARGET static void weigh(const float *weights, int32_t taps, const float *const *row, int32_t n, float *dst) {
    enum { VECTORS = 8 };
    for (int32_t x = 0; x < n; x += VECTORS * BLOCK) {
        __m512 sum[VECTORS];
        __mmask16 have[VECTORS];
        for (int v = 0; v < VECTORS; v++) {
            const int32_t left = n - x - v * BLOCK;
            have[v] = (__mmask16)(left >= BLOCK ? 0xFFFF : left > 0 ? (1u << left) - 1 : 0);
            sum[v] = _mm512_setzero_ps();
        }
        for (int32_t i = 0; i < taps; i++) {
            const __m512 w = _mm512_set1_ps(weights[i]);
            for (int v = 0; v < VECTORS; v++)
                sum[v] = _mm512_fmadd_ps(w, _mm512_maskz_loadu_ps(have[v], row[i] + x + v * BLOCK), sum[v]);
        }
        for (int v = 0; v < VECTORS; v++)
            _mm512_mask_storeu_ps(dst + x + v * BLOCK, have[v], sum[v]);
    }
}

/* gl_plain_hue for sixteen pixels at a time. */
TARGET static void hue(int32_t shift, const uint8_t *const rgb[3], size_t n, uint8_t *const out[3]) {
    const __m512i one = _mm512_set1_epi32(1), three = _mm512_set1_epi32(3), five = _mm512_set1_epi32(5);
    const __m512i all = _mm512_set1_epi32(255), half = _mm512_set1_epi32(128), big_half = _mm512_set1_epi32(32512);
    const __m512 turns = _mm512_set1_ps(255.0f), by_65025 = _mm512_set1_ps(1.0f / 65025);
    for (size_t i = 0; i < n; i += BLOCK) {
        const __mmask16 have = (__mmask16)(n - i < BLOCK ? (1u << (n - i)) - 1 : 0xFFFF);
        const __m512i r = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(have, rgb[0] + i));
        const __m512i g = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(have, rgb[1] + i));
        const __m512i b = _mm512_cvtepu8_epi32(_mm_maskz_loadu_epi8(have, rgb[2] + i));
        const __m512i high = _mm512_max_epi32(_mm512_max_epi32(r, g), b),
                      low = _mm512_min_epi32(_mm512_min_epi32(r, g), b);
        const __m512i chroma = _mm512_sub_epi32(high, low);

        /* How far the middle one is below the highest; the hue in sixths of a turn is `base` and so much more or less. */
        const __m512i others =
            _mm512_sub_epi32(_mm512_add_epi32(_mm512_add_epi32(r, g), b), _mm512_add_epi32(high, low));
        const __m512 middle = _mm512_div_ps(_mm512_cvtepi32_ps(_mm512_sub_epi32(high, others)),
                                            _mm512_cvtepi32_ps(_mm512_max_epi32(chroma, one)));
        const __mmask16 is_red = _mm512_cmpeq_epi32_mask(r, high);
        const __mmask16 is_green = (__mmask16)(_mm512_cmpeq_epi32_mask(g, high) & ~is_red);
        const __mmask16 blue_low_of_red = _mm512_cmple_epi32_mask(b, g),
                        blue_low_of_green = _mm512_cmple_epi32_mask(b, r);
        const __mmask16 red_low_of_blue = _mm512_cmple_epi32_mask(r, g);
        __m512i base = _mm512_mask_blend_epi32(red_low_of_blue, five, three);
        base = _mm512_mask_mov_epi32(base, is_green, _mm512_mask_blend_epi32(blue_low_of_green, three, one));
        base =
            _mm512_mask_mov_epi32(base, is_red, _mm512_mask_blend_epi32(blue_low_of_red, _mm512_set1_epi32(-1), one));
        const __mmask16 is_more = (__mmask16)((is_red & ~blue_low_of_red) | (is_green & blue_low_of_green) |
                                              (~is_red & ~is_green & red_low_of_blue));
        const __m512 from_base = _mm512_cvtepi32_ps(base);
        const __m512 sixths =
            _mm512_mask_blend_ps(is_more, _mm512_sub_ps(from_base, middle), _mm512_add_ps(from_base, middle));
        __m512 turn = _mm512_div_ps(sixths, _mm512_set1_ps(6.0f));
        turn = _mm512_mask_add_ps(turn, _mm512_cmp_ps_mask(sixths, _mm512_setzero_ps(), _CMP_LT_OQ), turn,
                                  _mm512_set1_ps(1.0f));
        const __m512i hue = _mm512_and_si512(
            _mm512_add_epi32(_mm512_cvttps_epi32(_mm512_mul_ps(turn, turns)), _mm512_set1_epi32(shift)), all);
        const __m512i saturation = _mm512_cvttps_epi32(_mm512_mul_ps(
            _mm512_div_ps(_mm512_cvtepi32_ps(chroma), _mm512_cvtepi32_ps(_mm512_max_epi32(high, one))), turns));

        /* Which sixth of 255 it is, and what remains. */
        const __m512i six = _mm512_add_epi32(_mm512_slli_epi32(hue, 2), _mm512_slli_epi32(hue, 1));
        const __m512i sector =
            _mm512_srli_epi32(_mm512_mullo_epi32(_mm512_add_epi32(six, one), _mm512_set1_epi32(257)), 16);
        const __m512i rest = _mm512_sub_epi32(six, _mm512_mullo_epi32(sector, all));
        const __m512i strength = _mm512_mullo_epi32(high, saturation);
        const __m512i faded = _mm512_add_epi32(_mm512_mullo_epi32(high, _mm512_sub_epi32(all, saturation)), half);
        const __m512i p = _mm512_srli_epi32(_mm512_add_epi32(faded, _mm512_srli_epi32(faded, 8)), 8);
        const __m512i less_q = _mm512_add_epi32(_mm512_mullo_epi32(strength, rest), big_half);
        const __m512i less_t = _mm512_add_epi32(_mm512_mullo_epi32(strength, _mm512_sub_epi32(all, rest)), big_half);
        const __m512i q =
            _mm512_sub_epi32(high, _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(less_q), by_65025)));
        const __m512i t =
            _mm512_sub_epi32(high, _mm512_cvttps_epi32(_mm512_mul_ps(_mm512_cvtepi32_ps(less_t), by_65025)));

        __mmask16 in[7];
        for (int s = 0; s < 7; s++)
            in[s] = _mm512_cmpeq_epi32_mask(sector, _mm512_set1_epi32(s));
        in[0] |= in[6];
        __m512i made = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(p, in[1], q), in[4], t);
        made = _mm512_mask_mov_epi32(made, in[0] | in[5], high);
        _mm_mask_storeu_epi8(out[0] + i, have, _mm512_cvtepi32_epi8(made));
        made = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(p, in[0], t), in[3], q);
        made = _mm512_mask_mov_epi32(made, in[1] | in[2], high);
        _mm_mask_storeu_epi8(out[1] + i, have, _mm512_cvtepi32_epi8(made));
        made = _mm512_mask_mov_epi32(_mm512_mask_mov_epi32(p, in[2], t), in[5], q);
        made = _mm512_mask_mov_epi32(made, in[3] | in[4], high);
        _mm_mask_storeu_epi8(out[2] + i, have, _mm512_cvtepi32_epi8(made));
    }
}

const gl_kernels gl_avx512_kernels = {
    .name = "avx512",
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
