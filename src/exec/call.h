/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The description of one call: the arguments of any MPI collective in one form. entry/ fills it
 * from what the user passed and judges nothing; exec/bind.c turns it into views of memory.
 */
#ifndef HCCL_EXEC_CALL_H
#define HCCL_EXEC_CALL_H

#include "base/collectives.h"
#include "compat/ompi.h"

/** One side of a call. Fields that a collective does not have are not read; those that MPI calls
 *  insignificant on this rank (receive arguments on non-roots) are not read either. */
typedef struct hccl_side {
    const void *buf;               /* as passed, MPI_IN_PLACE and MPI_BOTTOM included */
    size_t count;                  /* elements: of the vector, of the own block or of one block */
    const int *counts;             /* v- and w-forms: elements of each block, else NULL */
    const int *displs;             /* v-forms: in extents, alltoallw: in bytes */
    const MPI_Aint *adispls;       /* neighbor_alltoallw: in bytes */
    ompi_datatype_t *type;         /* NULL with types */
    ompi_datatype_t *const *types; /* w-forms */
} hccl_side_t;

typedef struct hccl_call {
    hccl_coll_t coll;
    int root;         /* as passed: rank, or on inter-communicators MPI_ROOT, MPI_PROC_NULL */
    ompi_op_t *op;    /* NULL when the collective has none */
    hccl_side_t send; /* bcast: unused */
    hccl_side_t recv;
} hccl_call_t;

#endif
