/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What hccl_versus makes of its rounds: which ones count, times, ratios with their spread, the best
 * of the others. Refuses to know jobs, pipes and output. Called by hccl_versus.c and the versus_
 * files that print.
 */
#ifndef HCCL_BENCH_VERSUS_ROW_H
#define HCCL_BENCH_VERSUS_ROW_H

#include "stats.h"
#include "versus_contender.h"
#include "versus_machine.h"

/* One window of each contender side by side, in random order. */
struct hccl_bench_round {
    struct hccl_bench_answer of[HCCL_BENCH_CONTENDERS];
    bool measured[HCCL_BENCH_CONTENDERS];
    struct hccl_bench_machine_answer machine; /* the same cores without MPI */
    double limit;                             /* from these rates, microseconds; 0: none */
};

/* One contender at one size. */
struct hccl_bench_side {
    bool measured;                      /* false: another contender stands for it, or it is out */
    int same;                           /* which one stands for it; -1: none */
    char served[HCCL_BENCH_SERVED];     /* who serves the collective here */
    struct hccl_bench_stats p5, median; /* over rounds of a window's p5 and median, microseconds */
    struct hccl_bench_stats ratio_p5, ratio_median; /* time / the first one's, within each round */
    double wrong;                                   /* wrong elements in all windows */
};

/* One size of one collective. */
struct hccl_bench_row {
    const char *collective, *mode;
    size_t bytes;
    int count; /* contenders */
    struct hccl_bench_side sides[HCCL_BENCH_CONTENDERS];
    int best_p5, best_median;   /* the fastest of the others, by the median over rounds; 0: none */
    double flag_low, flag_high; /* nanoseconds, over rounds counted */
    double flag;                /* the median of the first one's readings */
    double limit;               /* the model's, median, microseconds; 0: none */
    double through;             /* the machine's own copy, median, microseconds; 0: not measured */
    int kept, tried;            /* rounds in which the machine stayed as it was; rounds made */
    bool unstable;              /* too few of them: all rounds were counted */
};

/* Whether the flag latency moved by at most a quarter between the round's readings. */
bool hccl_bench_round_steady(const struct hccl_bench_round *r, int count);

/* Fills a row, of which collective, mode, bytes, count, same and served are set, from the steady
 * rounds. False: no memory. */
bool hccl_bench_row_digest(struct hccl_bench_row *row, const struct hccl_bench_round *rounds,
                           int tried);

/* How many rows from the first one on are of its collective and mode, one table. */
int hccl_bench_rows_of_table(const struct hccl_bench_row *rows, int count);

#endif
