/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_row.h.
 */
#include "versus_row.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ENOUGH = 3 };
static const double LARGEST_MOVE = 1.25;

static void flag_range(const struct hccl_bench_round *r, int count, double *low, double *high)
{
    *low = INFINITY;
    *high = 0;
    for (int i = 0; i < count; i++) {
        const double flags[2] = {r->of[i].flag_before, r->of[i].flag_after};
        for (int k = 0; r->measured[i] && k < 2; k++) {
            *low = flags[k] < *low ? flags[k] : *low;
            *high = flags[k] > *high ? flags[k] : *high;
        }
    }
}

bool hccl_bench_round_steady(const struct hccl_bench_round *r, int count)
{
    double low, high;

    flag_range(r, count, &low, &high);
    return high <= LARGEST_MOVE * low;
}

/* What is taken from a round for one contender. */
enum what { P5, MEDIAN, RATIO_P5, RATIO_MEDIAN, FLAG, LIMIT, THROUGH };

static double pick(const struct hccl_bench_round *r, int i, enum what what)
{
    const struct hccl_bench_answer *a = &r->of[i], *first = &r->of[0];

    switch (what) {
    case P5:
        return a->p5;
    case MEDIAN:
        return a->median;
    case RATIO_P5:
        return a->p5 / first->p5;
    case RATIO_MEDIAN:
        return a->median / first->median;
    case LIMIT:
        return r->limit;
    case THROUGH:
        return r->machine.through;
    default:
        return (a->flag_before + a->flag_after) / 2;
    }
}

/* The statistics of one quantity over the rounds that count. */
static struct hccl_bench_stats over_rounds(const struct hccl_bench_row *row,
                                           const struct hccl_bench_round *rounds, int i,
                                           enum what what, double *room)
{
    int n = 0;

    for (int k = 0; k < row->tried; k++) {
        if (row->unstable || hccl_bench_round_steady(&rounds[k], row->count)) {
            room[n++] = pick(&rounds[k], i, what);
        }
    }
    return hccl_bench_stats_of(room, n);
}

static void add_flags(struct hccl_bench_row *row, const struct hccl_bench_round *rounds)
{
    row->flag_low = INFINITY;
    row->flag_high = 0;
    for (int k = 0; k < row->tried; k++) {
        double low, high;
        if (row->unstable || hccl_bench_round_steady(&rounds[k], row->count)) {
            flag_range(&rounds[k], row->count, &low, &high);
            row->flag_low = low < row->flag_low ? low : row->flag_low;
            row->flag_high = high > row->flag_high ? high : row->flag_high;
        }
    }
}

/* The fastest of the contenders after the first. */
static void find_best(struct hccl_bench_row *row)
{
    const struct hccl_bench_side *s = row->sides;

    row->best_p5 = row->best_median = 0;
    for (int i = 1; i < row->count; i++) {
        if (!s[i].measured) {
            continue;
        }
        if (0 == row->best_p5 || s[i].p5.median < s[row->best_p5].p5.median) {
            row->best_p5 = i;
        }
        if (0 == row->best_median || s[i].median.median < s[row->best_median].median.median) {
            row->best_median = i;
        }
    }
}

bool hccl_bench_row_digest(struct hccl_bench_row *row, const struct hccl_bench_round *rounds,
                           int tried)
{
    double *room = malloc((size_t) tried * sizeof *room);

    if (NULL == room) {
        return false;
    }
    row->tried = tried;
    row->kept = 0;
    for (int k = 0; k < tried; k++) {
        row->kept += hccl_bench_round_steady(&rounds[k], row->count);
    }
    row->unstable = row->kept < ENOUGH;
    for (int i = 0; i < row->count; i++) {
        struct hccl_bench_side *s = &row->sides[i];
        s->measured = rounds[tried - 1].measured[i];
        s->wrong = 0;
        for (int k = 0; k < tried; k++) {
            s->wrong += rounds[k].measured[i] ? rounds[k].of[i].wrong : 0;
        }
        if (s->measured) {
            s->p5 = over_rounds(row, rounds, i, P5, room);
            s->median = over_rounds(row, rounds, i, MEDIAN, room);
            s->ratio_p5 = over_rounds(row, rounds, i, RATIO_P5, room);
            s->ratio_median = over_rounds(row, rounds, i, RATIO_MEDIAN, room);
        }
    }
    row->flag = over_rounds(row, rounds, 0, FLAG, room).median;
    row->limit = over_rounds(row, rounds, 0, LIMIT, room).median;
    row->through = over_rounds(row, rounds, 0, THROUGH, room).median;
    add_flags(row, rounds);
    find_best(row);
    free(room);
    return true;
}

int hccl_bench_rows_of_table(const struct hccl_bench_row *rows, int count)
{
    int n = 1;

    while (n < count && 0 == strcmp(rows[n].collective, rows[0].collective)
           && 0 == strcmp(rows[n].mode, rows[0].mode)) {
        n++;
    }
    return n;
}
