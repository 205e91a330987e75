/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_plan fit: the constants of a machine from CSV files of hccl_test, printed as a machine file
 * with the rows and how well they fit as its comments.
 */
#include <ctype.h>
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fit.h"
#include "plan_options.h"
#include "select/select.h"

/* What is fitted unless --keys says otherwise. */
static const char default_keys[] = "network.alpha,network.bandwidth,l3.alpha,l3.bandwidth,"
                                   "copy.bandwidth,combine.bandwidth";

enum { MOST_ROWS = 4096, MOST_COLUMNS = 64, MOST_PROGRAMS = 128 };

typedef struct source {
    hccl_coll_t coll;
    int algorithm;
    size_t segment;
    hccl_sim_program_t *program;
} source_t;

typedef struct fitting {
    const plan_options_t *o;
    hccl_shape_t *shape;
    hccl_fit_row_t rows[MOST_ROWS];
    int source_of[MOST_ROWS];
    int nrows, skipped;
    source_t sources[MOST_PROGRAMS];
    int nsources;
} fitting_t;

/* ---- CSV ------------------------------------------------------------------------------------ */

/* Columns that are used. */
enum { COLLECTIVE, MODE, RANKS, IN_PLACE, BYTES, TIME, COLUMNS };
static const char *const column_names[COLUMNS] = {"collective", "mode",  "ranks",
                                                  "in_place",   "bytes", "median_us"};

/* Cuts a line into its fields, in place; how many. */
static int cut(char *line, char *field[MOST_COLUMNS])
{
    int n = 0;
    line[strcspn(line, "\r\n")] = '\0';
    for (char *rest = line; NULL != rest && n < MOST_COLUMNS;) {
        field[n++] = strsep(&rest, ",");
    }
    return n;
}

static double field_number(const char *path, int line, const char *name, const char *text)
{
    char *end;
    errno = 0;
    double value = strtod(text, &end);
    if (end == text || '\0' != *end || 0 != errno || !isfinite(value) || value < 0) {
        plan_die("%s:%d: %s is '%s', which is no number", path, line, name, text);
    }
    return value;
}

/* The program of a collective and algorithm, simulated before or new. */
static int find_source(fitting_t *f, hccl_coll_t coll, int algorithm, size_t segment)
{
    char why[HCCL_SIM_WHY];
    for (int i = 0; i < f->nsources; i++) {
        const source_t *s = &f->sources[i];
        if (coll == s->coll && algorithm == s->algorithm && segment == s->segment) {
            return i;
        }
    }
    if (MOST_PROGRAMS == f->nsources) {
        plan_die("more than %d collectives and algorithms", MOST_PROGRAMS);
    }
    source_t *s = &f->sources[f->nsources];
    *s = (source_t){.coll = coll, .algorithm = algorithm, .segment = segment};
    hccl_sim_case_t c = {.algorithm = algorithm,
                         .shape = f->shape,
                         .root = f->o->root,
                         .leaf = (int) f->o->machine.leaf,
                         .all_ranks = true};
    if (HCCL_OK != hccl_sim_compile(&c, &s->program, why)) {
        plan_die("%s %s: %s", hccl_coll_info[coll].name, hccl_algos[algorithm].name, why);
    }
    return f->nsources++;
}

/* Which plan the component would have run. forced: by a parameter, -1: not. */
static int source_of_call(fitting_t *f, hccl_coll_t coll, size_t bytes, const char *forced)
{
    hccl_case_t c = {.coll = coll, .shape = f->shape, .root = f->o->root};
    hccl_query_t query = {.c = &c, .bytes = bytes, .commutative = true};
    hccl_choice_t choice = hccl_select(&query);
    if (NULL != forced) {
        int algorithm = hccl_algo_find(coll, forced);
        if (algorithm < 0) {
            plan_die("%s has no algorithm '%s' (see hccl_plan list)", hccl_coll_info[coll].name,
                     forced);
        }
        if (hccl_algo_fits(&hccl_algos[algorithm], &c, true)) {
            choice = (hccl_choice_t){.algorithm = algorithm};
        }
    }
    return find_source(f, coll, choice.algorithm, choice.segment);
}

static void add_row(fitting_t *f, const char *path, int line, char *const field[COLUMNS],
                    const char *forced)
{
    double ranks = field_number(path, line, "ranks", field[RANKS]);
    double bytes = field_number(path, line, "bytes", field[BYTES]);
    double us = field_number(path, line, column_names[TIME], field[TIME]);
    hccl_coll_t coll = HCCL_COLL_COUNT;
    for (int c = 0; c < HCCL_COLL_NEIGHBOR_ALLGATHER; c++) {
        coll = 0 == strcmp(field[COLLECTIVE], hccl_coll_info[c].name) ? (hccl_coll_t) c : coll;
    }
    if (ranks != f->shape->nranks) {
        plan_die("%s:%d: measured with %.0f ranks, but the topology has %d", path, line, ranks,
                 f->shape->nranks);
    }
    if (HCCL_COLL_COUNT == coll || 0 != strcmp(field[MODE], "blocking")
        || 0 != strcmp(field[IN_PLACE], "0") || !(us > 0)) {
        f->skipped++;
        return;
    }
    if (MOST_ROWS == f->nrows) {
        plan_die("%s:%d: more than %d rows", path, line, MOST_ROWS);
    }
    if (HCCL_COLL_REDUCE_SCATTER == coll || HCCL_COLL_REDUCE_SCATTER_BLOCK == coll) {
        bytes /= ranks; /* hccl_test counts the whole vector, the model its blocks */
    }
    int source = source_of_call(f, coll, (size_t) bytes, forced);
    f->source_of[f->nrows] = source;
    f->rows[f->nrows++] = (hccl_fit_row_t){.program = f->sources[source].program,
                                           .bytes = (size_t) bytes,
                                           .segment = f->sources[source].segment,
                                           .measured = us * 1e-6};
}

static void read_file(fitting_t *f, const char *word)
{
    char path[1024], line[4096], *field[MOST_COLUMNS], *used[COLUMNS];
    int at[COLUMNS];
    const char *colon = strrchr(word, ':');
    const char *forced = NULL == colon || NULL != strchr(colon, '/') ? NULL : colon + 1;
    int length = NULL == forced ? (int) strlen(word) : (int) (colon - word);
    if (length >= (int) sizeof(path)) {
        plan_die("the name of a file has more than %zu characters", sizeof(path) - 1);
    }
    snprintf(path, sizeof(path), "%.*s", length, word);
    FILE *file = fopen(path, "r");
    if (NULL == file) {
        plan_die("%s: %s", path, strerror(errno));
    }
    int fields = NULL == fgets(line, sizeof(line), file) ? 0 : cut(line, field);
    for (int c = 0; c < COLUMNS; c++) {
        at[c] = -1;
        for (int i = 0; i < fields; i++) {
            at[c] = 0 == strcmp(field[i], column_names[c]) ? i : at[c];
        }
        if (at[c] < 0) {
            plan_die("%s:1: there is no column '%s': is it a CSV file of hccl_test?", path,
                     column_names[c]);
        }
    }
    for (int number = 2; NULL != fgets(line, sizeof(line), file); number++) {
        int n = cut(line, field);
        if (n != fields) {
            plan_die("%s:%d: %d fields, the first line has %d", path, number, n, fields);
        }
        for (int c = 0; c < COLUMNS; c++) {
            used[c] = field[at[c]];
        }
        add_row(f, path, number, used, forced);
    }
    fclose(file);
}

/* ---- result --------------------------------------------------------------------------------- */

static int read_keys(const plan_options_t *o, hccl_machine_t *machine, char *text,
                     hccl_fit_key_t *keys)
{
    int n = 0;
    for (char *word = strsep(&text, ","); NULL != word; word = strsep(&text, ",")) {
        double *number = hccl_machine_number(machine, word);
        if (NULL == number) {
            plan_die("--keys: '%s' is no number of a machine file (see hccl_plan machine)", word);
        } else if (!(*number > 0)) {
            plan_die("--keys: %s is 0, from where it cannot be fitted: give it a value by --set",
                     word);
        } else if (HCCL_FIT_KEYS == n) {
            plan_die("--keys: at most %d", HCCL_FIT_KEYS);
        }
        keys[n++].name = word;
    }
    if (NULL != o->keys && 0 == n) {
        plan_die("--keys: none");
    }
    return n;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;
    return x < y ? -1 : x > y ? 1 : 0;
}

static void print_rows(const fitting_t *f)
{
    double error[MOST_ROWS];
    char text[32];
    printf("# %-22s %-16s %8s %14s %14s %8s %6s\n", "collective", "algorithm", "bytes",
           "measured us", "model us", "error", "weight");
    for (int i = 0; i < f->nrows; i++) {
        const hccl_fit_row_t *r = &f->rows[i];
        const source_t *s = &f->sources[f->source_of[i]];
        double off = r->predicted / r->measured - 1;
        error[i] = fabs(off);
        printf("# %-22s %-16s %8s %14.2f %14.2f %7.1f%% %6.2f\n", hccl_coll_info[s->coll].name,
               hccl_algos[s->algorithm].name, plan_bytes_text(r->bytes, text), r->measured * 1e6,
               r->predicted * 1e6, off * 100, r->weight);
    }
    qsort(error, (size_t) f->nrows, sizeof(*error), by_value);
    printf("# %d rows, %d passed over (not blocking, in place, or no such collective)\n", f->nrows,
           f->skipped);
    printf("# error: median %.1f%%, nine of ten below %.1f%%, most %.1f%%\n",
           error[f->nrows / 2] * 100, error[(f->nrows - 1) * 9 / 10] * 100,
           error[f->nrows - 1] * 100);
}

int plan_fit(const plan_options_t *o)
{
    fitting_t *f = calloc(1, sizeof(*f));
    hccl_machine_t machine = o->machine;
    hccl_fit_key_t keys[HCCL_FIT_KEYS] = {{0}};
    char text[1024], why[HCCL_SIM_WHY];
    if (NULL == f) {
        plan_die("no memory");
    }
    snprintf(text, sizeof(text), "%s", NULL == o->keys ? default_keys : o->keys);
    int nkeys = read_keys(o, &machine, text, keys);
    f->o = o;
    f->shape = plan_shape(o->topology);
    for (int i = 1; i < o->nwords; i++) {
        read_file(f, o->words[i]);
    }
    if (0 == f->nrows) {
        plan_die(
            "no rows to fit to (%d passed over: not blocking, in place, or no such collective)",
            f->skipped);
    }
    if (HCCL_OK != hccl_fit(&machine, keys, nkeys, f->rows, f->nrows, why)) {
        plan_die("%s", why);
    }
    snprintf(machine.topology, sizeof(machine.topology), "%s", o->topology);
    hccl_machine_print(stdout, &machine);
    for (int i = 0; i < nkeys; i++) {
        if (!keys[i].known) {
            printf("# %s is not determined by these rows\n", keys[i].name);
        }
    }
    print_rows(f);
    for (int i = 0; i < f->nsources; i++) {
        hccl_sim_free(f->sources[i].program);
    }
    hccl_shape_free(f->shape);
    free(f);
    return 0;
}
