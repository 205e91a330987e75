/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What hccl_versus makes of its measurements, against values worked out by hand: order statistics,
 * rounds that count, ratios, the summary, goals and the files. No job is started.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "versus_files.h"
#include "versus_goals.h"
#include "versus_plot.h"
#include "versus_summary.h"

enum { ROUNDS = 8 };

/* What a function prints on stdout. */
static char printed[16384];

#define PRINTED(call)                                              \
    do {                                                           \
        FILE *to = tmpfile();                                      \
        fflush(stdout);                                            \
        int old = dup(STDOUT_FILENO);                              \
        dup2(fileno(to), STDOUT_FILENO);                           \
        call;                                                      \
        fflush(stdout);                                            \
        dup2(old, STDOUT_FILENO);                                  \
        close(old);                                                \
        rewind(to);                                                \
        printed[fread(printed, 1, sizeof printed - 1, to)] = '\0'; \
        fclose(to);                                                \
    } while (0)

static void assert_has(const char *text, const char *part)
{
    if (NULL == strstr(text, part)) {
        print_error("there is no \"%s\" in:\n%s\n", part, text);
        fail();
    }
}

static bool near(double a, double b)
{
    return a - b < 1e-9 && b - a < 1e-9;
}

/* --- Order statistics ------------------------------------------------------------------------- */

static void statistics_of_samples(void **state)
{
    (void) state;
    double one[] = {5}, four[] = {4, 1, 3, 2}, forty[40], hundred[100];
    for (int i = 0; i < 40; i++) {
        forty[i] = 40 - i;
    }
    for (int i = 0; i < 100; i++) {
        hundred[i] = (i * 37) % 100 + 1; /* 1 to 100 in another order */
    }
    struct hccl_bench_stats s = hccl_bench_stats_of(one, 1);
    assert_true(5 == s.min && 5 == s.p5 && 5 == s.median && 5 == s.max);
    s = hccl_bench_stats_of(four, 4);
    assert_true(1 == s.min && 1 == s.p5 && 2.5 == s.median && 4 == s.max);
    s = hccl_bench_stats_of(forty, 40);
    assert_true(1 == s.min && 3 == s.p5 && 20.5 == s.median && 40 == s.max);
    s = hccl_bench_stats_of(hundred, 99); /* without 64 */
    assert_true(1 == s.min && 5 == s.p5 && 50 == s.median && 100 == s.max);
}

/* --- Rounds ----------------------------------------------------------------------------------- */

static struct hccl_bench_round rounds[ROUNDS];

/* One contender's window: p5, median and the flag before and after it. */
static void window(int round, int contender, double p5, double median, double before, double after)
{
    rounds[round].measured[contender] = true;
    rounds[round].of[contender] = (struct hccl_bench_answer){
        .p5 = p5, .median = median, .flag_before = before, .flag_after = after};
}

static void begin(void)
{
    memset(rounds, 0, sizeof rounds);
}

/* 25 % is still steady, anything above is not; the largest and the least of the whole round count,
 * and whoever was not measured does not. */
static void rounds_whose_flag_moved(void **state)
{
    (void) state;
    begin();
    window(0, 0, 1, 1, 80, 100);
    window(0, 1, 1, 1, 90, 85);
    assert_true(hccl_bench_round_steady(&rounds[0], 2));
    window(0, 1, 1, 1, 90, 100.1);
    assert_false(hccl_bench_round_steady(&rounds[0], 2));
    window(0, 1, 1, 1, 79.9, 90);
    assert_false(hccl_bench_round_steady(&rounds[0], 2));
    rounds[0].measured[1] = false;
    assert_true(hccl_bench_round_steady(&rounds[0], 2));
}

static void digest_of_steady_rounds(void **state)
{
    (void) state;
    begin();
    window(0, 0, 10, 20, 100, 100), window(0, 1, 20, 30, 100, 100), window(0, 2, 40, 20, 100, 100);
    window(1, 0, 10, 10, 100, 100), window(1, 1, 30, 30, 100, 100), window(1, 2, 20, 20, 120, 100);
    window(2, 0, 10, 1, 100, 300), window(2, 1, 1, 90, 100, 100), window(2, 2, 1, 1, 100, 100);
    window(3, 0, 20, 10, 200, 220), window(3, 1, 30, 20, 200, 200), window(3, 2, 60, 10, 200, 200);
    rounds[2].of[1].wrong = 3; /* wrong in a round that does not count is wrong */
    rounds[3].of[1].wrong = 2;
    rounds[0].limit = 5, rounds[1].limit = 7, rounds[2].limit = 1, rounds[3].limit = 6;
    struct hccl_bench_row row = {.count = 3};
    assert_true(hccl_bench_row_digest(&row, rounds, 4));
    assert_int_equal(4, row.tried);
    assert_int_equal(3, row.kept);
    assert_false(row.unstable);
    const struct hccl_bench_side *s = row.sides;
    assert_true(10 == s[0].p5.median && 10 == s[0].median.median && 20 == s[0].median.max);
    assert_true(30 == s[1].p5.median && 20 == s[1].p5.min && 30 == s[1].p5.max);
    /* Ratios are taken within a round: 2, 3, 1.5 and 1.5, 3, 2; 4, 2, 3 and 1, 2, 1. */
    assert_true(near(2, s[1].ratio_p5.median) && near(1.5, s[1].ratio_p5.min)
                && near(3, s[1].ratio_p5.max));
    assert_true(near(2, s[1].ratio_median.median));
    assert_true(near(3, s[2].ratio_p5.median) && near(1, s[2].ratio_median.median)
                && near(2, s[2].ratio_median.max));
    assert_true(0 == s[0].wrong && 5 == s[1].wrong && 0 == s[2].wrong);
    assert_int_equal(1, row.best_p5);     /* 30 and 40 */
    assert_int_equal(2, row.best_median); /* 30 and 20 */
    assert_true(100 == row.flag_low && 220 == row.flag_high && 100 == row.flag);
    assert_true(6 == row.limit);
}

/* With fewer than three steady rounds all are counted, and the row says so. */
static void digest_of_unsteady_rounds(void **state)
{
    (void) state;
    begin();
    for (int k = 0; k < 4; k++) {
        window(k, 0, 10, 10, 100, 2 > k ? 100 : 300);
        window(k, 1, 10 + 10 * k, 10 + 10 * k, 100, 100);
    }
    struct hccl_bench_row row = {.count = 2};
    assert_true(hccl_bench_row_digest(&row, rounds, 4));
    assert_int_equal(2, row.kept);
    assert_true(row.unstable);
    assert_true(near(2.5, row.sides[1].ratio_p5.median) && near(4, row.sides[1].ratio_p5.max));
    assert_true(300 == row.flag_high);
}

/* Who has died, or stands for another, is in no ratio and never the best. */
static void digest_without_a_contender(void **state)
{
    (void) state;
    begin();
    for (int k = 0; k < 3; k++) {
        window(k, 0, 10, 10, 100, 100);
        window(k, 1, 1, 1, 100, 100);
        window(k, 2, 30, 30, 100, 100);
    }
    rounds[2].measured[1] = false;
    struct hccl_bench_row row = {.count = 3};
    assert_true(hccl_bench_row_digest(&row, rounds, 3));
    assert_false(row.sides[1].measured);
    assert_int_equal(2, row.best_p5);
    assert_int_equal(2, row.best_median);
}

/* --- Rows of the tests below -------------------------------------------------------------------- */

static struct hccl_bench_contender contenders[2];
static struct hccl_bench_row rows[8];
static int nrows;

static void names(void)
{
    memset(contenders, 0, sizeof contenders);
    strcpy(contenders[0].name, "ours");
    strcpy(contenders[1].name, "theirs");
    contenders[0].job.options = "--mca coll hccl";
    contenders[1].job.options = "-x A=\"b c\"";
    nrows = 0;
}

/* A row with these times, by the median, of the first and of a copy, and the ratio of the other. */
static struct hccl_bench_row *add(const char *collective, size_t bytes, double time, double copy,
                                  double ratio, double flag)
{
    struct hccl_bench_row *row = &rows[nrows++];
    memset(row, 0, sizeof *row);
    row->collective = collective;
    row->mode = "blocking";
    row->bytes = bytes;
    row->count = 2;
    row->through = copy;
    row->flag = row->flag_low = row->flag_high = flag;
    row->best_p5 = row->best_median = 1;
    row->kept = row->tried = 5;
    for (int i = 0; i < 2; i++) {
        double at = 0 == i ? time : time * ratio, share = 0 == i ? 1 : ratio;
        struct hccl_bench_side *s = &row->sides[i];
        *s = (struct hccl_bench_side){.measured = true, .same = -1, .served = "x"};
        s->p5 = s->median = (struct hccl_bench_stats){at / 2, at / 2, at, at * 2};
        s->ratio_p5 = s->ratio_median =
            (struct hccl_bench_stats){share / 2, share / 2, share, share * 2};
    }
    return row;
}

/* --- The summary ---------------------------------------------------------------------------------- */

static void steps_between_sizes(void **state)
{
    (void) state;
    struct hccl_bench_step step;
    names();
    add("bcast", 1000, 1, 1, 1, 100);
    add("bcast", 1500, 1.8, 1.2, 1, 100);
    add("bcast", 2251, 9, 1.2, 1, 100);
    add("reduce", 2300, 9, 1.2, 1, 100);
    assert_true(hccl_bench_step_of(&rows[0], &rows[1], &step));
    assert_true(near(1.8, step.time) && near(1.2, step.copy));
    assert_false(hccl_bench_step_of(&rows[1], &rows[2], &step)); /* more than half as large again */
    assert_false(hccl_bench_step_of(&rows[2], &rows[3], &step)); /* of another collective */
    assert_false(hccl_bench_step_of(&rows[1], &rows[0], &step));
    /* A copy has the step too where it is as large, or the time's is less than a tenth above it. */
    assert_true(hccl_bench_step_excused(&(struct hccl_bench_step){1.5, 1}, 1.5));
    assert_false(hccl_bench_step_excused(&(struct hccl_bench_step){1.6, 1.4}, 1.5));
    assert_true(hccl_bench_step_excused(&(struct hccl_bench_step){1.6, 1.5}, 1.5));
    assert_true(hccl_bench_step_excused(&(struct hccl_bench_step){9, 1.51}, 1.5));
}

static void summary_of_rows(void **state)
{
    (void) state;
    names();
    add("bcast", 1000, 1, 1, 2, 100);
    add("bcast", 1400, 1.8, 1.2, 8, 100);
    add("reduce", 64, 3, 1, 0.5, 100);
    PRINTED(hccl_bench_summary(rows, nrows, contenders));
    /* The geometric mean of 2 and 8; the lowest; the largest step. */
    assert_has(printed,
               "# bcast                  blocking        2   4.00    2.00 at     1000 theirs");
    assert_has(printed, "  1.80 from 1000 to 1400 (a copy: 1.20)\n");
    assert_has(printed,
               "# reduce                 blocking        1   0.50    0.50 at       64 theirs");
}

/* --- Goals ---------------------------------------------------------------------------------------- */

static struct hccl_bench_goals goals;

static bool read_goals(const char *text)
{
    char name[] = "/tmp/hccl-goals.XXXXXX";
    int fd = mkstemp(name);
    assert_true(fd >= 0);
    assert_int_equal(strlen(text), write(fd, text, strlen(text)));
    close(fd);
    bool fine = hccl_bench_goals_read(&goals, name);
    unlink(name);
    return fine;
}

static void goals_built_in(void **state)
{
    (void) state;
    assert_true(hccl_bench_goals_read(&goals, "builtin"));
    assert_true(20 < goals.count);
    assert_true(150 == goals.near_ns);
    bool found = false;
    for (int i = 0; i < goals.count; i++) {
        const struct hccl_bench_goal *g = &goals.list[i];
        found = found
                || (HCCL_BENCH_GOAL_RATIO == g->kind && 0 == strcmp("bcast", g->collective)
                    && 65536 == g->least && 65536 == g->most && 2.5 == g->far && 1.6 == g->near);
    }
    assert_true(found);
}

static void goals_of_a_file(void **state)
{
    (void) state;
    char long_line[700];
    memset(long_line, '-', sizeof long_line);
    memcpy(long_line, "floor 0.9 # ", 12);
    strcpy(long_line + 560, "\nnear 200\r\n\n\t ratio  reduce 0-1K\t2 # both\nstep 1.5");
    assert_true(read_goals(long_line));
    assert_int_equal(3, goals.count);
    assert_true(200 == goals.near_ns);
    assert_int_equal(HCCL_BENCH_GOAL_FLOOR, goals.list[0].kind);
    const struct hccl_bench_goal *g = &goals.list[1];
    assert_true(HCCL_BENCH_GOAL_RATIO == g->kind && 0 == g->least && 1024 == g->most && 2 == g->far
                && 2 == g->near);
    assert_int_equal(HCCL_BENCH_GOAL_STEP, goals.list[2].kind);
}

static void bad_goals_are_named(void **state)
{
    (void) state;
    static const char *const bad[] = {"ratio allreduse 8 1.4",
                                      "ratio allreduce 8",
                                      "ratio allreduce 8 1 2 3",
                                      "ratio allreduce 8 1 2 3 4 5 6 7 8",
                                      "ratio allreduce 8Q 2",
                                      "ratio allreduce 1K-8 2",
                                      "ratio allreduce 8 fast",
                                      "ratio allreduce 8 1 0",
                                      "floor",
                                      "floor -1",
                                      "floor 0.97x",
                                      "step 0",
                                      "step 1 2",
                                      "near soon",
                                      "above barrier",
                                      "above barriers 60",
                                      "frobnicate 1",
                                      "FLOOR 1"};
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        char text[128], quoted[128];
        snprintf(text, sizeof text, "# comment\n\nfloor 1\n%s\nstep 1\n", bad[i]);
        snprintf(quoted, sizeof quoted, ", line 4: '%s': accepted are \"floor R\"", bad[i]);
        assert_false(read_goals(text));
        assert_has(goals.message, quoted);
        assert_has(goals.message, "--goals /tmp/hccl-goals.");
        assert_has(goals.message, "\"ratio COLLECTIVE SIZE[-SIZE] FAR [NEAR]\"");
        assert_null(strchr(goals.message, '\n'));
    }
}

static void goals_too_few_and_too_many(void **state)
{
    (void) state;
    static char text[(HCCL_BENCH_GOALS + 1) * 8 + 1];
    assert_false(read_goals("# nothing\n"));
    assert_has(goals.message, "there is no goal in it");
    for (int i = 0; i <= HCCL_BENCH_GOALS; i++) {
        memcpy(text + (size_t) i * 8, "floor 1\n", 8);
    }
    assert_false(read_goals(text));
    assert_has(goals.message, "more than 128 goals");
    text[HCCL_BENCH_GOALS * 8] = '\0';
    assert_true(read_goals(text));
    assert_false(hccl_bench_goals_read(&goals, "/nonexistent/goals"));
    assert_has(goals.message, "--goals /nonexistent/goals: No such file");
    assert_has(goals.message, "accepted are builtin and a file that can be read");
}

/* Near cores have goals of their own; the row that misses most is shown. */
static void goals_met_and_not_met(void **state)
{
    (void) state;
    names();
    add("bcast", 64, 1, 1, 1.9, 300);
    add("bcast", 90, 1.8, 1.7, 1.7, 100);
    add("bcast", 130, 2.9, 1.9, 3, 100);
    add("barrier", 0, 0.3, 0, 0.96, 250);
    assert_true(read_goals("near 150\n"
                           "ratio bcast 64 1.9 1.5\n"
                           "ratio bcast 64 2 1.5\n"
                           "ratio bcast 90 2 1.7\n"
                           "ratio bcast 64-1K 1.8 1.75\n"
                           "ratio reduce 64 2\n"
                           "floor 0.96\n"
                           "floor 0.97\n"
                           "step 1.5\n"
                           "step 1.7\n"
                           "above barrier 50\n"
                           "above barrier 49\n"));
    int missed = 0;
    PRINTED(missed = hccl_bench_goals_check(&goals, rows, nrows, contenders));
    assert_int_equal(5, missed);
    assert_has(printed, "met          bcast, 64 B: 1.90 ");
    assert_has(printed, "NOT MET      bcast, 64 B: 2.00 ");
    assert_has(printed, "met          bcast, 90 B: 1.70 ");
    assert_has(printed, "NOT MET      bcast, 64 to 1024 B: 1.75 ");
    assert_has(printed, " 1.70 at 90 B (p5 1.70; theirs, flag 100 ns)\n");
    assert_has(printed, "not measured reduce, 64 B: 2.00 ");
    assert_has(printed, "met          everywhere: 0.96 ");
    assert_has(printed, "NOT MET      everywhere: 0.97 ");
    assert_has(printed, " 1 of 4 sizes below\n");
    /* 1.8 is a copy's too, 2.9 / 1.8 = 1.61 is not. */
    assert_has(printed, "NOT MET      steps: 1.50, unless a plain copy has them ");
    assert_has(printed, " 1 of 2 steps beyond\n");
    assert_has(printed, "1.61 from 90 to 130 B (a copy: 1.12; flag 100, 100 ns)\n");
    assert_has(printed, "met          barrier: at most a flag's latency + 50 ns");
    assert_has(printed, "NOT MET      barrier: at most a flag's latency + 49 ns");
    assert_has(printed, "# 5 of 11 goals not met\n");
}

/* --- Files ---------------------------------------------------------------------------------------- */

static struct hccl_bench_versus_options options;

static void make_options(void)
{
    memset(&options, 0, sizeof options);
    names();
    memcpy(options.contenders, contenders, sizeof contenders);
    options.count = 2;
    options.ranks = 2;
    options.test.type = hccl_bench_type_find("fp32");
    options.test.op = hccl_bench_op_find("sum");
}

/* Field number `n` of a line of CSV; commas in quotes do not count. */
static void field_of(const char *line, int n, char *field)
{
    bool quoted = false;
    for (; '\0' != *line && '\n' != *line; line++) {
        quoted = quoted != ('"' == *line);
        if (',' == *line && !quoted) {
            n--;
        } else if (0 == n) {
            *field++ = *line;
        }
    }
    *field = '\0';
}

static void assert_field(const char *head, const char *line, const char *name, const char *value)
{
    char column[64] = "-", field[128] = "";
    int n = -1;
    while (0 != strcmp(column, name)) {
        field_of(head, ++n, column);
        assert_true(n < 64);
    }
    field_of(line, n, field);
    if (0 != strcmp(field, value)) {
        print_error("%s is \"%s\", not \"%s\"\n", name, field, value);
        fail();
    }
}

static int columns_of(const char *line)
{
    char field[128];
    int n = 0;
    bool quoted = false;
    for (const char *c = line; '\0' != *c; c++) {
        quoted = quoted != ('"' == *c);
        n += ',' == *c && !quoted;
    }
    field_of(line, n, field);
    return n + 1;
}

static void columns_of_csv(void **state)
{
    (void) state;
    struct hccl_bench_files files;
    char name[] = "/tmp/hccl-versus.XXXXXX", head[2048], first[2048], second[2048];
    close(mkstemp(name));
    make_options();
    options.test.csv = name;
    assert_null(hccl_bench_files_open(&files, &options));
    struct hccl_bench_row *row = add("bcast", 64, 3, 0.5, 2, 100);
    row->limit = 0.25;
    row->sides[1].wrong = 4;
    row->tried = 7;
    hccl_bench_files_row(&files, &options, row);
    assert_true(hccl_bench_files_close(&files));
    FILE *csv = fopen(name, "r");
    assert_non_null(csv);
    assert_non_null(fgets(head, sizeof head, csv));
    assert_non_null(fgets(first, sizeof first, csv));
    assert_non_null(fgets(second, sizeof second, csv));
    assert_int_equal(EOF, fgetc(csv));
    fclose(csv);
    unlink(name);
    assert_int_equal(columns_of(head), columns_of(first));
    assert_int_equal(columns_of(head), columns_of(second));
    static const struct {
        const char *column, *first, *second;
    } wanted[] = {{"collective", "bcast", "bcast"},
                  {"mode", "blocking", "blocking"},
                  {"ranks", "2", "2"},
                  {"type", "fp32", "fp32"},
                  {"op", "sum", "sum"},
                  {"in_place", "0", "0"},
                  {"offset", "0", "0"},
                  {"bytes", "64", "64"},
                  {"contender", "ours", "theirs"},
                  {"served", "x", "x"},
                  {"same_as", "", ""},
                  {"p5_us", "3.0000", "6.0000"},
                  {"p5_low_us", "1.5000", "3.0000"},
                  {"p5_high_us", "6.0000", "12.0000"},
                  {"median_us", "3.0000", "6.0000"},
                  {"median_high_us", "6.0000", "12.0000"},
                  {"ratio_p5", "1.0000", "2.0000"},
                  {"ratio_median", "1.0000", "2.0000"},
                  {"ratio_median_low", "0.5000", "1.0000"},
                  {"ratio_median_high", "2.0000", "4.0000"},
                  {"best_p5", "0", "1"},
                  {"best_median", "0", "1"},
                  {"rounds_kept", "5", "5"},
                  {"rounds_tried", "7", "7"},
                  {"unsteady", "0", "0"},
                  {"flag_low_ns", "100.0", "100.0"},
                  {"flag_high_ns", "100.0", "100.0"},
                  {"limit_us", "0.2500", "0.2500"},
                  {"copy_us", "0.5000", "0.5000"},
                  {"wrong", "0", "4"},
                  {"options", "\"--mca coll hccl\"", "\"-x A=\"\"b c\"\"\""}};
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        assert_field(head, first, wanted[i].column, wanted[i].first);
        assert_field(head, second, wanted[i].column, wanted[i].second);
    }
}

/* Who was not measured leaves its columns empty; whom another stands for names it. */
static void columns_of_who_is_not_measured(void **state)
{
    (void) state;
    struct hccl_bench_files files;
    char name[] = "/tmp/hccl-versus.XXXXXX", head[2048], line[2048];
    close(mkstemp(name));
    make_options();
    options.test.csv = name;
    assert_null(hccl_bench_files_open(&files, &options));
    struct hccl_bench_row *row = add("bcast", 64, 3, 0.5, 2, 100);
    row->sides[1].measured = false;
    row->sides[1].same = 0;
    row->best_p5 = row->best_median = 0;
    hccl_bench_files_row(&files, &options, row);
    assert_true(hccl_bench_files_close(&files));
    FILE *csv = fopen(name, "r");
    assert_non_null(csv);
    assert_non_null(fgets(head, sizeof head, csv));
    assert_non_null(fgets(line, sizeof line, csv));
    assert_non_null(fgets(line, sizeof line, csv));
    fclose(csv);
    unlink(name);
    assert_int_equal(columns_of(head), columns_of(line));
    assert_field(head, line, "same_as", "ours");
    assert_field(head, line, "median_us", "");
    assert_field(head, line, "ratio_median_high", "");
    assert_field(head, line, "best_p5", "0");
}

static void files_that_cannot_be_written(void **state)
{
    (void) state;
    struct hccl_bench_files files;
    make_options();
    options.test.csv = "/nonexistent/file";
    assert_string_equal("--csv", hccl_bench_files_open(&files, &options));
    options.test.csv = NULL;
    options.json = "/nonexistent/file";
    assert_string_equal("--json", hccl_bench_files_open(&files, &options));
    options.json = NULL;
    options.windows = "/nonexistent/file";
    assert_string_equal("--windows", hccl_bench_files_open(&files, &options));
    /* A full device is noticed at the end. */
    options.windows = NULL;
    options.json = "/dev/full";
    assert_null(hccl_bench_files_open(&files, &options));
    assert_false(hccl_bench_files_close(&files));
    assert_non_null(hccl_bench_plot_refuses("/tmp/it's"));
    assert_non_null(hccl_bench_plot_refuses(""));
    assert_non_null(hccl_bench_plot_refuses("/nonexistent/plot"));
    assert_null(hccl_bench_plot_refuses("/tmp/plot"));
    assert_null(hccl_bench_plot_refuses("plot"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(statistics_of_samples),
        cmocka_unit_test(rounds_whose_flag_moved),
        cmocka_unit_test(digest_of_steady_rounds),
        cmocka_unit_test(digest_of_unsteady_rounds),
        cmocka_unit_test(digest_without_a_contender),
        cmocka_unit_test(steps_between_sizes),
        cmocka_unit_test(summary_of_rows),
        cmocka_unit_test(goals_built_in),
        cmocka_unit_test(goals_of_a_file),
        cmocka_unit_test(bad_goals_are_named),
        cmocka_unit_test(goals_too_few_and_too_many),
        cmocka_unit_test(goals_met_and_not_met),
        cmocka_unit_test(columns_of_csv),
        cmocka_unit_test(columns_of_who_is_not_measured),
        cmocka_unit_test(files_that_cannot_be_written),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
