/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels for elements that no vector register holds: long double, whose arithmetic is the
 * x87's on x86, and pairs of numbers of different width. One pass over memory here too, element by
 * element.
 */
#include <complex.h>
#include <float.h>
#include <stdint.h>
#include <string.h>

#include "kernel/fold_set.h"

#define PACKED __attribute__((packed, may_alias))

/* Bytes of a long double that have no value. */
#if 64 == LDBL_MANT_DIG
#define PADDING (sizeof(long double) - 10)
#else
#define PADDING ((size_t) 0)
#endif

static inline void clear_padding(void *number)
{
    if (PADDING > 0) {
        memset((char *) number + sizeof(long double) - PADDING, 0, PADDING);
    }
}

static inline void clear_paddings(void *number)
{
    clear_padding(number);
    clear_padding((char *) number + sizeof(long double));
}

static inline void no_padding(void *number)
{
    (void) number;
}

/* T: an unaligned element in memory, with the one member v. */
#define KERNEL(NAME, T, CLEAR, EXPRESSION)                                              \
    static void NAME(void *dst, const void *const *src, int nsrc, size_t bytes)         \
    {                                                                                   \
        for (size_t at = 0; at < bytes; at += sizeof(T)) {                              \
            __typeof__(((T *) 0)->v) a = ((const T *) ((const char *) src[0] + at))->v; \
            for (int j = 1; j < nsrc; j++) {                                            \
                __typeof__(a) b = ((const T *) ((const char *) src[j] + at))->v;        \
                a = EXPRESSION;                                                         \
            }                                                                           \
            T *to = (T *) ((char *) dst + at);                                          \
            to->v = a;                                                                  \
            CLEAR(to);                                                                  \
        }                                                                               \
    }

typedef struct PACKED {
    long double v;
} real_t;
typedef struct PACKED {
    long double _Complex v;
} complex_t;

KERNEL(real_SUM, real_t, clear_padding, (a) + (b))
KERNEL(real_PROD, real_t, clear_padding, (a) * (b))
KERNEL(real_MAX, real_t, clear_padding, a > b ? a : b)
KERNEL(real_MIN, real_t, clear_padding, a < b ? a : b)
KERNEL(complex_PROD, complex_t, clear_paddings, (a) * (b))

/* Pairs. Without branches: which of two values is larger cannot be foretold. */
#define PAIR(NAME, T, V, CLEAR)                    \
    typedef struct PACKED {                        \
        V v;                                       \
        int32_t k;                                 \
    } T;                                           \
    PAIR_KERNEL(NAME##_MAXLOC, T, V, CLEAR, a > b) \
    PAIR_KERNEL(NAME##_MINLOC, T, V, CLEAR, a < b)
#define PAIR_KERNEL(NAME, T, V, CLEAR, BETTER)                                  \
    static void NAME(void *dst, const void *const *src, int nsrc, size_t bytes) \
    {                                                                           \
        for (size_t at = 0; at < bytes; at += sizeof(T)) {                      \
            const T *from = (const T *) ((const char *) src[0] + at);           \
            V a = from->v;                                                      \
            int32_t k = from->k;                                                \
            for (int j = 1; j < nsrc; j++) {                                    \
                from = (const T *) ((const char *) src[j] + at);                \
                V b = from->v;                                                  \
                int32_t least = k < from->k ? k : from->k;                      \
                k = BETTER ? k : a == b ? least : from->k;                      \
                a = BETTER ? a : b;                                             \
            }                                                                   \
            T *to = (T *) ((char *) dst + at);                                  \
            to->v = a;                                                          \
            CLEAR(to);                                                          \
            to->k = k;                                                          \
        }                                                                       \
    }

PAIR(int16_int32, int16_int32_t, int16_t, no_padding)
PAIR(int64_int32, int64_int32_t, int64_t, no_padding)
PAIR(double_int32, double_int32_t, double, no_padding)
PAIR(real_int32, real_int32_t, long double, clear_padding)

#define PAIR_ROW(NAME) [HCCL_OP_MAXLOC] = NAME##_MAXLOC, [HCCL_OP_MINLOC] = NAME##_MINLOC

static const hccl_kernel_table_t table = {
    [HCCL_NUM_LONG_DOUBLE] = {[HCCL_OP_SUM] = real_SUM,
                              [HCCL_OP_PROD] = real_PROD,
                              [HCCL_OP_MAX] = real_MAX,
                              [HCCL_OP_MIN] = real_MIN},
    [HCCL_NUM_LONG_DOUBLE_COMPLEX] = {[HCCL_OP_SUM] = real_SUM, [HCCL_OP_PROD] = complex_PROD},
    [HCCL_NUM_INT16_INT32] = {PAIR_ROW(int16_int32)},
    [HCCL_NUM_INT64_INT32] = {PAIR_ROW(int64_int32)},
    [HCCL_NUM_DOUBLE_INT32] = {PAIR_ROW(double_int32)},
    [HCCL_NUM_LONG_DOUBLE_INT32] = {PAIR_ROW(real_int32)},
};

const hccl_kernel_set_t hccl_fold_scalar = {.name = "scalar", .table = &table};
