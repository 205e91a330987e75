/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One collective at one size on one set of buffers: what each rank passes in, how iteration k is
 * called, and whether the outcome is right. Refuses to know time. Called by measure.c.
 *
 * Iterations rotate through the problem's slots. A rooted collective called with `-r all` has one
 * slot per root; scan and exscan have two, the ranks in order and in reverse. So no rank can run
 * ahead: whoever would only send in iteration k has to wait for others in a later one, and the mean
 * over a batch is the time of one operation, not the rate at which a root can send.
 */
#ifndef HCCL_BENCH_PROBLEM_H
#define HCCL_BENCH_PROBLEM_H

#include "collectives.h"
#include "pattern.h"

/* What is asked for; the same at all ranks. */
struct hccl_bench_request {
    const struct hccl_bench_collective *collective;
    enum hccl_bench_mode mode;
    const struct hccl_bench_type *type;
    const struct hccl_bench_op *op;
    size_t bytes; /* see the collective's size_meaning */
    int root;     /* -1: rotate */
    bool in_place;
    bool mpi_memory; /* buffers from MPI_Alloc_mem */
    size_t offset;   /* bytes from a page boundary to the start of each buffer */
};

/* The communicators a problem runs on; made once. */
struct hccl_bench_world {
    MPI_Comm comm;     /* borrowed */
    MPI_Comm reversed; /* the same ranks in reverse order */
    MPI_Comm ring;     /* a distributed graph: each rank's distinct neighbours on a ring */
    int rank, size;
    int neighbors[2], degree;
};

struct hccl_bench_problem; /* opaque */

void hccl_bench_world_open(struct hccl_bench_world *w, MPI_Comm comm);
void hccl_bench_world_close(struct hccl_bench_world *w);

/* The element count of one block, and the bytes that makes, in the request's own measure. */
size_t hccl_bench_block_count(const struct hccl_bench_request *q, int size);
size_t hccl_bench_actual_bytes(const struct hccl_bench_request *q, int size);

/* NULL, or why MPI's int arguments cannot hold this request. */
const char *hccl_bench_too_large(const struct hccl_bench_request *q, int size);

/* NULL when there is no memory; the caller must agree with the other ranks before it goes on, and
 * only then call hccl_bench_problem_arm, which creates the persistent requests. */
struct hccl_bench_problem *hccl_bench_problem_make(const struct hccl_bench_request *q,
                                                   const struct hccl_bench_world *w);
void hccl_bench_problem_arm(struct hccl_bench_problem *p);
void hccl_bench_problem_free(struct hccl_bench_problem *p);

/* Fills the inputs for a batch that begins with iteration k, and spoils the outputs. */
void hccl_bench_problem_prepare(struct hccl_bench_problem *p, size_t salt, size_t k);

/* Dirties the inputs for iteration k within a batch: one element per line, or everything where the
 * operation overwrites its input. */
void hccl_bench_problem_dirty(struct hccl_bench_problem *p, size_t k);

/* Makes the call of iteration k and waits for its end. */
void hccl_bench_problem_call(struct hccl_bench_problem *p, size_t k);

/* After iteration k: how many elements of the outcome are wrong; reports the first one ever. */
size_t hccl_bench_problem_check(struct hccl_bench_problem *p, size_t k);

int hccl_bench_problem_slots(const struct hccl_bench_problem *p);

#endif
