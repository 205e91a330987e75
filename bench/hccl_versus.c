/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_versus: several jobs of hccl_test, started with different options, measure in turn on the same
 * cores. A plain program without MPI; the jobs may belong to different MPI libraries.
 *
 * In each round every job measures one window, in random order; those that wait have all their ranks
 * asleep in read(2). Ratios are taken within a round. Each window carries the latency of a flag
 * between two of its ranks, read before and after it: a round in which that moved by more than a
 * quarter tells of the machine and not of the components, and is made again.
 *
 * A contender whose job ends by itself is out; the others go on, as long as the first one and another
 * are there.
 */
#include "problem.h"
#include "versus_files.h"
#include "versus_goals.h"
#include "versus_limit.h"
#include "versus_options.h"
#include "versus_plot.h"
#include "versus_summary.h"
#include "versus_table.h"

#include <errno.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { FAILED = 1, BAD_ARGUMENTS = 2 };
enum { LARGEST_COPY = 64 << 20 }; /* the machine's own copies go up to this */

struct versus {
    struct hccl_bench_versus_options o;
    struct hccl_bench_goals goals; /* when the options ask for them */
    struct hccl_bench_files files;
    struct hccl_bench_machine *machine; /* NULL: there is none to measure, see open_machine */
    struct hccl_bench_row *rows;        /* all so far */
    int made, room;                     /* of rows */
};

static volatile sig_atomic_t interrupted;

static void on_signal(int number)
{
    (void) number;
    interrupted = 1;
}

/* Whether enough contenders are left to compare. */
static bool enough(const struct versus *v)
{
    int left = 0;

    for (int i = 0; i < v->o.count; i++) {
        left += !v->o.contenders[i].out;
    }
    return !interrupted && !v->o.contenders[0].out && 2 <= left;
}

/* A random order of all contenders. */
static void shuffle(int *order, int count)
{
    for (int i = 0; i < count; i++) {
        int at = (int) ((random() >> 8) % (i + 1));
        order[i] = order[at];
        order[at] = i;
    }
}

/* One window of each contender, and of the cores without MPI. */
static bool make_round(struct versus *v, const struct hccl_bench_collective *collective, int mode,
                       size_t bytes, struct hccl_bench_round *r, int *order)
{
    if (NULL != v->machine && hccl_bench_machine_window(v->machine, bytes, &r->machine)) {
        r->limit = hccl_bench_limit(collective->layout, v->o.ranks, bytes, v->o.test.in_place,
                                    &r->machine);
    }
    shuffle(order, v->o.count);
    for (int turn = 0; turn < v->o.count; turn++) {
        int i = order[turn];
        struct hccl_bench_contender *c = &v->o.contenders[i];
        r->measured[i] = false;
        if (c->out || 0 <= c->same) {
            continue;
        }
        r->measured[i] = hccl_bench_job_window(&c->job, collective->name, mode, bytes, &r->of[i]);
        c->out = !r->measured[i];
        if (!enough(v)) {
            return false;
        }
    }
    return true;
}

static struct hccl_bench_row *new_row(struct versus *v, const struct hccl_bench_collective *c,
                                      int mode, size_t bytes)
{
    if (v->made == v->room) {
        int room = 2 * v->room + 64;
        struct hccl_bench_row *rows = realloc(v->rows, (size_t) room * sizeof *rows);
        if (NULL == rows) {
            fprintf(stderr, "hccl_versus: no memory for %d rows\n", room);
            return NULL;
        }
        v->rows = rows;
        v->room = room;
    }
    struct hccl_bench_row *row = &v->rows[v->made++];
    memset(row, 0, sizeof *row);
    row->collective = c->name;
    row->mode = hccl_bench_mode_names[mode];
    row->bytes = bytes;
    row->count = v->o.count;
    for (int i = 0; i < row->count; i++) {
        row->sides[i].same = v->o.contenders[i].same;
        memcpy(row->sides[i].served, v->o.contenders[i].served, HCCL_BENCH_SERVED);
    }
    return row;
}

/* Rounds until enough of them were steady, at most twice as many as asked for. */
static bool make_row(struct versus *v, const struct hccl_bench_collective *c, int mode,
                     struct hccl_bench_row *row)
{
    int wanted = (int) v->o.test.rounds, tried = 0, steady = 0, order[HCCL_BENCH_CONTENDERS];
    struct hccl_bench_round *rounds = calloc((size_t) wanted * 2, sizeof *rounds);
    bool fine = NULL != rounds;

    while (fine && steady < wanted && tried < 2 * wanted) {
        fine = make_round(v, c, mode, row->bytes, &rounds[tried], order);
        if (fine) {
            hccl_bench_files_round(&v->files, &v->o, row, tried, &rounds[tried], order);
            steady += hccl_bench_round_steady(&rounds[tried++], row->count);
        }
    }
    fine = fine && hccl_bench_row_digest(row, rounds, tried);
    free(rounds);
    return fine;
}

/* Asks who serves the collective. Where two known contenders of one library are served by the same
 * component, they are the same measurement, and the second one's would only add noise to the best. */
static bool ask_served(struct versus *v, const char *name, int mode)
{
    struct hccl_bench_contender *c = v->o.contenders;

    for (int i = 0; i < v->o.count; i++) {
        c[i].same = -1;
        strcpy(c[i].served, "?");
        c[i].out = c[i].out
                   || !hccl_bench_job_served(&c[i].job, name, mode, c[i].served, HCCL_BENCH_SERVED);
        for (int k = 0; k < i && c[i].known && !c[i].out; k++) {
            if (c[k].known && !c[k].out && c[k].same < 0 && 0 != strcmp("?", c[i].served)
                && 0 == strcmp(c[i].served, c[k].served)
                && 0 == strcmp(c[i].job.program, c[k].job.program)) {
                c[i].same = k;
            }
        }
    }
    return enough(v);
}

/* All sizes of one collective in one mode. */
static bool make_table(struct versus *v, const struct hccl_bench_collective *c, int mode)
{
    const struct hccl_bench_options *t = &v->o.test;
    size_t last = SIZE_MAX;
    int first_row = v->made;
    bool more = true;

    if (!ask_served(v, c->name, mode)) {
        return false;
    }
    hccl_bench_table_head(v->o.contenders, v->o.count, c->name, hccl_bench_mode_names[mode]);
    for (size_t bytes = hccl_bench_options_first(t, c); more;
         bytes = hccl_bench_options_next(t, c, bytes, &more)) {
        struct hccl_bench_request q = {.collective = c, .type = t->type, .bytes = bytes};
        size_t actual = hccl_bench_actual_bytes(&q, v->o.ranks);
        if (actual == last) {
            continue;
        }
        last = actual;
        struct hccl_bench_row *row = new_row(v, c, mode, actual);
        if (NULL == row || !make_row(v, c, mode, row)) {
            v->made -= NULL != row; /* unfinished */
            return false;
        }
        hccl_bench_table_row(row, v->o.contenders);
        hccl_bench_files_row(&v->files, &v->o, row);
    }
    hccl_bench_table_end(v->rows + first_row, v->made - first_row, v->o.contenders);
    return true;
}

/* Whether all contenders came to the end with right results. */
static bool all_well(const struct versus *v)
{
    double wrong = 0;
    bool out = false;

    for (int i = 0; i < v->o.count; i++) {
        out = out || v->o.contenders[i].out;
        for (int k = 0; k < v->made; k++) {
            wrong += v->rows[k].sides[i].wrong;
        }
    }
    return !out && !(0 < wrong);
}

/* On the cores of the first contender's ranks 0 and 1, unless ranks share cores or hosts are several:
 * then there is nothing that a limit or a copy curve could be taken from. */
static void open_machine(struct versus *v)
{
    size_t most = v->o.test.most < LARGEST_COPY ? v->o.test.most : LARGEST_COPY;
    int cores[2] = {-1, -1};

    if (2 == sscanf(v->o.contenders[0].job.cpus, "%d %d", &cores[0], &cores[1])
        && v->o.ranks <= sysconf(_SC_NPROCESSORS_ONLN)) {
        v->machine = hccl_bench_machine_open(cores[0], cores[1], most);
    }
}

static bool make_tables(struct versus *v)
{
    open_machine(v);
    hccl_bench_table_contenders(v->o.contenders, v->o.count);
    for (int i = 0; i < v->o.test.listed; i++) {
        for (int mode = 0; mode < HCCL_BENCH_MODES; mode++) {
            if (v->o.test.modes[mode] && !make_table(v, v->o.test.list[i], mode)) {
                return false;
            }
        }
    }
    return true;
}

/* What was measured before something went wrong is summed up as well. */
static int compare(struct versus *v)
{
    bool fine = make_tables(v);

    if (0 < v->made) {
        hccl_bench_summary(v->rows, v->made, v->o.contenders);
        if (NULL != v->o.goals) {
            hccl_bench_goals_check(&v->goals, v->rows, v->made, v->o.contenders);
        }
        fine = (NULL == v->o.plot || hccl_bench_plot(&v->o, v->rows, v->made)) && fine;
    }
    return fine && all_well(v) ? 0 : FAILED;
}

static int run(struct versus *v)
{
    char directory[64];
    const char *tmp = getenv("TMPDIR");
    int code = FAILED;

    if (0 <= snprintf(directory, sizeof directory, "%s/hccl_versus.XXXXXX",
                      NULL == tmp || 40 < strlen(tmp) ? "/tmp" : tmp)
        && NULL == mkdtemp(directory)) {
        fprintf(stderr, "hccl_versus: %s: %s\n", directory, strerror(errno));
        return FAILED;
    }
    /* One after the other, since all launchers want all cores while they start. */
    for (int i = 0; i < v->o.count && !interrupted; i++) {
        struct hccl_bench_contender *c = &v->o.contenders[i];
        c->out = !hccl_bench_job_start(&c->job, directory, v->o.test_words)
                 || !hccl_bench_job_greet(&c->job);
    }
    if (enough(v)) {
        code = compare(v);
    }
    for (int i = 0; i < v->o.count; i++) {
        hccl_bench_job_end(&v->o.contenders[i].job);
    }
    rmdir(directory);
    return code;
}

static void catch_signals(void)
{
    struct sigaction action = {.sa_handler = on_signal};

    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    sigaction(SIGHUP, &action, NULL);
    signal(SIGPIPE, SIG_IGN);
}

int main(int argc, char **argv)
{
    static struct versus v;

    if (!hccl_bench_versus_options_parse(&v.o, argc, argv)) {
        fprintf(stderr, "hccl_versus: %s\n", v.o.message);
        return BAD_ARGUMENTS;
    }
    if (v.o.help) {
        hccl_bench_versus_options_help();
        return 0;
    }
    if (NULL != v.o.goals && !hccl_bench_goals_read(&v.goals, v.o.goals)) {
        fprintf(stderr, "hccl_versus: %s\n", v.goals.message);
        return BAD_ARGUMENTS;
    }
    const char *bad = hccl_bench_files_open(&v.files, &v.o);
    if (NULL != bad) {
        fprintf(stderr, "hccl_versus: %s: %s; give a file that can be written\n", bad,
                strerror(errno));
        return BAD_ARGUMENTS;
    }
    if ('\0' != v.o.notes[0]) {
        printf("# %s\n", v.o.notes);
    }
    for (int i = 0; i < v.o.count; i++) {
        hccl_bench_contender_place(&v.o.contenders[i]);
    }
    catch_signals();
    srandom((unsigned) time(NULL) ^ (unsigned) getpid());
    int code = run(&v);
    if (!hccl_bench_files_close(&v.files)) {
        fprintf(stderr, "hccl_versus: a file could not be written to its end\n");
        code = FAILED;
    }
    hccl_bench_machine_close(v.machine);
    free(v.rows);
    return code;
}
