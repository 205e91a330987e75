/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather and allgatherv: on one node, hierarchical, and flat. Every block keeps its position, so
 * blocks may differ in size.
 */
#include "algo/hier.h"

/* Makes my block my node's and mine. Returns the publication number. */
static int publish_block(hccl_builder_t *b, const hccl_case_t *c)
{
    const int pub = hccl_build_publications(b, 1, 1);

    if (1 < hccl_node_of(c, c->me).n) {
        hccl_build_publish(b, pub, HCCL_BASE_SEND, hccl_build_position(b, c->me), 1);
    }
    hccl_part_own(b, c);
    return pub;
}

int hccl_algo_allgather_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks;
    hccl_builder_t *b = hccl_build_start(c, algorithm, n);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int pub = publish_block(b, c);

    for (int k = 1; k < n; k++) {
        hccl_part_node_block(b, c, HCCL_BASE_RECV, (c->me + k) % n, pub);
    }
    return hccl_build_finish(b, plan);
}

/* Each group fetches every block from outside once: its ranks share them out. */
int hccl_algo_allgather_tier_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_slices(c, -1, HCCL_TIERS_TO_ALL, &t);

    if (HCCL_OK != rc) {
        return rc;
    }
    hccl_builder_t *b = hccl_build_start(c, algorithm, t.n);

    if (NULL != b) {
        hccl_build_order(b, t.order);
        hccl_part_own(b, c);
        hccl_tiers_down(b, &t, HCCL_BASE_RECV);
    }
    hccl_tiers_free(&t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

/* Each byte enters each node once. Where all ranks of nodes of different size serve, a block travels on a
 * rail of its own rank; so unless each round is shared at once, it is soon enough when the rest is. */
int hccl_algo_allgather_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_hier_t h;
    const int rc = hccl_hier_start(&h, c, algorithm, HCCL_HIER_GATHER);

    if (HCCL_OK == rc && (h.groups || (h.rails.all && !h.round_by_round))) {
        hccl_part_own(h.b, c);
        hccl_hier_gather(&h, HCCL_BASE_RECV, -1);
    } else if (HCCL_OK == rc) {
        hccl_hier_gather(&h, HCCL_BASE_RECV, publish_block(h.b, c));
    }
    return hccl_hier_finish(&h, rc, plan);
}

/* Among all ranks, node after node. */
int hccl_algo_allgather_flat(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_way_t *way = hccl_way_of(algorithm);
    const int n = c->shape->nranks;
    hccl_exchange_t x;

    if (NULL == way) {
        return HCCL_ERR_INTERNAL;
    }
    const hccl_stream_t s = {hccl_exchange_team(way->pattern, c), hccl_map_even(0, 1), 1};
    int rc = hccl_exchange_open(&x, way->pattern, n);
    hccl_builder_t *b = HCCL_OK == rc ? hccl_build_start(c, algorithm, n) : NULL;

    if (NULL != b) {
        rc = hccl_exchange_order(&x, b, c);
        hccl_part_own(b, c);
        hccl_part_gathering(b, &x, &s, 1, HCCL_BASE_RECV, -1);
        rc = HCCL_OK == rc ? hccl_build_finish(b, plan) : rc;
    }
    hccl_exchange_close(&x);
    return NULL == b ? HCCL_ERR_NOMEM : rc;
}

int hccl_algo_allgather_rd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, c->shape->nranks);
    const hccl_team_t team = hccl_team_all(c);
    const hccl_map_t map = hccl_map_even(0, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_part_own(b, c);
    hccl_part_doubling_allgather(b, &team, &map, HCCL_BASE_RECV);
    return hccl_build_finish(b, plan);
}
