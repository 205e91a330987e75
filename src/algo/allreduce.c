/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce: on one node, hierarchical, and flat.
 */
#include "algo/hier.h"

int hccl_algo_allreduce_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int pub = hccl_build_publications(b, 1, 1);

    if (1 < c->shape->nranks) {
        hccl_build_publish(b, pub, HCCL_BASE_SEND, 0, 1);
    }
    hccl_build_fold_begin(b, HCCL_BASE_RECV, 0, 1);
    for (int peer = 0; peer < c->shape->nranks; peer++) {
        if (peer == c->me) {
            hccl_build_fold_own(b, HCCL_BASE_SEND, 0);
        } else {
            hccl_build_fold_peer(b, peer, pub, 0, 0);
        }
    }
    hccl_build_fold_end(b);
    return hccl_build_finish(b, plan);
}

/* An exchange between nodes of cuts positions, from `first` on: dst = src of all members
 * combined. */
typedef void (*across_t)(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                         int first, int cuts);

static void across_rd(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                      int first, int cuts)
{
    hccl_part_doubling(b, team, tmp, src, dst, first, cuts);
}

static void across_rhd(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst,
                       int first, int cuts)
{
    const hccl_map_t map = hccl_map_even(first, 1);

    (void) cuts;
    hccl_part_halving(b, team, &map, tmp, src, dst);
    hccl_part_unhalving(b, team, &map, dst);
}

/* The same as hierarchical where the nodes are divided alike: every rank has a slice. */
static int through_groups(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, int cuts,
                          across_t across)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_slices(c, -1, HCCL_TIERS_TO_ALL, &t);

    if (HCCL_OK != rc) {
        return rc;
    }
    hccl_builder_t *b = hccl_build_start(c, algorithm, t.n * cuts);

    if (NULL != b) {
        const hccl_team_t team = hccl_team_rail(c, c->shape->local_of[c->me]);
        const int tmp = hccl_build_scratch(b, t.n * cuts);

        t.scale = cuts;
        hccl_tiers_up(b, &t, HCCL_BASE_SEND, HCCL_BASE_RECV, HCCL_BASE_RECV);
        across(b, &team, tmp, HCCL_BASE_RECV, HCCL_BASE_RECV, hccl_tiers_position(&t, c->me) * cuts,
               cuts);
        hccl_tiers_down(b, &t, HCCL_BASE_RECV);
    }
    hccl_tiers_free(&t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

/* Slices inside the nodes, one exchange between nodes for each slice, slices inside again. Every
 * slice is cut into `cuts` positions for the exchange. */
static int hierarchical(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, int slices,
                        int cuts, across_t across)
{
    if (1 < slices && hccl_tiers_alike(c->shape)) {
        return through_groups(c, algorithm, plan, cuts, across);
    }
    hccl_builder_t *b = hccl_build_start(c, algorithm, slices * cuts);
    const hccl_slices_t cut = {slices, 0, hccl_map_even(0, cuts)};

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int tmp = hccl_build_scratch(b, slices * cuts);
    const int src = hccl_part_node_reduce(b, c, &cut, HCCL_BASE_SEND, HCCL_BASE_RECV);
    const int own = hccl_slices_of(&cut, c->shape->local_of[c->me]);

    if (0 <= own) {
        const hccl_team_t team = hccl_team_rail(c, own);

        across(b, &team, tmp, src, HCCL_BASE_RECV, own * cuts, cuts);
    }
    hccl_part_node_spread(b, c, &cut, HCCL_BASE_RECV);
    return hccl_build_finish(b, plan);
}

int hccl_algo_allreduce_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->nranks, 1, across_rd);
}

int hccl_algo_allreduce_hier_rd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, 1, 1, across_rd);
}

int hccl_algo_allreduce_hier_rd_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->min_local, 1, across_rd);
}

int hccl_algo_allreduce_hier_rhd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->min_local, hccl_part_power(c->shape->nnodes),
                        across_rhd);
}

int hccl_algo_allreduce_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_hier_t h;
    const int rc = hccl_hier_start(&h, c, algorithm, HCCL_HIER_VECTOR);

    if (HCCL_OK == rc) {
        const int tmp = hccl_build_scratch(h.b, h.rails.units * c->shape->nnodes);

        hccl_hier_reduce(&h, HCCL_BASE_SEND, HCCL_BASE_RECV, tmp, HCCL_BASE_RECV);
        hccl_hier_gather(&h, HCCL_BASE_RECV, -1);
    }
    return hccl_hier_finish(&h, rc, plan);
}

/* Up the groups of the node and down again. */
static int tiered(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, hccl_tiers_t *t)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, t->n);

    if (NULL != b) {
        hccl_tiers_up(b, t, HCCL_BASE_SEND, HCCL_BASE_RECV, HCCL_BASE_RECV);
        hccl_tiers_down(b, t, HCCL_BASE_RECV);
    }
    hccl_tiers_free(t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

int hccl_algo_allreduce_tier_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_leaders(c, -1, &t);

    if (HCCL_OK != rc) {
        return rc;
    }
    hccl_tiers_meet(&t);
    return tiered(c, algorithm, plan, &t);
}

int hccl_algo_allreduce_tier_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_slices(c, -1, HCCL_TIERS_TO_ALL, &t);

    return HCCL_OK == rc ? tiered(c, algorithm, plan, &t) : rc;
}

/* One exchange among all ranks. */
static int flat(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, hccl_team_t team, int cuts,
                across_t across)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, cuts);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int tmp = hccl_build_scratch(b, cuts);

    across(b, &team, tmp, HCCL_BASE_SEND, HCCL_BASE_RECV, 0, cuts);
    return hccl_build_finish(b, plan);
}

int hccl_algo_allreduce_rd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_all(c), 1, across_rd);
}

int hccl_algo_allreduce_rhd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_all(c), hccl_part_power(c->shape->nranks),
                across_rhd);
}

/* Reducing and gathering among all ranks, node after node. */
int hccl_algo_allreduce_flat(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_way_t *way = hccl_way_of(algorithm);
    const int n = c->shape->nranks;
    hccl_stream_t s = {hccl_team_by_node(c), hccl_map_even(0, 1), 1};
    hccl_exchange_t x;
    int rc = hccl_exchange_open(&x, way->pattern, n);
    hccl_builder_t *b = HCCL_OK == rc ? hccl_build_start(c, algorithm, n) : NULL;

    if (NULL != b) {
        const int tmp = hccl_build_scratch(b, n);
        const int acc = way->pattern->linear ? tmp : HCCL_BASE_RECV;

        hccl_part_reducing(b, &x, &s, HCCL_BASE_SEND, acc, tmp, HCCL_BASE_RECV);
        hccl_part_gathering(b, &x, &s, HCCL_BASE_RECV, -1);
        rc = hccl_build_finish(b, plan);
    }
    hccl_exchange_close(&x);
    return NULL == b ? HCCL_ERR_NOMEM : rc;
}

int hccl_algo_allreduce_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int tmp = hccl_part_reduce_scratch(b, HCCL_TREE_BINOMIAL, team.n, 1);

    hccl_part_reduce(b, &team, 0, HCCL_TREE_BINOMIAL, tmp, HCCL_BASE_SEND, HCCL_BASE_RECV, 0, 1);
    hccl_part_bcast(b, &team, 0, HCCL_TREE_BINOMIAL, HCCL_BASE_RECV, 0, 1);
    return hccl_build_finish(b, plan);
}
