#include "finish.h"

#include <string.h>

enum {
    /* Numbers that terms are done to at a time: with those of the stack they fit the first-level cache. */
    BLOCK = 1024
};

/* Whether a term pushes a noise. */
static int pushes(const gl_finish *finish, int32_t noise) {
    int found = 0;
    for (int32_t i = 0; i < finish->terms; i++)
        found |= finish->term[i].does == GL_PUSH_NOISE && finish->term[i].noise == noise;
    return found;
}

const char *gl_finish_check(const gl_finish *finish, size_t numbers) {
    if (finish->terms < 0 || finish->terms > GL_TERMS_MAX || finish->noises < 0 || finish->noises > GL_NOISES_MAX)
        return "arithmetic of too many terms";
    int depth = 0;
    for (int32_t i = 0; i < finish->terms; i++) {
        const gl_term *term = &finish->term[i];
        if (term->does < 0 || term->does >= GL_TERM_KINDS ||
            (term->does == GL_PUSH_NOISE && (term->noise < 0 || term->noise >= finish->noises)))
            return "no such term";
        const int needs = term->does <= GL_PUSH_NOISE ? 0 : term->does <= GL_DIVIDE ? 2 : 1;
        if (depth < needs || (term->does == GL_SET && depth != 1))
            return "arithmetic of numbers that are not there";
        depth += needs == 0 ? 1 : needs == 2 || term->does == GL_SET ? -1 : 0;
        if (depth > GL_STACK_MAX)
            return "arithmetic of too many numbers";
    }
    if (depth != 0)
        return "arithmetic that leaves numbers";
    for (int32_t i = 0; i < finish->noises; i++)
        if (pushes(finish, i) && !gl_noise_is_of(&finish->noise[i], numbers))
            return "noise that is not made in this way";
    return NULL;
}

int gl_noise_is_of(const gl_noise *noise, size_t numbers) {
    const int few = (noise->kind == GL_NOISE_NORMALS || noise->kind == GL_NOISE_NORMALS_AVX2) &&
                    (numbers < GL_NOISE_NORMALS_MIN || noise->pixels);
    return noise->fill != NULL && !few && (noise->kind != GL_NOISE_PAIRS || numbers % 2 == 0);
}

/* ---- noise */

/* Numbers that follow each other pixel by pixel, as planes. */
static void fill_pixels(gl_noise *noise, float *dst, int32_t channels, size_t pixels) {
    float block[3 * BLOCK];
    for (size_t at = 0; at < pixels; at += BLOCK) {
        const size_t n = pixels - at < BLOCK ? pixels - at : BLOCK;
        noise->fill(noise, block, n * (size_t)channels);
        for (int32_t c = 0; c < channels; c++)
            for (size_t i = 0; i < n; i++)
                dst[(size_t)c * pixels + at + i] = block[i * (size_t)channels + (size_t)c];
    }
}

/* ---- terms */

#define EACH(expression)                                                                                               \
    do {                                                                                                               \
        for (size_t i = 0; i < n; i++)                                                                                 \
            to[i] = (expression);                                                                                      \
    } while (0)

/* What a term makes of the two upper numbers, or of the upper one, b, alone. */
static void make(int32_t does, const float *restrict a, const float *restrict b, float v, size_t n,
                 float *restrict to) {
    switch (does) {
    case GL_ADD:
        EACH(a[i] + b[i]);
        break;
    case GL_SUBTRACT:
        EACH(a[i] - b[i]);
        break;
    case GL_MULTIPLY:
        EACH(a[i] * b[i]);
        break;
    case GL_DIVIDE:
        EACH(a[i] / b[i]);
        break;
    case GL_ADD_WITH:
        EACH(b[i] + v);
        break;
    case GL_SUBTRACT_WITH:
        EACH(b[i] - v);
        break;
    case GL_SUBTRACT_FROM:
        EACH(v - b[i]);
        break;
    case GL_MULTIPLY_WITH:
        EACH(b[i] * v);
        break;
    case GL_DIVIDE_WITH:
        EACH(b[i] / v);
        break;
    case GL_AT_LEAST: /* a NaN stays, and so does a zero's sign */
        EACH(b[i] < v ? v : b[i]);
        break;
    default:
        EACH(b[i] > v ? v : b[i]);
    }
}

/* All terms, on numbers of one channel. */
static void run_block(const gl_finish *finish, const float *noise, size_t numbers, float *sample, size_t at, size_t n,
                      int32_t channel) {
    float place[GL_STACK_MAX][2][BLOCK]; /* what is made is never put where it is made of */
    const float *stack[GL_STACK_MAX];
    int depth = 0;
    for (int32_t k = 0; k < finish->terms; k++) {
        const gl_term *term = &finish->term[k];
        if (term->does == GL_PUSH_SAMPLE) {
            stack[depth++] = sample + at;
        } else if (term->does == GL_PUSH_NOISE) {
            stack[depth++] = noise + (size_t)term->noise * numbers + at;
        } else if (term->does == GL_SET) {
            memcpy(sample + at, stack[--depth], n * sizeof(float));
        } else {
            const float *const upper = stack[depth - 1];
            depth -= term->does <= GL_DIVIDE;
            const float *const left = stack[depth - 1];
            float *const to = place[depth - 1][left == place[depth - 1][0]];
            make(term->does, left, upper, term->value[channel], n, to);
            stack[depth - 1] = to;
        }
    }
}

int gl_finish_run(gl_finish *finish, gl_buffer *scratch, float *sample, int32_t channels, size_t pixels) {
    const size_t numbers = (size_t)channels * pixels;
    if (gl_buffer_grow(scratch, (size_t)finish->noises * numbers * sizeof(float) + GL_ALIGN) != 0)
        return -1;
    float *const noise = (float *)(void *)scratch->data;
    for (int32_t k = 0; k < finish->noises; k++) {
        gl_noise *const each = &finish->noise[k];
        if (!pushes(finish, k))
            continue;
        if (each->pixels)
            fill_pixels(each, noise + (size_t)k * numbers, channels, pixels);
        else
            each->fill(each, noise + (size_t)k * numbers, numbers);
    }
    for (int32_t c = 0; c < channels; c++)
        for (size_t at = 0; at < pixels; at += BLOCK)
            run_block(finish, noise, numbers, sample, (size_t)c * pixels + at,
                      pixels - at < BLOCK ? pixels - at : BLOCK, c);
    return 0;
}
