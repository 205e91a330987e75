/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Order statistics of samples. Refuses to know what they are. Everybody in bench/ may call it.
 */
#ifndef HCCL_BENCH_STATS_H
#define HCCL_BENCH_STATS_H

struct hccl_bench_stats {
    double min, p5, median, max;
};

/* Sorts the samples (at least one) in place. */
struct hccl_bench_stats hccl_bench_stats_of(double *samples, int count);

#endif
