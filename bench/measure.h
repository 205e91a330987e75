/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One window: warm-up, then timed batches of one problem. Refuses to know sizes, tables and other
 * jobs. Called by hccl_test.c and control.c.
 */
#ifndef HCCL_BENCH_MEASURE_H
#define HCCL_BENCH_MEASURE_H

#include "options.h"
#include "problem.h"
#include "stats.h"
#include "sync.h"

struct hccl_bench_result {
    struct hccl_bench_request request;
    size_t count, bytes;            /* of one block; in the collective's own measure */
    long iterations, batch;         /* timed altogether; together */
    struct hccl_bench_stats time;   /* microseconds per operation, rank 0 only */
    double wrong;                   /* elements, of the rank with most; all ranks */
    double net_out, net_in;         /* bytes per operation of the busiest host, rank 0 only */
    double flag_before, flag_after; /* nanoseconds, rank 0 only; 0: unknown */
};

struct hccl_bench_bench {
    const struct hccl_bench_options *o;
    struct hccl_bench_sync sync;
    struct hccl_bench_world world;
    struct hccl_bench_problem *problem; /* the last one, kept: a window of the same follows often */
    struct hccl_bench_request request;  /* the one that `problem` was made for */
};

void hccl_bench_open(struct hccl_bench_bench *b, const struct hccl_bench_options *o);
void hccl_bench_close(struct hccl_bench_bench *b);

struct hccl_bench_request hccl_bench_request_of(const struct hccl_bench_options *o,
                                                const struct hccl_bench_collective *collective,
                                                enum hccl_bench_mode mode, size_t bytes);

/* NULL and the result, or why there is none: the same at all ranks. */
const char *hccl_bench_window(struct hccl_bench_bench *b, const struct hccl_bench_request *q,
                              struct hccl_bench_result *result);

#endif
