/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the ranks need between windows, without the collectives under test: starting a batch
 * together, agreeing on a number, and the latency of a flag between two cores. Point-to-point
 * messages on a communicator of its own; on one node, flags in shared memory. Refuses to know what
 * is measured.
 */
#ifndef HCCL_BENCH_SYNC_H
#define HCCL_BENCH_SYNC_H

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

struct hccl_bench_flag; /* one rank's flags, each on lines of its own */

struct hccl_bench_sync {
    MPI_Comm comm; /* duplicate of MPI_COMM_WORLD, owned */
    int rank, size;
    struct hccl_bench_flag *flags; /* one per rank, shared; NULL: ranks on several nodes */
    uint32_t round;                /* barriers passed so far */
    uint32_t pings;                /* flag round trips made so far (ranks 0 and 1) */
    bool crowded;                  /* more ranks than cores: yield at once, no common start time */
};

void hccl_bench_sync_open(struct hccl_bench_sync *s);
void hccl_bench_sync_close(struct hccl_bench_sync *s);

/* CLOCK_MONOTONIC in seconds. */
double hccl_bench_now(void);

/* Returns when all ranks have called it: the time at which the caller's window starts. On one node
 * that is the same moment for all, a little after the last rank has arrived. */
double hccl_bench_sync_start(struct hccl_bench_sync *s);

/* Every rank gets rank 0's numbers. */
void hccl_bench_sync_share(struct hccl_bench_sync *s, double *numbers, int count);

/* Rank 0 gets, element by element, the largest number of all ranks; the others keep theirs. */
void hccl_bench_sync_largest(struct hccl_bench_sync *s, double *numbers, int count);

/* All ranks get the same answer: whether `fine` holds everywhere. */
bool hccl_bench_sync_all(struct hccl_bench_sync *s, bool fine);

/* One-way latency in nanoseconds of a flag between ranks 0 and 1, the same at all ranks; 0 where
 * it means nothing (one rank, several nodes, more ranks than cores). The median of
 * lots, so that whoever else runs on the two cores hardly counts. */
double hccl_bench_sync_flag_latency(struct hccl_bench_sync *s);

#endif
