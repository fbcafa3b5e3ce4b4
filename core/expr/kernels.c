/* The table of inner loops, an operation and a type a row. What each makes is what numpy and torch make, to the bit:
 * floats by IEEE 754, integers wrap round. A fused multiply-add would round otherwise.
 * An operation "..._checked" has no result where it would wrap: Python's integers do not, and numpy warns for its
 * scalars. */
#include "kernels.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "reduce.h"

#if defined(__clang__)
#pragma STDC FP_CONTRACT OFF
#elif defined(__GNUC__) && !defined(__x86_64__)
#pragma GCC optimize("fp-contract=off")
#endif

typedef uint8_t uint8;
typedef int8_t int8;
typedef uint16_t uint16;
typedef int16_t int16;
typedef uint32_t uint32;
typedef int32_t int32;
typedef uint64_t uint64;
typedef int64_t int64;
typedef float float32;
typedef double float64;
typedef uint8_t boolean;

#define ARGUMENTS                                                                                                      \
    uint8_t *o, int64_t so, const uint8_t *a, int64_t sa, const uint8_t *b, int64_t sb, const uint8_t *c, int64_t sc,  \
        int64_t n

/* LOAD gives what BODY makes r of, and r goes to TO, for each i. */
#define EACH(O, LOAD, BODY, TO)                                                                                        \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        LOAD;                                                                                                          \
        O r;                                                                                                           \
        BODY;                                                                                                          \
        TO = r;                                                                                                        \
    }

/* The loop over items that follow each other is one that compilers make vectors of; so is that with one constant. */
#define LOOP1(NAME, A, O, BODY)                                                                                        \
    static int NAME(ARGUMENTS) {                                                                                       \
        (void)b, (void)sb, (void)c, (void)sc;                                                                          \
        int bad = 0;                                                                                                   \
        if (so == (int64_t)sizeof(O) && sa == (int64_t)sizeof(A)) {                                                    \
            O *restrict to = (O *)o;                                                                                   \
            const A *restrict from = (const A *)a;                                                                     \
            EACH(O, const A x = from[i], BODY, to[i])                                                                  \
        } else {                                                                                                       \
            EACH(O, const A x = *(const A *)(a + i * sa), BODY, *(O *)(o + i * so))                                    \
        }                                                                                                              \
        return bad;                                                                                                    \
    }

#define LOOP2(NAME, A, O, BODY)                                                                                        \
    static int NAME(ARGUMENTS) {                                                                                       \
        (void)c, (void)sc;                                                                                             \
        int bad = 0;                                                                                                   \
        const int64_t size = (int64_t)sizeof(A);                                                                       \
        O *restrict to = (O *)o;                                                                                       \
        const A *restrict left = (const A *)a, *restrict right = (const A *)b;                                         \
        if (so == (int64_t)sizeof(O) && sa == size && sb == size) {                                                    \
            EACH(O, const A x = left[i]; const A y = right[i], BODY, to[i])                                            \
        } else if (so == (int64_t)sizeof(O) && sa == size && sb == 0 && n > 0) {                                       \
            const A y = *right;                                                                                        \
            EACH(O, const A x = left[i], BODY, to[i])                                                                  \
        } else {                                                                                                       \
            EACH(O, const A x = *(const A *)(a + i * sa);                                                              \
                 const A y = *(const A *)(b + i * sb), BODY, *(O *)(o + i * so))                                       \
        }                                                                                                              \
        return bad;                                                                                                    \
    }

/* The first operand is a condition. */
#define CHOICE(T)                                                                                                      \
    static int where_##T(ARGUMENTS) {                                                                                  \
        for (int64_t i = 0; i < n; i++)                                                                                \
            *(T *)(o + i * so) = *(a + i * sa) ? *(const T *)(b + i * sb) : *(const T *)(c + i * sc);                  \
        return 0;                                                                                                      \
    }

#define FLOATS(X) X(float32) X(float64)
#define SIGNED(X) X(int8) X(int16) X(int32) X(int64)
#define UNSIGNED(X) X(uint8) X(uint16) X(uint32) X(uint64)
#define INTEGERS(X) SIGNED(X) UNSIGNED(X)
#define NUMBERS(X) INTEGERS(X) FLOATS(X)
#define ALL(X) NUMBERS(X) X(boolean)

/* Arithmetic of small types is that of int, and what is kept of it is what wrapped round; larger ones wrap as unsigned. */
#define WRAP(T)                                                                                                        \
    LOOP2(add_##T, T, T, r = (T)((uint64_t)x + (uint64_t)y))                                                           \
    LOOP2(sub_##T, T, T, r = (T)((uint64_t)x - (uint64_t)y))                                                           \
    LOOP2(mul_##T, T, T, r = (T)((uint64_t)x * (uint64_t)y))                                                           \
    LOOP1(neg_##T, T, T, r = (T)(0 - (uint64_t)x))
INTEGERS(WRAP)

#define CHECKED(T)                                                                                                     \
    LOOP2(add_checked_##T, T, T, bad |= __builtin_add_overflow(x, y, &r))                                              \
    LOOP2(sub_checked_##T, T, T, bad |= __builtin_sub_overflow(x, y, &r))                                              \
    LOOP2(mul_checked_##T, T, T, bad |= __builtin_mul_overflow(x, y, &r))                                              \
    LOOP1(neg_checked_##T, T, T, bad |= __builtin_sub_overflow((T)0, x, &r))
INTEGERS(CHECKED)

#define ARITHMETIC(T)                                                                                                  \
    LOOP2(add_##T, T, T, r = x + y)                                                                                    \
    LOOP2(sub_##T, T, T, r = x - y)                                                                                    \
    LOOP2(mul_##T, T, T, r = x * y)                                                                                    \
    LOOP2(div_##T, T, T, r = x / y)                                                                                    \
    LOOP1(neg_##T, T, T, r = -x)
FLOATS(ARITHMETIC)

LOOP1(abs_float32, float32, float32, r = fabsf(x))
LOOP1(abs_float64, float64, float64, r = fabs(x))
LOOP1(sqrt_float32, float32, float32, r = sqrtf(x))
LOOP1(sqrt_float64, float64, float64, r = sqrt(x))
#define ABS(T)                                                                                                         \
    LOOP1(abs_##T, T, T, r = (T)(x < 0 ? 0 - (uint64_t)x : (uint64_t)x))                                               \
    LOOP1(abs_checked_##T, T, T, r = (T)(x < 0 ? 0 - (uint64_t)x : (uint64_t)x); bad |= r < 0)
SIGNED(ABS)

/* Division rounds down; there is none by zero, nor of the least number by -1. */
#define DIVIDE_SIGNED(T)                                                                                               \
    LOOP2(floordiv_##T, T, T, const int none = y == 0 || (y == -1 && (T)(0 - (uint64_t)x) == x && x != 0);             \
          const T d = none ? 1 : y; bad |= none; r = (T)(x / d - (x % d != 0 && (x < 0) != (d < 0))))                  \
    LOOP2(mod_##T, T, T, const int none = y == 0 || (y == -1 && (T)(0 - (uint64_t)x) == x && x != 0);                  \
          const T d = none ? 1 : y; bad |= none; const T m = (T)(x % d);                                               \
          r = (T)(m != 0 && (m < 0) != (d < 0) ? m + d : m))
SIGNED(DIVIDE_SIGNED)
#define DIVIDE_UNSIGNED(T)                                                                                             \
    LOOP2(floordiv_##T, T, T, bad |= y == 0; r = (T)(x / (y == 0 ? 1 : y)))                                            \
    LOOP2(mod_##T, T, T, bad |= y == 0; r = (T)(x % (y == 0 ? 1 : y)))
UNSIGNED(DIVIDE_UNSIGNED)

#define COMPARE(T)                                                                                                     \
    LOOP2(lt_##T, T, boolean, r = x < y)                                                                               \
    LOOP2(le_##T, T, boolean, r = x <= y)                                                                              \
    LOOP2(gt_##T, T, boolean, r = x > y)                                                                               \
    LOOP2(ge_##T, T, boolean, r = x >= y)                                                                              \
    LOOP2(eq_##T, T, boolean, r = x == y)                                                                              \
    LOOP2(ne_##T, T, boolean, r = x != y)
ALL(COMPARE)

/* Limits as numpy's clip and torch's clamp have them. A limit that is not a number is not asked for. Which of two zeros
 * numpy's clip gives depends on its build. */
#define LIMITS(T, SAME)                                                                                                \
    LOOP2(least_numpy_##T, T, T, bad |= SAME; r = x != x || x > y ? x : y)                                             \
    LOOP2(most_numpy_##T, T, T, bad |= SAME; r = x != x || x < y ? x : y)                                              \
    LOOP2(least_torch_##T, T, T, r = x < y ? y : x)                                                                    \
    LOOP2(most_torch_##T, T, T, r = x > y ? y : x)
#define LIMITS_INTEGER(T) LIMITS(T, 0)
#define LIMITS_FLOAT(T) LIMITS(T, x == 0 && y == 0 && signbit(x) != signbit(y))
INTEGERS(LIMITS_INTEGER)
FLOATS(LIMITS_FLOAT)

FLOATS(SUMS)
SUM_WRAP(int64)
SUM_WRAP(uint64)
INTEGERS(EXTREMES_INTEGER)
FLOATS(EXTREMES_FLOAT)

#define BITS(T)                                                                                                        \
    LOOP2(and_##T, T, T, r = x & y)                                                                                    \
    LOOP2(or_##T, T, T, r = x | y)                                                                                     \
    LOOP2(xor_##T, T, T, r = x ^ y)

/* What follows are tables, whose lines are calls of macros without semicolons. */
/* clang-format off */

INTEGERS(BITS)
BITS(boolean)
LOOP1(not_boolean, boolean, boolean, r = !x)
LOOP1(require_boolean, boolean, boolean, bad |= !x; r = x)
#define INVERT(T) LOOP1(not_##T, T, T, r = (T)~x)
INTEGERS(INVERT)

ALL(CHOICE)

#define COPY(T) LOOP1(copy_##T, T, T, r = x)
ALL(COPY)

/* Casts. Integers wrap round. A float becomes an integer that it is in the range of, without its fraction. */
#define CAST(A, O) LOOP1(cast_##A##_##O, A, O, r = (O)x)
#define CAST_FROM(A)                                                                                                   \
    CAST(A, int8) CAST(A, int16) CAST(A, int32) CAST(A, int64)                                                         \
    CAST(A, uint8) CAST(A, uint16) CAST(A, uint32) CAST(A, uint64)                                                     \
    CAST(A, float32) CAST(A, float64)                                                                                  \
    LOOP1(cast_##A##_boolean, A, boolean, r = x != 0)
INTEGERS(CAST_FROM)
CAST_FROM(boolean)
#define TRUNCATE(A, O, ABOVE, BELOW)                                                                                   \
    LOOP1(cast_##A##_##O, A, O, const float64 d = x; const int in = d ABOVE && d < BELOW; bad |= !in;                  \
          r = (O)(in ? d : 0))
#define CAST_FLOAT(A)                                                                                                  \
    TRUNCATE(A, int8, > -129.0, 128.0) TRUNCATE(A, int16, > -32769.0, 32768.0)                                         \
    TRUNCATE(A, int32, > -2147483649.0, 2147483648.0) TRUNCATE(A, int64, >= -0x1p63, 0x1p63)                           \
    TRUNCATE(A, uint8, > -1.0, 256.0) TRUNCATE(A, uint16, > -1.0, 65536.0)                                             \
    TRUNCATE(A, uint32, > -1.0, 4294967296.0) TRUNCATE(A, uint64, > -1.0, 0x1p64)                                      \
    CAST(A, float32) CAST(A, float64)                                                                                  \
    LOOP1(cast_##A##_boolean, A, boolean, r = x != 0)
FLOATS(CAST_FLOAT)

/* "bool" is a keyword in some C. */
#define NAME_int8 "int8"
#define NAME_int16 "int16"
#define NAME_int32 "int32"
#define NAME_int64 "int64"
#define NAME_uint8 "uint8"
#define NAME_uint16 "uint16"
#define NAME_uint32 "uint32"
#define NAME_uint64 "uint64"
#define NAME_float32 "float32"
#define NAME_float64 "float64"
#define NAME_boolean "bool"

#define ROW(OP, COUNT, A, O) {#OP, NAME_##A, NAME_##O, COUNT, OP##_##A},
#define CAST_ROW(A, O) {"cast", NAME_##A, NAME_##O, 1, cast_##A##_##O},
#define ROWS_CAST(A)                                                                                                   \
    CAST_ROW(A, int8) CAST_ROW(A, int16) CAST_ROW(A, int32) CAST_ROW(A, int64)                                         \
    CAST_ROW(A, uint8) CAST_ROW(A, uint16) CAST_ROW(A, uint32) CAST_ROW(A, uint64)                                     \
    CAST_ROW(A, float32) CAST_ROW(A, float64) CAST_ROW(A, boolean)
#define ROWS_NUMBER(T)                                                                                                 \
    ROW(add, 2, T, T) ROW(sub, 2, T, T) ROW(mul, 2, T, T) ROW(neg, 1, T, T)                                            \
    ROW(least_numpy, 2, T, T) ROW(most_numpy, 2, T, T) ROW(least_torch, 2, T, T) ROW(most_torch, 2, T, T)              \
    ROW(max, 1, T, T) ROW(min, 1, T, T)
#define ROWS_FLOAT(T)                                                                                                  \
    ROW(div, 2, T, T) ROW(abs, 1, T, T) ROW(sqrt, 1, T, T) ROW(sum_each, 1, T, T)                                      \
    ROW(sum_pairs, 1, T, T) ROW(sum_pieces, 1, T, T) ROW(sum_lanes, 1, T, T) ROW(sum_rows, 1, T, T)                    \
    ROW(sum_levels, 1, T, T) ROW(squares, 1, T, float64) ROW(squares_fused, 1, T, float64)
#define ROWS_SIGNED(T) ROW(abs, 1, T, T) ROW(abs_checked, 1, T, T)
#define ROWS_BITS(T) ROW(and, 2, T, T) ROW(or, 2, T, T) ROW(xor, 2, T, T) ROW(not, 1, T, T)
#define ROWS_INTEGER(T)                                                                                                \
    ROW(add_checked, 2, T, T) ROW(sub_checked, 2, T, T) ROW(mul_checked, 2, T, T) ROW(neg_checked, 1, T, T)            \
    ROW(floordiv, 2, T, T) ROW(mod, 2, T, T)
#define ROWS_ALL(T)                                                                                                    \
    ROW(lt, 2, T, boolean) ROW(le, 2, T, boolean) ROW(gt, 2, T, boolean) ROW(ge, 2, T, boolean)                        \
    ROW(eq, 2, T, boolean) ROW(ne, 2, T, boolean) ROW(where, 3, T, T) ROW(copy, 1, T, T)

const gl_named_kernel gl_expr_kernels[] = {
    NUMBERS(ROWS_NUMBER)
    FLOATS(ROWS_FLOAT)
    SIGNED(ROWS_SIGNED)
    INTEGERS(ROWS_INTEGER)
    INTEGERS(ROWS_BITS)
    ROWS_BITS(boolean)
    ROW(require, 1, boolean, boolean)
    ROW(sum_each, 1, int64, int64)
    ROW(sum_each, 1, uint64, uint64)
    ALL(ROWS_ALL)
    ALL(ROWS_CAST)
    {NULL, NULL, NULL, 0, NULL},
};
