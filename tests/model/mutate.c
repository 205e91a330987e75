/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Proves the prover: plants bugs in the plans of every algorithm, one at a time, and requires that
 * each of them is found: mutate [--jobs N] [--part I/N] [PREFIX]... (as prove). Prints what was planted,
 * and one line per algorithm. A bug that changes nothing is set aside with its reason.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mutants.h"
#include "shares.h"

typedef struct tally {
    long planted, found, excused;
    const char *reason;
    char missed[HCCL_CHECK_WHY]; /* the first bug that was not found */
} tally_t;

/* Claims of rank order that are not true. */
typedef struct claim {
    long planted, found;
} claim_t;

/* All bugs planted in the plans of one algorithm. */
typedef struct harvest {
    tally_t tally[MUTANT_KINDS];
    claim_t claim;
} harvest_t;

/* The walks that a set of plans must pass: every kind of setup is among them. */
static bool passes(const world_t *w)
{
    char why[HCCL_CHECK_WHY];
    hccl_checker_t *k;
    hccl_check_report_t report;
    if (HCCL_OK != hccl_check_start(&w->check, &k, why)) {
        return false;
    }
    bool ok = true;
    /* Where sizes are private, what a step does depends on one of them: each kind must come. */
    int usual = 2 * HCCL_SCHEDULE_COUNT, runs = 0 != w->plans[0]->apart ? 8 * usual : usual;
    for (int i = 0; i < runs && ok; i++) {
        hccl_check_setup_t setup = {
            .nseg = i % 3 * 2 + 1,
            .slots = 0 == i % 2 ? hccl_check_smallest_ring(k) : 8,
            .in_place = i % 4 > 1 && hccl_check_has_in_place(k),
            .schedule = (hccl_schedule_t) (i % HCCL_SCHEDULE_COUNT),
            .seed = (uint64_t) i,
            .units = 5 == i ? 3 : 0,
            .ragged = 5 == i || i >= usual,
            .unit_bytes = 1,
        };
        ok = HCCL_OK == hccl_check_run(k, &setup, &report);
    }
    hccl_check_end(k);
    return ok;
}

/* Plants one bug and judges; the world is as before afterwards. */
static void plant(world_t *w, tally_t *tally, const char *where, int rank, mutant_kind_t kind,
                  int step, int source)
{
    const hccl_case_t *c = &w->cases[rank];
    int node = c->shape->node_of[c->me];
    hccl_plan_t *healthy = w->plans[rank];
    hccl_plan_t *mutant = mutant_make(healthy, kind, step, source, c->shape->nranks,
                                      c->shape->node_start[node + 1] - c->shape->node_start[node],
                                      c->shape->local_of[c->me]);
    if (NULL == mutant) {
        return;
    }
    w->plans[rank] = mutant;
    bool missed = passes(w);
    w->plans[rank] = healthy;
    free(mutant);
    tally->planted++;
    if (!missed) {
        tally->found++;
        return;
    }
    const char *reason = mutant_excuse(w, rank, kind, step, source);
    if (NULL != reason) {
        tally->excused++;
        tally->reason = reason;
    } else if ('\0' == tally->missed[0]) {
        snprintf(tally->missed, sizeof(tally->missed), "%s rank %d step %d source %d", where, rank,
                 step, source);
    }
}

static void plant_all(world_t *w, harvest_t *all, const char *where)
{
    for (int rank = 0; rank < w->check.n; rank++) {
        const hccl_plan_t *plan = w->plans[rank];
        for (int step = 0; step < plan->nsteps; step++) {
            for (int kind = 0; kind < MUTANT_KINDS; kind++) {
                for (int source = -1; source < plan->steps[step].nsrc; source++) {
                    plant(w, &all->tally[kind], where, rank, (mutant_kind_t) kind, step, source);
                }
            }
        }
    }
}

/* An algorithm that promises no order must be seen to break it, if it were to promise it. Not on every
 * topology: some happen to keep it. */
static void claim_order(world_t *w, claim_t *claim)
{
    if (!hccl_coll_info[w->cases[0].coll].reduces || w->check.ordered) {
        return;
    }
    w->check.ordered = true;
    claim->planted++;
    claim->found += !passes(w);
    w->check.ordered = false;
}

/* ---- worlds ----------------------------------------------------------------------------------- */

static void plant_world(int algorithm, harvest_t *all, const char *text, const char *far_text,
                        int root, const world_graph_t *graph)
{
    hccl_shape_t *shape = world_shape(text), *far = NULL == far_text ? NULL : world_shape(far_text);
    hccl_case_t c = {.coll = hccl_algos[algorithm].coll,
                     .shape = shape,
                     .nremote = NULL == far ? 0 : far->nranks};
    char why[HCCL_CHECK_WHY];
    world_t w;
    if (root < shape->nranks && hccl_algo_fits(&hccl_algos[algorithm], &c, true)
        && world_make(&w, algorithm, shape, far, root, graph, why)) {
        if (passes(&w)) {
            plant_all(&w, all, text);
            claim_order(&w, &all->claim);
        } else {
            snprintf(all->tally[0].missed, sizeof(all->tally[0].missed), "%s fails without a bug",
                     text);
        }
        world_free(&w);
    }
    hccl_shape_free(shape);
    hccl_shape_free(far);
}

static void plant_everywhere(int algorithm, harvest_t *all)
{
    static const char *const shapes[] = {
        "rank:4", "node:3", "node:2 rank:2", "node:3 rank:(1,3,2)", "node:2 rank:3 map:cyclic",
        "node:5"};
    static const char *const divided[] = {"numa:2 core:2", "numa:2 core:(3,1) map:0,3,1,2",
                                          "package:2 numa:2 core:(1,2,1,1)"};
    const hccl_algo_t *algo = &hccl_algos[algorithm];
    if (algo->coll >= HCCL_COLL_NEIGHBOR_ALLGATHER) {
        static const int dims[] = {2, 3};
        static const bool periodic[] = {true, false};
        world_graph_t g;
        world_graph_grid(&g, 2, dims, periodic);
        plant_world(algorithm, all, "node:6", NULL, 0, &g);
        world_graph_free(&g);
        world_graph_random(&g, 4, 3);
        plant_world(algorithm, all, "node:4", NULL, 0, &g);
        world_graph_free(&g);
        return;
    }
    bool rooted = hccl_coll_info[algo->coll].rooted;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        for (int root = 0; root < (rooted ? 2 : 1); root++) {
            plant_world(algorithm, all, shapes[i], NULL, root, NULL);
        }
    }
    bool inner = 0 != (algo->fits & HCCL_FITS_INNER_GROUPS);
    for (size_t i = 0; inner && i < sizeof(divided) / sizeof(divided[0]); i++) {
        for (int root = 0; root < (rooted ? 4 : 1); root += 3) {
            plant_world(algorithm, all, divided[i], NULL, root, NULL);
        }
    }
    if (0 == strncmp(algo->name, "hier", 4)) {
        plant_world(algorithm, all, "node:2 numa:2 core:4", NULL, 0, NULL);
    }
    plant_world(algorithm, all, "node:3", "node:2", 1, NULL);
    plant_world(algorithm, all, "node:2", "node:4", 0, NULL);
}

/* ---- main ------------------------------------------------------------------------------------- */

static bool report(int algorithm, const harvest_t *all)
{
    char name[96], first[HCCL_CHECK_WHY + 64] = "";
    long planted = 0;
    snprintf(name, sizeof(name), "%s/%s", hccl_coll_info[hccl_algos[algorithm].coll].name,
             hccl_algos[algorithm].name);
    for (int kind = 0; kind < MUTANT_KINDS; kind++) {
        const tally_t *t = &all->tally[kind];
        planted += t->planted;
        if ('\0' != t->missed[0] && '\0' == first[0]) {
            snprintf(first, sizeof(first), "%s: %s", mutant_name((mutant_kind_t) kind), t->missed);
        }
        if (t->planted > 0) {
            printf("# planted: %s %s: found %ld of %ld", name, mutant_name((mutant_kind_t) kind),
                   t->found, t->planted);
            if (t->excused > 0) {
                printf(", %ld change nothing (%s)", t->excused, t->reason);
            }
            if ('\0' != t->missed[0]) {
                printf(", MISSED %ld: %s", t->planted - t->found - t->excused, t->missed);
            }
            printf("\n");
        }
    }
    if (all->claim.planted > 0) {
        printf("# planted: %s claim-order: found %ld of %ld%s\n", name, all->claim.found,
               all->claim.planted,
               all->claim.found < all->claim.planted ? ", the others keep it by chance" : "");
        if (0 == all->claim.found && '\0' == first[0]) {
            snprintf(first, sizeof(first), "keeps rank order everywhere, and does not say so");
        }
    }
    if (0 == planted && '\0' == first[0]) {
        snprintf(first, sizeof(first), "nothing was planted");
    }
    if ('\0' == first[0]) {
        printf("ok mutate/%s\n", name);
    } else {
        printf("not ok mutate/%s: %s\n", name, first);
    }
    fflush(stdout);
    return '\0' == first[0];
}

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

int main(int argc, char **argv)
{
    int part = 0, parts = 1, jobs = 1, at = 1, failed = 0;
    for (; at < argc && '-' == argv[at][0]; at += 2) {
        const bool both = at + 1 < argc;
        if (both && 0 == strcmp(argv[at], "--part")
            && 2 == sscanf(argv[at + 1], "%d/%d", &part, &parts) && part >= 0 && part < parts) {
            continue;
        }
        if (!both || 0 != strcmp(argv[at], "--jobs") || 1 != sscanf(argv[at + 1], "%d", &jobs)
            || jobs < 1 || jobs > SHARES_MOST) {
            fprintf(stderr, "usage: mutate [--jobs N] [--part I/N] [COLLECTIVE/ALGORITHM]...\n");
            return 2;
        }
    }
    shares_start(jobs);
    for (int i; 0 <= (i = shares_next(hccl_algo_count));) {
        if (i % parts == part && wanted(i, argv + at, argc - at)) {
            harvest_t all;
            memset(&all, 0, sizeof(all));
            plant_everywhere(i, &all);
            failed += !report(i, &all);
        }
    }
    return shares_end(failed);
}
