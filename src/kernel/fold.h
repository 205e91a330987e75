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

/** Kinds of elements: numbers, and pairs of a value and an index. The members of an element follow
 *  each other without gaps, as a packed message has them: a double and an int take 12 bytes. */
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
    HCCL_NUM_LONG_DOUBLE,
    HCCL_NUM_FLOAT_COMPLEX,
    HCCL_NUM_DOUBLE_COMPLEX,
    HCCL_NUM_LONG_DOUBLE_COMPLEX,
    HCCL_NUM_INT16_INT32,
    HCCL_NUM_INT32_INT32,
    HCCL_NUM_INT64_INT32,
    HCCL_NUM_FLOAT_INT32,
    HCCL_NUM_DOUBLE_INT32,
    HCCL_NUM_LONG_DOUBLE_INT32,
    HCCL_NUM_FLOAT_FLOAT,
    HCCL_NUM_DOUBLE_DOUBLE,
    HCCL_NUM_COUNT
} hccl_num_t;

/** Ops. Logical and bitwise ones exist for integers, sums and products of complex numbers, the two
 *  LOC ops for pairs.
 *  MAX is a > b ? a : b of the left operand a and the right one b, MIN alike, also when one is not
 *  a number. MAXLOC and MINLOC take the smaller index where the values are equal, and the right
 *  operand where they cannot be compared. Logical ops give 1 or 0. Sums and products wrap. */
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
    HCCL_OP_MAXLOC,
    HCCL_OP_MINLOC,
    HCCL_OP_COUNT
} hccl_op_kind_t;

/** Combines the first `bytes` bytes, a multiple of the element's, of nsrc >= 2 sources into dst.
 *  Nothing needs alignment. dst may be one of the sources, but must not overlap one partly. Bytes of
 *  an element that carry no value (in long double) become 0. */
typedef void (*hccl_fold_fn_t)(void *dst, const void *const *src, int nsrc, size_t bytes);

/** The best kernel for this processor, or NULL when the op does not exist for these elements. */
hccl_fold_fn_t hccl_kernel_fold(hccl_op_kind_t op, hccl_num_t num);

/** Bytes of an element. */
size_t hccl_kernel_bytes(hccl_num_t num);

/** The same kernels for one instruction set each, for tests and measurements: the i-th set that this
 *  processor has, the best first; NULL: no i-th. */
typedef struct hccl_kernel_set hccl_kernel_set_t;
const hccl_kernel_set_t *hccl_kernel_set(int i);
const char *hccl_kernel_set_name(const hccl_kernel_set_t *set);
hccl_fold_fn_t hccl_kernel_set_fold(const hccl_kernel_set_t *set, hccl_op_kind_t op,
                                    hccl_num_t num);

#endif
