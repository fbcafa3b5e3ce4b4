/* tables.c: the look-up tables of the images under way.
 *
 * Most files have the tables of the standard's Annex K.  Images that are decoded by turns share what they have in
 * common: two tables for AC coefficients fill a first-level cache of 32 KB, four do not fit.  Tables that nobody needs
 * now are kept for the next file that has them. */
#include "engine.h"

/* Chooses the place for the table of a code: where it is already, or else the one that has been unused for longest. */
static int32_t place_for(const gl_jpeg_canonical *const canonical[GL_JPEG_TABLES_KEPT],
                         const gl_jpeg_use use[GL_JPEG_TABLES_KEPT], const gl_jpeg_code *code) {
    int32_t oldest = -1;
    for (int32_t i = 0; i < GL_JPEG_TABLES_KEPT; i++) {
        if (gl_jpeg_canonical_is_of(canonical[i], code)) {
            return i;
        }
        if (use[i].lanes == 0 && (oldest < 0 || use[i].last < use[oldest].last)) {
            oldest = i;
        }
    }
    return oldest; /* there is one: all lanes together need fewer than are kept */
}

_Static_assert(GL_JPEG_LANES *GL_JPEG_COMPONENTS_MAX < GL_JPEG_TABLES_KEPT, "no table might be free");

static void note_use(gl_jpeg_tables *tables, gl_jpeg_use *use, int32_t lane) {
    use->lanes |= 1u << lane;
    use->last = ++tables->uses;
}

const gl_jpeg_dc *gl_jpeg_tables_dc(gl_jpeg_tables *tables, const gl_jpeg_code *code, int32_t lane) {
    const gl_jpeg_canonical *canonical[GL_JPEG_TABLES_KEPT];
    for (int32_t i = 0; i < GL_JPEG_TABLES_KEPT; i++) {
        canonical[i] = &tables->dc[i].canonical;
    }
    const int32_t place = place_for(canonical, tables->dc_use, code);
    gl_jpeg_dc *dc = &tables->dc[place];
    if (gl_jpeg_dc_build(dc, code) != GL_JPEG_OK) {
        return NULL;
    }
    note_use(tables, &tables->dc_use[place], lane);
    return dc;
}

const gl_jpeg_ac *gl_jpeg_tables_ac(gl_jpeg_tables *tables, const gl_jpeg_code *code, int32_t lane) {
    const gl_jpeg_canonical *canonical[GL_JPEG_TABLES_KEPT];
    for (int32_t i = 0; i < GL_JPEG_TABLES_KEPT; i++) {
        canonical[i] = &tables->ac[i].canonical;
    }
    const int32_t place = place_for(canonical, tables->ac_use, code);
    gl_jpeg_ac *ac = &tables->ac[place];
    if (gl_jpeg_ac_build(ac, code) != GL_JPEG_OK) {
        return NULL;
    }
    note_use(tables, &tables->ac_use[place], lane);
    return ac;
}

void gl_jpeg_tables_release(gl_jpeg_tables *tables, int32_t lane) {
    for (int32_t i = 0; i < GL_JPEG_TABLES_KEPT; i++) {
        tables->dc_use[i].lanes &= ~(1u << lane);
        tables->ac_use[i].lanes &= ~(1u << lane);
    }
}
