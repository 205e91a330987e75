/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_plan: shows, proves and costs the plan of an algorithm on any topology, without MPI.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/dump.h"
#include "worlds.h"

static const char usage[] =
    "usage: hccl_plan list\n"
    "       hccl_plan dump  COLLECTIVE ALGORITHM TOPOLOGY [--root R] [--rank K]\n"
    "       hccl_plan check COLLECTIVE ALGORITHM TOPOLOGY [--root R]\n"
    "       hccl_plan cost  COLLECTIVE ALGORITHM TOPOLOGY [--root R] [--bytes N] [--segments S]\n"
    "TOPOLOGY   as in `node:4 numa:2 core:2`, see src/topo/topo.h\n"
    "--remote T the other group's topology, for algorithms on inter-communicators\n"
    "--bytes N  of the vector, or of each block (default 1048576)\n";

typedef struct options {
    const char *verb, *coll, *algo, *topology, *remote;
    long root, rank, segments;
    long long bytes;
    int algorithm;
} options_t;

static void die(const char *what, const char *value)
{
    fprintf(stderr, "hccl_plan: %s%s\n%s", what, value, usage);
    exit(2);
}

static long long number(const char *name, const char *text, long long least)
{
    char *end;
    long long value = strtoll(text, &end, 10);
    if ('\0' == *text || '\0' != *end || value < least) {
        fprintf(stderr, "hccl_plan: %s takes a number of at least %lld, not '%s'\n", name, least,
                text);
        exit(2);
    }
    return value;
}

static void find_algorithm(options_t *o)
{
    for (int c = 0; c < HCCL_COLL_COUNT; c++) {
        if (0 == strcmp(o->coll, hccl_coll_info[c].name)) {
            o->algorithm = hccl_algo_find((hccl_coll_t) c, o->algo);
            if (o->algorithm < 0) {
                die("no such algorithm of this collective (see hccl_plan list): ", o->algo);
            }
            return;
        }
    }
    die("no such collective (see hccl_plan list): ", o->coll);
}

static void read_options(int argc, char **argv, options_t *o)
{
    *o = (options_t){.rank = -1, .segments = 1, .bytes = 1 << 20};
    if (argc < 2) {
        die("what?", "");
    }
    o->verb = argv[1];
    bool known = 0 == strcmp(o->verb, "dump") || 0 == strcmp(o->verb, "check")
                 || 0 == strcmp(o->verb, "cost");
    if (!known || argc < 5) {
        die(known ? "arguments are missing behind " : "no such word: ", o->verb);
    }
    o->coll = argv[2];
    o->algo = argv[3];
    o->topology = argv[4];
    for (int i = 5; i < argc; i += 2) {
        if (i + 1 >= argc) {
            die("no value behind ", argv[i]);
        } else if (0 == strcmp(argv[i], "--root")) {
            o->root = (long) number(argv[i], argv[i + 1], 0);
        } else if (0 == strcmp(argv[i], "--rank")) {
            o->rank = (long) number(argv[i], argv[i + 1], 0);
        } else if (0 == strcmp(argv[i], "--segments")) {
            o->segments = (long) number(argv[i], argv[i + 1], 1);
        } else if (0 == strcmp(argv[i], "--bytes")) {
            o->bytes = number(argv[i], argv[i + 1], 1);
        } else if (0 == strcmp(argv[i], "--remote")) {
            o->remote = argv[i + 1];
        } else {
            die("no such option: ", argv[i]);
        }
    }
    find_algorithm(o);
}

static hccl_shape_t *parse(const char *text)
{
    char why[256];
    hccl_shape_t *shape;
    if (HCCL_OK != hccl_shape_from_text(text, -1, &shape, why, sizeof(why))) {
        fprintf(stderr, "hccl_plan: topology '%s': %s\n", text, why);
        exit(2);
    }
    return shape;
}

static int list(void)
{
    for (int i = 0; i < hccl_algo_count; i++) {
        printf("%-24s %-16s %s\n", hccl_coll_info[hccl_algos[i].coll].name, hccl_algos[i].name,
               hccl_algos[i].about);
    }
    return 0;
}

static int dump(const options_t *o, const world_t *w)
{
    if (o->rank >= w->check.n) {
        fprintf(stderr, "hccl_plan: --rank must be below %d\n", w->check.n);
        return 2;
    }
    for (int i = 0; i < w->check.n; i++) {
        if (o->rank < 0 || i == o->rank) {
            printf("rank %d: ", i);
            hccl_dump_plan(stdout, w->plans[i]);
        }
    }
    return 0;
}

/* All schedules, with and without MPI_IN_PLACE, one and several segments. */
static int check(const world_t *w, hccl_checker_t *k)
{
    hccl_check_report_t report;
    int runs = 0;
    for (int i = 0; i < 4 * HCCL_SCHEDULE_COUNT; i++) {
        hccl_check_setup_t setup = {.nseg = 0 == i % 2 ? 1 : 5,
                                    .slots = i % 3 > 0 ? 8 : hccl_check_smallest_ring(k),
                                    .in_place = i / 2 % 2 > 0 && hccl_check_has_in_place(k),
                                    .schedule = (hccl_schedule_t) (i / 4),
                                    .seed = (uint64_t) i,
                                    .unit_bytes = 1};
        if (HCCL_OK != hccl_check_run(k, &setup, &report)) {
            printf("fault: %s\n", report.why);
            return 1;
        }
        runs++;
    }
    printf("proven: %d ranks, %d walks, rings of %d slots suffice%s\n", w->check.n, runs,
           hccl_check_smallest_ring(k), w->check.ordered ? ", combines in rank order" : "");
    return 0;
}

/* What crosses the boundaries inside one node; a level that does not divide it has none. */
static void print_inside(const hccl_check_report_t *r, int node)
{
    static const struct {
        hccl_level_t level;
        const char *what;
    } rows[] = {{HCCL_LEVEL_PACKAGE, "packages"},
                {HCCL_LEVEL_NUMA, "NUMA domains"},
                {HCCL_LEVEL_L3, "L3 caches"},
                {HCCL_LEVEL_CORE, "ranks"}};
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        uint64_t reads = r->reads[rows[i].level][node];
        if (reads > 0) {
            printf("node %d: between %s %llu bytes in %llu reads\n", node, rows[i].what,
                   (unsigned long long) r->across[rows[i].level][node], (unsigned long long) reads);
        }
    }
}

static void print_payload(const world_t *w, const hccl_check_report_t *r)
{
    uint64_t most[4] = {0}, payload = 0;
    for (int i = 0; i < w->check.n; i++) {
        const uint64_t of[4] = {r->published[i], r->fetched[i], r->loaded[i], r->stored[i]};
        for (int j = 0; j < 4; j++) {
            most[j] = of[j] > most[j] ? of[j] : most[j];
        }
        payload += r->loaded[i] + r->stored[i];
    }
    printf("one rank at most: published %llu bytes, fetched %llu bytes, loaded %llu, stored %llu\n",
           (unsigned long long) most[0], (unsigned long long) most[1], (unsigned long long) most[2],
           (unsigned long long) most[3]);
    printf("all ranks: payload loaded and stored %llu bytes\n", (unsigned long long) payload);
}

static int cost(const options_t *o, const world_t *w, hccl_checker_t *k)
{
    hccl_check_report_t r;
    hccl_check_setup_t setup = {
        .nseg = (int) o->segments, .slots = 8, .units = (size_t) o->bytes, .unit_bytes = 1};
    if (HCCL_OK != hccl_check_run(k, &setup, &r)) {
        printf("fault: %s\n", r.why);
        return 1;
    }
    printf("bytes %llu, rounds %d, messages %llu between nodes and %llu inside, steps %llu\n",
           (unsigned long long) r.total_units, r.rounds, (unsigned long long) r.messages,
           (unsigned long long) r.messages_inside, (unsigned long long) r.steps);
    for (int i = 0; i < r.nodes; i++) {
        printf("node %d: out %llu bytes in %llu messages, in %llu bytes\n", i,
               (unsigned long long) r.node_out[i], (unsigned long long) r.node_messages[i],
               (unsigned long long) r.node_in[i]);
        print_inside(&r, i);
    }
    print_payload(w, &r);
    printf("modelled time %.3f us\n", r.seconds * 1e6);
    return 0;
}

static int walk(const options_t *o, world_t *w)
{
    char why[HCCL_CHECK_WHY];
    hccl_checker_t *k;
    if (0 == strcmp(o->verb, "dump")) {
        return dump(o, w);
    }
    if (HCCL_OK != hccl_check_start(&w->check, &k, why)) {
        printf("fault: %s\n", why);
        return 1;
    }
    if (w->check.n > 200) {
        hccl_check_sample(k, 65536 / w->check.n + 2);
    }
    int rc = 0 == strcmp(o->verb, "check") ? check(w, k) : cost(o, w, k);
    hccl_check_end(k);
    return rc;
}

int main(int argc, char **argv)
{
    options_t o;
    world_t w;
    char why[HCCL_CHECK_WHY];
    if (2 == argc && 0 == strcmp(argv[1], "list")) {
        return list();
    }
    read_options(argc, argv, &o);
    hccl_shape_t *shape = parse(o.topology);
    hccl_shape_t *remote = NULL == o.remote ? NULL : parse(o.remote);
    const hccl_algo_t *algo = &hccl_algos[o.algorithm];
    hccl_case_t c = {
        .coll = algo->coll, .shape = shape, .nremote = NULL == remote ? 0 : remote->nranks};
    int rc = 2;
    if (algo->coll >= HCCL_COLL_NEIGHBOR_ALLGATHER) {
        fprintf(stderr, "hccl_plan: neighbourhood collectives have no topology of their own\n");
    } else if (o.root >= shape->nranks) {
        fprintf(stderr, "hccl_plan: --root must be below %d\n", shape->nranks);
    } else if (!hccl_algo_fits(algo, &c, true)) {
        fprintf(stderr, "hccl_plan: %s %s does not fit %s\n", o.coll, o.algo,
                NULL == remote ? "this topology (or wants --remote)" : "inter-communicators");
    } else if (!world_make(&w, o.algorithm, shape, remote, (int) o.root, NULL, why)) {
        fprintf(stderr, "hccl_plan: %s\n", why);
    } else {
        rc = walk(&o, &w);
        world_free(&w);
    }
    hccl_shape_free(shape);
    hccl_shape_free(remote);
    return rc;
}
