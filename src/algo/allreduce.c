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

/* The scratch areas that the way needs, one at least. */
static int scratch(hccl_builder_t *b, const hccl_way_t *way, int positions)
{
    const int tmp = hccl_build_scratch(b, positions);

    for (int i = 1; i < way->areas; i++) {
        hccl_build_scratch(b, positions);
    }
    return tmp;
}

/* Slices inside the nodes, one exchange between nodes for each slice, slices inside again. */
int hccl_algo_allreduce_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_hier_t h;
    const int rc = hccl_hier_start(&h, c, algorithm, HCCL_HIER_VECTOR);

    if (HCCL_OK == rc) {
        const int tmp = scratch(h.b, h.way, h.rails.units * h.rails.slots);

        if (NULL == h.way->pattern) {
            hccl_hier_allreduce(&h, HCCL_BASE_SEND, tmp, HCCL_BASE_RECV);
        } else {
            hccl_hier_reduce(&h, HCCL_BASE_SEND, HCCL_BASE_RECV, tmp, HCCL_BASE_RECV);
            hccl_hier_gather(&h, HCCL_BASE_RECV, -1);
        }
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

/* Halving and doubling keep the order of the ranks. */
static int flat_in_order(const hccl_case_t *c, int algorithm, const hccl_way_t *way,
                         hccl_plan_t **plan)
{
    const hccl_team_t team = hccl_team_all(c);
    const int cuts = way->cuts(team.n);
    hccl_builder_t *b = hccl_build_start(c, algorithm, cuts);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int tmp = scratch(b, way, cuts);

    way->across(b, &team, tmp, HCCL_BASE_SEND, HCCL_BASE_RECV, 0, cuts);
    return hccl_build_finish(b, plan);
}

/* Reducing and gathering among all ranks, node after node; several parts of the vector at once where the
 * pattern goes round in several ways. */
static int flat_by_node(const hccl_case_t *c, int algorithm, const hccl_way_t *way,
                        hccl_plan_t **plan)
{
    const int rings = 0 < c->dials.rings ? c->dials.rings : HCCL_RINGS;
    const int n = c->shape->nranks, parts = way->pattern->turns ? rings : 1;
    const hccl_team_t team = hccl_exchange_team(way->pattern, c);
    hccl_exchange_t x;
    int rc = hccl_exchange_open(&x, way->pattern, n);
    hccl_builder_t *b = HCCL_OK == rc ? hccl_build_start(c, algorithm, parts * n) : NULL;

    if (NULL != b) {
        hccl_stream_t s[HCCL_MOST_RINGS];

        x.along = c->shape->ringed;
        for (int i = 0; i < parts; i++) {
            s[i] = (hccl_stream_t){team, hccl_map_even(i * n, 1), hccl_exchange_turn(&x, i)};
        }
        const int tmp = hccl_build_scratch(b, parts * n);
        const int acc = way->pattern->passes ? tmp : HCCL_BASE_RECV;

        hccl_part_reducing(b, &x, s, parts, HCCL_BASE_SEND, acc, tmp, HCCL_BASE_RECV);
        hccl_part_gathering(b, &x, s, parts, HCCL_BASE_RECV, -1);
        rc = hccl_build_finish(b, plan);
    }
    hccl_exchange_close(&x);
    return NULL == b ? HCCL_ERR_NOMEM : rc;
}

int hccl_algo_allreduce_flat(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_way_t *way = hccl_way_of(algorithm);

    if (NULL == way) {
        return HCCL_ERR_INTERNAL;
    }
    return NULL == way->pattern ? flat_in_order(c, algorithm, way, plan)
                                : flat_by_node(c, algorithm, way, plan);
}

int hccl_algo_allreduce_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int tmp = hccl_part_reduce_scratch(b, HCCL_TREE_BINOMIAL, team.n, 0 == c->me, 1);

    hccl_part_reduce(b, &team, 0, HCCL_TREE_BINOMIAL, tmp, HCCL_BASE_SEND, HCCL_BASE_RECV, 0, 1);
    hccl_part_bcast(b, &team, 0, HCCL_TREE_BINOMIAL, HCCL_BASE_RECV, 0, 1);
    return hccl_build_finish(b, plan);
}
