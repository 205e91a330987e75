/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_plan choose: the algorithms of one collective in the order of their predicted times.
 * hccl_plan sweep: the same over sizes and numbers of nodes, as a table, CSV and a map.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

#include "plan_options.h"
#include "select/select.h"

/* What algorithms that are made for pipelining are cut into in select/rules.def. */
static const size_t segments[] = {0, 32768, 131072};
enum { SEGMENTS = sizeof(segments) / sizeof(segments[0]) };

/* Whether the algorithm is among those asked for. */
static bool wanted(const plan_options_t *o, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = o->algorithms; NULL != at; at = strchr(at, ',')) {
        at += ',' == *at ? 1 : 0;
        if (0 == strncmp(at, name, length) && (',' == at[length] || '\0' == at[length])) {
            return true;
        }
    }
    return NULL == o->algorithms;
}

/* Every name that was asked for is one of the collective's. */
static void check_names(const plan_options_t *o, hccl_coll_t coll)
{
    char copy[1024], *rest = copy;
    if (NULL == o->algorithms) {
        return;
    }
    if (strlen(o->algorithms) >= sizeof(copy)) {
        plan_die("--algorithms: at most %zu characters", sizeof(copy) - 1);
    }
    strcpy(copy, o->algorithms);
    for (char *word = strsep(&rest, ","); NULL != word; word = strsep(&rest, ",")) {
        if (hccl_algo_find(coll, word) < 0) {
            plan_die("--algorithms: %s has no '%s' (see hccl_plan list)", hccl_coll_info[coll].name,
                     word);
        }
    }
}

/* The rules' choice. */
static int choice_of(hccl_coll_t coll, const hccl_shape_t *shape, size_t bytes)
{
    hccl_case_t c = {.coll = coll, .shape = shape};
    hccl_query_t query = {.c = &c, .bytes = bytes, .commutative = true};
    return hccl_select(&query).algorithm;
}

/* Times of all algorithms that fit: [algorithm][size], in a block that the caller frees. */
static hccl_estimate_t *estimate_all(const plan_options_t *o, hccl_coll_t coll,
                                     const hccl_shape_t *shape, hccl_estimate_case_t *c)
{
    size_t n = (size_t) o->nsizes;
    hccl_estimate_t *all = calloc((size_t) hccl_algo_count * n, sizeof(*all));
    char why[HCCL_SIM_WHY];
    if (NULL == all) {
        plan_die("no memory");
    }
    for (int a = 0; a < hccl_algo_count; a++) {
        hccl_case_t fit = {.coll = coll, .shape = shape};
        if (!hccl_algo_fits(&hccl_algos[a], &fit, true) || !wanted(o, hccl_algos[a].name)) {
            continue;
        }
        c->algorithm = a;
        if (HCCL_OK != hccl_estimate(c, o->sizes, o->nsizes, &all[(size_t) a * n], why)) {
            plan_die("%s %s: %s", hccl_coll_info[coll].name, hccl_algos[a].name, why);
        }
    }
    return all;
}

/* ---- choose --------------------------------------------------------------------------------- */

typedef struct ranked {
    int algorithm;
    hccl_estimate_t e;
} ranked_t;

static int by_time(const void *a, const void *b)
{
    const ranked_t *x = a, *y = b;
    return x->e.seconds < y->e.seconds ? -1 : x->e.seconds > y->e.seconds ? 1 : 0;
}

static void print_ranking(const plan_options_t *o, const hccl_shape_t *shape,
                          const hccl_estimate_t *all, int size)
{
    ranked_t *list = calloc((size_t) hccl_algo_count, sizeof(*list));
    char text[32];
    int n = 0, chosen = choice_of(o->coll, shape, o->sizes[size]);
    for (int a = 0; NULL != list && a < hccl_algo_count; a++) {
        const hccl_estimate_t *e = &all[a * o->nsizes + size];
        if (HCCL_ESTIMATE_NONE != e->how) {
            list[n++] = (ranked_t){a, *e};
        }
    }
    if (n > 1) {
        qsort(list, (size_t) n, sizeof(*list), by_time);
    }
    printf("%s, %s bytes, %d ranks on %d nodes\n", hccl_coll_info[o->coll].name,
           plan_bytes_text(o->sizes[size], text), shape->nranks, shape->nnodes);
    for (int i = 0; i < n; i++) {
        printf("%3d %-18s %14.3f us %8.2f x", i + 1, hccl_algos[list[i].algorithm].name,
               list[i].e.seconds * 1e6, list[i].e.seconds / list[0].e.seconds);
        if (list[i].e.segment > 0) {
            printf("  in segments of %s", plan_bytes_text(list[i].e.segment, text));
        }
        printf("%s%s\n", HCCL_ESTIMATE_LINE == list[i].e.how ? "  (extrapolated)" : "",
               chosen == list[i].algorithm ? "  <- the rules' choice" : "");
    }
    free(list);
}

int plan_choose(const plan_options_t *o)
{
    hccl_shape_t *shape = plan_shape(o->topology);
    hccl_estimate_case_t c = {.root = o->root,
                              .machine = &o->machine,
                              .whole = o->topology,
                              .nodes = shape->nnodes,
                              .segments = segments,
                              .nsegments = o->forced ? 1 : SEGMENTS};
    check_names(o, o->coll);
    if (o->root >= shape->nranks) {
        plan_die("--root must be below %d", shape->nranks);
    }
    hccl_estimate_t *all = estimate_all(o, o->coll, shape, &c);
    for (int i = 0; i < o->nsizes; i++) {
        print_ranking(o, shape, all, i);
    }
    free(all);
    hccl_shape_free(shape);
    return 0;
}

/* ---- sweep ---------------------------------------------------------------------------------- */

typedef struct sweep {
    const plan_options_t *o;
    FILE *csv;
    plan_point_t *points; /* for the plot */
    int npoints, room;
    int estimates;
} sweep_t;

static void add_point(sweep_t *s, const plan_point_t *point)
{
    if (s->npoints == s->room) {
        s->room = 2 * s->room + 256;
        s->points = realloc(s->points, (size_t) s->room * sizeof(*s->points));
        if (NULL == s->points) {
            plan_die("no memory");
        }
    }
    s->points[s->npoints++] = *point;
}

/* The size's best and second algorithm, -1: none. */
static void find_best(const plan_options_t *o, const hccl_estimate_t *all, int size, int *best,
                      int *second)
{
    *best = *second = -1;
    for (int a = 0; a < hccl_algo_count; a++) {
        const hccl_estimate_t *e = &all[a * o->nsizes + size];
        if (HCCL_ESTIMATE_NONE == e->how) {
            continue;
        }
        if (*best < 0 || e->seconds < all[*best * o->nsizes + size].seconds) {
            *second = *best;
            *best = a;
        } else if (*second < 0 || e->seconds < all[*second * o->nsizes + size].seconds) {
            *second = a;
        }
    }
}

static void write_rows(sweep_t *s, hccl_coll_t coll, const hccl_shape_t *shape,
                       const hccl_estimate_t *all, int size, int best, int chosen)
{
    const plan_options_t *o = s->o;
    for (int a = 0; a < hccl_algo_count; a++) {
        const hccl_estimate_t *e = &all[a * o->nsizes + size];
        if (HCCL_ESTIMATE_NONE == e->how) {
            continue;
        }
        s->estimates++;
        add_point(s, &(plan_point_t){.coll = coll,
                                     .nodes = shape->nnodes,
                                     .ranks = shape->nranks,
                                     .algorithm = a,
                                     .bytes = o->sizes[size],
                                     .seconds = e->seconds,
                                     .fastest = a == best});
        if (NULL != s->csv) {
            fprintf(s->csv, "%s,%d,%d,%zu,%s,%.4f,%zu,%s,%d,%.0f,%d,%d\n",
                    hccl_coll_info[coll].name, shape->nnodes, shape->nranks, o->sizes[size],
                    hccl_algos[a].name, e->seconds * 1e6, e->segment, hccl_estimate_names[e->how],
                    e->rounds, e->out, a == best, a == chosen);
        }
    }
}

static void print_best(const plan_options_t *o, const hccl_shape_t *shape,
                       const hccl_estimate_t *all, int size, int best, int second, int chosen)
{
    char text[32];
    double time = all[best * o->nsizes + size].seconds;
    const hccl_estimate_t *rule = &all[chosen * o->nsizes + size];
    printf("%7d %8s  %-18s %14.3f", shape->nnodes, plan_bytes_text(o->sizes[size], text),
           hccl_algos[best].name, time * 1e6);
    if (second >= 0) {
        printf("  %-18s %6.2f", hccl_algos[second].name,
               all[second * o->nsizes + size].seconds / time);
    } else {
        printf("  %-18s %6s", "-", "-");
    }
    if (HCCL_ESTIMATE_NONE != rule->how) {
        printf("  %-18s %6.2f\n", hccl_algos[chosen].name, rule->seconds / time);
    } else {
        printf("  %-18s %6s\n", hccl_algos[chosen].name, "-");
    }
}

static void sweep_shape(sweep_t *s, hccl_coll_t coll, int nodes)
{
    const plan_options_t *o = s->o;
    char text[HCCL_MACHINE_TEXT + 32];
    snprintf(text, sizeof(text), "node:%d %.*s", nodes, HCCL_MACHINE_TEXT, o->inside);
    hccl_shape_t *shape = plan_shape(text);
    hccl_estimate_case_t c = {.root = o->root,
                              .machine = &o->machine,
                              .inside = o->inside,
                              .nodes = nodes,
                              .segments = segments,
                              .nsegments = SEGMENTS};
    if (shape->nranks > 16384) {
        plan_die("%d ranks: a sweep goes up to 16384", shape->nranks);
    }
    if (o->root >= shape->nranks) {
        plan_die("--root must be below %d", shape->nranks);
    }
    hccl_estimate_t *all = estimate_all(o, coll, shape, &c);
    for (int i = 0; i < o->nsizes; i++) {
        int best, second, chosen = choice_of(coll, shape, o->sizes[i]);
        find_best(o, all, i, &best, &second);
        if (best >= 0) {
            print_best(o, shape, all, i, best, second, chosen);
            write_rows(s, coll, shape, all, i, best, chosen);
        }
    }
    free(all);
    hccl_shape_free(shape);
}

static void sweep_collective(sweep_t *s, hccl_coll_t coll)
{
    if (coll >= HCCL_COLL_NEIGHBOR_ALLGATHER) {
        plan_die("neighbourhood collectives have no topology of their own");
    }
    check_names(s->o, coll);
    printf("# %s on %s, each node %s; times in us\n", hccl_coll_info[coll].name, s->o->machine.name,
           s->o->inside);
    printf("#%6s %8s  %-18s %14s  %-18s %6s  %-18s %6s\n", "nodes", "bytes", "fastest", "time",
           "second", "ratio", "rules' choice", "ratio");
    for (int i = 0; i < s->o->nnodes; i++) {
        sweep_shape(s, coll, s->o->nodes[i]);
        fflush(stdout);
    }
}

static FILE *open_csv(const plan_options_t *o)
{
    FILE *csv = NULL == o->csv ? NULL : fopen(o->csv, "w");
    if (NULL != csv) {
        fprintf(csv, "collective,nodes,ranks,bytes,algorithm,us,segment,how,rounds,nic_out_bytes,"
                     "fastest,chosen\n");
    } else if (NULL != o->csv) {
        plan_die("--csv %s: %s", o->csv, strerror(errno));
    }
    return csv;
}

int plan_sweep(const plan_options_t *o)
{
    sweep_t s = {.o = o, .csv = open_csv(o)};
    struct timespec begin, end;
    struct rusage usage;
    bool good = true;
    clock_gettime(CLOCK_MONOTONIC, &begin);
    if (0 == o->nwords) {
        sweep_collective(&s, HCCL_COLL_ALLREDUCE);
    }
    for (int i = 0; i < o->nwords; i++) {
        sweep_collective(&s, plan_collective(o->words[i]));
    }
    if (NULL != s.csv) {
        good = 0 == ferror(s.csv);
        good &= 0 == fclose(s.csv);
    }
    if (!good) {
        plan_die("--csv %s could not be written", o->csv);
    }
    good = NULL == o->plot || plan_plot(o, s.points, s.npoints);
    free(s.points);
    clock_gettime(CLOCK_MONOTONIC, &end);
    getrusage(RUSAGE_SELF, &usage);
    printf("# %d times in %.1f s, %ld MiB\n", s.estimates,
           (double) (end.tv_sec - begin.tv_sec) + 1e-9 * (double) (end.tv_nsec - begin.tv_nsec),
           usage.ru_maxrss / 1024);
    return good ? 0 : 1;
}
