/* index.c: places in a scan to go on from: a seek index.
 *
 * The code of a JPEG can only be read from its beginning: where an MCU begins and what its DC coefficients are
 * predicted from depends on all before it.  So while a file is read anyway, both are noted every few MCUs; the next
 * visit begins at the last place before the window, and goes from the end of its part of a row to a place before its
 * part of the next.
 *
 * A wrong place gives wrong pixels and nobody would notice.  So the index holds a hash of the whole file, header and
 * all, and one of itself; unless both are right it is made anew.  (The hashes are against accidents: somebody who can
 * write a seek index on purpose could as well change the photographs.)  And a place is checked to lie inside the
 * stream: whatever an index says, nothing outside of it is read.
 *
 * Layout, in machine order: a header, then `known` places of 4 bytes of bit offset and 2 bytes a component. */
#include <string.h>

#include "engine.h"

enum {
    VERSION = 1, /* of the layout and of what the numbers mean */
    EVERY_MIN = 8,
    BIT_BYTES = 4
};

typedef struct header {
    uint64_t seal; /* hash of all that follows */
    uint64_t file; /* hash of the file */
    uint32_t version, components;
    uint32_t every, known; /* MCUs from a place to the next; places */
} header;

static uint64_t load(const uint8_t *p) {
    uint64_t word;
    memcpy(&word, p, sizeof word);
    return word;
}

/* Both halves of the product: every bit of it depends on bits of both factors (Wang Yi's wyhash). */
static uint64_t fold(uint64_t a, uint64_t b) {
    const unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Four chains of multiplications run side by side, 64 bytes a turn: 100 KB in some 3 us. */
static uint64_t hash(const uint8_t *data, size_t size) {
    enum { CHAINS = 4, STEP = 16 * CHAINS };
    static const uint64_t key[2 * CHAINS] = {
        0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93,
        0xA0761D6478BD642F, 0xE7037ED1A0B428DB, 0x8EBC6AF09C88C6E3, 0x589965CC75374CC3,
    };
    uint64_t chain[CHAINS] = {size, size, size, size};
    for (; size >= STEP; data += STEP, size -= STEP) {
        for (int i = 0; i < CHAINS; i++) {
            chain[i] = fold(load(data + 16 * i) ^ key[2 * i], load(data + 16 * i + 8) ^ chain[i] ^ key[2 * i + 1]);
        }
    }
    uint8_t rest[STEP] = {0};
    if (size) {
        memcpy(rest, data, size);
    }
    for (int i = 0; i < CHAINS; i++) {
        chain[i] = fold(load(rest + 16 * i) ^ key[2 * i], load(rest + 16 * i + 8) ^ chain[i] ^ key[2 * i + 1]);
    }
    return fold(chain[0] ^ key[0], chain[1] ^ key[1]) ^ fold(chain[2] ^ key[2], chain[3] ^ key[3]);
}

static uint64_t seal_of(const gl_seek *seek) {
    return hash(seek->data + sizeof(uint64_t), seek->size - sizeof(uint64_t));
}

void gl_jpeg_index_seal(gl_seek *seek) {
    const uint64_t seal = seal_of(seek);
    memcpy(seek->data, &seal, sizeof seal);
}

static uint8_t *place_at(const gl_jpeg_index *index, int32_t place) {
    return index->seek->data + sizeof(header) + (size_t)place * index->place_bytes;
}

/* Places before all `units` MCUs that lie `every` apart, but for the first MCU. */
static int32_t places_among(int32_t units, int32_t every) {
    return (units - 1) / every;
}

/* As dense as there is room for, and no denser than pays.  Places that are more than half a row apart stand at the
 * beginnings of rows: windows are nearer to them. */
static int32_t choose_every(const gl_jpeg_frame *frame, size_t room) {
    const int32_t units = frame->units_across * frame->units_down;
    const int32_t fit = room < (size_t)units ? (int32_t)room : units;
    if (fit == 0) {
        return units;
    }
    int32_t every = units / (fit + 1) + 1;
    every = every < EVERY_MIN ? EVERY_MIN : every;
    if (every > frame->units_across / 2 && every > EVERY_MIN) {
        every = (every + frame->units_across - 1) / frame->units_across * frame->units_across;
    }
    return every;
}

/* Takes over what is there, if it is an index of this file. */
static int take_over(gl_jpeg_index *index, uint64_t file, int32_t units) {
    header h;
    const gl_seek *seek = index->seek;
    if (seek->size < sizeof h || seek->size > seek->room) {
        return 0;
    }
    memcpy(&h, seek->data, sizeof h);
    if (h.version != VERSION || h.file != file || h.components * sizeof(int16_t) + BIT_BYTES != index->place_bytes ||
        h.every < EVERY_MIN || h.every > (uint32_t)units + EVERY_MIN || h.seal != seal_of(seek)) {
        return 0;
    }
    const int32_t places = places_among(units, (int32_t)h.every);
    if (h.known > (uint32_t)places || seek->size != sizeof h + h.known * index->place_bytes) {
        return 0;
    }
    index->every = (int32_t)h.every;
    index->known = (int32_t)h.known;
    return 1;
}

void gl_jpeg_index_open(gl_jpeg_index *index, gl_seek *seek, const uint8_t *data, size_t size,
                        const gl_jpeg_frame *frame) {
    *index = (gl_jpeg_index){.seek = seek, .components = frame->components};
    if (!seek || seek->room < sizeof(header)) {
        index->seek = NULL;
        return;
    }
    const int32_t units = frame->units_across * frame->units_down;
    index->place_bytes = BIT_BYTES + (size_t)frame->components * sizeof(int16_t);
    index->file = hash(data, size);
    const size_t room = (seek->room - sizeof(header)) / index->place_bytes;
    if (!take_over(index, index->file, units)) {
        seek->size = 0;
        index->known = 0;
        index->every = choose_every(frame, room);
    }
    index->known_before = index->known;
    const int32_t places = places_among(units, index->every);
    index->places = (size_t)places < room ? places : (int32_t)room;
}

int32_t gl_jpeg_index_before(const gl_jpeg_index *index, int32_t unit) {
    if (!index->seek || index->known == 0) {
        return 0;
    }
    const int32_t place = unit / index->every;
    return (place < index->known ? place : index->known) * index->every;
}

int gl_jpeg_index_go(const gl_jpeg_index *index, int32_t unit, gl_jpeg_scan *scan) {
    const uint8_t *place = place_at(index, unit / index->every - 1);
    uint32_t bit;
    memcpy(&bit, place, sizeof bit);
    if (bit / 8 >= scan->size) {
        return GL_JPEG_NOT_OURS;
    }
    scan->bit = bit;
    for (int c = 0; c < index->components; c++) {
        int16_t prediction;
        memcpy(&prediction, place + BIT_BYTES + (size_t)c * sizeof prediction, sizeof prediction);
        scan->prediction[c] = prediction;
    }
    return GL_JPEG_OK;
}

int32_t gl_jpeg_index_wants(const gl_jpeg_index *index) {
    return index->seek && index->known < index->places ? (index->known + 1) * index->every : INT32_MAX;
}

void gl_jpeg_index_note(gl_jpeg_index *index, const gl_jpeg_scan *scan) {
    if (scan->bit > UINT32_MAX) {
        index->places = index->known; /* half a gigabyte: no more */
        return;
    }
    uint8_t *place = place_at(index, index->known++);
    const uint32_t bit = (uint32_t)scan->bit;
    memcpy(place, &bit, sizeof bit);
    for (int c = 0; c < index->components; c++) {
        const int16_t prediction = (int16_t)scan->prediction[c];
        memcpy(place + BIT_BYTES + (size_t)c * sizeof prediction, &prediction, sizeof prediction);
    }
}

void gl_jpeg_index_close(gl_jpeg_index *index) {
    gl_seek *seek = index->seek;
    if (!seek || index->known == index->known_before) {
        return;
    }
    seek->size = sizeof(header) + (size_t)index->known * index->place_bytes;
    const header h = {
        .file = index->file,
        .version = VERSION,
        .components = (uint32_t)index->components,
        .every = (uint32_t)index->every,
        .known = (uint32_t)index->known,
    };
    memcpy(seek->data, &h, sizeof h);
    gl_jpeg_index_seal(seek);
}
