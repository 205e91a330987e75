/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of fold.h, in portable C. Two to four sources are combined in registers; more go
 * through a block of partial results that stays in the first-level cache, so that every source is
 * read once and dst is written once, after all sources of that block were read.
 */
#include "kernel/fold.h"

#include <stdint.h>

/* Partial results: half of a small first-level cache. */
#define BLOCK_BYTES 8192

/* The compiler makes one version per instruction set and the loader picks one. glibc: other C
 * libraries' loaders cannot. Tests define HCCL_KERNEL_ONE_VERSION to run each by itself. */
#if defined(__x86_64__) && defined(__GNUC__) && defined(__GLIBC__) && !defined(__clang__) \
    && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)                    \
    && !defined(HCCL_KERNEL_ONE_VERSION)
#define MULTIVERSION __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MULTIVERSION
#endif

#define OP_SUM(a, b) ((a) + (b))
#define OP_PROD(a, b) ((a) * (b))
#define OP_MAX(a, b) ((a) > (b) ? (a) : (b))
#define OP_MIN(a, b) ((a) < (b) ? (a) : (b))
/* Not && and ||: their branches keep the compiler from using vector instructions. */
#define OP_LAND(a, b) ((0 != (a)) & (0 != (b)))
#define OP_LOR(a, b) ((0 != (a)) | (0 != (b)))
#define OP_LXOR(a, b) ((!(a)) != (!(b)))
#define OP_BAND(a, b) ((a) & (b))
#define OP_BOR(a, b) ((a) | (b))
#define OP_BXOR(a, b) ((a) ^ (b))

/* Unaligned element types: user buffers may start anywhere. may_alias: any bytes are read. */
#define UNALIGNED(type) type __attribute__((aligned(1), may_alias))

#define KERNEL(OP, NAME, type, wide)                                                              \
    typedef UNALIGNED(type) NAME##_##OP##_t;                                                      \
    MULTIVERSION static void NAME##_##OP##_2(NAME##_##OP##_t *d, const NAME##_##OP##_t *a,        \
                                             const NAME##_##OP##_t *b, size_t n)                  \
    {                                                                                             \
        for (size_t i = 0; i < n; i++) {                                                          \
            d[i] = (type) OP_##OP((wide) a[i], (wide) b[i]);                                      \
        }                                                                                         \
    }                                                                                             \
    MULTIVERSION static void NAME##_##OP##_3(NAME##_##OP##_t *d, const NAME##_##OP##_t *a,        \
                                             const NAME##_##OP##_t *b, const NAME##_##OP##_t *c,  \
                                             size_t n)                                            \
    {                                                                                             \
        for (size_t i = 0; i < n; i++) {                                                          \
            type t = (type) OP_##OP((wide) a[i], (wide) b[i]);                                    \
            d[i] = (type) OP_##OP((wide) t, (wide) c[i]);                                         \
        }                                                                                         \
    }                                                                                             \
    MULTIVERSION static void NAME##_##OP##_4(NAME##_##OP##_t *d, const NAME##_##OP##_t *a,        \
                                             const NAME##_##OP##_t *b, const NAME##_##OP##_t *c,  \
                                             const NAME##_##OP##_t *e, size_t n)                  \
    {                                                                                             \
        for (size_t i = 0; i < n; i++) {                                                          \
            type t = (type) OP_##OP((wide) a[i], (wide) b[i]);                                    \
            t = (type) OP_##OP((wide) t, (wide) c[i]);                                            \
            d[i] = (type) OP_##OP((wide) t, (wide) e[i]);                                         \
        }                                                                                         \
    }                                                                                             \
    static void NAME##_##OP##_many(NAME##_##OP##_t *d, const void *const *src, int nsrc,          \
                                   size_t count)                                                  \
    {                                                                                             \
        type block[BLOCK_BYTES / sizeof(type)];                                                   \
        const size_t chunk = BLOCK_BYTES / sizeof(type);                                          \
        for (size_t at = 0; at < count; at += chunk) {                                            \
            size_t n = count - at < chunk ? count - at : chunk;                                   \
            const NAME##_##OP##_t *acc = (const NAME##_##OP##_t *) src[0] + at;                   \
            int done = 1;                                                                         \
            while (done < nsrc) {                                                                 \
                int left = nsrc - done;                                                           \
                NAME##_##OP##_t *to = left > 3 ? (NAME##_##OP##_t *) block : d + at;              \
                const NAME##_##OP##_t *b = (const NAME##_##OP##_t *) src[done] + at;              \
                if (1 == left) {                                                                  \
                    NAME##_##OP##_2(to, acc, b, n);                                               \
                    done += 1;                                                                    \
                } else if (2 == left) {                                                           \
                    NAME##_##OP##_3(to, acc, b, (const NAME##_##OP##_t *) src[done + 1] + at, n); \
                    done += 2;                                                                    \
                } else {                                                                          \
                    NAME##_##OP##_4(to, acc, b, (const NAME##_##OP##_t *) src[done + 1] + at,     \
                                    (const NAME##_##OP##_t *) src[done + 2] + at, n);             \
                    done += 3;                                                                    \
                }                                                                                 \
                acc = to;                                                                         \
            }                                                                                     \
        }                                                                                         \
    }                                                                                             \
    static void NAME##_##OP(void *dst, const void *const *src, int nsrc, size_t count)            \
    {                                                                                             \
        if (2 == nsrc) {                                                                          \
            NAME##_##OP##_2(dst, src[0], src[1], count);                                          \
        } else {                                                                                  \
            NAME##_##OP##_many(dst, src, nsrc, count);                                            \
        }                                                                                         \
    }

#define ARITHMETIC(NAME, type, wide) \
    KERNEL(SUM, NAME, type, wide)    \
    KERNEL(PROD, NAME, type, wide)   \
    KERNEL(MAX, NAME, type, type)    \
    KERNEL(MIN, NAME, type, type)

/* Signed integers differ from unsigned ones in their order alone. Sums and products wrap, as Open
 * MPI's do on every machine we know: computed in the unsigned type, where wrapping is defined. */
#define INTEGER(SIGNED, UNSIGNED, wide)                \
    ARITHMETIC(UNSIGNED, UNSIGNED##_t, wide)           \
    KERNEL(LAND, UNSIGNED, UNSIGNED##_t, UNSIGNED##_t) \
    KERNEL(LOR, UNSIGNED, UNSIGNED##_t, UNSIGNED##_t)  \
    KERNEL(LXOR, UNSIGNED, UNSIGNED##_t, UNSIGNED##_t) \
    KERNEL(BAND, UNSIGNED, UNSIGNED##_t, UNSIGNED##_t) \
    KERNEL(BOR, UNSIGNED, UNSIGNED##_t, UNSIGNED##_t)  \
    KERNEL(BXOR, UNSIGNED, UNSIGNED##_t, UNSIGNED##_t) \
    KERNEL(MAX, SIGNED, SIGNED##_t, SIGNED##_t)        \
    KERNEL(MIN, SIGNED, SIGNED##_t, SIGNED##_t)

INTEGER(int8, uint8, uint32_t)
INTEGER(int16, uint16, uint32_t)
INTEGER(int32, uint32, uint32_t)
INTEGER(int64, uint64, uint64_t)
ARITHMETIC(float, float, float)
ARITHMETIC(double, double, double)

#define ARITHMETIC_ROW(NAME, ORDERED)                                                        \
    [HCCL_OP_SUM] = NAME##_SUM, [HCCL_OP_PROD] = NAME##_PROD, [HCCL_OP_MAX] = ORDERED##_MAX, \
    [HCCL_OP_MIN] = ORDERED##_MIN
#define INTEGER_ROW(NAME, ORDERED)                                                             \
    ARITHMETIC_ROW(NAME, ORDERED), [HCCL_OP_LAND] = NAME##_LAND, [HCCL_OP_LOR] = NAME##_LOR,   \
                                   [HCCL_OP_LXOR] = NAME##_LXOR, [HCCL_OP_BAND] = NAME##_BAND, \
                                   [HCCL_OP_BOR] = NAME##_BOR, [HCCL_OP_BXOR] = NAME##_BXOR

static const hccl_fold_fn_t kernels[HCCL_NUM_COUNT][HCCL_OP_COUNT] = {
    [HCCL_NUM_INT8] = {INTEGER_ROW(uint8, int8)},
    [HCCL_NUM_UINT8] = {INTEGER_ROW(uint8, uint8)},
    [HCCL_NUM_INT16] = {INTEGER_ROW(uint16, int16)},
    [HCCL_NUM_UINT16] = {INTEGER_ROW(uint16, uint16)},
    [HCCL_NUM_INT32] = {INTEGER_ROW(uint32, int32)},
    [HCCL_NUM_UINT32] = {INTEGER_ROW(uint32, uint32)},
    [HCCL_NUM_INT64] = {INTEGER_ROW(uint64, int64)},
    [HCCL_NUM_UINT64] = {INTEGER_ROW(uint64, uint64)},
    [HCCL_NUM_FLOAT] = {ARITHMETIC_ROW(float, float)},
    [HCCL_NUM_DOUBLE] = {ARITHMETIC_ROW(double, double)},
};

hccl_fold_fn_t hccl_kernel_fold(hccl_op_kind_t op, hccl_num_t num)
{
    return kernels[num][op];
}
