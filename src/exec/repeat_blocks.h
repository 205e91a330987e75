/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Records (repeat.h) of calls whose blocks have sizes of their own: allgatherv, reduce_scatter,
 * alltoallv, gatherv and scatterv. Such a record also holds what the call passed as counts and
 * displacements, and serves calls that pass the same again. Each rank judges by its own arrays: what
 * it publishes and reads does not depend on whether it has a record.
 *
 * The plans of the last three are for blocks of private sizes (plan.h). Of these, records are made
 * where all blocks of this rank move in one piece inside the node. For repeat.c alone.
 */
#ifndef HCCL_EXEC_REPEAT_BLOCKS_H
#define HCCL_EXEC_REPEAT_BLOCKS_H

#include "exec/repeat.h"

enum { HCCL_BLOCKS_ARRAYS = 6 };

/** An array that the user passed: counts, displacements or datatypes, one for each rank. */
typedef struct hccl_blocks_array {
    const void *at;
    size_t bytes;
} hccl_blocks_array_t;

/** The arrays of a call that mean something on this rank. Returns how many there are, 0 also for calls without
 *  blocks of their own sizes. */
int hccl_blocks_arrays(const hccl_comm_t *hc, const hccl_call_t *call,
                       hccl_blocks_array_t to[HCCL_BLOCKS_ARRAYS]);

/** The place of a call's record. */
hccl_repeat_t **hccl_blocks_place(hccl_comm_t *hc, const hccl_call_t *call);

/** Whether the call can have a record as far as its blocks are concerned. */
bool hccl_blocks_can_be_kept(const hccl_exec_t *x);

/** Keeps the arrays in a record that has room for them. */
void hccl_blocks_keep_arrays(const hccl_exec_t *x, hccl_repeat_t *r);

/** Keeps the steps of a plan for blocks of private sizes. False: it cannot have a record. */
bool hccl_blocks_keep(const hccl_exec_t *x, hccl_repeat_t *r);

/** Runs a call by such a record. MPI_ERR_TRUNCATE: a block is longer than its reader thinks. */
HCCL_CHECKED int hccl_blocks_run(hccl_comm_t *hc, hccl_repeat_t *r, const void *sbuf,
                                 const void *rbuf);

#endif
