/* huffman.c: Huffman codes as look-up tables [Annex C, F.2.2].
 *
 * Typical photographs need 5 to 6 bits a symbol, value included, so the usual entry of 11 bits holds two symbols. */
#include <string.h>

#include "engine.h"

enum { INDEX_BITS = GL_JPEG_AC_INDEX_BITS };

/* What the symbol of an AC coefficient means [F.1.2.2.1]: so many bytes further, a value of so many bits follows. */
typedef struct meaning {
    int32_t advance, size;
} meaning;

static meaning meaning_of(uint8_t symbol) {
    const int run = symbol >> 4, size = symbol & 15;
    if (size == 0 && run != 15) {
        return (meaning){GL_JPEG_END_OF_BLOCK, 0};
    }
    return (meaning){(run + 1) * (int32_t)sizeof(int16_t), size};
}

/* A value from its bits [Table F.1; F.2.2.1, EXTEND]: those that begin with a zero are negative. */
static int32_t extend(int32_t bits, int32_t size) {
    return size == 0 || bits >> (size - 1) ? bits : bits - (1 << size) + 1;
}

static uint64_t slow_entry(void) {
    return (uint64_t)GL_JPEG_END_OF_BLOCK << 8 | (uint64_t)63 << 16 | GL_JPEG_SLOW |
           (uint64_t)GL_JPEG_END_OF_BLOCK << 56;
}

/* Fills entry[0, 2^room) for one symbol whose code leaves `room` bits of the index. */
static void fill_single(uint64_t *entry, int32_t room, meaning m) {
    const int32_t seen = m.size < room ? m.size : room, behind = m.size - seen;
    if ((m.size > 0 && seen == 0) || INDEX_BITS - room + m.size > GL_JPEG_AC_BITS_MAX) {
        return; /* the sign is not in the index, or too many bits: stays slow */
    }
    const uint64_t same = (uint64_t)(INDEX_BITS - room + m.size) | (uint64_t)m.advance << 8 |
                          (uint64_t)(63 - behind) << 16 | (uint64_t)m.advance << 56;
    for (int32_t bits = 0; bits < 1 << seen; bits++) {
        const uint64_t value = (uint16_t)extend(bits << behind, m.size);
        for (int32_t rest = 0; rest < 1 << (room - seen); rest++) {
            *entry++ = same | value << 24 | value << 40;
        }
    }
}

static uint64_t pair_entry(uint64_t first, uint64_t second) {
    const uint64_t bits = (first & 0xFF) + (second & 0xFF), advance = (first >> 56) + (second >> 56);
    return (first & 0xFFFFFFFF00) | bits | GL_JPEG_PAIR | (second >> 24 & 0xFFFF) << 40 | advance << 56;
}

/* Puts the second symbol beside the first one wherever the index shows it whole.  Without branches: whether it does
 * cannot be predicted, and files with tables of their own need this each time. */
static void add_pairs(uint64_t entry[GL_JPEG_AC_ENTRIES]) {
    uint64_t single[GL_JPEG_AC_ENTRIES];
    memcpy(single, entry, sizeof single);
    for (uint32_t i = 0; i < GL_JPEG_AC_ENTRIES; i++) {
        const uint64_t first = single[i];
        const uint64_t second = single[i << (first & 31) & (GL_JPEG_AC_ENTRIES - 1)];
        const uint64_t pair = pair_entry(first, second);
        const int fits = (((first | second) & GL_JPEG_SLOW) == 0) & (first >> 56 != GL_JPEG_END_OF_BLOCK) &
                         ((first & 0xFF) + (second & 0xFF) <= INDEX_BITS);
        entry[i] = fits ? pair : first;
    }
}

/* Lengths to codes [Annex C]; which table it is in does not matter. */
static int build_canonical(gl_jpeg_canonical *canonical, const gl_jpeg_code *code) {
    int32_t next = 0, symbol = 0; /* the next code of this length, the next symbol */
    for (int32_t length = 1; length <= 16; length++) {
        canonical->offset[length] = symbol - next;
        next += code->count[length - 1];
        symbol += code->count[length - 1];
        /* A code of ones alone is not allowed, and codes that do not fit make no sense. */
        if (next >= 1 << length) {
            return GL_JPEG_NOT_OURS;
        }
        canonical->limit[length] = (uint32_t)next << (16 - length);
        next <<= 1;
    }
    canonical->code = *code;
    return GL_JPEG_OK;
}

int gl_jpeg_canonical_is_of(const gl_jpeg_canonical *canonical, const gl_jpeg_code *code) {
    return canonical->is_built && memcmp(&canonical->code, code, sizeof *code) == 0;
}

/* The indices of `index_bits` bits that begin with the next code of a length. */
typedef struct span {
    int32_t begin, end;
} span;

static span indices_of(const gl_jpeg_canonical *canonical, int32_t symbol, int32_t length, int32_t index_bits) {
    const int32_t code = symbol - canonical->offset[length], spread = index_bits - length;
    return (span){code << spread, (code + 1) << spread};
}

int gl_jpeg_dc_build(gl_jpeg_dc *table, const gl_jpeg_code *code) {
    gl_jpeg_canonical *canonical = &table->canonical;
    if (gl_jpeg_canonical_is_of(canonical, code)) {
        return GL_JPEG_OK;
    }
    canonical->is_built = 0;
    if (build_canonical(canonical, code) != GL_JPEG_OK) {
        return GL_JPEG_NOT_OURS;
    }
    memset(table->entry, 0, sizeof table->entry);
    for (int32_t length = 1, symbol = 0; length <= 16; length++) {
        for (int32_t i = 0; i < code->count[length - 1]; i++, symbol++) {
            const int32_t size = code->symbol[symbol];
            if (size > GL_JPEG_DC_SIZE_MAX) {
                return GL_JPEG_NOT_OURS;
            }
            if (length <= GL_JPEG_DC_INDEX_BITS && length + size <= GL_JPEG_DC_BITS_MAX) {
                const span s = indices_of(canonical, symbol, length, GL_JPEG_DC_INDEX_BITS);
                for (int32_t index = s.begin; index < s.end; index++) {
                    table->entry[index] = (uint16_t)(size << 8 | (length + size));
                }
            }
        }
    }
    canonical->is_built = 1;
    return GL_JPEG_OK;
}

int gl_jpeg_ac_build(gl_jpeg_ac *table, const gl_jpeg_code *code) {
    gl_jpeg_canonical *canonical = &table->canonical;
    if (gl_jpeg_canonical_is_of(canonical, code)) {
        return GL_JPEG_OK;
    }
    canonical->is_built = 0;
    if (build_canonical(canonical, code) != GL_JPEG_OK) {
        return GL_JPEG_NOT_OURS;
    }
    for (int32_t index = 0; index < GL_JPEG_AC_ENTRIES; index++) {
        table->entry[index] = slow_entry();
    }
    for (int32_t length = 1, symbol = 0; length <= INDEX_BITS; length++) {
        for (int32_t i = 0; i < code->count[length - 1]; i++, symbol++) {
            const meaning m = meaning_of(code->symbol[symbol]);
            fill_single(table->entry + indices_of(canonical, symbol, length, INDEX_BITS).begin, INDEX_BITS - length, m);
        }
    }
    add_pairs(table->entry);
    canonical->is_built = 1;
    return GL_JPEG_OK;
}

gl_jpeg_symbol gl_jpeg_symbol_slow(const gl_jpeg_canonical *canonical, int is_ac, uint64_t bits) {
    const uint32_t head = (uint32_t)(bits >> 48);
    for (int32_t length = 1; length <= 16; length++) {
        if (head < canonical->limit[length]) {
            const int32_t index = (int32_t)(head >> (16 - length)) + canonical->offset[length];
            const uint8_t symbol = canonical->code.symbol[index & 0xFF];
            const meaning m = is_ac ? meaning_of(symbol) : (meaning){(int32_t)sizeof(int16_t), symbol};
            const int32_t value = m.size ? (int32_t)(bits << length >> (64 - m.size)) : 0;
            return (gl_jpeg_symbol){length + m.size, m.advance, extend(value, m.size)};
        }
    }
    return (gl_jpeg_symbol){0, 0, 0};
}
