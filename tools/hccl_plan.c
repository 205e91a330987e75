/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_plan: shows, proves and costs the plan of an algorithm on any topology, without MPI. Here
 * are the verbs that walk plans with the prover.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plan/dump.h"
#include "plan_options.h"
#include "sim.h"
#include "worlds.h"

static int list(void)
{
    for (int i = 0; i < hccl_algo_count; i++) {
        printf("%-24s %-16s %s\n", hccl_coll_info[hccl_algos[i].coll].name, hccl_algos[i].name,
               hccl_algos[i].about);
    }
    return 0;
}

static int dump(const plan_options_t *o, const world_t *w)
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

/* Positions that each node sends to each other one, by SEND steps: [nodes][nodes]. */
static uint64_t *count_links(const world_t *w, const hccl_shape_t *shape)
{
    const size_t n = (size_t) shape->nnodes;
    uint64_t *sent = world_memory(n * n * sizeof(*sent));
    memset(sent, 0, n * n * sizeof(*sent));
    for (int rank = 0; rank < w->check.n; rank++) {
        for (int i = 0; i < w->plans[rank]->nsteps; i++) {
            const hccl_step_t *s = &w->plans[rank]->steps[i];
            if (HCCL_STEP_SEND == s->kind) {
                const size_t from = (size_t) shape->node_of[rank];
                sent[from * n + (size_t) shape->node_of[s->peer]] += (uint64_t) s->count;
            }
        }
    }
    return sent;
}

/* What crosses each link of the topology file, both ways together. */
static void print_weighted(const plan_options_t *o, const world_t *w)
{
    const hccl_shape_t *shape = w->cases[0].shape;
    const hccl_links_t *links = o->links;
    if (NULL == links || !links->weighted || NULL != o->remote) {
        return;
    }
    const int n = shape->nnodes;
    const bool grid = HCCL_HOLDS_GRID == hccl_coll_info[o->coll].send
                      || HCCL_HOLDS_GRID == hccl_coll_info[o->coll].recv;
    const double one = (double) o->bytes / (grid ? 1 : w->plans[0]->nblocks);
    uint64_t *sent = count_links(w, shape);
    double sum = 0, weighted = 0, between = 0;
    for (int a = 0; a < n; a++) {
        for (int b = 0; b < a; b++) {
            const double bytes = one * (double) (sent[a * n + b] + sent[b * n + a]);
            const double price = (double) links->cost[a * n + b] / 1000;
            sum += bytes;
            weighted += bytes * price;
            between += links->below[a] != links->below[b] ? bytes : 0;
            if (bytes > 0 && n <= 32) {
                printf("link %s %s: %.0f bytes, cost %g\n", links->host[b], links->host[a], bytes,
                       price);
            }
        }
    }
    printf("all links: %.0f bytes, cost of a byte %.3f on average", sum,
           sum > 0 ? weighted / sum : 0);
    if (links->nswitches > 0) {
        printf(", between switches %.0f bytes", between);
    }
    printf("\n");
    free(sent);
}

/* Blocks of private sizes, all of o->bytes: those that share messages, and those that are too long for
 * it. A box travels even if it says no more than which these are. */
static void print_parcels(const plan_options_t *o, const world_t *w, size_t parcel)
{
    const hccl_shape_t *shape = w->cases[0].shape;
    uint64_t boxes = 0, parcels = 0, longer = 0;
    for (int rank = 0; rank < w->check.n; rank++) {
        for (int i = 0; i < w->plans[rank]->nsteps; i++) {
            const hccl_step_t *s = &w->plans[rank]->steps[i];
            if (HCCL_STEP_SEND == s->kind && shape->node_of[rank] != shape->node_of[s->peer]) {
                boxes += HCCL_HOW_PARCELS == s->how;
                parcels += HCCL_HOW_PARCELS == s->how ? (uint64_t) s->count : 0;
                longer += HCCL_HOW_LONG == s->how;
            }
        }
    }
    printf("boxes between nodes: %llu messages for %llu blocks of up to %zu bytes, these are %s\n",
           (unsigned long long) boxes, (unsigned long long) parcels, parcel,
           o->bytes <= parcel ? "in them" : "longer");
    if (o->bytes > parcel) {
        printf("blocks between nodes in messages of their own: %llu\n",
               (unsigned long long) longer);
    }
}

static int cost(const plan_options_t *o, const world_t *w, hccl_checker_t *k)
{
    hccl_check_report_t r;
    const bool boxes = 0 < w->plans[0]->box;
    const size_t parcel = boxes ? (size_t) hccl_sim_parcel(w->plans[0]->box, &o->machine) : 0;
    hccl_check_setup_t setup = {.nseg = o->segments > 0 ? o->segments : 1,
                                .slots = 8,
                                .units = o->bytes,
                                .parcel = parcel,
                                .unit_bytes = 1};
    if (HCCL_OK != hccl_check_run(k, &setup, &r)) {
        printf("fault: %s\n", r.why);
        return 1;
    }
    printf("bytes %llu, rounds %d, messages %llu between nodes and %llu inside, steps %llu\n",
           (unsigned long long) r.total_units, r.rounds, (unsigned long long) r.messages,
           (unsigned long long) r.messages_inside, (unsigned long long) r.steps);
    if (boxes) {
        print_parcels(o, w, parcel);
    }
    for (int i = 0; i < r.nodes; i++) {
        printf("node %d: out %llu bytes in %llu messages, in %llu bytes\n", i,
               (unsigned long long) r.node_out[i], (unsigned long long) r.node_messages[i],
               (unsigned long long) r.node_in[i]);
        print_inside(&r, i);
    }
    print_weighted(o, w);
    print_payload(w, &r);
    printf("modelled time %.3f us\n", r.seconds * 1e6);
    return 0;
}

static int walk(const plan_options_t *o, world_t *w)
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

/* dump, check, cost: with the prover's world. */
static int plan_world(const plan_options_t *o)
{
    world_t w;
    char why[HCCL_CHECK_WHY];
    hccl_shape_t *shape = plan_shape_asked(o);
    hccl_shape_t *remote = NULL == o->remote ? NULL : plan_shape(o->remote);
    hccl_case_t c = {
        .coll = o->coll, .shape = shape, .nremote = NULL == remote ? 0 : remote->nranks};
    if (o->coll >= HCCL_COLL_NEIGHBOR_ALLGATHER) {
        plan_die("neighbourhood collectives have no topology of their own");
    } else if (o->root >= shape->nranks) {
        plan_die("--root must be below %d", shape->nranks);
    } else if (!hccl_algo_fits(&hccl_algos[o->algorithm], &c, true)) {
        plan_die("%s %s does not fit %s", o->words[0], o->words[1],
                 NULL == remote ? "this topology (or wants --remote)" : "inter-communicators");
    } else if (!world_make(&w, o->algorithm, shape, remote, o->root, NULL, why)) {
        plan_die("%s", why);
    }
    int rc = walk(o, &w);
    world_free(&w);
    hccl_shape_free(shape);
    hccl_shape_free(remote);
    return rc;
}

int main(int argc, char **argv)
{
    plan_options_t o;
    plan_options_read(&o, argc, argv);
    if (0 == strcmp(o.verb, "list")) {
        return list();
    } else if (0 == strcmp(o.verb, "machine")) {
        hccl_machine_print(stdout, &o.machine);
        return 0;
    } else if (0 == strcmp(o.verb, "simulate")) {
        return plan_simulate(&o);
    } else if (0 == strcmp(o.verb, "choose")) {
        return plan_choose(&o);
    } else if (0 == strcmp(o.verb, "sweep")) {
        return plan_sweep(&o);
    } else if (0 == strcmp(o.verb, "fit")) {
        return plan_fit(&o);
    }
    return 0 == strcmp(o.verb, "show") ? plan_show(&o) : plan_world(&o);
}
