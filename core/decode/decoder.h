/* decoder.h: what a codec is to the rest of core.
 *
 * A decoder turns the bytes of one image file into planar 8-bit RGB, a strip of rows at a time, and only as much of it
 * as the caller wants.  Its pixels equal those of Pillow's Image.open(...).convert("RGB"), every byte; or, of decoders
 * that say so, those of Image.open(...) as it is, one plane.  Where a decoder cannot promise that (a damaged file, a
 * kind it does not know, anything a library warns of), it refuses: the image then goes to Pillow itself, which decides
 * what it is worth and words the error.
 *
 * Decoders are handed on by pointer (a gl_decoder), so that the package that runs them (core/op) need not be linked to
 * the packages that hold them. */
#ifndef GOLOADER_DECODER_H
#define GOLOADER_DECODER_H

#include <stddef.h>
#include <stdint.h>

/* A rectangle of pixels. */
typedef struct gl_window {
    int32_t x, y, width, height;
} gl_window;

enum {
    GL_DECODED = 0,  /* every wanted row was handed to the sink */
    GL_REFUSED = 1,  /* not decoded, or not surely as Pillow would: ask Pillow */
    GL_NO_MEMORY = 2 /* an allocation failed */
};

enum {
    /* Bytes that may be read (not written) behind the last wanted column of each row of a strip, so that kernels
     * can load whole vectors.  What they hold is undefined. */
    GL_ROW_SLACK = 128,
    GL_WHY_BYTES = 200 /* room for the reason of a refusal, its NUL included */
};

/* Where a decoder puts its rows.  The receiver embeds this struct as its first member. */
typedef struct gl_sink gl_sink;
struct gl_sink {
    /* Takes the next `rows` rows of the wanted window, from its row y (0 is the window's top; strips come in order,
     * without gaps).  plane[0..2] are R, G and B (all the same pointer for a grey image), at the window's left column;
     * stride is the bytes from a row to the next.  The planes belong to the decoder and hold until strip returns. */
    void (*strip)(gl_sink *sink, int32_t y, int32_t rows, const uint8_t *const plane[3], ptrdiff_t stride);
};

/* What a decoder learned of a file, so that it gets to a window of it sooner the next time: a seek index.  The memory
 * is the caller's, who keeps the bytes in use from visit to visit and looks at none of them.  One that is damaged, or
 * of another file, is not believed but made anew. */
typedef struct gl_seek {
    uint8_t *data;
    size_t room; /* bytes at data; the fewer, the sparser the index */
    size_t
        size; /* bytes in use: before a visit those of the last one, or 0; it changes if there is something to keep */
} gl_seek;

enum { GL_IMAGES_AT_ONCE = 2 /* that a decoder has in hand at most */ };

/* One of many images: the arguments of gl_decoder.decode, and what became of it. */
typedef struct gl_image {
    const uint8_t *data;
    size_t size;
    int32_t width, height;
    gl_window want;
    gl_seek *seek; /* NULL, or no other image's of the feed */
    gl_sink *sink;
    int status; /* GL_DECODED, GL_REFUSED or GL_NO_MEMORY */
    char *why;  /* GL_WHY_BYTES */
} gl_image;

/* Where a decoder of many images gets them.  The giver embeds this struct as its first member. */
typedef struct gl_feed gl_feed;
struct gl_feed {
    /* Gives the next image, NULL if there is none (then or at any later call).  It is the decoder's until done. */
    gl_image *(*next)(gl_feed *feed);
    /* Takes an image back, its status and why set. */
    void (*done)(gl_feed *feed, gl_image *image);
};

typedef struct gl_decoder {
    const char *name;
    /* open makes the state one worker keeps over many images; NULL if out of memory.  One thread at a time per state.
     */
    void *(*open)(void);
    void (*close)(void *state);
    /* decode hands the wanted window of one image to the sink.
     *   data, size    the whole file; never read beyond data + size, never written
     *   width,height  the image size the caller learned from the header: any other is refused
     *   want          lies inside the image, at least 1x1
     *   seek          the file's seek index, used and filled; NULL: none is kept.  Pixels are the same with any
     *   why           on GL_REFUSED a short reason, NUL-terminated
     * Returns GL_DECODED, GL_REFUSED or GL_NO_MEMORY.  After a refusal some strips may already have been handed over.
     */
    int (*decode)(void *state, const uint8_t *data, size_t size, int32_t width, int32_t height, gl_window want,
                  gl_seek *seek, gl_sink *sink, char why[GL_WHY_BYTES]);
    /* decode_all does the same for all images of a feed, GL_IMAGES_AT_ONCE of them by turns; NULL if a decoder gains
     * nothing by that.  All strips of an image come in one go, and then feed->done: no other image's are between them,
     * so that images can share the memory which their strips go to. */
    void (*decode_all)(void *state, gl_feed *feed);
} gl_decoder;

#endif
