/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions of n sources in one pass over memory: dst = ((s[0] op s[1]) op s[2]) op ..., element
 * by element, always in this association, so results are the same bits wherever they are computed.
 *
 * Knows numbers, not MPI: exec/combine.c maps ops and datatypes to these kernels, or to Open MPI's
 * own functions where there is none.
 */
#ifndef HCCL_KERNEL_FOLD_H
#define HCCL_KERNEL_FOLD_H

#include <stddef.h>

/** Kinds of numbers. */
typedef enum {
    HCCL_NUM_INT8,
    HCCL_NUM_UINT8,
    HCCL_NUM_INT16,
    HCCL_NUM_UINT16,
    HCCL_NUM_INT32,
    HCCL_NUM_UINT32,
    HCCL_NUM_INT64,
    HCCL_NUM_UINT64,
    HCCL_NUM_FLOAT,
    HCCL_NUM_DOUBLE,
    HCCL_NUM_COUNT
} hccl_num_t;

/** Ops. The logical and bitwise ones exist for integers only. */
typedef enum {
    HCCL_OP_SUM,
    HCCL_OP_PROD,
    HCCL_OP_MAX,
    HCCL_OP_MIN,
    HCCL_OP_LAND,
    HCCL_OP_LOR,
    HCCL_OP_LXOR,
    HCCL_OP_BAND,
    HCCL_OP_BOR,
    HCCL_OP_BXOR,
    HCCL_OP_COUNT
} hccl_op_kind_t;

/** Combines count elements of nsrc >= 2 sources into dst. Sources need no alignment. dst may be one
 *  of the sources, but must not overlap one partly. */
typedef void (*hccl_fold_fn_t)(void *dst, const void *const *src, int nsrc, size_t count);

/** The kernel, or NULL when the op does not exist for this kind of number. */
hccl_fold_fn_t hccl_kernel_fold(hccl_op_kind_t op, hccl_num_t num);

#endif
