/* engine.h: what the files of our own decoder share.  README.md says which file does what.
 *
 * The numbers in brackets are sections of ISO/IEC 10918-1 (ITU-T T.81).  Whatever is not plainly sound makes a function
 * say GL_JPEG_NOT_OURS: libjpeg-turbo then takes the image, and nothing has been handed to the sink yet. */
#ifndef GOLOADER_DECODE_JPEG_ENGINE_H
#define GOLOADER_DECODE_JPEG_ENGINE_H

#include "jpeg.h"

enum { GL_JPEG_OK = 0, GL_JPEG_NOT_OURS = -1 };

enum {
    GL_JPEG_COMPONENTS_MAX = 3,
    GL_JPEG_UNIT_BLOCKS_MAX = 6, /* blocks of an MCU: 4:2:0 has the most */
    GL_JPEG_TABLES = 4,          /* of each kind, by the standard */
    GL_JPEG_BLOCK = 64,          /* coefficients of a block */
    GL_JPEG_LANES = 2            /* images that are decoded by turns */
};

/* Position in a block's row-by-row order of the coefficient that comes i-th in a file [Figure A.6]. */
extern const uint8_t gl_jpeg_zigzag[GL_JPEG_BLOCK];

/* ---- buffer.c: memory that only grows */

typedef struct gl_jpeg_buffer {
    uint8_t *data; /* on a 64-byte boundary; belongs to the buffer */
    size_t size;
} gl_jpeg_buffer;

/* Makes room for `bytes`; what was inside is lost.  Returns 0, or -1 if out of memory (the buffer is then empty). */
int gl_jpeg_buffer_grow(gl_jpeg_buffer *buffer, size_t bytes);
void gl_jpeg_buffer_free(gl_jpeg_buffer *buffer);

/* ---- parse.c: the segments before the scan */

/* A Huffman table as a file has it [B.2.4.2]. */
typedef struct gl_jpeg_code {
    uint8_t count[16]; /* codes of 1, 2, ... 16 bits */
    uint8_t symbol[256];
} gl_jpeg_code;

typedef struct gl_jpeg_component {
    int32_t across, down;  /* blocks in an MCU: the sampling factors */
    int32_t quant, dc, ac; /* which tables */
    int32_t width, height; /* samples that belong to the image, without the padding to whole blocks */
} gl_jpeg_component;

typedef enum gl_jpeg_colours { GL_JPEG_GREY, GL_JPEG_YCC, GL_JPEG_RGB } gl_jpeg_colours;

typedef struct gl_jpeg_frame {
    int32_t width, height;
    gl_jpeg_colours colours;
    int32_t components;
    gl_jpeg_component component[GL_JPEG_COMPONENTS_MAX];
    int32_t unit_width, unit_height;               /* pixels of an MCU */
    int32_t units_across, units_down;              /* MCUs of the image */
    int32_t restart_units;                         /* MCUs between restart markers; 0: there are none */
    uint16_t quant[GL_JPEG_TABLES][GL_JPEG_BLOCK]; /* row by row, not zigzag */
    gl_jpeg_code dc[GL_JPEG_TABLES], ac[GL_JPEG_TABLES];
    const uint8_t *scan; /* first entropy-coded byte, inside the file */
} gl_jpeg_frame;

/* gl_jpeg_parse reads everything up to the scan.  Only what the fields above can say is ours. */
int gl_jpeg_parse(const uint8_t *data, size_t size, gl_jpeg_frame *frame);

/* ---- unstuff.c: entropy-coded bytes without the markers between them */

typedef struct gl_jpeg_stream {
    gl_jpeg_buffer bytes;  /* the bytes, then GL_JPEG_STREAM_SLACK zeros */
    gl_jpeg_buffer starts; /* size_t each: where a restart interval begins, and at last where the bytes end */
    size_t intervals;
} gl_jpeg_stream;

/* What one block may read beyond the end before somebody looks: 63 codes of 16 + 15 bits, the DC code, and 16 bytes
 * that the bit reader is ahead. */
enum { GL_JPEG_STREAM_SLACK = 512 };

/* gl_jpeg_unstuff fills the stream from scan[0, size).  restarts: whether restart markers may come. */
int gl_jpeg_unstuff(const uint8_t *scan, size_t size, int restarts, gl_jpeg_stream *stream);

/* ---- huffman.c: codes as look-up tables */

enum {
    GL_JPEG_AC_INDEX_BITS = 11,
    GL_JPEG_AC_ENTRIES = 1 << GL_JPEG_AC_INDEX_BITS,
    GL_JPEG_END_OF_BLOCK = GL_JPEG_BLOCK * 2, /* its advance: beyond any block */
    GL_JPEG_DC_INDEX_BITS = 10,
    GL_JPEG_DC_ENTRIES = 1 << GL_JPEG_DC_INDEX_BITS,
    GL_JPEG_DC_SIZE_MAX = 11, /* bits of a DC difference, for 8-bit samples [Table F.1] */
    /* Bits that an entry takes at most; longer symbols are slow ones.  Three AC entries, or a DC entry and two AC
     * entries, then do with what one refill of the bit reader is sure to give, 56. */
    GL_JPEG_AC_BITS_MAX = 18,
    GL_JPEG_DC_BITS_MAX = 20
};

/* A code in the form that is decoded bit by bit [F.2.2.3]. */
typedef struct gl_jpeg_canonical {
    uint32_t limit[17]; /* by length: 16 bits that begin with a code of this length or a shorter one are below it */
    int32_t offset[17]; /* by length: code + offset is the index of its symbol */
    gl_jpeg_code code;  /* what it was made from */
    int is_built;
} gl_jpeg_canonical;

/* Whether it is the one made from `code`. */
int gl_jpeg_canonical_is_of(const gl_jpeg_canonical *canonical, const gl_jpeg_code *code);

/* Indexed by the next bits.  The low byte is the bits taken, value included (0: more bits than an entry takes), the
 * high one the size of the value.  A small table, so that it leaves the cache to those of the AC coefficients. */
typedef struct gl_jpeg_dc {
    uint16_t entry[GL_JPEG_DC_ENTRIES];
    gl_jpeg_canonical canonical;
} gl_jpeg_dc;

/* Indexed by the next bits.  An entry decodes a symbol together with its value, or two symbols where both fit into the
 * index:
 *
 *    0.. 7  bits taken, values included
 *    8..15  advance of the first symbol: how many bytes of coefficients further it leads, itself included;
 *          GL_JPEG_END_OF_BLOCK if it ends the block
 *   16..21  63 - x, where x low bits of the first value lie behind the index and are to be added from the stream
 *   22      slow: the index does not tell (gl_jpeg_symbol_slow does); advances as an end of block, takes no bits
 *   23      pair: there is a second symbol
 *   24..39  first value    40..55  second value (the first one again if there is no second)
 *   56..63  advance of both */
typedef struct gl_jpeg_ac {
    uint64_t entry[GL_JPEG_AC_ENTRIES];
    gl_jpeg_canonical canonical;
} gl_jpeg_ac;

#define GL_JPEG_SLOW ((uint64_t)1 << 22)
#define GL_JPEG_PAIR ((uint64_t)1 << 23)

/* These make the table of a code, or leave it as it is if it is that already. */
int gl_jpeg_dc_build(gl_jpeg_dc *table, const gl_jpeg_code *code);
int gl_jpeg_ac_build(gl_jpeg_ac *table, const gl_jpeg_code *code);

/* One symbol with its value; bits == 0: no such code. */
typedef struct gl_jpeg_symbol {
    int32_t bits, advance, value;
} gl_jpeg_symbol;

/* gl_jpeg_symbol_slow decodes the symbol at the top of `bits`, code length by code length. */
gl_jpeg_symbol gl_jpeg_symbol_slow(const gl_jpeg_canonical *canonical, int is_ac, uint64_t bits);

/* ---- tables.c: the look-up tables of the images under way */

enum { GL_JPEG_TABLES_KEPT = 8 /* of each kind */ };

/* Who needs a table. */
typedef struct gl_jpeg_use {
    unsigned lanes; /* a bit for each */
    uint64_t last;  /* the use's number, counted over all tables */
} gl_jpeg_use;

/* All zero is a sound beginning. */
typedef struct gl_jpeg_tables {
    gl_jpeg_dc dc[GL_JPEG_TABLES_KEPT];
    gl_jpeg_ac ac[GL_JPEG_TABLES_KEPT];
    gl_jpeg_use dc_use[GL_JPEG_TABLES_KEPT], ac_use[GL_JPEG_TABLES_KEPT];
    uint64_t uses;
} gl_jpeg_tables;

/* These give the table of a code, which stays as it is until the lane releases all that it was given; NULL if the code
 * is not ours.  A lane may ask for GL_JPEG_COMPONENTS_MAX of each kind. */
const gl_jpeg_dc *gl_jpeg_tables_dc(gl_jpeg_tables *tables, const gl_jpeg_code *code, int32_t lane);
const gl_jpeg_ac *gl_jpeg_tables_ac(gl_jpeg_tables *tables, const gl_jpeg_code *code, int32_t lane);
void gl_jpeg_tables_release(gl_jpeg_tables *tables, int32_t lane);

/* ---- scan.c: from bits to coefficients */

typedef struct gl_jpeg_block_kind {
    const gl_jpeg_dc *dc;
    const gl_jpeg_ac *ac;
    int32_t component;
} gl_jpeg_block_kind;

/* A place in the stream, and all that decoding goes on with from there. */
typedef struct gl_jpeg_scan {
    const uint8_t *bytes; /* the stream's */
    size_t size;          /* without the slack */
    uint64_t bit;         /* where the next block begins, from bytes */
    int32_t prediction[GL_JPEG_COMPONENTS_MAX];
    int32_t unit_blocks;
    gl_jpeg_block_kind block[GL_JPEG_UNIT_BLOCKS_MAX]; /* of an MCU, in file order */
} gl_jpeg_scan;

/* A decoded block may write that many zeros, no more, behind its end. */
enum { GL_JPEG_BLOCKS_SLACK = 2 * GL_JPEG_BLOCK };

/* What to read next: `units` MCUs into `blocks`: 64 coefficients each, zigzag order, not dequantised; zero before
 * (unless nobody will look at them), GL_JPEG_BLOCKS_SLACK coefficients behind the last one too. */
typedef struct gl_jpeg_stretch {
    int32_t units;
    int16_t *blocks;
} gl_jpeg_stretch;

/* One of the images that are read by turns. */
typedef struct gl_jpeg_lane gl_jpeg_lane;
struct gl_jpeg_lane {
    gl_jpeg_scan scan;
    gl_jpeg_stretch stretch;
    /* Called when the stretch is read (GL_JPEG_OK; `scan` is behind it) or is not ours after all.  Sets scan and
     * stretch to what comes next, of this image or of another one; returns 0 if nothing does. */
    int (*next)(gl_jpeg_lane *lane, int status);
};

/* Reads on in one lane, or in two by turns (else two is NULL), until their `next` has nothing left.  Each has a stretch
 * in hand at the beginning. */
typedef void (*gl_jpeg_scan_lanes)(gl_jpeg_lane *one, gl_jpeg_lane *two);

/* ---- kernels.c: the inner loops, a set for each instruction set; all sets give the same bits */

/* Loops over samples may read and write so many bytes behind the last one. */
enum { GL_JPEG_KERNEL_SLACK = 128 };

typedef struct gl_jpeg_kernels {
    const char *name;
    gl_jpeg_scan_lanes scan;
    /* Dequantises and transforms four blocks that lie side by side: 8 rows of 32 samples.  Returns nonzero if a
     * coefficient is so large that libjpeg-turbo's shortcuts overflow (idct.c). */
    int (*idct)(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out, ptrdiff_t stride);
    /* Fancy upsampling (upsample.c).  Two samples become four (h2v2) or two by themselves; near[-1] and near[n] are
     * read, and far likewise.  bias is the rounding of v2, by the side on which far lies. */
    void (*h2v1)(const uint8_t *near, int32_t n, uint8_t *out);
    void (*h2v2)(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out);
    void (*h1v2)(const uint8_t *near, const uint8_t *far, int32_t bias, int32_t n, uint8_t *out);
    /* YCbCr to RGB (colour.c). */
    void (*colour)(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r, uint8_t *g,
                   uint8_t *b);
} gl_jpeg_kernels;

const gl_jpeg_kernels *gl_jpeg_kernels_chosen(void);

void gl_jpeg_scan_plain(gl_jpeg_lane *one, gl_jpeg_lane *two);
int gl_jpeg_idct_plain(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out,
                       ptrdiff_t stride);
void gl_jpeg_h2v1_plain(const uint8_t *near, int32_t n, uint8_t *out);
void gl_jpeg_h2v2_plain(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out);
void gl_jpeg_h1v2_plain(const uint8_t *near, const uint8_t *far, int32_t bias, int32_t n, uint8_t *out);
void gl_jpeg_colour_plain(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r, uint8_t *g,
                          uint8_t *b);
#if defined(__x86_64__)
void gl_jpeg_scan_bmi2(gl_jpeg_lane *one, gl_jpeg_lane *two);
int gl_jpeg_idct_avx2(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out,
                      ptrdiff_t stride);
int gl_jpeg_idct_avx512(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out,
                        ptrdiff_t stride);
void gl_jpeg_h2v1_avx2(const uint8_t *near, int32_t n, uint8_t *out);
void gl_jpeg_h2v2_avx2(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out);
void gl_jpeg_h1v2_avx2(const uint8_t *near, const uint8_t *far, int32_t bias, int32_t n, uint8_t *out);
void gl_jpeg_h2v1_avx512(const uint8_t *near, int32_t n, uint8_t *out);
void gl_jpeg_h2v2_avx512(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out);
void gl_jpeg_colour_avx2(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r, uint8_t *g,
                         uint8_t *b);
void gl_jpeg_colour_avx512(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r, uint8_t *g,
                           uint8_t *b);
#elif defined(__aarch64__)
int gl_jpeg_idct_neon(const int16_t *const block[4], const uint16_t quant[GL_JPEG_BLOCK], uint8_t *out,
                      ptrdiff_t stride);
void gl_jpeg_h2v1_neon(const uint8_t *near, int32_t n, uint8_t *out);
void gl_jpeg_h2v2_neon(const uint8_t *near, const uint8_t *far, int32_t n, uint8_t *out);
void gl_jpeg_h1v2_neon(const uint8_t *near, const uint8_t *far, int32_t bias, int32_t n, uint8_t *out);
void gl_jpeg_colour_neon(const uint8_t *y, const uint8_t *cb, const uint8_t *cr, int32_t n, uint8_t *r, uint8_t *g,
                         uint8_t *b);
#endif

/* ---- index.c: places to go on from */

typedef struct gl_jpeg_index {
    gl_seek *seek; /* the memory it lies in; NULL: there is no index */
    uint64_t file; /* hash of the file */
    int32_t components;
    int32_t every;               /* MCUs from a place to the next; the first place is at MCU `every` */
    int32_t known, known_before; /* places that it has, and that it had when it was opened */
    int32_t places;              /* that it may have at most */
    size_t place_bytes;
} gl_jpeg_index;

/* gl_jpeg_index_open finds the index of a file in *seek (NULL: nobody keeps one), or begins one. */
void gl_jpeg_index_open(gl_jpeg_index *index, gl_seek *seek, const uint8_t *data, size_t size,
                        const gl_jpeg_frame *frame);

/* gl_jpeg_index_before gives the number of the last MCU up to `unit` at which there is a place; 0 if there is none. */
int32_t gl_jpeg_index_before(const gl_jpeg_index *index, int32_t unit);

/* gl_jpeg_index_go sets the scan to the place at MCU `unit`, one that gl_jpeg_index_before gave. */
int gl_jpeg_index_go(const gl_jpeg_index *index, int32_t unit, gl_jpeg_scan *scan);

/* gl_jpeg_index_wants gives the number of the MCU whose place is to be noted next; INT32_MAX if none is. */
int32_t gl_jpeg_index_wants(const gl_jpeg_index *index);

/* gl_jpeg_index_note notes where the scan stands as the place that is wanted next. */
void gl_jpeg_index_note(gl_jpeg_index *index, const gl_jpeg_scan *scan);

/* gl_jpeg_index_seal makes what is in *seek, at least a header, count as undamaged. */
void gl_jpeg_index_seal(gl_seek *seek);

/* gl_jpeg_index_close leaves what was learned in the caller's memory; to be called only if the file was sound so far.
 */
void gl_jpeg_index_close(gl_jpeg_index *index);

/* ---- region.c: the MCUs a window needs, decoded to planes of samples */

typedef struct gl_jpeg_plane {
    uint8_t *origin; /* sample of the region's first row and column; 64 bytes before it are writable */
    ptrdiff_t stride;
    int32_t x, y; /* where in the component the region begins, in samples */
} gl_jpeg_plane;

/* MCUs, from begin up to end. */
typedef struct gl_jpeg_extent {
    int32_t begin, end;
} gl_jpeg_extent;

/* The planes, and how far they are filled. */
typedef struct gl_jpeg_region {
    gl_jpeg_buffer samples, blocks;
    gl_jpeg_plane plane[GL_JPEG_COMPONENTS_MAX];
    const gl_jpeg_kernels *kernels;
    const gl_jpeg_frame *frame;
    const gl_jpeg_stream *stream;
    int32_t unit_blocks;         /* blocks of an MCU */
    gl_jpeg_extent across, down; /* the MCUs that are wanted */
    int16_t *kept, *skipped;     /* coefficients of a row's wanted MCUs, and of others */
    size_t kept_bytes;
    gl_jpeg_index *index;
    int32_t unit;           /* the MCU to read next, by its number in the image */
    int32_t row, column;    /* the wanted MCU to read next */
    size_t interval;        /* restart interval that the reader is in */
    int32_t interval_units; /* MCUs left of it, if there are intervals */
} gl_jpeg_region;

/* Filling the planes with all samples that pixels of `want` depend on takes turns: gl_jpeg_region_next says what to
 * read, and makes samples of what was read since; the caller has that read, until next->units is 0: nothing is left.
 * Several images can be under way at once. */
int gl_jpeg_region_begin(gl_jpeg_region *region, const gl_jpeg_kernels *kernels, const gl_jpeg_frame *frame,
                         const gl_jpeg_stream *stream, gl_jpeg_index *index, int32_t unit_blocks, gl_window want);
int gl_jpeg_region_next(gl_jpeg_region *region, gl_jpeg_scan *scan, gl_jpeg_stretch *next);

/* ---- rows.c: from planes of samples to rows of RGB */

/* gl_jpeg_rows_hand_over gives all rows of `want` to the sink.  strip is memory it may use.  Returns GL_JPEG_NOT_OURS,
 * before the first row, if out of memory. */
int gl_jpeg_rows_hand_over(const gl_jpeg_region *region, const gl_jpeg_kernels *kernels, const gl_jpeg_frame *frame,
                           gl_window want, gl_jpeg_buffer *strip, gl_sink *sink);

/* ---- engine.c */

/* Our own decoder; images that it does not take go to gl_jpeg_turbo. */
extern const gl_decoder gl_jpeg_own;

/* The same without libjpeg-turbo behind it: refuses what it does not take (tests). */
extern const gl_decoder gl_jpeg_own_alone;

#endif
