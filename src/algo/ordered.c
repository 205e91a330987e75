/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reductions in rank order where nodes have ranks that are not in a row. A node can combine its runs
 * of ranks, and no more; what a run has combined then has to meet the runs before and behind it.
 *
 * Short vectors: one rank of each node gathers what all runs have combined, in log2(H)
 * messages, and combines it. Operations that commute are better served by others.
 */
#include "algo/exchange.h"
#include "algo/runs.h"

typedef struct {
    const hccl_case_t *c;
    hccl_builder_t *b;
    hccl_node_t here;
    hccl_runs_t runs;
} ordered_t;

static int open_ordered(ordered_t *o, const hccl_case_t *c, int algorithm, int ranks)
{
    *o = (ordered_t){.c = c, .here = hccl_node_of(c, c->me)};
    const int rc = hccl_runs_make(c->shape, ranks, &o->runs);

    if (HCCL_OK != rc) {
        return rc;
    }
    o->b = hccl_build_start(c, algorithm, 1);
    return NULL == o->b ? HCCL_ERR_NOMEM : HCCL_OK;
}

static int close_ordered(ordered_t *o, int rc, hccl_plan_t **plan)
{
    hccl_runs_free(&o->runs);
    return HCCL_OK == rc ? hccl_build_finish(o->b, plan) : rc;
}

/* ---- all runs at one rank of each node -------------------------------------------------------- */

/* dst = the SEND of ranks from, ..., end - 1, who are of a run of my node. */
static void fold_ranks(ordered_t *o, int pub, int from, int end, int dst, int first)
{
    hccl_build_fold_begin(o->b, dst, first, 1);
    for (int rank = from; rank < end; rank++) {
        hccl_runs_more(o->b, dst, first, rank - from);
        if (rank == o->c->me) {
            hccl_build_fold_own(o->b, HCCL_BASE_SEND, 0);
        } else {
            hccl_build_fold_peer(o->b, o->c->shape->local_of[rank], pub, 0, 0);
        }
    }
    hccl_build_fold_end(o->b);
}

/* The runs of my node, each in its place of `area`, at the node's leader. */
static void fold_runs(ordered_t *o, int pub, int area)
{
    const hccl_runs_t *runs = &o->runs;

    for (int place = runs->node[o->here.node]; place < runs->node[o->here.node + 1]; place++) {
        const int k = runs->run[place];

        fold_ranks(o, pub, runs->first[k], runs->first[k + 1], area, place);
    }
}

/* dst = the first n runs, which are all in `area`. */
static void fold_all(ordered_t *o, int area, int n, int dst)
{
    hccl_build_fold_begin(o->b, dst, 0, 1);
    for (int k = 0; k < n; k++) {
        hccl_runs_more(o->b, dst, 0, k);
        hccl_build_fold_own(o->b, area, o->runs.place[k]);
    }
    hccl_build_fold_end(o->b);
}

/* Among one rank of each node: all runs to all of them, or to one (root, a node; -1: none). */
static void gather_runs(ordered_t *o, const hccl_team_t *leaders, int root, int area)
{
    hccl_stream_t s = {*leaders, {.start = o->runs.node, .per = 1}, 1};
    hccl_exchange_t x;

    if (HCCL_OK != hccl_exchange_open(&x, &hccl_pattern_nb, leaders->n)) {
        hccl_build_fail(o->b, HCCL_ERR_NOMEM);
    } else if (0 > root) {
        hccl_part_gathering(o->b, &x, &s, 1, area, -1);
    } else {
        hccl_part_collecting(o->b, &x, &s, root, area);
    }
    hccl_exchange_close(&x);
}

/* My SEND to the ranks of my node, unless nobody asks for it. Returns the publication. */
static int publish_mine(ordered_t *o, bool unasked)
{
    const int pub = hccl_build_publications(o->b, 1, 1);

    if (1 < o->here.n && !unasked) {
        hccl_build_publish(o->b, pub, HCCL_BASE_SEND, 0, 1);
    }
    return pub;
}

int hccl_algo_allreduce_hier_runs(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_slices_t whole = {1, 0, hccl_map_even(0, 1)};
    const hccl_team_t leaders = hccl_team_rail(c, 0);
    ordered_t o;
    const int rc = open_ordered(&o, c, algorithm, c->shape->nranks);

    if (HCCL_OK == rc) {
        const int area = hccl_build_scratch(o.b, o.runs.n);
        const int pub = publish_mine(&o, 0 == o.here.me);

        if (0 == o.here.me) {
            fold_runs(&o, pub, area);
            gather_runs(&o, &leaders, -1, area);
            fold_all(&o, area, o.runs.n, HCCL_BASE_RECV);
        }
        hccl_part_node_spread(o.b, c, &whole, HCCL_BASE_RECV);
    }
    return close_ordered(&o, rc, plan);
}

int hccl_algo_reduce_hier_runs(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_team_t leaders = hccl_team_leaders(c, c->root);
    ordered_t o;
    const int rc = open_ordered(&o, c, algorithm, c->shape->nranks);

    if (HCCL_OK == rc) {
        const int area = hccl_build_scratch(o.b, o.runs.n);
        const bool leads = hccl_team_member(&leaders);
        const int pub = publish_mine(&o, leads);

        if (leads) {
            fold_runs(&o, pub, area);
            gather_runs(&o, &leaders, c->shape->node_of[c->root], area);
        }
        if (c->me == c->root) {
            fold_all(&o, area, o.runs.n, HCCL_BASE_RECV);
        }
    }
    return close_ordered(&o, rc, plan);
}

/* dst = the first n runs, which my node's leader has published. */
static void fold_before(ordered_t *o, int pub, int area, int n, int dst)
{
    hccl_build_fold_begin(o->b, dst, 0, 1);
    for (int k = 0; k < n; k++) {
        hccl_runs_more(o->b, dst, 0, k);
        if (0 == o->here.me) {
            hccl_build_fold_own(o->b, area, o->runs.place[k]);
        } else {
            hccl_build_fold_peer(o->b, 0, pub, 0, o->runs.place[k]);
        }
    }
    hccl_build_fold_end(o->b);
}

/* The rank that begins the last run. */
static int last_run(const hccl_shape_t *shape)
{
    int rank = shape->nranks - 1;

    while (0 < rank && shape->node_of[rank - 1] == shape->node_of[rank]) {
        rank--;
    }
    return rank;
}

/* The leader publishes all runs but the last one, which nobody else needs; each rank combines those before
 * its own, and its own run's ranks before itself; inclusive: and itself. What nobody reads must not be
 * published. */
static int prefixes(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, bool inclusive)
{
    const hccl_shape_t *shape = c->shape;
    const hccl_team_t leaders = hccl_team_rail(c, 0);
    const int end = inclusive ? c->me + 1 : c->me;
    ordered_t o;
    const int rc = open_ordered(&o, c, algorithm, last_run(shape));

    if (HCCL_OK != rc) {
        return close_ordered(&o, rc, plan);
    }
    const int area = hccl_build_scratch(o.b, 0 < o.runs.n ? o.runs.n : 1);
    const int before = hccl_build_scratch(o.b, 1), own = hccl_build_scratch(o.b, 1);
    const int k = hccl_runs_of(&o.runs, c->me), first = o.runs.first[k];
    const bool leads = 0 == o.here.me, behind = c->me + 1 < shape->nranks;
    const bool asked = behind && shape->node_of[c->me + 1] == o.here.node;
    const int pub = publish_mine(&o, !asked && (leads || k == o.runs.n));
    const int all = hccl_build_publications(o.b, 1, o.runs.n);

    if (leads) {
        fold_runs(&o, pub, area);
    }
    if (first < end) {
        fold_ranks(&o, pub, first, end, 0 == k ? HCCL_BASE_RECV : own, 0);
    }
    if (leads) {
        const int last = shape->node_ranks[shape->node_start[o.here.node + 1] - 1];

        gather_runs(&o, &leaders, -1, area);
        if (1 < o.here.n && 0 < hccl_runs_of(&o.runs, last)) {
            hccl_build_publish(o.b, all, area, 0, o.runs.n);
        }
    }
    if (0 < k) {
        fold_before(&o, all, area, k, first < end ? before : HCCL_BASE_RECV);
    }
    if (0 < k && first < end) {
        hccl_part_combine(o.b, HCCL_BASE_RECV, before, own, 0, 1);
    }
    return close_ordered(&o, rc, plan);
}

int hccl_algo_scan_hier_runs(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return prefixes(c, algorithm, plan, true);
}

int hccl_algo_exscan_hier_runs(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return prefixes(c, algorithm, plan, false);
}
