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

/* The runs of my node, each in its place of `area`, at the node's leader. */
static void fold_runs(hccl_ordered_t *o, int pub, int area)
{
    const hccl_runs_t *runs = &o->runs;

    for (int place = runs->node[o->here.node]; place < runs->node[o->here.node + 1]; place++) {
        const int k = runs->run[place];

        hccl_runs_fold(o->b, o->c, pub, runs->first[k], runs->first[k + 1], area, place);
    }
}

/* dst = all runs, which are in `area`. */
static void fold_all(hccl_ordered_t *o, int area, int dst)
{
    hccl_build_fold_begin(o->b, dst, 0, 1);
    for (int k = 0; k < o->runs.n; k++) {
        hccl_runs_more(o->b, dst, 0, 1, k);
        hccl_build_fold_own(o->b, area, o->runs.place[k]);
    }
    hccl_build_fold_end(o->b);
}

/* What all runs have combined, to one rank of each node, or to that of one node (root; -1: none), in the
 * scratch area that is returned. */
static int gather_runs(hccl_ordered_t *o, const hccl_team_t *leaders, int root)
{
    const hccl_stream_t s = {*leaders, {.start = o->runs.node, .per = 1}, 1};
    const int area = hccl_build_scratch(o->b, o->runs.n);
    const int pub = hccl_build_publications(o->b, 1, 1);

    if (hccl_team_member(leaders)) {
        fold_runs(o, pub, area);
        hccl_part_uniting(o->b, &s, root, area);
    } else if (1 < o->here.n) {
        hccl_build_publish(o->b, pub, HCCL_BASE_SEND, 0, 1);
    }
    return area;
}

int hccl_algo_allreduce_hier_runs(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_slices_t whole = {1, hccl_team_lead(c, -1), hccl_map_even(0, 1)};
    const hccl_team_t leaders = hccl_team_leaders(c, -1);
    hccl_ordered_t o;
    const int rc = hccl_ordered_open(&o, c, algorithm, 1);

    if (HCCL_OK == rc) {
        const int area = gather_runs(&o, &leaders, -1);

        if (hccl_team_member(&leaders)) {
            fold_all(&o, area, HCCL_BASE_RECV);
        }
        hccl_part_node_spread(o.b, c, &whole, HCCL_BASE_RECV);
    }
    return hccl_ordered_close(&o, rc, plan);
}

int hccl_algo_reduce_hier_runs(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_team_t leaders = hccl_team_leaders(c, c->root);
    hccl_ordered_t o;
    const int rc = hccl_ordered_open(&o, c, algorithm, 1);

    if (HCCL_OK == rc) {
        const int area = gather_runs(&o, &leaders, c->shape->node_of[c->root]);

        if (c->me == c->root) {
            fold_all(&o, area, HCCL_BASE_RECV);
        }
    }
    return hccl_ordered_close(&o, rc, plan);
}
