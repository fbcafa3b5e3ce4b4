/* libm.h: sines and the like of the C library that this process runs with, so that they are Python's to the last bit.
 *
 * They are looked up when first needed.  A compiler may link functions of its own in their place: zig, which compiles the
 * wheels, does so whatever -lm says, and its sines differ from glibc's in the last bit. */
#ifndef GL_LIBM_H
#define GL_LIBM_H

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>

/* gl_libm_find gives the C library's function of a name, or `linked` where it has none; `kept` is for the next call. */
static inline void *gl_libm_find(void **kept, const char *name, void *linked) {
    void *found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (found == NULL) {
        void *library = dlopen("libm.so.6", RTLD_LAZY); /* never closed */
        found = library == NULL ? NULL : dlsym(library, name);
        found = found == NULL ? linked : found;
        __atomic_store_n(kept, found, __ATOMIC_RELAXED); /* threads that race store the same */
    }
    return found;
}

#define GL_LIBM(type, name)                                                                                            \
    static inline type gl_##name(type x) {                                                                             \
        static void *kept;                                                                                             \
        return ((type (*)(type))gl_libm_find(&kept, #name, (void *)name))(x);                                          \
    }

GL_LIBM(double, cos)
GL_LIBM(double, exp)
GL_LIBM(double, log)
GL_LIBM(double, log1p)
GL_LIBM(double, sin)
GL_LIBM(double, tan)
GL_LIBM(float, cosf)
GL_LIBM(float, logf)
GL_LIBM(float, sinf)

#undef GL_LIBM

#endif
