/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The part of fold_vector.h for elements of two numbers of the same width: a complex number, or a
 * value and its index. Even lanes of a vector hold first numbers, odd lanes second ones.
 */

/* JOIN(vector, iota): the number of each lane. */
#define IOTA(NUMBER, w, ...) static const NUMBER##_v##w NUMBER##_v##w##_iota = {__VA_ARGS__};

IOTA(int32, 8, 0, 1)
IOTA(int32, 16, 0, 1, 2, 3)
IOTA(int64, 16, 0, 1)
#if FOLD_WIDTH >= 32
IOTA(int32, 32, 0, 1, 2, 3, 4, 5, 6, 7)
IOTA(int64, 32, 0, 1, 2, 3)
#endif
#if FOLD_WIDTH >= 64
IOTA(int32, 64, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15)
IOTA(int64, 64, 0, 1, 2, 3, 4, 5, 6, 7)
#endif

/* Both lanes get the first number, both get the second, the two change places. */
#define FIRSTS(M, a) SHUFFLE(a, M##_iota & -2)
#define SECONDS(M, a) SHUFFLE(a, M##_iota | 1)
#define SWAPPED(M, a) SHUFFLE(a, M##_iota ^ 1)
#ifdef __clang__
#define SHUFFLE(a, lanes)                          \
    ({                                             \
        __typeof__(a) from_ = (a), to_ = from_;    \
        for (size_t k_ = 0; k_ < LANES(a); k_++) { \
            to_[k_] = from_[(lanes)[k_]];          \
        }                                          \
        to_;                                       \
    })
#define LANES(a) (sizeof(a) / sizeof((a)[0]))
#else
#define SHUFFLE(a, lanes) __builtin_shuffle(a, lanes)
#endif

/* --- Products of complex numbers as the language defines them: where the plain formula gives two
 * NaNs although a factor is infinite, the compiler's own product gives the infinity. ------------ */

static __attribute__((noinline, cold)) void float_complex_products(void *a, const void *b, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        float _Complex x, y;
        memcpy(&x, (const char *) a + i * sizeof(x), sizeof(x));
        memcpy(&y, (const char *) b + i * sizeof(y), sizeof(y));
        x *= y;
        memcpy((char *) a + i * sizeof(x), &x, sizeof(x));
    }
}

static __attribute__((noinline, cold)) void double_complex_products(void *a, const void *b,
                                                                    size_t n)
{
    for (size_t i = 0; i < n; i++) {
        double _Complex x, y;
        memcpy(&x, (const char *) a + i * sizeof(x), sizeof(x));
        memcpy(&y, (const char *) b + i * sizeof(y), sizeof(y));
        x *= y;
        memcpy((char *) a + i * sizeof(x), &x, sizeof(x));
    }
}

/* Is any bit set? Compilers do not find the processor's short ways. */
ALWAYS bool any_8(const void *v)
{
    uint64_t x;
    memcpy(&x, v, sizeof(x));
    return 0 != x;
}

ALWAYS bool any_16(const void *v)
{
#if defined(__x86_64__)
    return 0 != _mm_movemask_epi8(_mm_loadu_si128(v));
#else
    return any_8(v) || any_8((const char *) v + 8);
#endif
}

ALWAYS bool any_32(const void *v)
{
#if defined(__AVX2__)
    return 0 != _mm256_movemask_epi8(_mm256_loadu_si256(v));
#else
    return any_16(v) || any_16((const char *) v + 16);
#endif
}

ALWAYS bool any_64(const void *v)
{
#if defined(__AVX512F__)
    __m512i x = _mm512_loadu_si512(v);
    return 0 != _mm512_test_epi64_mask(x, x);
#else
    return any_32(v) || any_32((const char *) v + 32);
#endif
}

#define ANY(mask)                           \
    (8 == sizeof(mask)    ? any_8(&(mask))  \
     : 16 == sizeof(mask) ? any_16(&(mask)) \
     : 32 == sizeof(mask) ? any_32(&(mask)) \
                          : any_64(&(mask)))

/* (a.re b.re - a.im b.im, a.im b.re + a.re b.im). The sign of the first number of a pair is turned
 * to subtract it. */
#define STEP_COMPLEX(V, M, PRODUCTS, NUMBER, a, b)                           \
    ({                                                                       \
        V left_ = (a), right_ = (b);                                         \
        M sign_ = ((M##_iota & 1) - 1) << (8 * sizeof(NUMBER) - 1);          \
        V cross_ = SWAPPED(M, left_) * SECONDS(M, right_);                   \
        V product_ = left_ * FIRSTS(M, right_) + (V) ((M) cross_ ^ sign_);   \
        M nan_ = (M) (product_ != product_);                                 \
        if (__builtin_expect(ANY(nan_), 0)) {                                \
            PRODUCTS(&left_, &right_, sizeof(left_) / (2 * sizeof(NUMBER))); \
            product_ = left_;                                                \
        }                                                                    \
        product_;                                                            \
    })
#define INIT_FLOAT_COMPLEX(V, M, a) (a)
#define STEP_FLOAT_COMPLEX(V, M, a, b) STEP_COMPLEX(V, M, float_complex_products, float, a, b)
#define DONE_FLOAT_COMPLEX(V, M, a) (a)
#define INIT_DOUBLE_COMPLEX(V, M, a) (a)
#define STEP_DOUBLE_COMPLEX(V, M, a, b) STEP_COMPLEX(V, M, double_complex_products, double, a, b)
#define DONE_DOUBLE_COMPLEX(V, M, a) (a)

PAIR_KERNEL(float_complex_PROD, FLOAT_COMPLEX, float, int32, 8)
PAIR_KERNEL(double_complex_PROD, DOUBLE_COMPLEX, double, int64, 16)

/* --- Values with an index. K: the vector in which indices are compared. The left element wins
 * where its value is better; where both values are equal, the index of the left one wins unless the
 * right one's is smaller; else the right element wins. ------------------------------------------ */

#define STEP_LOC(V, M, K, better, a, b)                             \
    ({                                                              \
        V left_ = (a), right_ = (b);                                \
        V x_ = FIRSTS(M, left_), y_ = FIRSTS(M, right_);            \
        M index_ = -(M##_iota & 1) & ~(M) ((K) right_ < (K) left_); \
        M take_ = (M) (x_ better y_) | ((M) (x_ == y_) & index_);   \
        SELECT(V, M, take_, left_, right_);                         \
    })
#define INIT_MAXLOC(V, M, a) (a)
#define STEP_MAXLOC(V, M, a, b) STEP_LOC(V, M, V, >, a, b)
#define DONE_MAXLOC(V, M, a) (a)
#define INIT_MINLOC(V, M, a) (a)
#define STEP_MINLOC(V, M, a, b) STEP_LOC(V, M, V, <, a, b)
#define DONE_MINLOC(V, M, a) (a)
/* With integers for indices of floats. */
#define INIT_MAXLOC_INT(V, M, a) (a)
#define STEP_MAXLOC_INT(V, M, a, b) STEP_LOC(V, M, M, >, a, b)
#define DONE_MAXLOC_INT(V, M, a) (a)
#define INIT_MINLOC_INT(V, M, a) (a)
#define STEP_MINLOC_INT(V, M, a, b) STEP_LOC(V, M, M, <, a, b)
#define DONE_MINLOC_INT(V, M, a) (a)

PAIR_KERNEL(int32_int32_MAXLOC, MAXLOC, int32, int32, 8)
PAIR_KERNEL(int32_int32_MINLOC, MINLOC, int32, int32, 8)
PAIR_KERNEL(float_int32_MAXLOC, MAXLOC_INT, float, int32, 8)
PAIR_KERNEL(float_int32_MINLOC, MINLOC_INT, float, int32, 8)
PAIR_KERNEL(float_float_MAXLOC, MAXLOC, float, int32, 8)
PAIR_KERNEL(float_float_MINLOC, MINLOC, float, int32, 8)
PAIR_KERNEL(double_double_MAXLOC, MAXLOC, double, int64, 16)
PAIR_KERNEL(double_double_MINLOC, MINLOC, double, int64, 16)
