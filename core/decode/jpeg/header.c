/* header.c: would Pillow open this file?
 *
 * PIL/JpegImagePlugin.py reads the segments before the scan itself, and libjpeg reads them again.  Each minds things
 * that the other does not.  What libjpeg minds shows when it decodes; here is what only Pillow minds.  An irregular
 * segment is refused without asking what exactly Pillow would make of it. */
#include "jpeg.h"

#include <string.h>

/* A stretch of the file. */
typedef struct span {
    const uint8_t *at;
    size_t size;
} span;

static int starts_with(span s, const char *text, size_t n) {
    return s.size >= n && memcmp(s.at, text, n) == 0;
}

static uint32_t big16(const uint8_t *p) {
    return (uint32_t)p[0] << 8 | p[1];
}

static uint32_t big32(const uint8_t *p) {
    return big16(p) << 16 | big16(p + 2);
}

/* The first directory of a TIFF structure, which EXIF and MPF use. */
typedef struct directory {
    span all;
    size_t entries; /* offset of the first entry */
    uint32_t count;
    int big_endian;
} directory;

static uint32_t get16(const directory *d, size_t offset) {
    const uint8_t *p = d->all.at + offset;
    return d->big_endian ? big16(p) : (uint32_t)p[1] << 8 | p[0];
}

static uint32_t get32(const directory *d, size_t offset) {
    return d->big_endian ? get16(d, offset) << 16 | get16(d, offset + 2)
                         : get16(d, offset + 2) << 16 | get16(d, offset);
}

enum { ENTRY_BYTES = 12, SHORT = 3, LONG = 4, RATIONAL = 5, UNDEFINED = 7 };

/* Finds the directory; `count` is cut to the entries that are there.  Returns 0 if there is none. */
static int open_directory(span all, directory *d) {
    d->all = all;
    if (starts_with(all, "MM\0*", 4)) {
        d->big_endian = 1;
    } else if (starts_with(all, "II*\0", 4)) {
        d->big_endian = 0;
    } else {
        return 0;
    }
    if (all.size < 8) {
        return 0;
    }
    size_t offset = get32(d, 4);
    if (offset > all.size || all.size - offset < 2) {
        return 0;
    }
    d->count = get16(d, offset);
    d->entries = offset + 2;
    size_t present = (all.size - d->entries) / ENTRY_BYTES;
    if (d->count > present) {
        d->count = (uint32_t)present;
    }
    return 1;
}

/* Pillow computes the resolution from EXIF while it opens the file, and not every odd type or count there is caught. */
static const char *exif_refusal(span exif) {
    enum { X_RESOLUTION = 0x011A, RESOLUTION_UNIT = 0x0128 };
    for (int i = 0; i < 2 && starts_with(exif, "Exif\0\0", 6); i++) {
        exif.at += 6;
        exif.size -= 6;
    }
    directory d;
    if (!open_directory(exif, &d)) {
        return NULL; /* unreadable EXIF is caught */
    }
    for (uint32_t i = 0; i < d.count; i++) {
        size_t entry = d.entries + (size_t)i * ENTRY_BYTES;
        uint32_t tag = get16(&d, entry), type = get16(&d, entry + 2), count = get32(&d, entry + 4);
        if ((tag == X_RESOLUTION && (type != RATIONAL || count != 1)) ||
            (tag == RESOLUTION_UNIT && (type != SHORT || count != 1))) {
            return "EXIF resolution of an odd type";
        }
    }
    return NULL;
}

/* A multi-picture file (many phones write them) opens as its first picture if its index is sound. */
static const char *mpf_refusal(span mpf) {
    enum { IMAGES = 0xB001, IMAGE_LIST = 0xB002, LISTED_BYTES = 16 };
    static const char why[] = "multi-picture index not understood";
    directory d;
    if (!open_directory(mpf, &d)) {
        return why;
    }
    uint32_t images = 0, list_bytes = 0;
    size_t list = 0;
    for (uint32_t i = 0; i < d.count; i++) {
        size_t entry = d.entries + (size_t)i * ENTRY_BYTES;
        uint32_t tag = get16(&d, entry), type = get16(&d, entry + 2), count = get32(&d, entry + 4);
        if (tag == IMAGES) {
            if (images || type != LONG || count != 1) {
                return why;
            }
            images = get32(&d, entry + 8);
        } else if (tag == IMAGE_LIST) {
            if (list || type != UNDEFINED) {
                return why;
            }
            list_bytes = count;
            list = get32(&d, entry + 8);
        }
    }
    if (images == 0 || images > list_bytes / LISTED_BYTES || list > mpf.size || list_bytes > mpf.size - list) {
        return why;
    }
    for (uint32_t i = 0; i < images; i++) {
        uint32_t attribute = get32(&d, list + (size_t)i * LISTED_BYTES);
        if (attribute >> 24 & 7) { /* not JPEG */
            return why;
        }
    }
    return NULL;
}

/* Pillow walks the resource blocks of a Photoshop segment.  Numbers cut off by its end are caught, a missing name is
 * not. */
static const char *photoshop_refusal(span s) {
    size_t at = 14;
    while (at + 4 <= s.size && memcmp(s.at + at, "8BIM", 4) == 0) {
        at += 4;
        if (at + 2 > s.size) {
            return NULL;
        }
        at += 2;
        if (at >= s.size) {
            return "Photoshop segment ends early";
        }
        at += 1 + (size_t)s.at[at];
        at += at & 1;
        if (at + 4 > s.size) {
            return NULL;
        }
        at += 4 + (size_t)big32(s.at + at);
        at += at & 1;
    }
    return NULL;
}

/* What APPn segments have shown so far. */
typedef struct seen {
    span exif, mpf;
    int exif_segments, has_dpi;
} seen;

static const char *app_refusal(uint8_t code, span s, seen *all) {
    switch (code) {
    case 0xE0:
        if (starts_with(s, "JFIF", 4)) {
            if (s.size < 7) {
                return "JFIF segment ends early";
            }
            all->has_dpi |= s.size >= 12 && (s.at[7] == 1 || s.at[7] == 2);
        }
        return NULL;
    case 0xE1:
        if (starts_with(s, "Exif\0\0", 6)) {
            all->exif = s;
            all->exif_segments++;
        }
        return NULL;
    case 0xE2:
        if (starts_with(s, "ICC_PROFILE\0", 12) && s.size < 14) {
            return "ICC profile segment ends early";
        }
        if (starts_with(s, "MPF\0", 4)) {
            all->mpf = (span){s.at + 4, s.size - 4};
        }
        return NULL;
    case 0xED:
        return starts_with(s, "Photoshop 3.0\0", 14) ? photoshop_refusal(s) : NULL;
    case 0xEE:
        return starts_with(s, "Adobe", 5) && s.size < 7 ? "Adobe segment ends early" : NULL;
    default:
        return NULL;
    }
}

const char *gl_jpeg_header_refusal(const uint8_t *data, size_t size) {
    static const char truncated[] = "file ends before its scan";
    if (size < 3 || data[0] != 0xFF || data[1] != 0xD8 || data[2] != 0xFF) {
        return "not a JPEG file";
    }
    seen all = {0};
    size_t at = 2;
    for (;;) {
        if (size - at < 2) {
            return truncated;
        }
        if (data[at] != 0xFF) {
            return "junk between markers";
        }
        uint8_t code = data[at + 1];
        if (code == 0xFF) { /* fill byte */
            at++;
            continue;
        }
        at += 2;
        if (code < 0xC0 || (code >= 0xD0 && code <= 0xD9)) {
            return "marker that has no place before a scan";
        }
        if (size - at < 2) {
            return truncated;
        }
        size_t length = big16(data + at);
        if (length < 2 || length > size - at) {
            return length < 2 ? "segment of impossible length" : truncated;
        }
        span segment = {data + at + 2, length - 2};
        at += length;
        if (code == 0xDA) {
            break;
        }
        if (code >= 0xE0 && code <= 0xEF) {
            const char *why = app_refusal(code, segment, &all);
            if (why) {
                return why;
            }
        }
    }
    if (all.exif_segments > 1 && !all.has_dpi) {
        return "EXIF in several segments";
    }
    if (all.exif_segments == 1 && !all.has_dpi) {
        const char *why = exif_refusal(all.exif);
        if (why) {
            return why;
        }
    }
    return all.mpf.at ? mpf_refusal(all.mpf) : NULL;
}
