/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What hccl_versus makes of its rounds: which ones count, the ratios with their spread, the table
 * and the CSV. Refuses to know jobs and pipes. Called by hccl_versus.c.
 */
#ifndef HCCL_BENCH_VERSUS_TABLE_H
#define HCCL_BENCH_VERSUS_TABLE_H

#include "stats.h"
#include "versus_job.h"

#include <stdio.h>

/* Two windows side by side, in random order. */
struct hccl_bench_round {
    struct hccl_bench_answer a, b;
};

/* One size of one collective. */
struct hccl_bench_row {
    const char *collective, *mode;
    size_t bytes;
    struct hccl_bench_stats a_p5, a_median, b_p5, b_median; /* over rounds, microseconds */
    struct hccl_bench_stats p5, median;                     /* B/A within each round */
    double flag_low, flag_high;                             /* nanoseconds, over rounds counted */
    int kept, tried; /* rounds in which the machine stayed as it was; rounds made */
    bool unstable;   /* too few of them: all rounds were counted */
    double wrong_a, wrong_b;
};

/* Whether the flag latency moved by at most a quarter between the round's four readings. */
bool hccl_bench_versus_steady(const struct hccl_bench_round *r);

/* Fills the statistics of a row from the steady rounds. */
void hccl_bench_versus_digest(struct hccl_bench_row *row, const struct hccl_bench_round *rounds,
                              int tried);

void hccl_bench_versus_head(const char *collective, const char *mode);
void hccl_bench_versus_row(const struct hccl_bench_row *row);
void hccl_bench_versus_mean(double log_p5, double log_median, int rows);

void hccl_bench_versus_csv_head(FILE *csv);
void hccl_bench_versus_csv_row(FILE *csv, const struct hccl_bench_row *row,
                               const struct hccl_bench_job *a, const struct hccl_bench_job *b);

#endif
