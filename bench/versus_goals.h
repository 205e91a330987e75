/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Goals for a comparison, built in or read from a file, and whether the rows meet them. Refuses to
 * measure. Called by hccl_versus.c.
 */
#ifndef HCCL_BENCH_VERSUS_GOALS_H
#define HCCL_BENCH_VERSUS_GOALS_H

#include "options.h"
#include "versus_row.h"

enum { HCCL_BENCH_GOALS = 128 };

enum hccl_bench_goal_kind {
    HCCL_BENCH_GOAL_RATIO, /* best other / first at these sizes is at least `far` or `near` */
    HCCL_BENCH_GOAL_FLOOR, /* ... at every size of every collective */
    HCCL_BENCH_GOAL_STEP, /* time from one size to the next grows by at most `far`, or as a copy does */
    HCCL_BENCH_GOAL_ABOVE /* the time is at most a flag's latency and `far` nanoseconds */
};

struct hccl_bench_goal {
    enum hccl_bench_goal_kind kind;
    char collective[32]; /* RATIO and ABOVE */
    size_t least, most;  /* RATIO: sizes */
    double far, near;    /* for cores far apart and near each other, by the flag's latency */
};

struct hccl_bench_goals {
    struct hccl_bench_goal list[HCCL_BENCH_GOALS];
    int count;
    double near_ns; /* a flag latency below this means near */
    char message[HCCL_BENCH_MESSAGE];
};

/* Reads "builtin" or a file. False: message says what is wrong. */
bool hccl_bench_goals_read(struct hccl_bench_goals *g, const char *name);

/* Prints each goal with what was measured: met, NOT MET or not measured. Returns how many are not
 * met. */
int hccl_bench_goals_check(const struct hccl_bench_goals *g, const struct hccl_bench_row *rows,
                           int count, const struct hccl_bench_contender *c);

/* The built-in goals, as a file would have them. */
extern const char hccl_bench_goals_builtin[];

#endif
