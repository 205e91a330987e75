/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The inside of a problem, shared by problem.c (makes, calls, frees) and problem_data.c (fills,
 * dirties, checks) and by nobody else.
 */
#ifndef HCCL_BENCH_PROBLEM_PARTS_H
#define HCCL_BENCH_PROBLEM_PARTS_H

#include "problem.h"

enum {
    HCCL_BENCH_GUARD = 64,  /* bytes after a buffer that must stay as they were */
    HCCL_BENCH_SPOIL = 0xa5 /* what buffers hold before anything is written */
};

struct hccl_bench_problem {
    struct hccl_bench_request q;
    struct hccl_bench_world w;
    size_t count;                  /* elements of one block */
    size_t send_count, recv_count; /* elements of a whole buffer */
    unsigned char *send, *recv;    /* where the buffers start, offset included */
    void *send_memory, *recv_memory;
    int slots;
    struct hccl_bench_call *calls; /* one per slot */
    MPI_Request *requests;         /* one per slot, persistent mode; the first else */
    int *numbers;                  /* counts, displacements, displacements in bytes */
    MPI_Aint *addresses;
    MPI_Datatype *types;
    struct hccl_bench_pattern own;     /* a rank's own numbers */
    struct hccl_bench_pattern *wanted; /* per slot: the reduction's result here; or NULL */
    size_t salt;                       /* of the batch in progress */
    bool told;                         /* a wrong element was reported */
};

/* Blocks of the longer buffers: ranks or neighbours. */
size_t hccl_bench_problem_blocks(const struct hccl_bench_problem *p);

/* Whether this rank's input of a slot lies in the receive buffer. */
bool hccl_bench_problem_input_in_place(const struct hccl_bench_problem *p, int slot);

/* This rank's number on the slot's communicator. */
int hccl_bench_problem_rank_in_slot(const struct hccl_bench_problem *p, int slot);

#endif
