/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What all rows of a comparison say together: the lowest ratios and the largest steps. Refuses to know
 * goals. Called by hccl_versus.c and versus_goals_check.c.
 */
#ifndef HCCL_BENCH_VERSUS_SUMMARY_H
#define HCCL_BENCH_VERSUS_SUMMARY_H

#include "versus_row.h"

/* From one size to the next: times of the later row / times of the earlier one. */
struct hccl_bench_step {
    double time; /* the first contender's median */
    double copy; /* the machine's own copy; 0: not measured */
};

/* False: the rows are not neighbours, that is not one size after the other of the same collective, at
 * most half as large again. */
bool hccl_bench_step_of(const struct hccl_bench_row *before, const struct hccl_bench_row *row,
                        struct hccl_bench_step *step);

/* Whether a step is small enough, or the machine's own copy has it too: it is also above `most`, or
 * at most a tenth smaller. */
bool hccl_bench_step_excused(const struct hccl_bench_step *step, double most);

/* Prints one line per collective and mode. */
void hccl_bench_summary(const struct hccl_bench_row *rows, int count,
                        const struct hccl_bench_contender *c);

#endif
