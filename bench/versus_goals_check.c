/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_goals.h: comparing goals with rows. Graded are medians over rounds; the 5th percentiles
 * are shown beside them.
 */
#include "versus_goals.h"
#include "versus_summary.h"

#include <stdio.h>
#include <string.h>

enum { WIDTH = 46 };

static void say(const char *verdict, const char *goal)
{
    printf("#   %-12s %-*s", verdict, WIDTH, goal);
}

static bool is_near(const struct hccl_bench_goals *g, const struct hccl_bench_row *row)
{
    return 0 < row->flag && row->flag < g->near_ns;
}

static void say_ratio(const struct hccl_bench_row *row, const struct hccl_bench_contender *c)
{
    const struct hccl_bench_side *s = row->sides;

    printf(" %.2f at %zu B (p5 %.2f; %s, flag %.0f ns)", s[row->best_median].ratio_median.median,
           row->bytes, s[row->best_p5].ratio_p5.median, c[row->best_median].name, row->flag);
}

/* The row of the least ratio, in proportion to the goal, among those it speaks of; NULL: none. */
static const struct hccl_bench_row *worst(const struct hccl_bench_goals *g,
                                          const struct hccl_bench_goal *goal,
                                          const struct hccl_bench_row *rows, int count,
                                          double *share)
{
    const struct hccl_bench_row *found = NULL;

    for (const struct hccl_bench_row *row = rows; row < rows + count; row++) {
        if (0 == row->best_median || 0 != strcmp(row->collective, goal->collective)
            || row->bytes < goal->least || goal->most < row->bytes) {
            continue;
        }
        double here = row->sides[row->best_median].ratio_median.median
                      / (is_near(g, row) ? goal->near : goal->far);
        if (NULL == found || here < *share) {
            found = row;
            *share = here;
        }
    }
    return found;
}

static bool check_ratio(const struct hccl_bench_goals *g, const struct hccl_bench_goal *goal,
                        const struct hccl_bench_row *rows, int count,
                        const struct hccl_bench_contender *c)
{
    char text[96];
    double share = 1;
    const struct hccl_bench_row *row = worst(g, goal, rows, count, &share);
    double wanted = NULL != row && is_near(g, row) ? goal->near : goal->far;

    if (goal->least == goal->most) {
        snprintf(text, sizeof text, "%s, %zu B: %.2f", goal->collective, goal->least, wanted);
    } else {
        snprintf(text, sizeof text, "%s, %zu to %zu B: %.2f", goal->collective, goal->least,
                 goal->most, wanted);
    }
    say(NULL == row ? "not measured" : share < 1 ? "NOT MET" : "met", text);
    if (NULL != row) {
        say_ratio(row, c);
    }
    printf("\n");
    return 1 <= share;
}

static bool check_floor(const struct hccl_bench_goal *goal, const struct hccl_bench_row *rows,
                        int count, const struct hccl_bench_contender *c)
{
    char text[96];
    int below = 0, judged = 0;

    for (int i = 0; i < count; i++) {
        judged += 0 < rows[i].best_median;
        below += 0 < rows[i].best_median
                 && rows[i].sides[rows[i].best_median].ratio_median.median < goal->far;
    }
    snprintf(text, sizeof text, "everywhere: %.2f", goal->far);
    say(0 == judged ? "not measured" : 0 < below ? "NOT MET" : "met", text);
    printf(" %d of %d sizes below\n", below, judged);
    for (int i = 0; i < count; i++) {
        const struct hccl_bench_row *row = &rows[i];
        if (0 < row->best_median && row->sides[row->best_median].ratio_median.median < goal->far) {
            printf("#       %s, %s:", row->collective, row->mode);
            say_ratio(row, c);
            printf("\n");
        }
    }
    return 0 == below;
}

static bool check_steps(const struct hccl_bench_goal *goal, const struct hccl_bench_row *rows,
                        int count)
{
    char text[96];
    int judged = 0, beyond = 0;

    for (int i = 1; i < count; i++) {
        struct hccl_bench_step s;
        judged += hccl_bench_step_of(&rows[i - 1], &rows[i], &s);
        beyond += hccl_bench_step_of(&rows[i - 1], &rows[i], &s)
                  && !hccl_bench_step_excused(&s, goal->far);
    }
    snprintf(text, sizeof text, "steps: %.2f, unless a plain copy has them", goal->far);
    say(0 == judged ? "not measured" : 0 < beyond ? "NOT MET" : "met", text);
    printf(" %d of %d steps beyond\n", beyond, judged);
    for (int i = 1; i < count; i++) {
        struct hccl_bench_step s;
        if (hccl_bench_step_of(&rows[i - 1], &rows[i], &s) && goal->far < s.time) {
            printf("#       %s, %s: %.2f from %zu to %zu B (a copy: %.2f; flag %.0f, %.0f ns)%s\n",
                   rows[i].collective, rows[i].mode, s.time, rows[i - 1].bytes, rows[i].bytes,
                   s.copy, rows[i - 1].flag, rows[i].flag,
                   hccl_bench_step_excused(&s, goal->far) ? ", a copy's too" : "");
        }
    }
    return 0 == beyond;
}

static bool check_above(const struct hccl_bench_goal *goal, const struct hccl_bench_row *rows,
                        int count)
{
    char text[96];
    double most = 0, flag = 0;

    for (int i = 0; i < count; i++) {
        double above = 1e3 * rows[i].sides[0].median.median - rows[i].flag;
        if (0 == strcmp(rows[i].collective, goal->collective) && 0 < rows[i].flag
            && (0 == flag || most < above)) {
            most = above;
            flag = rows[i].flag;
        }
    }
    snprintf(text, sizeof text, "%s: at most a flag's latency + %.0f ns", goal->collective,
             goal->far);
    say(0 == flag ? "not measured" : most <= goal->far ? "met" : "NOT MET", text);
    if (0 < flag) {
        printf(" %.0f ns + %.0f ns", flag, most);
    }
    printf("\n");
    return 0 == flag || most <= goal->far;
}

int hccl_bench_goals_check(const struct hccl_bench_goals *g, const struct hccl_bench_row *rows,
                           int count, const struct hccl_bench_contender *c)
{
    int missed = 0;

    printf("# goals: the ratio of the best other to %s, median over rounds\n", c[0].name);
    for (const struct hccl_bench_goal *goal = g->list; goal < g->list + g->count; goal++) {
        bool met = HCCL_BENCH_GOAL_RATIO == goal->kind   ? check_ratio(g, goal, rows, count, c)
                   : HCCL_BENCH_GOAL_FLOOR == goal->kind ? check_floor(goal, rows, count, c)
                   : HCCL_BENCH_GOAL_STEP == goal->kind  ? check_steps(goal, rows, count)
                                                         : check_above(goal, rows, count);
        missed += !met;
    }
    printf("# %d of %d goals not met\n", missed, g->count);
    return missed;
}
