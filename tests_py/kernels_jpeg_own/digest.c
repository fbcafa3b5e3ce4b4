/* digest.c: hashes of what our JPEG decoder and its kernels make, to be compared between sets of kernels and machines.
 *
 *   digest <file>...
 *
 * Prints the name of the set in use; a line for the kernels, fed with extreme and random values; and a line a file with
 * the hash of several windows, the second time with a seek index.  Needs no libjpeg. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../../core/decode/decodetest/collect.h"
#include "../../core/decode/jpeg/engine.h"

/* Only a name: what our decoder does not take, this program does not decode. */
const gl_decoder gl_jpeg_turbo = {.name = "none"};

static uint64_t seed = 1;

static uint32_t next_random(void) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33);
}

/* FNV-1a */
static uint64_t hash(uint64_t sum, const uint8_t *data, size_t size) {
    for (size_t i = 0; i < size; i++) {
        sum = (sum ^ data[i]) * 0x100000001B3u;
    }
    return sum;
}

static int16_t random_coefficient(uint32_t kind) {
    static const int16_t extreme[] = {-32768, -32767, -8193, -8192, 0, 8191, 8192, 32767};
    switch (kind) {
    case 0: /* sparse, as in photographs */
        return next_random() % 5 ? 0 : (int16_t)(next_random() % 400 - 200);
    case 1:
        return extreme[next_random() % 8];
    default:
        return (int16_t)next_random();
    }
}

static void digest_kernels(const gl_jpeg_kernels *kernels) {
    enum { WIDTH = 500, SLACK = GL_JPEG_KERNEL_SLACK, ROUNDS = 800 };
    static uint8_t in[3][WIDTH + 2 * SLACK], out[3][2 * WIDTH + 2 * SLACK], square[8 * 32];
    uint64_t idct = 0, upsample = 0, colour = 0;
    for (int round = 0; round < ROUNDS; round++) {
        int16_t blocks[4][GL_JPEG_BLOCK];
        const int16_t *four[4];
        uint16_t quant[GL_JPEG_BLOCK];
        const uint32_t kind = next_random() % 3, widest = round % 2 ? 30 : 65535;
        for (int i = 0; i < GL_JPEG_BLOCK; i++) {
            quant[i] = (uint16_t)(1 + next_random() % widest);
            for (int b = 0; b < 4; b++) {
                blocks[b][i] = random_coefficient(kind);
                four[b] = blocks[b];
            }
        }
        const int overflows = kernels->idct(four, quant, square, 32) != 0;
        idct = hash(idct + (uint64_t)overflows, square, sizeof square);

        for (int p = 0; p < 3; p++) {
            for (size_t i = 0; i < sizeof in[p]; i++) {
                in[p][i] = (uint8_t)next_random();
            }
        }
        const int32_t n = 1 + (int32_t)(next_random() % WIDTH), bias = 1 + (int32_t)(next_random() % 2);
        kernels->h2v1(in[0] + SLACK, n, out[0]);
        kernels->h2v2(in[0] + SLACK, in[1] + SLACK, n, out[1]);
        kernels->h1v2(in[0] + SLACK, in[1] + SLACK, bias, n, out[2]);
        upsample = hash(hash(hash(upsample, out[0], 2 * (size_t)n), out[1], 2 * (size_t)n), out[2], (size_t)n);
        kernels->colour(in[0], in[1], in[2], n, out[0], out[1], out[2]);
        for (int p = 0; p < 3; p++) {
            colour = hash(colour, out[p], (size_t)n);
        }
    }
    printf("kernels: %016" PRIx64 " %016" PRIx64 " %016" PRIx64 "\n", idct, upsample, colour);
}

static uint8_t *load(const char *path, size_t *size) {
    FILE *f = fopen(path, "rb");
    if (!f) {
        perror(path);
        exit(1);
    }
    fseek(f, 0, SEEK_END);
    *size = (size_t)ftell(f);
    rewind(f);
    uint8_t *data = malloc(*size);
    if (fread(data, 1, *size, f) != *size) {
        exit(1);
    }
    fclose(f);
    return data;
}

static void digest_file(void *state, const char *path) {
    static gl_jpeg_frame frame;
    static uint8_t room[1 << 14];
    size_t size;
    uint8_t *data = load(path, &size);
    uint64_t sums[2] = {0, 0};
    int decoded = 0;
    if (gl_jpeg_parse(data, size, &frame) == GL_JPEG_OK) {
        const int32_t width = frame.width, height = frame.height;
        uint8_t *rgb = malloc((size_t)width * (size_t)height * 3);
        gl_seek seek = {room, sizeof room, 0};
        for (int turn = 0; turn < 2; turn++) {
            for (int32_t i = 0; i < 6; i++) {
                const gl_window w = {width * i / 7, height * i / 9, width - width * i / 7 - width * i / 20,
                                     height - height * i / 9 - height * i / 20};
                int32_t rows;
                char why[GL_WHY_BYTES];
                if (gl_test_decode(&gl_jpeg_own_alone, state, data, size, width, height, w, turn ? &seek : NULL, rgb,
                                   &rows, why) == GL_DECODED) {
                    sums[turn] = hash(sums[turn], rgb, (size_t)w.width * (size_t)w.height * 3);
                    decoded++;
                }
            }
        }
        free(rgb);
    }
    printf("%d %016" PRIx64 " %016" PRIx64 "\n", decoded, sums[0], sums[1]);
    free(data);
}

int main(int argc, char **argv) {
    const gl_jpeg_kernels *kernels = gl_jpeg_kernels_chosen();
    printf("%s\n", kernels->name);
    digest_kernels(kernels);
    void *state = gl_test_open(&gl_jpeg_own_alone);
    for (int i = 1; i < argc; i++) {
        digest_file(state, argv[i]);
    }
    gl_test_close(&gl_jpeg_own_alone, state);
    return 0;
}
