/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels for Arm's scalable vectors (SVE), whose length the code does not know: elements beyond
 * the end are switched off by a predicate, so short ranges need no code of their own. Elements of two
 * numbers (pairs, complex products) are left to the kernels for NEON. An ordinary compiler option for
 * another processor, or a compiler that does not know the pragma, makes an empty set.
 */
#if defined(__aarch64__) && !defined(__ARM_FEATURE_SVE) && !defined(__clang__)
#pragma GCC target("+sve")
#endif

#include "kernel/fold_set.h"

#if defined(__ARM_FEATURE_SVE)

#include <arm_sve.h>
#include <stdint.h>

/* --- Ops on vectors V of numbers N (s32, f64, ...) under a predicate p: how a source begins the
 * result, joins it, and what comes last. -------------------------------------------------------- */

#define INIT_SUM(N, p, a) (a)
#define STEP_SUM(N, p, a, b) svadd_##N##_x(p, a, b)
#define DONE_SUM(N, p, a) (a)

#define INIT_PROD(N, p, a) (a)
#define STEP_PROD(N, p, a, b) svmul_##N##_x(p, a, b)
#define DONE_PROD(N, p, a) (a)

/* By comparison and not by the instruction for it, which has rules of its own for what is no number. */
#define INIT_MAX(N, p, a) (a)
#define STEP_MAX(N, p, a, b) svsel_##N(svcmpgt_##N(p, a, b), a, b)
#define DONE_MAX(N, p, a) (a)

#define INIT_MIN(N, p, a) (a)
#define STEP_MIN(N, p, a, b) svsel_##N(svcmplt_##N(p, a, b), a, b)
#define DONE_MIN(N, p, a) (a)

/* 1 or 0 for each number. */
#define TRUTH(N, p, a) svdup_n_##N##_z(svcmpne_n_##N(p, a, 0), 1)

#define INIT_LAND(N, p, a) TRUTH(N, p, a)
#define STEP_LAND(N, p, a, b) svand_##N##_x(p, a, TRUTH(N, p, b))
#define DONE_LAND(N, p, a) (a)

#define INIT_LOR(N, p, a) (a)
#define STEP_LOR(N, p, a, b) svorr_##N##_x(p, a, b)
#define DONE_LOR(N, p, a) TRUTH(N, p, a)

#define INIT_LXOR(N, p, a) TRUTH(N, p, a)
#define STEP_LXOR(N, p, a, b) sveor_##N##_x(p, a, TRUTH(N, p, b))
#define DONE_LXOR(N, p, a) (a)

#define INIT_BAND(N, p, a) (a)
#define STEP_BAND(N, p, a, b) svand_##N##_x(p, a, b)
#define DONE_BAND(N, p, a) (a)

#define INIT_BOR(N, p, a) (a)
#define STEP_BOR(N, p, a, b) svorr_##N##_x(p, a, b)
#define DONE_BOR(N, p, a) (a)

#define INIT_BXOR(N, p, a) (a)
#define STEP_BXOR(N, p, a, b) sveor_##N##_x(p, a, b)
#define DONE_BXOR(N, p, a) (a)

/* --- Kernels: T is the number in C, W its bits. Four vectors of results stay in registers while the
 * sources go by; the rest is done vector by vector. dst is written when all sources of the place have
 * been read: it may be one of them. -------------------------------------------------------------- */

#define LOAD(N, p, j, i) svld1_##N(p, (const NUMBER_##N *) src[j] + (i))
#define STORE(N, p, i, value) svst1_##N(p, (NUMBER_##N *) dst + (i), value)

#define NUMBER(T, N) typedef T NUMBER_##N __attribute__((may_alias));
NUMBER(int8_t, s8)
NUMBER(uint8_t, u8)
NUMBER(int16_t, s16)
NUMBER(uint16_t, u16)
NUMBER(int32_t, s32)
NUMBER(uint32_t, u32)
NUMBER(int64_t, s64)
NUMBER(uint64_t, u64)
NUMBER(float, f32)
NUMBER(double, f64)

#define KERNEL(NAME, OP, N, V, W)                                               \
    static void NAME(void *dst, const void *const *src, int nsrc, size_t bytes) \
    {                                                                           \
        const uint64_t n = bytes / (W / 8), lanes = svcntb() / (W / 8);         \
        uint64_t at = 0;                                                        \
        svbool_t p = svptrue_b##W();                                            \
        if (nsrc > HCCL_FOLD_GROUP && n >= 4 * lanes) {                         \
            hccl_fold_groups(NAME, dst, src, nsrc, bytes);                      \
            return;                                                             \
        }                                                                       \
        for (; n - at >= 4 * lanes; at += 4 * lanes) {                          \
            V r0 = INIT_##OP(N, p, LOAD(N, p, 0, at));                          \
            V r1 = INIT_##OP(N, p, LOAD(N, p, 0, at + lanes));                  \
            V r2 = INIT_##OP(N, p, LOAD(N, p, 0, at + 2 * lanes));              \
            V r3 = INIT_##OP(N, p, LOAD(N, p, 0, at + 3 * lanes));              \
            for (int j = 1; j < nsrc; j++) {                                    \
                r0 = STEP_##OP(N, p, r0, LOAD(N, p, j, at));                    \
                r1 = STEP_##OP(N, p, r1, LOAD(N, p, j, at + lanes));            \
                r2 = STEP_##OP(N, p, r2, LOAD(N, p, j, at + 2 * lanes));        \
                r3 = STEP_##OP(N, p, r3, LOAD(N, p, j, at + 3 * lanes));        \
            }                                                                   \
            STORE(N, p, at, DONE_##OP(N, p, r0));                               \
            STORE(N, p, at + lanes, DONE_##OP(N, p, r1));                       \
            STORE(N, p, at + 2 * lanes, DONE_##OP(N, p, r2));                   \
            STORE(N, p, at + 3 * lanes, DONE_##OP(N, p, r3));                   \
        }                                                                       \
        for (; at < n; at += lanes) {                                           \
            p = svwhilelt_b##W##_u64(at, n);                                    \
            V r = INIT_##OP(N, p, LOAD(N, p, 0, at));                           \
            for (int j = 1; j < nsrc; j++) {                                    \
                r = STEP_##OP(N, p, r, LOAD(N, p, j, at));                      \
            }                                                                   \
            STORE(N, p, at, DONE_##OP(N, p, r));                                \
        }                                                                       \
    }

#define ARITHMETIC(N, V, W)         \
    KERNEL(N##_SUM, SUM, N, V, W)   \
    KERNEL(N##_PROD, PROD, N, V, W) \
    KERNEL(N##_MAX, MAX, N, V, W)   \
    KERNEL(N##_MIN, MIN, N, V, W)

/* Signed integers differ from unsigned ones in their order alone. */
#define INTEGER(S, SV, U, UV, W)     \
    ARITHMETIC(U, UV, W)             \
    KERNEL(S##_MAX, MAX, S, SV, W)   \
    KERNEL(S##_MIN, MIN, S, SV, W)   \
    KERNEL(U##_LAND, LAND, U, UV, W) \
    KERNEL(U##_LOR, LOR, U, UV, W)   \
    KERNEL(U##_LXOR, LXOR, U, UV, W)

INTEGER(s8, svint8_t, u8, svuint8_t, 8)
INTEGER(s16, svint16_t, u16, svuint16_t, 16)
INTEGER(s32, svint32_t, u32, svuint32_t, 32)
INTEGER(s64, svint64_t, u64, svuint64_t, 64)
ARITHMETIC(f32, svfloat32_t, 32)
ARITHMETIC(f64, svfloat64_t, 64)
KERNEL(bits_BAND, BAND, u8, svuint8_t, 8)
KERNEL(bits_BOR, BOR, u8, svuint8_t, 8)
KERNEL(bits_BXOR, BXOR, u8, svuint8_t, 8)

static const hccl_kernel_table_t table = {
    [HCCL_NUM_INT8] = {HCCL_INTEGER_ROW(u8, s8)},
    [HCCL_NUM_UINT8] = {HCCL_INTEGER_ROW(u8, u8)},
    [HCCL_NUM_INT16] = {HCCL_INTEGER_ROW(u16, s16)},
    [HCCL_NUM_UINT16] = {HCCL_INTEGER_ROW(u16, u16)},
    [HCCL_NUM_INT32] = {HCCL_INTEGER_ROW(u32, s32)},
    [HCCL_NUM_UINT32] = {HCCL_INTEGER_ROW(u32, u32)},
    [HCCL_NUM_INT64] = {HCCL_INTEGER_ROW(u64, s64)},
    [HCCL_NUM_UINT64] = {HCCL_INTEGER_ROW(u64, u64)},
    [HCCL_NUM_FLOAT] = {HCCL_ARITHMETIC_ROW(f32, f32)},
    [HCCL_NUM_DOUBLE] = {HCCL_ARITHMETIC_ROW(f64, f64)},
    /* Sums of complex numbers are sums of their parts. */
    [HCCL_NUM_FLOAT_COMPLEX] = {[HCCL_OP_SUM] = f32_SUM},
    [HCCL_NUM_DOUBLE_COMPLEX] = {[HCCL_OP_SUM] = f64_SUM},
};

const hccl_kernel_set_t hccl_fold_sve = {.name = "sve", .table = &table, .rest = &hccl_fold_base};
#else
const hccl_kernel_set_t hccl_fold_sve = {.name = "sve", .table = NULL};
#endif
