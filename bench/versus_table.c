/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_table.h.
 */
#include "versus_table.h"

#include <math.h>

enum { ENOUGH = 3, MOST_ROUNDS = 2000 };
static const double LARGEST_MOVE = 1.25;

static void flag_range(const struct hccl_bench_round *r, double *low, double *high)
{
    const double flags[4] = {r->a.flag_before, r->a.flag_after, r->b.flag_before, r->b.flag_after};

    *low = *high = flags[0];
    for (int i = 1; i < 4; i++) {
        *low = flags[i] < *low ? flags[i] : *low;
        *high = flags[i] > *high ? flags[i] : *high;
    }
}

bool hccl_bench_versus_steady(const struct hccl_bench_round *r)
{
    double low, high;

    flag_range(r, &low, &high);
    return high <= LARGEST_MOVE * low;
}

void hccl_bench_versus_digest(struct hccl_bench_row *row, const struct hccl_bench_round *rounds,
                              int tried)
{
    static double samples[6][MOST_ROUNDS];
    int n = 0;

    row->tried = tried < MOST_ROUNDS ? tried : MOST_ROUNDS;
    row->kept = 0;
    for (int i = 0; i < row->tried; i++) {
        row->kept += hccl_bench_versus_steady(&rounds[i]);
    }
    row->unstable = row->kept < ENOUGH;
    row->wrong_a = row->wrong_b = 0;
    row->flag_low = INFINITY;
    row->flag_high = 0;
    for (int i = 0; i < row->tried; i++) {
        const struct hccl_bench_round *r = &rounds[i];
        double low, high;
        row->wrong_a += r->a.wrong;
        row->wrong_b += r->b.wrong;
        if (!row->unstable && !hccl_bench_versus_steady(r)) {
            continue;
        }
        flag_range(r, &low, &high);
        row->flag_low = low < row->flag_low ? low : row->flag_low;
        row->flag_high = high > row->flag_high ? high : row->flag_high;
        samples[0][n] = r->a.p5;
        samples[1][n] = r->a.median;
        samples[2][n] = r->b.p5;
        samples[3][n] = r->b.median;
        samples[4][n] = r->b.p5 / r->a.p5;
        samples[5][n] = r->b.median / r->a.median;
        n++;
    }
    row->a_p5 = hccl_bench_stats_of(samples[0], n);
    row->a_median = hccl_bench_stats_of(samples[1], n);
    row->b_p5 = hccl_bench_stats_of(samples[2], n);
    row->b_median = hccl_bench_stats_of(samples[3], n);
    row->p5 = hccl_bench_stats_of(samples[4], n);
    row->median = hccl_bench_stats_of(samples[5], n);
}

void hccl_bench_versus_head(const char *collective, const char *mode)
{
    printf("# %s, %s\n", collective, mode);
    printf("#%10s %9s %9s %9s %9s   %-19s %-19s %7s %9s\n", "bytes", "A p5", "A median", "B p5",
           "B median", "B/A p5 [range]", "B/A median [range]", "rounds", "flag ns");
}

void hccl_bench_versus_row(const struct hccl_bench_row *row)
{
    printf("%11zu %9.2f %9.2f %9.2f %9.2f   %5.2f [%5.2f %5.2f] %5.2f [%5.2f %5.2f] %3d/%-3d",
           row->bytes, row->a_p5.median, row->a_median.median, row->b_p5.median,
           row->b_median.median, row->p5.median, row->p5.min, row->p5.max, row->median.median,
           row->median.min, row->median.max, row->kept, row->tried);
    printf(" %4.0f-%-4.0f%s%s%s\n", row->flag_low, row->flag_high,
           row->unstable ? " unsteady: all rounds counted" : "", 0 < row->wrong_a ? " A WRONG" : "",
           0 < row->wrong_b ? " B WRONG" : "");
    fflush(stdout);
}

void hccl_bench_versus_mean(double log_p5, double log_median, int rows)
{
    printf("# geometric mean of B/A over %d sizes: p5 %.3f, median %.3f\n", rows,
           exp(log_p5 / rows), exp(log_median / rows));
    fflush(stdout);
}

void hccl_bench_versus_csv_head(FILE *csv)
{
    fprintf(csv,
            "collective,mode,ranks,bytes,a_p5_us,a_median_us,b_p5_us,b_median_us,ratio_p5,"
            "ratio_p5_low,ratio_p5_high,ratio_median,ratio_median_low,ratio_median_high,"
            "rounds_kept,rounds_tried,unsteady,flag_low_ns,flag_high_ns,wrong_a,wrong_b,a,b\n");
}

void hccl_bench_versus_csv_row(FILE *csv, const struct hccl_bench_row *row,
                               const struct hccl_bench_job *a, const struct hccl_bench_job *b)
{
    fprintf(csv, "%s,%s,%d,%zu,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,%.4f,", row->collective,
            row->mode, a->ranks, row->bytes, row->a_p5.median, row->a_median.median,
            row->b_p5.median, row->b_median.median, row->p5.median, row->p5.min, row->p5.max,
            row->median.median, row->median.min, row->median.max);
    fprintf(csv, "%d,%d,%d,%.1f,%.1f,%.0f,%.0f,\"%s\",\"%s\"\n", row->kept, row->tried,
            row->unstable, row->flag_low, row->flag_high, row->wrong_a, row->wrong_b, a->options,
            b->options);
    fflush(csv);
}
