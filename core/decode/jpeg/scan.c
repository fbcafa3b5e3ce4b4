/* scan.c: from bits to coefficients [F.2.2].
 *
 * Two thirds of the time of a decoder go by here, in one chain: the next bits index a table, its entry says how far to
 * shift, the shifted bits are the next ones.  So everything else is kept off that chain: bytes are loaded without
 * looking at them (unstuff.c), values come with the entry, two at a time where they fit (huffman.c), coefficients are
 * stored in file order, and what is rare leaves the loop by the same exit as the end of a block.
 *
 * The bit reader is variant 4 of Fabian Giesen, "Reading bits in far too many ways", part 2. */
#include <string.h>

#include "engine.h"

#define INLINE static inline __attribute__((always_inline))

/* The bits at a place of the stream. */
typedef struct cursor {
    const uint8_t *next; /* the first byte that is not in `bits` as a whole */
    uint64_t bits;       /* the coming bits, from the top; at least 56 of them after a refill */
    uint64_t held;       /* how many are valid, in the low six bits; above them is what is left of entries */
} cursor;

INLINE uint64_t load_big(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    word = __builtin_bswap64(word);
#endif
    return word;
}

INLINE void refill(cursor *c) {
    const uint64_t held = c->held & 63;
    c->bits |= load_big(c->next) >> held;
    c->next += (63 - held) >> 3;
    c->held = held | 56;
}

INLINE uint64_t bit_of(const cursor *c, const uint8_t *bytes) {
    return (uint64_t)(c->next - bytes) * 8 - (c->held & 63);
}

INLINE cursor cursor_at(const uint8_t *bytes, uint64_t bit) {
    const uint8_t *p = bytes + (bit >> 3);
    return (cursor){.next = p + 7, .bits = load_big(p) << (bit & 7), .held = 56 - (bit & 7)};
}

/* The value of the first symbol of `entry`, found at the top of `bits`: what the index showed, and the bits behind it.
 */
INLINE int16_t first_value(uint64_t entry, uint64_t bits) {
    const uint64_t behind = bits << GL_JPEG_AC_INDEX_BITS >> 1 >> (entry >> 16 & 63);
    return (int16_t)((entry >> 24) + behind);
}

/* Advances are in bytes, and so are places: that saves the loop a few instructions. */
INLINE void store(uint8_t *behind, int16_t value) {
    memcpy(behind - sizeof value, &value, sizeof value);
}

/* Decodes one or two symbols, stores their values and returns the entry.  `at` is behind the last coefficient. */
INLINE uint64_t take(cursor *c, const uint64_t *entries, uint8_t **at) {
    const uint64_t entry = entries[c->bits >> (64 - GL_JPEG_AC_INDEX_BITS)];
    const int16_t first = first_value(entry, c->bits);
    c->bits <<= entry & 63;
    c->held -= entry; /* its low bits are how many it takes */
    /* The second one first: if there is none, both go to the same place, and the first value is the whole one. */
    store(*at + (entry >> 56), (int16_t)(entry >> 40));
    store(*at + (entry >> 8 & 0xFF), first);
    *at += entry >> 56;
    return entry;
}

/* What became of a block that did not end in the usual way. */
typedef enum turn { BAD, GOES_ON, ENDED } turn;

typedef struct detour {
    turn turn;
    uint8_t *at;
    uint64_t bit; /* where decoding goes on */
} detour;

/* The last entry was slow, or led to the end of the block and perhaps beyond.  at, bit: behind it. */
static __attribute__((noinline)) detour leave(const gl_jpeg_ac *ac, const uint8_t *bytes, uint64_t entry, uint8_t *at,
                                              const uint8_t *end, uint64_t bit) {
    uint8_t *before = at - (entry >> 56);
    bit -= entry & 0xFF;
    const gl_jpeg_symbol symbol = gl_jpeg_symbol_slow(&ac->canonical, 1, load_big(bytes + (bit >> 3)) << (bit & 7));
    const detour bad = {BAD, at, bit};
    if (symbol.bits == 0) {
        return bad;
    }
    if (entry & GL_JPEG_SLOW) {
        if (symbol.advance == GL_JPEG_END_OF_BLOCK) {
            return (detour){ENDED, at, bit + (uint64_t)symbol.bits};
        }
        at = before + symbol.advance;
        if (at > end) {
            return bad;
        }
        store(at, (int16_t)symbol.value);
        return (detour){at == end ? ENDED : GOES_ON, at, bit + (uint64_t)symbol.bits};
    }
    /* A pair whose first symbol fills the block: the second belongs to the next one, and its value is to be unwritten.
     */
    if (entry & GL_JPEG_PAIR && before + symbol.advance == end) {
        store(at, 0);
        return (detour){ENDED, at, bit + (uint64_t)symbol.bits};
    }
    return bad;
}

/* Whether the block ended as most do: with an end-of-block symbol inside it, or just at its last coefficient. */
INLINE int is_usual_end(uint64_t entry, const uint8_t *at, const uint8_t *end) {
    const int64_t both = (int64_t)(entry >> 56), first = (int64_t)(entry >> 8 & 0xFF);
    const int is_pair = (entry & GL_JPEG_PAIR) != 0;
    const int64_t last = is_pair ? both - first : both;
    return (last == GL_JPEG_END_OF_BLOCK || at == end) && !(entry & GL_JPEG_SLOW) &&
           !(is_pair && at - both + first >= end);
}

enum { NO_SUCH_CODE = 1 << 20 }; /* a DC difference that no prediction takes back into 16 bits */

/* The difference to the prediction [F.2.2.1]. */
INLINE int32_t take_dc(cursor *c, const gl_jpeg_dc *dc, const uint8_t *bytes) {
    const uint32_t entry = dc->entry[c->bits >> (64 - GL_JPEG_DC_INDEX_BITS)];
    if (__builtin_expect(entry == 0, 0)) {
        const gl_jpeg_symbol symbol = gl_jpeg_symbol_slow(&dc->canonical, 0, c->bits);
        *c = cursor_at(bytes, bit_of(c, bytes) + (uint64_t)symbol.bits);
        return symbol.bits ? symbol.value : NO_SUCH_CODE;
    }
    const uint32_t bits = entry & 63, size = entry >> 8;
    const uint64_t value = c->bits << (bits - size); /* its bits at the top; a leading zero means negative */
    const int64_t negative = ~((int64_t)value >> 63);
    c->bits <<= bits;
    c->held -= bits;
    return (int32_t)((int64_t)(value >> 1 >> (63 - size)) + (negative & (1 - ((int64_t)1 << size))));
}

/* The loop has just as many live values as x86-64 has registers: what is needed once a block is read from `scan`. */
INLINE int scan_units(gl_jpeg_scan *scan, int32_t units, int16_t *blocks) {
    cursor c = cursor_at(scan->bytes, scan->bit);
    uint8_t *at = (uint8_t *)blocks;
    for (const gl_jpeg_block_kind *kind = scan->block; units > 0;) {
        const uint64_t *const ac = kind->ac->entry;
        uint8_t *const end = at + GL_JPEG_BLOCK * sizeof *blocks;
        uint64_t entry;
        refill(&c);
        const int32_t dc = scan->prediction[kind->component] + take_dc(&c, kind->dc, scan->bytes);
        if (__builtin_expect(dc != (int16_t)dc, 0)) {
            return GL_JPEG_NOT_OURS;
        }
        scan->prediction[kind->component] = dc;
        at += sizeof *blocks;
        store(at, (int16_t)dc);
        _Static_assert(3 * GL_JPEG_AC_BITS_MAX <= 56 && GL_JPEG_DC_BITS_MAX + 2 * GL_JPEG_AC_BITS_MAX <= 56,
                       "more bits than a refill gives");
        goto second;
        for (;;) {
            entry = take(&c, ac, &at);
            if (at >= end) {
                goto end_of_block;
            }
        second:
            entry = take(&c, ac, &at);
            if (at >= end) {
                goto end_of_block;
            }
            entry = take(&c, ac, &at);
            if (at >= end) {
                goto end_of_block;
            }
            refill(&c);
            continue;
        end_of_block:
            if (__builtin_expect(is_usual_end(entry, at, end), 1)) {
                break;
            }
            const detour d = leave(kind->ac, scan->bytes, entry, at, end, bit_of(&c, scan->bytes));
            if (d.turn == BAD) {
                return GL_JPEG_NOT_OURS;
            }
            c = cursor_at(scan->bytes, d.bit);
            at = d.at;
            if (d.turn == ENDED) {
                break;
            }
            refill(&c);
        }
        at = end;
        /* The reader is at most 8 bytes ahead of the bits it gave out.  To look once a block is enough: one block
         * reads no further than the slack of the stream. */
        if (__builtin_expect(c.next > scan->bytes + scan->size + 8, 0)) {
            return GL_JPEG_NOT_OURS;
        }
        kind++;
        if (kind == scan->block + scan->unit_blocks) {
            kind = scan->block;
            units--;
        }
    }
    scan->bit = bit_of(&c, scan->bytes);
    return GL_JPEG_OK;
}

int gl_jpeg_scan_plain(gl_jpeg_scan *scan, int32_t units, int16_t *blocks) {
    return scan_units(scan, units, blocks);
}

#if defined(__x86_64__)
/* The same code with shifts that need no fixed register. */
__attribute__((target("bmi,bmi2"))) int gl_jpeg_scan_bmi2(gl_jpeg_scan *scan, int32_t units, int16_t *blocks) {
    return scan_units(scan, units, blocks);
}
#endif
