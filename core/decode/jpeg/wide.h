/* wide.h: a vector of AVX2 or of AVX-512, for code that is the same with both.  Who includes it says how many bits it has:
 * WIDTH. */
#include "engine.h"

#include <immintrin.h>

#define INLINE TARGET static inline __attribute__((always_inline))

#if WIDTH == 256
#define TARGET __attribute__((target("avx2")))
#define NAMED(function) function##_avx2
#define V(operation) _mm256_##operation
#define BITS(operation) _mm256_##operation##_si256
#define LOAD_HALF(p) _mm_loadu_si128((const __m128i *)(p))
#define BROADCAST(v) _mm256_broadcastsi128_si256(v)
typedef __m256i vector;
#else
#define TARGET __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq")))
#define NAMED(function) function##_avx512
#define V(operation) _mm512_##operation
#define BITS(operation) _mm512_##operation##_si512
#define LOAD_HALF(p) _mm256_loadu_si256((const __m256i *)(p))
#define BROADCAST(v) _mm512_broadcast_i32x4(v)
typedef __m512i vector;
#endif

enum { VECTOR_BYTES = WIDTH / 8 };

INLINE vector load(const uint8_t *p) {
    return BITS(loadu)((const vector *)p);
}

INLINE void store(uint8_t *p, vector v) {
    BITS(storeu)((vector *)p, v);
}
