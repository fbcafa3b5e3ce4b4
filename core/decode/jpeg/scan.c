/* scan.c: from bits to coefficients [F.2.2].
 *
 * Two thirds of the time of a decoder go by here, in one chain: the next bits index a table, its entry says how far to
 * shift, the shifted bits are the next ones.  So everything else is kept off that chain: bytes are loaded without
 * looking at them (unstuff.c), values come with the entry, two at a time where they fit (huffman.c), coefficients are
 * stored in file order, and what is rare leaves the loop by the same exit as the end of a block.  And since a processor
 * could do twice as much while it waits for the chain, two images are read by turns, each in a lane of its own.
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

/* A lane as the loops have it, in registers as far as they reach.  What is needed once a block stays in the lane. */
typedef struct reader {
    cursor c;
    uint8_t *at, *end;       /* behind the last coefficient; behind the block */
    const uint64_t *entries; /* of the block's AC table */
    const gl_jpeg_block_kind *kind;
    gl_jpeg_lane *lane;
} reader;

INLINE reader reader_of(gl_jpeg_lane *lane) {
    return (reader){
        .c = cursor_at(lane->scan.bytes, lane->scan.bit),
        .at = (uint8_t *)lane->stretch.blocks,
        .kind = lane->scan.block,
        .lane = lane,
    };
}

/* Asks for what to read next; 0: nothing. */
static __attribute__((noinline)) int fetch(reader *r, int status) {
    gl_jpeg_lane *lane = r->lane;
    lane->scan.bit = bit_of(&r->c, lane->scan.bytes);
    if (!lane->next(lane, status)) {
        return 0;
    }
    *r = reader_of(lane);
    return 1;
}

/* What became of a block that did not end in the usual way. */
typedef enum turn { BAD, GOES_ON, ENDED } turn;

/* The last entry was slow, or led to the end of the block and perhaps beyond: decodes its first symbol the slow way. */
static __attribute__((noinline)) turn leave(reader *r, uint64_t entry) {
    const uint8_t *bytes = r->lane->scan.bytes;
    uint8_t *before = r->at - (entry >> 56);
    const uint64_t bit = bit_of(&r->c, bytes) - (entry & 0xFF);
    const gl_jpeg_symbol symbol =
        gl_jpeg_symbol_slow(&r->kind->ac->canonical, 1, load_big(bytes + (bit >> 3)) << (bit & 7));
    if (symbol.bits == 0) {
        return BAD;
    }
    r->c = cursor_at(bytes, bit + (uint64_t)symbol.bits);
    refill(&r->c);
    if (entry & GL_JPEG_SLOW) {
        if (symbol.advance == GL_JPEG_END_OF_BLOCK) {
            return ENDED;
        }
        r->at = before + symbol.advance;
        if (r->at > r->end) {
            return BAD;
        }
        store(r->at, (int16_t)symbol.value);
        return r->at == r->end ? ENDED : GOES_ON;
    }
    /* A pair whose first symbol fills the block: the second belongs to the next one, and its value is to be unwritten.
     */
    if (entry & GL_JPEG_PAIR && before + symbol.advance == r->end) {
        store(r->at, 0);
        return ENDED;
    }
    return BAD;
}

/* The functions below work on copies, since a variable whose address is known elsewhere cannot live in registers. */
INLINE int fetched(reader *r, int status) {
    reader copy = *r;
    const int has_more = fetch(&copy, status);
    *r = copy;
    return has_more;
}

/* Begins a block with its DC coefficient.  Like end_block, it returns 0 if the lane has nothing left to read. */
INLINE int begin_block(reader *r) {
    for (;;) {
        gl_jpeg_scan *scan = &r->lane->scan;
        int32_t *prediction = &scan->prediction[r->kind->component];
        refill(&r->c);
        const int32_t dc = *prediction + take_dc(&r->c, r->kind->dc, scan->bytes);
        if (__builtin_expect(dc == (int16_t)dc, 1)) {
            *prediction = dc;
            r->entries = r->kind->ac->entry;
            r->end = r->at + GL_JPEG_BLOCK * sizeof(int16_t);
            r->at += sizeof(int16_t);
            store(r->at, (int16_t)dc);
            return 1;
        }
        if (!fetched(r, GL_JPEG_NOT_OURS)) {
            return 0;
        }
    }
}

/* An entry led to the end of the block, or is slow: goes on with the block if it is not over, else begins the next. */
INLINE int end_block(reader *r, uint64_t entry) {
    gl_jpeg_scan *scan = &r->lane->scan;
    int status = GL_JPEG_OK;
    if (__builtin_expect(!is_usual_end(entry, r->at, r->end), 0)) {
        reader copy = *r;
        const turn turn = leave(&copy, entry);
        *r = copy;
        if (turn == GOES_ON) {
            return 1;
        }
        status = turn == ENDED ? GL_JPEG_OK : GL_JPEG_NOT_OURS;
    }
    /* The reader is at most 8 bytes ahead of the bits it gave out.  To look once a block is enough: one block reads no
     * further than the slack of the stream. */
    if (__builtin_expect(r->c.next > scan->bytes + scan->size + 8, 0)) {
        status = GL_JPEG_NOT_OURS;
    }
    r->at = r->end;
    r->kind++;
    if (r->kind == scan->block + scan->unit_blocks) {
        r->kind = scan->block;
        r->lane->stretch.units--;
    }
    if (__builtin_expect(r->lane->stretch.units == 0 || status != GL_JPEG_OK, 0) && !fetched(r, status)) {
        return 0;
    }
    return begin_block(r);
}

/* How many entries to take between refills. */
enum { TAKES = 3 };
_Static_assert(TAKES *GL_JPEG_AC_BITS_MAX <= 56 && GL_JPEG_DC_BITS_MAX + (TAKES - 1) * GL_JPEG_AC_BITS_MAX <= 56,
               "more bits than a refill gives");

INLINE void read_on(reader *r) {
    for (;;) {
        refill(&r->c);
#pragma GCC unroll 3
        for (int i = 0; i < TAKES; i++) {
            const uint64_t entry = take(&r->c, r->entries, &r->at);
            if (r->at >= r->end && !end_block(r, entry)) {
                return;
            }
        }
    }
}

enum { NONE = 0, FIRST = 1, SECOND = 2, BOTH = FIRST | SECOND };

/* Reads two lanes by turns until one of them has nothing left; says which of them still has. */
INLINE int read_both_on(reader *first, reader *second) {
    for (;;) {
        refill(&first->c);
        refill(&second->c);
#pragma GCC unroll 3
        for (int i = 0; i < TAKES; i++) {
            const uint64_t first_entry = take(&first->c, first->entries, &first->at);
            const uint64_t second_entry = take(&second->c, second->entries, &second->at);
            int left = BOTH;
            if (first->at >= first->end && !end_block(first, first_entry)) {
                left &= ~FIRST;
            }
            if (second->at >= second->end && !end_block(second, second_entry)) {
                left &= ~SECOND;
            }
            if (__builtin_expect(left != BOTH, 0)) {
                return left;
            }
        }
    }
}

INLINE void scan_lanes(gl_jpeg_lane *one, gl_jpeg_lane *two) {
    reader first = reader_of(one), second = first;
    int left = begin_block(&first) ? FIRST : NONE;
    if (two) {
        second = reader_of(two);
        left |= begin_block(&second) ? SECOND : NONE;
    }
    if (left == BOTH) {
        left = read_both_on(&first, &second);
    }
    if (left == SECOND) {
        first = second;
    }
    if (left != NONE) {
        read_on(&first);
    }
}

void gl_jpeg_scan_plain(gl_jpeg_lane *one, gl_jpeg_lane *two) {
    scan_lanes(one, two);
}

#if defined(__x86_64__)
/* The same code with shifts that need no fixed register. */
__attribute__((target("bmi,bmi2"))) void gl_jpeg_scan_bmi2(gl_jpeg_lane *one, gl_jpeg_lane *two) {
    scan_lanes(one, two);
}
#endif
