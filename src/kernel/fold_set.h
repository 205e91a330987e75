/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables behind fold.h: one per instruction set, each from a source file compiled for it, and
 * one of the kernels that no vector instruction helps. Only kernel/ includes this.
 */
#ifndef HCCL_KERNEL_FOLD_SET_H
#define HCCL_KERNEL_FOLD_SET_H

#include "kernel/fold.h"

typedef hccl_fold_fn_t hccl_kernel_table_t[HCCL_NUM_COUNT][HCCL_OP_COUNT];

/* The kernels of a type of number N that all sets name alike. ORDERED: the type by which its numbers are
 * compared; signed and unsigned ones share the rest. */
#define HCCL_ARITHMETIC_ROW(N, ORDERED)                                                \
    [HCCL_OP_SUM] = N##_SUM, [HCCL_OP_PROD] = N##_PROD, [HCCL_OP_MAX] = ORDERED##_MAX, \
    [HCCL_OP_MIN] = ORDERED##_MIN
#define HCCL_INTEGER_ROW(N, ORDERED)                                                        \
    HCCL_ARITHMETIC_ROW(N, ORDERED), [HCCL_OP_LAND] = N##_LAND, [HCCL_OP_LOR] = N##_LOR,    \
                                     [HCCL_OP_LXOR] = N##_LXOR, [HCCL_OP_BAND] = bits_BAND, \
                                     [HCCL_OP_BOR] = bits_BOR, [HCCL_OP_BXOR] = bits_BXOR

struct hccl_kernel_set {
    const char *name;
    /* NULL where the compiler or the processor family has no such instructions, or where the
     * element type has no vector form. */
    const hccl_kernel_table_t *table;
    /* Who has the kernels that this set leaves out, before the scalar ones; NULL: nobody. */
    const struct hccl_kernel_set *rest;
};

/* Sources that a vector kernel reads in one pass. */
#define HCCL_FOLD_GROUP 8

/** Folds more sources than that, in groups. */
void hccl_fold_groups(hccl_fold_fn_t kernel, void *dst, const void *const *src, int nsrc,
                      size_t bytes);

extern const hccl_kernel_set_t hccl_fold_base;
extern const hccl_kernel_set_t hccl_fold_avx2;
extern const hccl_kernel_set_t hccl_fold_avx512;
extern const hccl_kernel_set_t hccl_fold_sve;
extern const hccl_kernel_set_t hccl_fold_scalar;

#endif
