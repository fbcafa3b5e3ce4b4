/* square.h: squares of pixels whose rows become columns. */
#ifndef GOLOADER_SQUARE_H
#define GOLOADER_SQUARE_H

#include <stdint.h>
#include <string.h>

enum { GL_SQUARE = 16 };

typedef uint8_t gl_row16 __attribute__((vector_size(GL_SQUARE)));
typedef gl_row16 gl_square[GL_SQUARE];

/* One from a, one from b, by turns: of their first halves, and of their second ones. */
#if defined(__clang__)
#define GL_FIRST_HALVES(a, b) __builtin_shufflevector(a, b, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23)
#define GL_SECOND_HALVES(a, b)                                                                                         \
    __builtin_shufflevector(a, b, 8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31)
#else
#define GL_FIRST_HALVES(a, b)                                                                                          \
    __builtin_shuffle(a, b, (gl_row16){0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23})
#define GL_SECOND_HALVES(a, b)                                                                                         \
    __builtin_shuffle(a, b, (gl_row16){8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31})
#endif

/* Rows become columns: each of four rounds shuffles the 256 bytes as one deck of cards, which moves the four bits of a
 * byte's row number to the place of the four of its column's. */
static inline void gl_square_transpose(gl_square square) {
    for (int round = 0; round < 4; round++) {
        gl_square shuffled;
        for (int i = 0; i < GL_SQUARE / 2; i++) {
            shuffled[2 * i] = GL_FIRST_HALVES(square[i], square[i + GL_SQUARE / 2]);
            shuffled[2 * i + 1] = GL_SECOND_HALVES(square[i], square[i + GL_SQUARE / 2]);
        }
        memcpy(square, shuffled, sizeof shuffled);
    }
}

#endif
