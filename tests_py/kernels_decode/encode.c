/* encode.c: JPEG files of kinds that Pillow does not write. */
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <jpeglib.h>

typedef struct options {
    int width, height, components; /* of the pixels, interleaved: 1 grey, 3 RGB, 4 CMYK */
    int colour;                    /* J_COLOR_SPACE of the file */
    int h[4], v[4];                /* sampling factors of each component; h[0] = 0 for the defaults */
    int quality, progressive, arithmetic, restart_rows, restart_blocks, one_scan_each;
} options;

typedef struct errors {
    struct jpeg_error_mgr base;
    jmp_buf escape;
} errors;

static void give_up(j_common_ptr cinfo) {
    longjmp(((errors *)cinfo->err)->escape, 1);
}

static void print_nothing(j_common_ptr cinfo) {
    (void)cinfo;
}

/* Returns the file (free it with test_free) or NULL if libjpeg does not write such a one. */
unsigned char *test_encode_jpeg(const options *o, const unsigned char *pixels, unsigned long *size) {
    static const J_COLOR_SPACE input[5] = {JCS_UNKNOWN, JCS_GRAYSCALE, JCS_UNKNOWN, JCS_RGB, JCS_CMYK};
    struct jpeg_compress_struct c;
    errors e;
    unsigned char *volatile kept = NULL;
    unsigned char *out = NULL;
    jpeg_scan_info scans[4];
    *size = 0;
    c.err = jpeg_std_error(&e.base);
    e.base.error_exit = give_up;
    e.base.output_message = print_nothing;
    if (setjmp(e.escape)) {
        jpeg_destroy_compress(&c);
        free(kept);
        return NULL;
    }
    jpeg_create_compress(&c);
    jpeg_mem_dest(&c, &out, size);
    kept = out;
    c.image_width = (JDIMENSION)o->width;
    c.image_height = (JDIMENSION)o->height;
    c.input_components = o->components;
    c.in_color_space = input[o->components];
    jpeg_set_defaults(&c);
    jpeg_set_colorspace(&c, (J_COLOR_SPACE)o->colour);
    jpeg_set_quality(&c, o->quality, FALSE); /* not limited to bytes: low qualities give 16-bit tables */
    for (int i = 0; i < c.num_components && o->h[0]; i++) {
        c.comp_info[i].h_samp_factor = o->h[i];
        c.comp_info[i].v_samp_factor = o->v[i];
    }
    c.arith_code = o->arithmetic;
    c.restart_in_rows = o->restart_rows;
    c.restart_interval = (unsigned)o->restart_blocks;
    if (o->progressive) {
        jpeg_simple_progression(&c);
    } else if (o->one_scan_each) {
        for (int i = 0; i < c.num_components; i++) {
            scans[i] = (jpeg_scan_info){.comps_in_scan = 1, .component_index = {i}, .Ss = 0, .Se = 63};
        }
        c.scan_info = scans;
        c.num_scans = c.num_components;
    }
    jpeg_start_compress(&c, TRUE);
    while (c.next_scanline < c.image_height) {
        JSAMPROW row = (JSAMPROW)pixels + (size_t)c.next_scanline * o->width * o->components;
        jpeg_write_scanlines(&c, &row, 1);
    }
    jpeg_finish_compress(&c);
    jpeg_destroy_compress(&c);
    return out;
}

void test_free(void *p) {
    free(p);
}
