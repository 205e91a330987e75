/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Allgather and allgatherv: on one node, hierarchical, and flat. Every block keeps its position, so
 * blocks may differ in size.
 */
#include <stdlib.h>

#include "algo/tiers.h"

/* RECV = the block of the node's rank of index `peer`, published under pub. */
static void fetch_block(hccl_builder_t *b, const hccl_case_t *c, int peer, int pub)
{
    const int node = c->shape->node_of[c->me];
    const int rank = c->shape->node_ranks[c->shape->node_start[node] + peer];
    const int position = hccl_build_position(b, rank);

    hccl_build_fetch(b, HCCL_BASE_RECV, position, 1, peer, pub, position, position);
}

/* Makes my block my node's and mine. Returns the publication number for fetch_block. */
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
        fetch_block(b, c, (c->me + k) % n, pub);
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

/* The blocks that rail `own` fetches before its ring starts (mine true), or all others. */
static void fetch_node(hccl_builder_t *b, const hccl_case_t *c, const hccl_rails_t *rails, int own,
                       bool mine, int pub)
{
    const hccl_node_t here = hccl_node_of(c, c->me);

    for (int k = 1; k < here.n; k++) {
        const int peer = (here.me + k) % here.n;

        if (mine == (own == hccl_rails_of(rails, here.n, peer))) {
            fetch_block(b, c, peer, pub);
        }
    }
}

/* One step of the ring of rail `own`: what came from `step` nodes back goes on to the next node. */
static void ring_step(hccl_builder_t *b, const hccl_case_t *c, const hccl_rails_t *rails, int own,
                      int step)
{
    const hccl_team_t team = hccl_team_rail(c, own);
    const hccl_map_t map = hccl_rails_map(rails, own);
    const int n = team.n, out = (team.me - step + n) % n, in = (team.me - step - 1 + n) % n;

    hccl_build_send(b, hccl_team_rank(&team, (team.me + 1) % n), HCCL_BASE_RECV,
                    hccl_map_first(&map, out), hccl_map_count(&map, out, 1));
    hccl_build_recv(b, hccl_team_rank(&team, (team.me - 1 + n) % n), HCCL_BASE_RECV,
                    hccl_map_first(&map, in), hccl_map_count(&map, in, 1));
}

/* What the rails have received of one node's blocks, to all ranks of my node. */
static void spread_node(hccl_builder_t *b, const hccl_case_t *c, const hccl_rails_t *rails, int own,
                        int node, int pub)
{
    for (int k = 0; k < rails->rails && 1 < hccl_node_of(c, c->me).n; k++) {
        /* my own first, which publishes it; then the next rail's, so that readers part */
        const int rail = ((0 <= own ? own : c->me % rails->rails) + k) % rails->rails;
        const hccl_map_t map = hccl_rails_map(rails, rail);
        const int first = hccl_map_first(&map, node), count = hccl_map_count(&map, node, 1);

        if (rail == own) {
            hccl_build_publish(b, pub, HCCL_BASE_RECV, first, count);
        } else {
            hccl_build_fetch(b, HCCL_BASE_RECV, first, count, rail, pub, first, first);
        }
    }
}

/* The same as hier_ring where the nodes are divided alike: positions are by node, then in the order of
 * the node's slices. */
static int through_groups(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int nodes = c->shape->nnodes, node = c->shape->node_of[c->me];
    const hccl_team_t rail = hccl_team_rail(c, c->shape->local_of[c->me]);
    hccl_tiers_t t;
    const int rc = hccl_tiers_slices(c, -1, HCCL_TIERS_TO_ALL, &t);

    if (HCCL_OK != rc) {
        return rc;
    }
    int32_t *order = malloc((size_t) c->shape->nranks * sizeof(*order));
    hccl_builder_t *b = NULL == order ? NULL : hccl_build_start(c, algorithm, c->shape->nranks);

    for (int i = 0; NULL != b && i < c->shape->nranks; i++) {
        const hccl_team_t team = hccl_team_rail(c, c->shape->local_of[t.order[i % t.n]]);

        order[i] = hccl_team_rank(&team, i / t.n);
    }
    if (NULL != b) {
        const int mine = hccl_tiers_position(&t, c->me);

        hccl_build_order(b, order);
        hccl_part_own(b, c);
        for (int step = 0; step < nodes; step++) {
            const int now = (node - step + nodes) % nodes, next = (now - 1 + nodes) % nodes;

            if (step + 1 < nodes) {
                hccl_build_send(b, hccl_team_rank(&rail, (node + 1) % nodes), HCCL_BASE_RECV,
                                now * t.n + mine, 1);
                hccl_build_recv(b, hccl_team_rank(&rail, (node - 1 + nodes) % nodes),
                                HCCL_BASE_RECV, next * t.n + mine, 1);
            }
            t.first = now * t.n;
            hccl_tiers_down(b, &t, HCCL_BASE_RECV);
            hccl_build_wait(b);
        }
    }
    free(order);
    hccl_tiers_free(&t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

/* The rails are rings between the nodes; each byte enters each node once. While a ring takes its
 * next step, the node shares what the last one brought. */
int hccl_algo_allgather_hier_ring(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const int nodes = c->shape->nnodes;
    hccl_rails_t rails;
    hccl_builder_t *b;

    if (hccl_tiers_alike(c->shape)) {
        return through_groups(c, algorithm, plan);
    }
    if (HCCL_OK != hccl_rails_make(c->shape, &rails)) {
        return HCCL_ERR_NOMEM;
    }
    b = hccl_build_start(c, algorithm, c->shape->nranks);
    if (NULL == b) {
        hccl_rails_free(&rails);
        return HCCL_ERR_NOMEM;
    }
    hccl_build_order(b, rails.order);
    const int own = here.me < rails.rails ? here.me : -1;
    const int pub = publish_block(b, c);
    const int arrivals = hccl_build_publications(b, nodes - 1, rails.widest);

    fetch_node(b, c, &rails, own, true, pub);
    for (int step = 0; step < nodes; step++) {
        if (0 <= own && step + 1 < nodes) {
            ring_step(b, c, &rails, own, step);
        }
        if (0 == step) {
            fetch_node(b, c, &rails, own, false, pub);
        } else {
            spread_node(b, c, &rails, own, (here.node - step + nodes) % nodes, arrivals + step - 1);
        }
        hccl_build_wait(b);
    }
    hccl_rails_free(&rails);
    return hccl_build_finish(b, plan);
}

/* One rank per node has all of its node's blocks and takes part in a Bruck exchange. */
int hccl_algo_allgather_hier_bruck(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks, *start = c->shape->node_start, last = c->shape->nnodes - 1;
    hccl_builder_t *b = hccl_build_start(c, algorithm, n);
    const hccl_node_t here = hccl_node_of(c, c->me);
    const hccl_team_t leaders = hccl_team_rail(c, 0);
    const hccl_map_t map = hccl_map_nodes(c);
    /* what lies before my node's blocks, and what lies behind them */
    const int part[2][2] = {{0, start[here.node]},
                            {start[here.node + 1], n - start[here.node + 1]}};

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_order_by_node(b, c->shape);
    const int pub = publish_block(b, c);
    const int others =
        hccl_build_publications(b, 2, n - start[1] > start[last] ? n - start[1] : start[last]);

    for (int k = 1; k < here.n; k++) {
        fetch_block(b, c, (here.me + k) % here.n, pub);
    }
    hccl_part_bruck_allgather(b, &leaders, &map, HCCL_BASE_RECV);
    for (int i = 0; i < 2 && 1 < here.n; i++) {
        if (0 == part[i][1]) {
            continue;
        }
        if (0 == here.me) {
            hccl_build_publish(b, others + i, HCCL_BASE_RECV, part[i][0], part[i][1]);
        } else {
            hccl_build_fetch(b, HCCL_BASE_RECV, part[i][0], part[i][1], 0, others + i, part[i][0],
                             part[i][0]);
        }
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_allgather_ring(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, c->shape->nranks);
    const hccl_team_t team = hccl_team_by_node(c);
    const hccl_map_t map = hccl_map_even(0, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_order_by_node(b, c->shape);
    hccl_part_own(b, c);
    hccl_part_ring_allgather(b, &team, &map, HCCL_BASE_RECV, -1);
    return hccl_build_finish(b, plan);
}

int hccl_algo_allgather_bruck(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, c->shape->nranks);
    const hccl_team_t team = hccl_team_all(c);
    const hccl_map_t map = hccl_map_even(0, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_part_own(b, c);
    hccl_part_bruck_allgather(b, &team, &map, HCCL_BASE_RECV);
    return hccl_build_finish(b, plan);
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
