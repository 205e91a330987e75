/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels of one instruction set, written with the compiler's vectors. A file that includes
 * this defines
 *     FOLD_WIDTH   bytes of a vector register: 16, 32 or 64
 *     FOLD_SET     the name of the set it makes
 *     FOLD_NAME    the same for humans
 * and is compiled for those instructions.
 *
 * A kernel keeps four vectors of results in registers while it goes through the sources, so each
 * source is read once and dst is written once. It never handles
 * single elements at the end: the last vector of the range is computed first, from the original
 * values, and stored at the end; it overlaps the one before. The same trick aligns stores at the
 * beginning. Ranges shorter than a vector are two overlapping ones of a smaller size.
 */
#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "kernel/fold_set.h"

#define ALWAYS static inline __attribute__((always_inline))

/* From this length on, stores that cross cache lines cost more than aligning them. */
#define ALIGN_FROM 1024

/* Bytes that are combined at once, where there are so many. */
#define ROUND ((size_t) 4 * FOLD_WIDTH)

/* --- Vectors of w bytes: NUMBER_vW in registers, NUMBER_uW anywhere in memory; MASK_vW is what
 * comparing two of them gives; NUMBER_one is one number anywhere in memory. ----------------------------------------------------------------- */

#define VECTOR(T, NUMBER, w)                                 \
    typedef T NUMBER##_v##w __attribute__((vector_size(w))); \
    typedef T NUMBER##_u##w __attribute__((vector_size(w), aligned(1), may_alias));

#define VECTORS_8(T, NUMBER) \
    VECTOR(T, NUMBER, 8)     \
    VECTOR(T, NUMBER, 16)    \
    VECTOR(T, NUMBER, 32)    \
    VECTOR(T, NUMBER, 64)    \
    typedef T NUMBER##_one __attribute__((aligned(1), may_alias));
#define VECTORS_4(T, NUMBER) \
    VECTOR(T, NUMBER, 4)     \
    VECTORS_8(T, NUMBER)
#define VECTORS_2(T, NUMBER) \
    VECTOR(T, NUMBER, 2)     \
    VECTORS_4(T, NUMBER)

VECTORS_2(int8_t, int8)
VECTORS_2(uint8_t, uint8)
VECTORS_4(int16_t, int16)
VECTORS_4(uint16_t, uint16)
VECTORS_8(int32_t, int32)
VECTORS_8(uint32_t, uint32)
VECTORS_8(int64_t, int64)
VECTORS_8(uint64_t, uint64)
VECTORS_8(float, float)
VECTORS_8(double, double)

/* --- Ops: how a source begins the result (INIT), joins it (STEP), and what comes last (DONE).
 * V and M are the vectors of numbers and of comparisons. ---------------------------------------- */

#define SELECT(V, M, mask, a, b) ((V) (((M) (a) & (mask)) | ((M) (b) & ~(mask))))

#define INIT_SUM(V, M, a) (a)
#define STEP_SUM(V, M, a, b) ((a) + (b))
#define DONE_SUM(V, M, a) (a)

#define INIT_PROD(V, M, a) (a)
#define STEP_PROD(V, M, a, b) ((a) * (b))
#define DONE_PROD(V, M, a) (a)

#define INIT_MAX(V, M, a) (a)
#define STEP_MAX(V, M, a, b) SELECT(V, M, (M) ((a) > (b)), a, b)
#define DONE_MAX(V, M, a) (a)

#define INIT_MIN(V, M, a) (a)
#define STEP_MIN(V, M, a, b) SELECT(V, M, (M) ((a) < (b)), a, b)
#define DONE_MIN(V, M, a) (a)

/* All bits of true are set until the end. */
#define INIT_LAND(V, M, a) ((V) ((a) != 0))
#define STEP_LAND(V, M, a, b) ((a) & (V) ((b) != 0))
#define DONE_LAND(V, M, a) ((a) &1)

#define INIT_LOR(V, M, a) (a)
#define STEP_LOR(V, M, a, b) ((a) | (b))
#define DONE_LOR(V, M, a) ((V) ((a) != 0) & 1)

#define INIT_LXOR(V, M, a) ((V) ((a) != 0))
#define STEP_LXOR(V, M, a, b) ((a) ^ (V) ((b) != 0))
#define DONE_LXOR(V, M, a) ((a) &1)

#define INIT_BAND(V, M, a) (a)
#define STEP_BAND(V, M, a, b) ((a) & (b))
#define DONE_BAND(V, M, a) (a)

#define INIT_BOR(V, M, a) (a)
#define STEP_BOR(V, M, a, b) ((a) | (b))
#define DONE_BOR(V, M, a) (a)

#define INIT_BXOR(V, M, a) (a)
#define STEP_BXOR(V, M, a, b) ((a) ^ (b))
#define DONE_BXOR(V, M, a) (a)

/* --- Kernels ------------------------------------------------------------------------------------
 * CHAIN makes NAME_W: the result for the w bytes at `at`. */

#define LOAD(NUMBER, w, from) ((NUMBER##_v##w) * (const NUMBER##_u##w *) (from))
#define STORE(NUMBER, w, to, value) (*(NUMBER##_u##w *) (to) = (NUMBER##_u##w)(value))

#define CHAIN(NAME, OP, NUMBER, MASK, w)                                                         \
    ALWAYS NUMBER##_v##w NAME##_##w(const char *const *src, int nsrc, size_t at)                 \
    {                                                                                            \
        NUMBER##_v##w acc = INIT_##OP(NUMBER##_v##w, MASK##_v##w, LOAD(NUMBER, w, src[0] + at)); \
        for (int j = 1; j < nsrc; j++) {                                                         \
            NUMBER##_v##w next = LOAD(NUMBER, w, src[j] + at);                                   \
            acc = STEP_##OP(NUMBER##_v##w, MASK##_v##w, acc, next);                              \
        }                                                                                        \
        return DONE_##OP(NUMBER##_v##w, MASK##_v##w, acc);                                       \
    }

/* Single numbers: in the first lane of a register, because compilers keep vectors of one lane in
 * memory. */
#define ONE(NAME, OP, NUMBER, V, M)                                   \
    ALWAYS NUMBER##_one NAME##_one(const char *const *src, int nsrc)  \
    {                                                                 \
        V acc = INIT_##OP(V, M, (V){*(const NUMBER##_one *) src[0]}); \
        for (int j = 1; j < nsrc; j++) {                              \
            V next = {*(const NUMBER##_one *) src[j]};                \
            acc = STEP_##OP(V, M, acc, next);                         \
        }                                                             \
        acc = DONE_##OP(V, M, acc);                                   \
        return acc[0];                                                \
    }

/* Ranges of w to 2w - 1 bytes. */
#define SHORT(NAME, NUMBER, w)                                 \
    if (bytes >= w) {                                          \
        NUMBER##_v##w first = NAME##_##w(src, nsrc, 0);        \
        NUMBER##_v##w last = NAME##_##w(src, nsrc, bytes - w); \
        STORE(NUMBER, w, dst, first);                          \
        STORE(NUMBER, w, dst + bytes - w, last);               \
        return;                                                \
    }

/* Ranges of one number, or none. */
#define SINGLE(NAME, NUMBER)                           \
    if (bytes > 0) {                                   \
        *(NUMBER##_one *) dst = NAME##_one(src, nsrc); \
    }

/* Source j joins the four results, unless there is none. Each source has its own instructions
 * because processors foresee by the address of the instruction what it will load next. */
#define JOIN_IN(OP, NUMBER, V, M, w, j)                      \
    if (j == nsrc) {                                         \
        break;                                               \
    }                                                        \
    from = src[j] + at;                                      \
    r0 = STEP_##OP(V, M, r0, LOAD(NUMBER, w, from));         \
    r1 = STEP_##OP(V, M, r1, LOAD(NUMBER, w, from + w));     \
    r2 = STEP_##OP(V, M, r2, LOAD(NUMBER, w, from + 2 * w)); \
    r3 = STEP_##OP(V, M, r3, LOAD(NUMBER, w, from + 3 * w));

/* Ranges of at least one register. `element` divides every address that is computed here. */
#define LONG(NAME, OP, NUMBER, V, M, element, w)                                       \
    ALWAYS void NAME##_long(char *dst, const char *const *src, int nsrc, size_t bytes) \
    {                                                                                  \
        size_t aligned = 0;                                                            \
        V first = {0};                                                                 \
        if (bytes >= ALIGN_FROM) {                                                     \
            aligned = (0 - (uintptr_t) dst) % w / element * element;                   \
            first = JOIN(NAME, w)(src, nsrc, 0);                                       \
        }                                                                              \
        V last = JOIN(NAME, w)(src, nsrc, bytes - w);                                  \
        size_t at = aligned;                                                           \
        for (; at + 4 * w <= bytes; at += 4 * w) {                                     \
            const char *from = src[0] + at;                                            \
            V r0 = INIT_##OP(V, M, LOAD(NUMBER, w, from));                             \
            V r1 = INIT_##OP(V, M, LOAD(NUMBER, w, from + w));                         \
            V r2 = INIT_##OP(V, M, LOAD(NUMBER, w, from + 2 * w));                     \
            V r3 = INIT_##OP(V, M, LOAD(NUMBER, w, from + 3 * w));                     \
            do {                                                                       \
                JOIN_IN(OP, NUMBER, V, M, w, 1)                                        \
                JOIN_IN(OP, NUMBER, V, M, w, 2)                                        \
                JOIN_IN(OP, NUMBER, V, M, w, 3)                                        \
                JOIN_IN(OP, NUMBER, V, M, w, 4)                                        \
                JOIN_IN(OP, NUMBER, V, M, w, 5)                                        \
                JOIN_IN(OP, NUMBER, V, M, w, 6)                                        \
                JOIN_IN(OP, NUMBER, V, M, w, 7)                                        \
            } while (false);                                                           \
            STORE(NUMBER, w, dst + at, DONE_##OP(V, M, r0));                           \
            STORE(NUMBER, w, dst + at + w, DONE_##OP(V, M, r1));                       \
            STORE(NUMBER, w, dst + at + 2 * w, DONE_##OP(V, M, r2));                   \
            STORE(NUMBER, w, dst + at + 3 * w, DONE_##OP(V, M, r3));                   \
        }                                                                              \
        for (; at + w < bytes; at += w) {                                              \
            V r = JOIN(NAME, w)(src, nsrc, at);                                        \
            STORE(NUMBER, w, dst + at, r);                                             \
        }                                                                              \
        STORE(NUMBER, w, dst + bytes - w, last);                                       \
        if (aligned > 0) {                                                             \
            STORE(NUMBER, w, dst, first);                                              \
        }                                                                              \
    }

/* What needs sizes up to the register's, for elements of so many bytes. */
#if FOLD_WIDTH >= 64
#define CHAINS_64(...) CHAIN(__VA_ARGS__, 64)
#define SHORTS_32(...) SHORT(__VA_ARGS__, 32)
#else
#define CHAINS_64(...)
#define SHORTS_32(...)
#endif
#if FOLD_WIDTH >= 32
#define CHAINS_32(...) CHAIN(__VA_ARGS__, 32) CHAINS_64(__VA_ARGS__)
#define SHORTS_16(...) SHORTS_32(__VA_ARGS__) SHORT(__VA_ARGS__, 16)
#else
#define CHAINS_32(...)
#define SHORTS_16(...)
#endif
#define CHAINS_16(...) CHAIN(__VA_ARGS__, 16) CHAINS_32(__VA_ARGS__)
#define CHAINS_8(...) CHAIN(__VA_ARGS__, 8) CHAINS_16(__VA_ARGS__)
#define CHAINS_OVER_8 CHAINS_16
#define CHAINS_OVER_4 CHAINS_8
#define CHAINS_OVER_2(...) CHAIN(__VA_ARGS__, 4) CHAINS_8(__VA_ARGS__)
#define CHAINS_OVER_1(...) CHAIN(__VA_ARGS__, 2) CHAINS_OVER_2(__VA_ARGS__)
#define SHORTS_8(...) SHORTS_16(__VA_ARGS__) SHORT(__VA_ARGS__, 8)
#define SHORTS_4(...) SHORTS_8(__VA_ARGS__) SHORT(__VA_ARGS__, 4)
#define SHORTS_2(...) SHORTS_4(__VA_ARGS__) SHORT(__VA_ARGS__, 2)
#define SHORTS_OVER_8(...) SHORTS_16(__VA_ARGS__) SINGLE(__VA_ARGS__)
#define SHORTS_OVER_4(...) SHORTS_8(__VA_ARGS__) SINGLE(__VA_ARGS__)
#define SHORTS_OVER_2(...) SHORTS_4(__VA_ARGS__) SINGLE(__VA_ARGS__)
#define SHORTS_OVER_1(...) SHORTS_2(__VA_ARGS__) SINGLE(__VA_ARGS__)

#define JOIN(name, w) JOIN_(name, w)
#define JOIN_(name, w) name##_##w
#define REGISTER(NUMBER) JOIN(NUMBER, JOIN_V(FOLD_WIDTH))
#define JOIN_V(w) JOIN_V_(w)
#define JOIN_V_(w) v##w

/* A kernel for elements of so many bytes; the last two arguments make and use what serves short
 * ranges. Two sources are what pairs of ranks combine: with the number known, the compiler keeps
 * their addresses in registers. */
#define KERNEL(NAME, OP, NUMBER, MASK, element, chains, shorts)                                    \
    chains(NAME, OP, NUMBER, MASK)                                                                 \
        LONG(NAME, OP, NUMBER, REGISTER(NUMBER), REGISTER(MASK), element, FOLD_WIDTH)              \
            ALWAYS void NAME##_any(char *dst, const char *const *src, int nsrc, size_t bytes)      \
    {                                                                                              \
        if (bytes >= FOLD_WIDTH) {                                                                 \
            NAME##_long(dst, src, nsrc, bytes);                                                    \
            return;                                                                                \
        }                                                                                          \
        shorts(NAME, NUMBER)                                                                       \
    }                                                                                              \
    static void NAME(void *dst, const void *const *src, int nsrc, size_t bytes);                   \
    static __attribute__((noinline)) void NAME##_many(void *dst, const void *const *src, int nsrc, \
                                                      size_t bytes)                                \
    {                                                                                              \
        if (nsrc <= HCCL_FOLD_GROUP || bytes < ROUND) {                                            \
            NAME##_any(dst, (const char *const *) src, nsrc, bytes);                               \
        } else {                                                                                   \
            hccl_fold_groups(NAME, dst, src, nsrc, bytes);                                         \
        }                                                                                          \
    }                                                                                              \
    static void NAME(void *dst, const void *const *src, int nsrc, size_t bytes)                    \
    {                                                                                              \
        if (2 == nsrc) {                                                                           \
            const char *two[2] = {src[0], src[1]};                                                 \
            NAME##_any(dst, two, 2, bytes);                                                        \
        } else {                                                                                   \
            NAME##_many(dst, src, nsrc, bytes);                                                    \
        }                                                                                          \
    }

/* Elements of one number, and of two of the same width. */
#define NUMBER_KERNEL(NAME, OP, NUMBER, MASK, element) \
    ONE(NAME, OP, NUMBER, NUMBER##_v16, MASK##_v16)    \
    KERNEL(NAME, OP, NUMBER, MASK, element, CHAINS_OVER_##element, SHORTS_OVER_##element)
#define PAIR_KERNEL(NAME, OP, NUMBER, MASK, element) \
    KERNEL(NAME, OP, NUMBER, MASK, element, CHAINS_##element, SHORTS_##element)

#define ARITHMETIC(NUMBER, MASK, element)                     \
    NUMBER_KERNEL(NUMBER##_SUM, SUM, NUMBER, MASK, element)   \
    NUMBER_KERNEL(NUMBER##_PROD, PROD, NUMBER, MASK, element) \
    NUMBER_KERNEL(NUMBER##_MAX, MAX, NUMBER, MASK, element)   \
    NUMBER_KERNEL(NUMBER##_MIN, MIN, NUMBER, MASK, element)

/* Signed integers differ from unsigned ones in their order alone; sums and products wrap, which is
 * defined for unsigned ones. */
#define INTEGER(SIGNED, UNSIGNED, element)                          \
    ARITHMETIC(UNSIGNED, SIGNED, element)                           \
    NUMBER_KERNEL(SIGNED##_MAX, MAX, SIGNED, SIGNED, element)       \
    NUMBER_KERNEL(SIGNED##_MIN, MIN, SIGNED, SIGNED, element)       \
    NUMBER_KERNEL(UNSIGNED##_LAND, LAND, UNSIGNED, SIGNED, element) \
    NUMBER_KERNEL(UNSIGNED##_LOR, LOR, UNSIGNED, SIGNED, element)   \
    NUMBER_KERNEL(UNSIGNED##_LXOR, LXOR, UNSIGNED, SIGNED, element)

INTEGER(int8, uint8, 1)
INTEGER(int16, uint16, 2)
INTEGER(int32, uint32, 4)
INTEGER(int64, uint64, 8)
ARITHMETIC(float, int32, 4)
ARITHMETIC(double, int64, 8)

/* Bits have no width. */
NUMBER_KERNEL(bits_BAND, BAND, uint8, int8, 1)
NUMBER_KERNEL(bits_BOR, BOR, uint8, int8, 1)
NUMBER_KERNEL(bits_BXOR, BXOR, uint8, int8, 1)

#include "kernel/fold_pairs.h"

#define PAIR_ROW(NAME) [HCCL_OP_MAXLOC] = NAME##_MAXLOC, [HCCL_OP_MINLOC] = NAME##_MINLOC

static const hccl_kernel_table_t table = {
    [HCCL_NUM_INT8] = {HCCL_INTEGER_ROW(uint8, int8)},
    [HCCL_NUM_UINT8] = {HCCL_INTEGER_ROW(uint8, uint8)},
    [HCCL_NUM_INT16] = {HCCL_INTEGER_ROW(uint16, int16)},
    [HCCL_NUM_UINT16] = {HCCL_INTEGER_ROW(uint16, uint16)},
    [HCCL_NUM_INT32] = {HCCL_INTEGER_ROW(uint32, int32)},
    [HCCL_NUM_UINT32] = {HCCL_INTEGER_ROW(uint32, uint32)},
    [HCCL_NUM_INT64] = {HCCL_INTEGER_ROW(uint64, int64)},
    [HCCL_NUM_UINT64] = {HCCL_INTEGER_ROW(uint64, uint64)},
    [HCCL_NUM_FLOAT] = {HCCL_ARITHMETIC_ROW(float, float)},
    [HCCL_NUM_DOUBLE] = {HCCL_ARITHMETIC_ROW(double, double)},
    /* Sums of complex numbers are sums of their parts. */
    [HCCL_NUM_FLOAT_COMPLEX] = {[HCCL_OP_SUM] = float_SUM, [HCCL_OP_PROD] = float_complex_PROD},
    [HCCL_NUM_DOUBLE_COMPLEX] = {[HCCL_OP_SUM] = double_SUM, [HCCL_OP_PROD] = double_complex_PROD},
    [HCCL_NUM_INT32_INT32] = {PAIR_ROW(int32_int32)},
    [HCCL_NUM_FLOAT_INT32] = {PAIR_ROW(float_int32)},
    [HCCL_NUM_FLOAT_FLOAT] = {PAIR_ROW(float_float)},
    [HCCL_NUM_DOUBLE_DOUBLE] = {PAIR_ROW(double_double)},
};

const hccl_kernel_set_t FOLD_SET = {.name = FOLD_NAME, .table = &table};
