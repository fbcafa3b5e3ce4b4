/* libm.h: sines and the like of the C library that this process runs with, so that they are Python's to the last bit.
 *
 * They are looked up when first needed.  A compiler may link functions of its own in their place: zig, which compiles the
 * wheels, does so whatever -lm says, and its sines differ from glibc's in the last bit. */
#ifndef GL_LIBM_H
#define GL_LIBM_H

#include <dlfcn.h>
#include <math.h>
#include <stddef.h>

typedef double (*gl_libm_function)(double);

/* gl_libm_find gives the C library's function of a name, or `linked` where it has none; `kept` is for the next call. */
static inline gl_libm_function gl_libm_find(gl_libm_function *kept, const char *name, gl_libm_function linked) {
    gl_libm_function found = __atomic_load_n(kept, __ATOMIC_RELAXED);
    if (found == NULL) {
        void *library = dlopen("libm.so.6", RTLD_LAZY); /* never closed */
        *(void **)&found = library == NULL ? NULL : dlsym(library, name);
        found = found == NULL ? linked : found;
        __atomic_store_n(kept, found, __ATOMIC_RELAXED); /* threads that race store the same */
    }
    return found;
}

#define GL_LIBM(name)                                                                                                  \
    static inline double gl_##name(double x) {                                                                         \
        static gl_libm_function kept;                                                                                  \
        return gl_libm_find(&kept, #name, name)(x);                                                                    \
    }

GL_LIBM(cos)
GL_LIBM(exp)
GL_LIBM(log)
GL_LIBM(sin)
GL_LIBM(tan)

#undef GL_LIBM

#endif
