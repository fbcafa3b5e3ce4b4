/* reduce.h: loops that add n items to one, in the orders in which numpy and torch add floats. Written for each type T by
 * kernels.c. Where items go to places of their own (so != 0), each is added to what is there. */

/* numpy's pairwise sum (loops_utils.h): eight sums side by side of up to 128 items; more are halved. */
#define PAIRWISE(T)                                                                                                    \
    static inline T few_##T(const uint8_t *a, int64_t sa, int64_t n) {                                                 \
        T sum = 0;                                                                                                     \
        int64_t i = 0;                                                                                                 \
        if (n >= 8) {                                                                                                  \
            T r[8];                                                                                                    \
            for (; i < 8; i++)                                                                                         \
                r[i] = *(const T *)(a + i * sa);                                                                       \
            for (; i < n - n % 8; i += 8)                                                                              \
                for (int k = 0; k < 8; k++)                                                                            \
                    r[k] += *(const T *)(a + (i + k) * sa);                                                            \
            sum = ((r[0] + r[1]) + (r[2] + r[3])) + ((r[4] + r[5]) + (r[6] + r[7]));                                   \
        }                                                                                                              \
        for (; i < n; i++)                                                                                             \
            sum += *(const T *)(a + i * sa);                                                                           \
        return sum;                                                                                                    \
    }                                                                                                                  \
    static T pairs_##T(const uint8_t *a, int64_t sa, int64_t n) {                                                      \
        const int64_t item = (int64_t)sizeof(T), half = n / 2 - n / 2 % 8;                                             \
        if (n <= 128)                                                                                                  \
            return sa == item ? few_##T(a, item, n) : few_##T(a, sa, n);                                               \
        return pairs_##T(a, sa, half) + pairs_##T(a + half * sa, sa, n - half);                                        \
    }

/* torch's cascade_sum (SumKernel.cpp): items in 4 levels, of which each takes what 2^step of the one below has made. W of
 * them side by side. */
#define LEVELS(T, NAME, W)                                                                                             \
    static inline void NAME##_##T(T *sums, const uint8_t *a, int64_t sa, int64_t across, int64_t n) {                  \
        T levels[4][W];                                                                                                \
        memset(levels, 0, sizeof levels);                                                                              \
        int step = 0;                                                                                                  \
        while (((int64_t)1 << step) < n)                                                                               \
            step++;                                                                                                    \
        step = step / 4 > 4 ? step / 4 : 4;                                                                            \
        const int64_t each = (int64_t)1 << step;                                                                       \
        int64_t i = 0;                                                                                                 \
        while (i + each <= n) {                                                                                        \
            for (int64_t j = 0; j < each; j++, i++, a += sa)                                                           \
                for (int k = 0; k < W; k++)                                                                            \
                    levels[0][k] += *(const T *)(a + k * across);                                                      \
            for (int j = 1; j < 4; j++) {                                                                              \
                for (int k = 0; k < W; k++) {                                                                          \
                    levels[j][k] += levels[j - 1][k];                                                                  \
                    levels[j - 1][k] = 0;                                                                              \
                }                                                                                                      \
                if (i & ((each - 1) << (j * step)))                                                                    \
                    break;                                                                                             \
            }                                                                                                          \
        }                                                                                                              \
        for (; i < n; i++, a += sa)                                                                                    \
            for (int k = 0; k < W; k++)                                                                                \
                levels[0][k] += *(const T *)(a + k * across);                                                          \
        for (int k = 0; k < W; k++) {                                                                                  \
            for (int j = 1; j < 4; j++)                                                                                \
                levels[0][k] += levels[j][k];                                                                          \
            sums[k] = levels[0][k];                                                                                    \
        }                                                                                                              \
    }

/* Four rows of one number, or of a vector's LANES; what is left is added to the first. */
#define ROWS(T, NAME, OF, LANES)                                                                                       \
    static inline void NAME##_##T(T *sums, const uint8_t *a, int64_t sa, int64_t n) {                                  \
        T rows[4 * LANES];                                                                                             \
        const int64_t four = n / 4;                                                                                    \
        OF##_##T(rows, a, 4 * LANES * sa, sa, four);                                                                   \
        for (int64_t i = 4 * four; i < n; i++)                                                                         \
            for (int k = 0; k < LANES; k++)                                                                            \
                rows[k] += *(const T *)(a + (i * LANES + k) * sa);                                                     \
        for (int k = 0; k < LANES; k++) {                                                                              \
            for (int row = 1; row < 4; row++)                                                                          \
                rows[k] += rows[row * LANES + k];                                                                      \
            sums[k] = rows[k];                                                                                         \
        }                                                                                                              \
    }

#define LANES_float32 8
#define LANES_float64 4
#define VECTORS(T, LANES)                                                                                              \
    LEVELS(T, level, 1)                                                                                                \
    LEVELS(T, levels, 4)                                                                                               \
    LEVELS(T, levels_of_vectors, 4 * LANES)                                                                            \
    ROWS(T, row, levels, 1)                                                                                            \
    ROWS(T, row_of_vectors, levels_of_vectors, LANES)                                                                  \
    static inline T lanes_##T(const uint8_t *a, int64_t sa, int64_t n) {                                               \
        T vector[LANES], sum = 0;                                                                                      \
        row_of_vectors_##T(vector, a, sa, n / LANES);                                                                  \
        for (int64_t i = n - n % LANES; i < n; i++)                                                                    \
            sum += *(const T *)(a + i * sa);                                                                           \
        for (int k = 0; k < LANES; k++)                                                                                \
            sum += vector[k];                                                                                          \
        return sum;                                                                                                    \
    }

/* SUM is what is made of items that become one. */
#define REDUCE(NAME, A, O, SUM)                                                                                        \
    static int NAME(ARGUMENTS) {                                                                                       \
        (void)b, (void)sb, (void)c, (void)sc;                                                                          \
        if (so == 0) {                                                                                                 \
            O r = 0;                                                                                                   \
            SUM;                                                                                                       \
            *(O *)o += r;                                                                                              \
        } else {                                                                                                       \
            for (int64_t i = 0; i < n; i++)                                                                            \
                *(O *)(o + i * so) += *(const A *)(a + i * sa);                                                        \
        }                                                                                                              \
        return 0;                                                                                                      \
    }

#define IN_TURN(A, ADD)                                                                                                \
    for (int64_t i = 0; i < n; i++) {                                                                                  \
        const A x = *(const A *)(a + i * sa);                                                                          \
        ADD;                                                                                                           \
    }

/* Welford's sum of squared deviations (torch's WelfordOps), with MORE what a number adds. */
#define SQUARES(NAME, A, MORE)                                                                                         \
    REDUCE(NAME##_##A, A, double, double mean = 0;                                                                     \
           IN_TURN(A, const double apart = x - mean; mean += apart / (double)(i + 1); r = MORE))

/* Until numpy 2.3, rows are summed in pieces of 8,192 items. */
#define SUMS(T)                                                                                                        \
    PAIRWISE(T)                                                                                                        \
    VECTORS(T, LANES_##T)                                                                                              \
    REDUCE(sum_pairs_##T, T, T, r = pairs_##T(a, sa, n))                                                               \
    static int sum_pieces_##T(ARGUMENTS) {                                                                             \
        for (; so == 0 && n > 8192; n -= 8192, a += 8192 * sa)                                                         \
            sum_pairs_##T(o, so, a, sa, b, sb, c, sc, 8192);                                                           \
        return sum_pairs_##T(o, so, a, sa, b, sb, c, sc, n);                                                           \
    }                                                                                                                  \
    REDUCE(sum_lanes_##T, T, T, const int64_t item = (int64_t)sizeof(T);                                               \
           r = sa == item ? lanes_##T(a, item, n) : lanes_##T(a, sa, n))                                               \
    REDUCE(sum_rows_##T, T, T, row_##T(&r, a, sa, n))                                                                  \
    REDUCE(sum_levels_##T, T, T, level_##T(&r, a, sa, 0, n))                                                           \
    REDUCE(sum_each_##T, T, T, IN_TURN(T, r += x))                                                                     \
    SQUARES(squares, T, r + apart * (x - mean))                                                                        \
    SQUARES(squares_fused, T, fma(apart, x - mean, r))

/* Sums of integers wrap round. */
#define SUM_WRAP(T)                                                                                                    \
    static int sum_each_##T(ARGUMENTS) {                                                                               \
        (void)b, (void)sb, (void)c, (void)sc;                                                                          \
        IN_TURN(T, *(uint64_t *)(o + i * so) += (uint64_t)x)                                                           \
        return 0;                                                                                                      \
    }

/* The largest and the smallest. There is none beside what is not a number; which of two zeros it is depends on the
 * library's build. */
#define EXTREMES(T, NONE)                                                                                              \
    EXTREME(max_##T, T, >, NONE)                                                                                       \
    EXTREME(min_##T, T, <, NONE)
#define EXTREME(NAME, T, BEFORE, NONE)                                                                                 \
    static inline int NAME##_of(T *o, const uint8_t *a, int64_t sa, int64_t n) {                                       \
        enum { LANES = 8 };                                                                                            \
        T best[LANES], y = *o;                                                                                         \
        int bad = 0;                                                                                                   \
        int64_t i = 0;                                                                                                 \
        for (int k = 0; k < LANES; k++)                                                                                \
            best[k] = y;                                                                                               \
        for (; i < n - n % LANES; i += LANES)                                                                          \
            for (int k = 0; k < LANES; k++) {                                                                          \
                const T x = *(const T *)(a + (i + k) * sa);                                                            \
                bad |= x != x;                                                                                         \
                best[k] = x BEFORE best[k] ? x : best[k];                                                              \
            }                                                                                                          \
        for (; i < n; i++) {                                                                                           \
            const T x = *(const T *)(a + i * sa);                                                                      \
            bad |= x != x;                                                                                             \
            y = x BEFORE y ? x : y;                                                                                    \
        }                                                                                                              \
        for (int k = 0; k < LANES; k++)                                                                                \
            y = best[k] BEFORE y ? best[k] : y;                                                                        \
        if (y == 0)                                                                                                    \
            IN_TURN(T, bad |= NONE)                                                                                    \
        *o = y;                                                                                                        \
        return bad;                                                                                                    \
    }                                                                                                                  \
    static int NAME(ARGUMENTS) {                                                                                       \
        (void)b, (void)sb, (void)c, (void)sc;                                                                          \
        const int64_t item = (int64_t)sizeof(T);                                                                       \
        int bad = 0;                                                                                                   \
        if (so == 0)                                                                                                   \
            return sa == item ? NAME##_of((T *)o, a, item, n) : NAME##_of((T *)o, a, sa, n);                           \
        for (; n > 0; n--, o += so, a += sa) {                                                                         \
            const T y = *(const T *)o, x = *(const T *)a;                                                              \
            bad |= x != x || NONE;                                                                                     \
            *(T *)o = x BEFORE y ? x : y;                                                                              \
        }                                                                                                              \
        return bad;                                                                                                    \
    }
#define EXTREMES_INTEGER(T) EXTREMES(T, ((void)x, 0))
#define EXTREMES_FLOAT(T) EXTREMES(T, (x == 0 && y == 0 && !signbit(x) != !signbit(y)))
