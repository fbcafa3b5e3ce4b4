/* lzw.c: GIF's compression (GIF89a specification, appendix F).
 *
 * A string is written from its end to its beginning, so that none has to be turned round.  Once all codes are given, the
 * table stays as it is until a clear code comes. */
#include "gif.h"

int gl_gif_unpack(gl_gif_strings *t, const uint8_t *block, int bits, uint8_t *out, size_t n) {
    enum { CODE_BITS_MAX = 12 };
    const uint32_t clear = 1u << bits, end = clear + 1;
    uint32_t next = clear + 2, width = (uint32_t)bits + 1, before = GL_LZW_CODES; /* none */
    uint64_t held = 0;
    uint32_t nheld = 0, left = *block++;
    size_t at = 0;
    for (uint32_t i = 0; i < clear; i++) {
        t->first[i] = t->last[i] = (uint8_t)i;
        t->length[i] = 1;
    }
    for (int is_first = 1; at < n; is_first = 0) {
        while (nheld < width) {
            if (left == 0) {
                return 0; /* an empty block: the last one */
            }
            held |= (uint64_t)*block++ << nheld;
            nheld += 8;
            if (--left == 0) {
                left = *block++;
            }
        }
        const uint32_t code = (uint32_t)held & ((1u << width) - 1);
        held >>= width;
        nheld -= width;
        if (code == clear) {
            next = clear + 2;
            width = (uint32_t)bits + 1;
            before = GL_LZW_CODES;
            continue;
        }
        if (is_first || code == end || code > next || (code == next && before == GL_LZW_CODES)) {
            return 0; /* every encoder begins with a clear code */
        }
        if (before == GL_LZW_CODES) {
            if (code > end) {
                return 0;
            }
        } else if (next < GL_LZW_CODES) {
            t->before[next] = (uint16_t)before;
            t->length[next] = (uint16_t)(t->length[before] + 1);
            t->first[next] = t->first[before];
            t->last[next] = code == next ? t->first[before] : t->first[code];
            next++;
            if (next > (1u << width) - 1 && width < CODE_BITS_MAX) {
                width++;
            }
        }
        const size_t length = t->length[code];
        if (length > n - at) {
            return 0; /* more samples than pixels */
        }
        uint8_t *to = out + at + length;
        uint32_t from = code;
        for (size_t i = 1; i < length; i++) {
            *--to = t->last[from];
            from = t->before[from];
        }
        *--to = (uint8_t)from;
        at += length;
        before = code;
    }
    return 1;
}
