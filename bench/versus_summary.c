/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_summary.h.
 */
#include "versus_summary.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double NEIGHBOURS = 1.5, SMALLER = 1.1;

bool hccl_bench_step_of(const struct hccl_bench_row *before, const struct hccl_bench_row *row,
                        struct hccl_bench_step *step)
{
    if (0 != strcmp(before->collective, row->collective) || 0 != strcmp(before->mode, row->mode)
        || row->bytes <= before->bytes
        || NEIGHBOURS * (double) before->bytes < (double) row->bytes) {
        return false;
    }
    step->time = row->sides[0].median.median / before->sides[0].median.median;
    step->copy = 0 < before->through ? row->through / before->through : 0;
    return true;
}

bool hccl_bench_step_excused(const struct hccl_bench_step *step, double most)
{
    return step->time <= most || most < step->copy || step->time < SMALLER * step->copy;
}

static double ratio(const struct hccl_bench_row *row, bool p5)
{
    return p5 ? row->sides[row->best_p5].ratio_p5.median
              : row->sides[row->best_median].ratio_median.median;
}

static void print_lowest(const struct hccl_bench_row *rows, int count, bool p5,
                         const struct hccl_bench_contender *c)
{
    const struct hccl_bench_row *low = rows;

    for (int i = 1; i < count; i++) {
        low = ratio(&rows[i], p5) < ratio(low, p5) ? &rows[i] : low;
    }
    printf("  %6.2f at %8zu %-8s", ratio(low, p5), low->bytes,
           c[p5 ? low->best_p5 : low->best_median].name);
}

static void print_step(const struct hccl_bench_row *rows, int count)
{
    struct hccl_bench_step step, largest = {.time = 0, .copy = 0};
    const struct hccl_bench_row *at = NULL;

    for (int i = 1; i < count; i++) {
        if (hccl_bench_step_of(&rows[i - 1], &rows[i], &step) && largest.time < step.time) {
            largest = step;
            at = &rows[i];
        }
    }
    if (NULL == at) {
        printf("  %s", "-");
    } else {
        printf("  %.2f from %zu to %zu (a copy: %.2f)", largest.time, at[-1].bytes, at->bytes,
               largest.copy);
    }
}

static void print_line(const struct hccl_bench_row *rows, int count,
                       const struct hccl_bench_contender *c)
{
    double sum = 0;
    bool compared = true;

    for (int i = 0; i < count; i++) {
        compared = compared && 0 < rows[i].best_median;
        sum += compared ? log(ratio(&rows[i], false)) : 0;
    }
    printf("# %-22s %-11s %5d", rows[0].collective, rows[0].mode, count);
    if (compared) {
        printf(" %6.2f", exp(sum / count));
        print_lowest(rows, count, false, c);
        print_lowest(rows, count, true, c);
    }
    print_step(rows, count);
    printf("\n");
}

void hccl_bench_summary(const struct hccl_bench_row *rows, int count,
                        const struct hccl_bench_contender *c)
{
    printf("# summary: ratio of the best other to %s; its largest step to the next size\n",
           c[0].name);
    printf("# %-22s %-11s %5s %6s  %-27s  %-27s  %s\n", "collective", "mode", "sizes", "mean",
           "lowest median", "lowest p5", "largest step");
    for (int at = 0; at < count;) {
        int n = hccl_bench_rows_of_table(rows + at, count - at);
        print_line(rows + at, n, c);
        at += n;
    }
    fflush(stdout);
}
