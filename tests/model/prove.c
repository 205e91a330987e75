/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Proves every algorithm on every topology of the list:
 * prove [--jobs N] [--part I/N] [--long] [PREFIX]...
 * --jobs: in so many processes, which take one algorithm after the other. --part: each N-th algorithm
 * from the I-th on. PREFIX: of COLLECTIVE/ALGORITHM. Prints one line per algorithm.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shapes.h"
#include "shares.h"
#include "../../tools/worlds.h"

/* What is being proven now, and how far it got. */
typedef struct proof {
    int algorithm;
    const shape_list_t *shapes;
    hccl_shape_t **shape; /* [shapes->n] */
    long nshapes, worlds, runs;
    uint64_t turn;     /* picks setups in turn */
    char failed[2048]; /* first failing case, empty: none */
} proof_t;

static const char *schedule_name(hccl_schedule_t s)
{
    static const char *const names[] = {"forward", "backward", "ahead", "behind", "random"};
    return names[s];
}

static void describe_failure(proof_t *p, const char *where, int root,
                             const hccl_check_setup_t *setup, const char *why)
{
    char how[160] = "";
    if (NULL != setup) {
        snprintf(how, sizeof(how), " segments %d slots %d%s schedule %s units %zu%s seed %llu",
                 setup->nseg, setup->slots, setup->in_place ? " in place" : "",
                 schedule_name(setup->schedule), setup->units, setup->ragged ? " ragged" : "",
                 (unsigned long long) setup->seed);
    }
    snprintf(p->failed, sizeof(p->failed), "%s root %d%s: %s", where, root, how, why);
}

/* Ways to walk: each world gets a few of them, in turn, so that over the list all meet all. */
static void pick_setup(proof_t *p, const hccl_checker_t *k, int number, bool large,
                       hccl_check_setup_t *s)
{
    uint64_t t = p->turn++;
    int smallest = hccl_check_smallest_ring(k);
    memset(s, 0, sizeof(*s));
    s->unit_bytes = 1;
    s->seed = t;
    s->schedule = large ? (0 == number ? HCCL_SCHEDULE_FORWARD : HCCL_SCHEDULE_RANDOM)
                        : (hccl_schedule_t) ((number + (int) (t / 7)) % HCCL_SCHEDULE_COUNT);
    s->nseg = large ? 1 + number % 2 : 1 + (int) ((uint64_t) number + t / 3) % 5;
    s->slots = 0 == (t + t / 11) % 2 ? 8 : smallest;
    s->in_place = hccl_check_has_in_place(k) && 0 != (t / 2 + (uint64_t) number) % 2;
    s->ragged = 0 != t % 3;
    s->units = s->ragged ? 1 + t / 5 % 7 : 0;
}

static void prove_world(proof_t *p, world_t *w, const char *where, int root, int nsetups)
{
    char why[HCCL_CHECK_WHY];
    hccl_checker_t *k;
    hccl_check_report_t report;
    bool large = w->check.n > 200;
    int rc = hccl_check_start(&w->check, &k, why);
    if (HCCL_OK != rc) {
        describe_failure(p, where, root, NULL, HCCL_ERR_NOMEM == rc ? "no memory" : why);
        return;
    }
    if (large) {
        hccl_check_sample(k, 65536 / w->check.n);
    }
    p->worlds++;
    for (int i = 0; i < nsetups && '\0' == p->failed[0]; i++) {
        hccl_check_setup_t setup;
        pick_setup(p, k, i, large, &setup);
        p->runs++;
        if (HCCL_OK != hccl_check_run(k, &setup, &report)) {
            describe_failure(p, where, root, &setup, report.why);
        }
    }
    hccl_check_end(k);
}

/* ---- intra-communicators ---------------------------------------------------------------------- */

static bool too_large(const hccl_algo_t *algo, const hccl_shape_t *shape)
{
    const hccl_coll_info_t *info = &hccl_coll_info[algo->coll];
    if (HCCL_HOLDS_GRID == info->send && HCCL_HOLDS_GRID == info->recv
        && (shape->nranks > 1024 || (shape->nranks > 300 && shape->max_local > 16))) {
        return true; /* followed completely, that is many times nranks squared cells */
    }
    bool linear = 0 != (algo->fits & HCCL_FITS_LINEAR_COST);
    bool by_node = 0 == strncmp(algo->name, "hier", 4);
    int members = by_node ? shape->nnodes : shape->nranks;
    return linear && (members > 64 || (shape->nranks > 300 && members > 16));
}

static int next_root(int root, const hccl_shape_t *shape)
{
    if (shape->nranks <= 8) {
        return root + 1;
    }
    if (shape->nranks <= 64) {
        return root + 1 + shape->nranks / 3;
    }
    return root + 1 + shape->nranks / 2;
}

static void prove_intra(proof_t *p)
{
    const hccl_algo_t *algo = &hccl_algos[p->algorithm];
    bool rooted = hccl_coll_info[algo->coll].rooted;
    for (int i = 0; i < p->shapes->n && '\0' == p->failed[0]; i++) {
        const hccl_shape_t *shape = p->shape[i];
        hccl_case_t c = {.coll = algo->coll, .shape = shape};
        if (!hccl_algo_fits(algo, &c, true) || too_large(algo, shape)) {
            continue;
        }
        p->nshapes++;
        int end = rooted ? shape->nranks : 1;
        for (int root = 0; root < end && '\0' == p->failed[0]; root = next_root(root, shape)) {
            world_t w;
            char why[HCCL_CHECK_WHY];
            if (!world_make(&w, p->algorithm, shape, NULL, root, NULL, why)) {
                describe_failure(p, p->shapes->text[i], root, NULL, why);
                return;
            }
            prove_world(p, &w, p->shapes->text[i], root, shape->nranks > 200 ? 2 : rooted ? 4 : 8);
            world_free(&w);
        }
    }
}

/* ---- inter-communicators ---------------------------------------------------------------------- */

static const char *const groups[] = {"node:1", "node:2",
                                     "rank:3", "node:2 rank:2",
                                     "node:5", "node:3 rank:(1,3,2) map:cyclic",
                                     "node:8", "node:3 rank:3"};
enum { GROUPS = sizeof(groups) / sizeof(groups[0]) };

static void prove_pair(proof_t *p, const char *first, const char *second)
{
    char where[128], why[HCCL_CHECK_WHY];
    hccl_shape_t *near = world_shape(first), *far = world_shape(second);
    int end = hccl_coll_info[hccl_algos[p->algorithm].coll].rooted ? near->nranks : 1;
    snprintf(where, sizeof(where), "%s with %s", first, second);
    p->nshapes++;
    for (int root = 0; root < end && '\0' == p->failed[0]; root++) {
        world_t w;
        if (!world_make(&w, p->algorithm, near, far, root, NULL, why)) {
            describe_failure(p, where, root, NULL, why);
            break;
        }
        prove_world(p, &w, where, root, 8);
        world_free(&w);
    }
    hccl_shape_free(near);
    hccl_shape_free(far);
}

static void prove_inter(proof_t *p)
{
    for (int i = 0; i < GROUPS * GROUPS && '\0' == p->failed[0]; i++) {
        prove_pair(p, groups[i / GROUPS], groups[i % GROUPS]);
    }
}

/* ---- neighbourhoods --------------------------------------------------------------------------- */

static void prove_graph(proof_t *p, world_graph_t *g, const char *where)
{
    char text[32], why[HCCL_CHECK_WHY];
    world_t w;
    snprintf(text, sizeof(text), "node:%d", g->n);
    hccl_shape_t *shape = world_shape(text);
    p->nshapes++;
    if (world_make(&w, p->algorithm, shape, NULL, 0, g, why)) {
        prove_world(p, &w, where, 0, 6);
        world_free(&w);
    } else {
        describe_failure(p, where, 0, NULL, why);
    }
    hccl_shape_free(shape);
    world_graph_free(g);
}

/* Every grid of up to three dimensions of 1, 2 or 3 processes, each periodic or not. */
static void prove_grids(proof_t *p)
{
    char where[64];
    for (int code = 0; code < 7 * 7 * 7 && '\0' == p->failed[0]; code++) {
        int dims[3], rest = code, ndims = 0;
        bool periodic[3];
        for (; ndims < 3 && 0 != rest % 7; ndims++, rest /= 7) {
            dims[ndims] = 1 + (rest % 7 - 1) / 2;
            periodic[ndims] = 0 != (rest % 7 - 1) % 2;
        }
        if (0 == ndims || 0 != rest) {
            continue; /* written in another way too */
        }
        size_t at = (size_t) snprintf(where, sizeof(where), "grid");
        for (int d = 0; d < ndims; d++) {
            at += (size_t) snprintf(where + at, sizeof(where) - at, " %d%s", dims[d],
                                    periodic[d] ? " periodic" : "");
        }
        world_graph_t g;
        world_graph_grid(&g, ndims, dims, periodic);
        prove_graph(p, &g, where);
    }
}

static void prove_neighbours(proof_t *p)
{
    char where[64];
    prove_grids(p);
    for (int i = 0; i < 150 && '\0' == p->failed[0]; i++) {
        int n = 1 + i % 10;
        world_graph_t g;
        world_graph_random(&g, n, (uint64_t) i);
        snprintf(where, sizeof(where), "random graph %d of %d ranks", i, n);
        prove_graph(p, &g, where);
    }
}

/* hier_2d is another plan for each share: none, all, and the least one. */
static void prove_shares(proof_t *p)
{
    static const int shares[] = {0, 6, 50, 100};
    for (size_t i = 0; i < sizeof(shares) / sizeof(shares[0]) && '\0' == p->failed[0]; i++) {
        world_dials.network_first = shares[i];
        prove_intra(p);
    }
    world_dials.network_first = HCCL_NETWORK_FIRST;
}

/* Radix algorithms and k-nomial trees are other plans for other parameters. */
static void prove_radix(proof_t *p)
{
    static const int radix[] = {2, 5};
    for (size_t i = 0; i < sizeof(radix) / sizeof(radix[0]) && '\0' == p->failed[0]; i++) {
        world_dials.radix = radix[i];
        world_dials.tree_radix = radix[i];
        prove_intra(p);
    }
    world_dials.radix = 0;
    world_dials.tree_radix = 0;
}

/* Several rings: a single one, and more than nodes or ranks have ways to go round. */
static void prove_rings(proof_t *p)
{
    static const int rings[] = {1, 5};
    for (size_t i = 0; i < sizeof(rings) / sizeof(rings[0]) && '\0' == p->failed[0]; i++) {
        world_dials.rings = rings[i];
        prove_intra(p);
    }
    world_dials.rings = 0;
}

static void prove(proof_t *p)
{
    const hccl_algo_t *algo = &hccl_algos[p->algorithm];
    if (algo->coll >= HCCL_COLL_NEIGHBOR_ALLGATHER) {
        prove_neighbours(p);
    } else if (0 != (algo->fits & HCCL_FITS_INTRA)) {
        prove_intra(p);
        if (0 == strcmp("hier_2d", algo->name) && '\0' == p->failed[0]) {
            prove_shares(p);
        }
        if ((NULL != strstr(algo->name, "radix") || NULL != strstr(algo->name, "tree4"))
            && '\0' == p->failed[0]) {
            prove_radix(p);
        }
        if (NULL != strstr(algo->name, "multi_ring") && '\0' == p->failed[0]) {
            prove_rings(p);
        }
    }
    if (0 != (algo->fits & HCCL_FITS_INTER) && '\0' == p->failed[0]) {
        prove_inter(p);
    }
    if (0 == p->runs && '\0' == p->failed[0]) {
        snprintf(p->failed, sizeof(p->failed), "fits no topology of the list");
    }
    if ('\0' != p->failed[0]) {
        printf("not ok model/%s/%s: %s\n", hccl_coll_info[algo->coll].name, algo->name, p->failed);
    } else {
        printf("ok model/%s/%s\n#   %ld shapes, %ld sets of plans, %ld walks\n",
               hccl_coll_info[algo->coll].name, algo->name, p->nshapes, p->worlds, p->runs);
    }
    fflush(stdout);
}

/* ---- main ------------------------------------------------------------------------------------- */

static bool wanted(int algorithm, char **prefixes, int n)
{
    char name[128];
    snprintf(name, sizeof(name), "%s/%s", hccl_coll_info[hccl_algos[algorithm].coll].name,
             hccl_algos[algorithm].name);
    for (int i = 0; i < n; i++) {
        if (0 == strncmp(name, prefixes[i], strlen(prefixes[i]))) {
            return true;
        }
    }
    return 0 == n;
}

static hccl_shape_t **parse_shapes(const shape_list_t *list)
{
    hccl_shape_t **shape = world_memory((size_t) list->n * sizeof(*shape));
    for (int i = 0; i < list->n; i++) {
        shape[i] = world_shape(list->text[i]);
    }
    return shape;
}

int main(int argc, char **argv)
{
    int part = 0, parts = 1, jobs = 1, at = 1, failed = 0;
    shape_extent_t extent = SHAPES_SHORT;
    for (; at < argc && '-' == argv[at][0]; at++) {
        if (0 == strcmp(argv[at], "--long")) {
            extent = SHAPES_LONG;
        } else if (0 == strcmp(argv[at], "--part") && at + 1 < argc
                   && 2 == sscanf(argv[at + 1], "%d/%d", &part, &parts) && part >= 0
                   && part < parts) {
            at++;
        } else if (0 == strcmp(argv[at], "--jobs") && at + 1 < argc
                   && 1 == sscanf(argv[at + 1], "%d", &jobs) && jobs > 0 && jobs <= SHARES_MOST) {
            at++;
        } else {
            fprintf(stderr,
                    "usage: prove [--jobs N] [--part I/N] [--long] [COLLECTIVE/ALGORITHM]...\n");
            return 2;
        }
    }
    shape_list_t shapes;
    shapes_make(&shapes, extent);
    hccl_shape_t **shape = parse_shapes(&shapes);
    shares_start(jobs);
    for (int i; 0 <= (i = shares_next(hccl_algo_count));) {
        if (i % parts != part || !wanted(i, argv + at, argc - at)) {
            continue;
        }
        proof_t p = {.algorithm = i, .shapes = &shapes, .shape = shape};
        prove(&p);
        failed += '\0' != p.failed[0];
    }
    for (int i = 0; i < shapes.n; i++) {
        hccl_shape_free(shape[i]);
    }
    printf("# model: part %d of %d done by one of %d processes, %d shapes in the list\n", part,
           parts, jobs, shapes.n);
    free(shape);
    shapes_free(&shapes);
    return shares_end(failed);
}
