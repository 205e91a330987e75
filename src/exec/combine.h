/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Combining packed elements with an MPI op: a kernel where there is one, else Open MPI's function
 * or the user's. Elements whose memory layout has gaps are unpacked for the function and packed
 * again, a few at a time.
 */
#ifndef HCCL_EXEC_COMBINE_H
#define HCCL_EXEC_COMBINE_H

#include <stdbool.h>

#include "base/codes.h"
#include "compat/ompi.h"
#include "kernel/fold.h"

typedef struct hccl_combine {
    hccl_fold_fn_t kernel; /* for packed elements; NULL: op's own function */
    size_t unit;           /* bytes of one packed element */
    ompi_op_t *op;
    ompi_datatype_t *type;
    bool dense; /* packed elements and memory elements are the same bytes */
} hccl_combine_t;

/** Finds how to combine elements of type with op; both must live as long as the result is used. */
void hccl_combine_init(hccl_combine_t *combine, ompi_op_t *op, ompi_datatype_t *type);

/** dst = ((src[0] op src[1]) op ...), units packed elements each. dst may be one of the sources
 *  exactly. Where there is no kernel it takes memory, and ends the job when there is none: what is not
 *  combined would reach other ranks as a result, and they would not know. */
HCCL_CHECKED int hccl_combine_fold(const hccl_combine_t *combine, char *dst, const char *const *src,
                                   int nsrc, size_t units);

#endif
