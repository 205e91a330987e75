/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_table.h. With two contenders the best of the others is the second one: then the columns
 * of the single ratios would say the same again and are left out.
 */
#include "versus_table.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

void hccl_bench_table_contenders(const struct hccl_bench_contender *c, int count)
{
    for (int i = 0; i < count; i++) {
        if (!c[i].out) {
            printf("# %s: %s %s; on cores %s\n", c[i].name, c[i].job.launcher, c[i].job.options,
                   c[i].job.cpus);
        }
    }
    printf(
        "# %d ranks; times in us per operation, slowest rank, median over rounds; ratios: time / "
        "time of %s\n",
        c[0].job.ranks, c[0].name);
}

static void column(const char *name, const char *what)
{
    char text[64];

    snprintf(text, sizeof text, "%s %s", name, what);
    printf(" %12s", text);
}

void hccl_bench_table_head(const struct hccl_bench_contender *c, int count, const char *collective,
                           const char *mode)
{
    char text[64];

    printf("# %s, %s; served by", collective, mode);
    for (int i = 0; i < count; i++) {
        if (!c[i].out) {
            printf("%s %s: %s%s", 0 == i ? "" : ",", c[i].name, c[i].served,
                   0 <= c[i].same ? " (measured once)" : "");
        }
    }
    printf("\n");
    printf("#%10s", "bytes");
    for (int i = 0; i < count; i++) {
        if (c[i].same < 0) {
            column(c[i].name, "p5");
            column(c[i].name, "median");
        }
    }
    for (int i = 1; 2 < count && i < count; i++) {
        if (c[i].same < 0) {
            snprintf(text, sizeof text, "%s/%s", c[i].name, c[0].name);
            printf(" %11s", text);
        }
    }
    snprintf(text, sizeof text, "%s/%s", 2 < count ? "best" : c[1].name, c[0].name);
    printf("  %s %-15s %s %-17s %s%8s %8s %7s %9s\n", text, "p5 [range]", text, "median [range]",
           2 < count ? "best     " : "", "model", "copy", "rounds", "flag ns");
}

static void print_range(const struct hccl_bench_stats *s)
{
    printf(" %6.2f [%5.2f %5.2f]", s->median, s->min, s->max);
}

void hccl_bench_table_row(const struct hccl_bench_row *row, const struct hccl_bench_contender *c)
{
    printf("%11zu", row->bytes);
    for (int i = 0; i < row->count; i++) {
        const struct hccl_bench_side *s = &row->sides[i];
        if (s->measured) {
            printf(" %12.2f %12.2f", s->p5.median, s->median.median);
        } else if (s->same < 0) {
            printf(" %12s %12s", "-", "-");
        }
    }
    for (int i = 1; 2 < row->count && i < row->count; i++) {
        const struct hccl_bench_side *s = &row->sides[i];
        if (s->measured) {
            printf(" %11.2f", s->ratio_median.median);
        } else if (s->same < 0) {
            printf(" %11s", "-");
        }
    }
    if (0 < row->best_median) {
        print_range(&row->sides[row->best_p5].ratio_p5);
        print_range(&row->sides[row->best_median].ratio_median);
    }
    if (2 < row->count) {
        printf("  %-8s", c[row->best_median].name);
    }
    printf(" %8.2f %8.2f %3d/%-3d %4.0f-%-4.0f%s", row->limit, row->through, row->kept, row->tried,
           row->flag_low, row->flag_high, row->unstable ? " unsteady: all rounds counted" : "");
    for (int i = 0; i < row->count; i++) {
        if (0 < row->sides[i].wrong) {
            printf(" %s WRONG", c[i].name);
        }
    }
    printf("\n");
    fflush(stdout);
}

static void print_mean(const struct hccl_bench_row *rows, int count, int side, const char *name,
                       const char *first)
{
    double log_p5 = 0, log_median = 0;
    int n = 0;

    for (int k = 0; k < count; k++) {
        int p5 = 0 < side ? side : rows[k].best_p5, median = 0 < side ? side : rows[k].best_median;
        if (0 < p5 && rows[k].sides[p5].measured) {
            log_p5 += log(rows[k].sides[p5].ratio_p5.median);
            log_median += log(rows[k].sides[median].ratio_median.median);
            n++;
        }
    }
    if (0 < n) {
        printf("# geometric mean of %s/%s over %d sizes: p5 %.3f, median %.3f\n", name, first, n,
               exp(log_p5 / n), exp(log_median / n));
    }
}

void hccl_bench_table_end(const struct hccl_bench_row *rows, int count,
                          const struct hccl_bench_contender *c)
{
    for (int i = 1; 0 < count && i < rows[0].count; i++) {
        print_mean(rows, count, i, c[i].name, c[0].name);
    }
    if (0 < count && 2 < rows[0].count) {
        print_mean(rows, count, 0, "best", c[0].name);
    }
    fflush(stdout);
}
