/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter and reduce_scatter_block: on one node, hierarchical, and flat. Every block keeps
 * its position, so blocks may differ in size. RECV has nothing but my own block.
 */
#include <stdlib.h>

#include "algo/tiers.h"

int hccl_algo_reduce_scatter_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, c->shape->nranks);
    const hccl_slices_t blocks = {c->shape->nranks, 0, hccl_map_even(0, 1)};

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int result = hccl_part_node_reduce(b, c, &blocks, HCCL_BASE_SEND, HCCL_BASE_RECV);

    hccl_part_move(b, HCCL_BASE_RECV, result, c->me, 1);
    return hccl_build_finish(b, plan);
}

/* Up the groups of the node: what its ranks have left in the end is their blocks. */
int hccl_algo_reduce_scatter_tier_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_slices(c, -1, HCCL_TIERS_FROM_ALL, &t);

    if (HCCL_OK != rc) {
        return rc;
    }
    hccl_builder_t *b = hccl_build_start(c, algorithm, t.n);

    if (NULL != b) {
        hccl_build_order(b, t.order);
        const int area = hccl_build_scratch(b, t.n);

        hccl_tiers_up(b, &t, HCCL_BASE_SEND, area, HCCL_BASE_RECV);
    }
    hccl_tiers_free(&t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

/* The blocks of the ranks of all nodes, in the order of the node's slices, then of nodes. HCCL_OK or
 * HCCL_ERR_NOMEM. */
static int order_by_slice(hccl_builder_t *b, const hccl_case_t *c, const hccl_tiers_t *t)
{
    const int nodes = c->shape->nnodes;
    int32_t *order = malloc((size_t) c->shape->nranks * sizeof(*order));

    if (NULL == order) {
        return HCCL_ERR_NOMEM;
    }
    for (int x = 0; x < t->n; x++) {
        const hccl_team_t rail = hccl_team_rail(c, c->shape->local_of[t->order[x]]);

        for (int v = 0; v < nodes; v++) {
            order[x * nodes + v] = hccl_team_rank(&rail, v);
        }
    }
    hccl_build_order(b, order);
    free(order);
    return HCCL_OK;
}

/* The same as hier_ring where the nodes are divided alike: every rank has the blocks of its index. */
static int through_groups(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int nodes = c->shape->nnodes;
    hccl_tiers_t t;
    const int rc = hccl_tiers_slices(c, -1, HCCL_TIERS_FROM_ALL, &t);

    if (HCCL_OK != rc) {
        return rc;
    }
    hccl_builder_t *b = hccl_build_start(c, algorithm, c->shape->nranks);

    if (NULL != b && HCCL_OK != order_by_slice(b, c, &t)) {
        hccl_build_fail(b, HCCL_ERR_NOMEM);
    } else if (NULL != b) {
        const hccl_team_t team = hccl_team_rail(c, c->shape->local_of[c->me]);
        const hccl_map_t map = hccl_map_even(hccl_tiers_position(&t, c->me) * nodes, 1);
        const int area = hccl_build_scratch(b, c->shape->nranks);
        const int tmp = hccl_build_scratch(b, c->shape->nranks);

        t.scale = nodes;
        hccl_tiers_up(b, &t, HCCL_BASE_SEND, area, area);
        hccl_part_ring_reduce_scatter(b, &team, &map, tmp, area, HCCL_BASE_RECV);
    }
    hccl_tiers_free(&t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

/* Slices inside the nodes, a slice being a rail's blocks of all nodes; a ring between the nodes for
 * each rail. Where a rail serves others than its own rank, those fetch their blocks. */
int hccl_algo_reduce_scatter_hier_ring(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const int n = c->shape->nranks;
    hccl_rails_t rails;
    hccl_builder_t *b;

    if (hccl_tiers_alike(c->shape)) {
        return through_groups(c, algorithm, plan);
    }
    if (HCCL_OK != hccl_rails_make(c->shape, &rails)) {
        return HCCL_ERR_NOMEM;
    }
    b = hccl_build_start(c, algorithm, n);
    if (NULL == b) {
        hccl_rails_free(&rails);
        return HCCL_ERR_NOMEM;
    }
    hccl_build_order(b, rails.order);
    const hccl_slices_t cut = {rails.rails, 0, hccl_rails_all(&rails)};
    const int own = hccl_slices_of(&cut, here.me);
    const int area = hccl_build_scratch(b, n), tmp = hccl_build_scratch(b, n);
    const int src = hccl_part_node_reduce(b, c, &cut, HCCL_BASE_SEND, area);
    const int pub = hccl_build_publications(b, 1, rails.widest);
    const int mine = hccl_build_position(b, c->me);
    const int mine_by = hccl_rails_of(&rails, here.n, here.me); /* the rail that has my block */
    hccl_map_t map = hccl_rails_map(&rails, mine_by);
    int mine_in = area; /* where I find my block if that rail is my own */

    if (0 <= own) {
        const hccl_team_t team = hccl_team_rail(c, own);
        const hccl_map_t run = hccl_rails_map(&rails, own);
        const int first = hccl_map_first(&run, here.node),
                  count = hccl_map_count(&run, here.node, 1);
        const bool alone = mine == first && 1 == count;

        mine_in = alone ? HCCL_BASE_RECV : area;
        hccl_part_ring_reduce_scatter(b, &team, &run, tmp, src, mine_in);
        if (!alone) {
            hccl_build_publish(b, pub, area, first, count);
        }
    }
    if (own == mine_by) {
        hccl_part_move(b, HCCL_BASE_RECV, mine_in, mine, 1);
    } else {
        hccl_build_fetch(b, HCCL_BASE_RECV, mine, 1, mine_by, pub, hccl_map_first(&map, here.node),
                         mine);
    }
    hccl_rails_free(&rails);
    return hccl_build_finish(b, plan);
}

int hccl_algo_reduce_scatter_ring(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, c->shape->nranks);
    const hccl_team_t team = hccl_team_by_node(c);
    const hccl_map_t map = hccl_map_even(0, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_order_by_node(b, c->shape);
    const int tmp = hccl_build_scratch(b, c->shape->nranks);

    hccl_part_ring_reduce_scatter(b, &team, &map, tmp, HCCL_BASE_SEND, HCCL_BASE_RECV);
    return hccl_build_finish(b, plan);
}

/* Halving leaves slot s with the partner whose number is s with its bits reversed, so slot s is
 * made of that partner's blocks: start[s] is its first position, order the blocks by slot. */
static void order_by_slot(const hccl_pairs_t *pairs, int *start, int32_t *order)
{
    int at = 0;

    for (int slot = 0; slot < pairs->power; slot++) {
        const int v = hccl_part_slot(pairs, slot); /* reversing is its own inverse */

        start[slot] = at;
        for (int i = hccl_pairs_member(pairs, v); i < hccl_pairs_member(pairs, v + 1); i++) {
            order[at++] = i;
        }
    }
    start[pairs->power] = at;
}

static void halve(hccl_builder_t *b, const hccl_team_t *team, const hccl_pairs_t *pairs,
                  const hccl_map_t *map)
{
    const int acc = hccl_build_scratch(b, team->n), tmp = hccl_build_scratch(b, team->n);
    const int mine = hccl_build_position(b, team->me);

    hccl_part_halving(b, team, map, tmp, HCCL_BASE_SEND, acc);
    if (0 > pairs->me) {
        hccl_build_recv(b, team->me - 1, HCCL_BASE_RECV, mine, 1);
    } else {
        if (pairs->me < pairs->surplus) {
            hccl_build_send(b, team->me + 1, acc, mine + 1, 1);
        }
        hccl_part_move(b, HCCL_BASE_RECV, acc, mine, 1);
    }
    hccl_build_wait(b);
}

int hccl_algo_reduce_scatter_rhd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_team_t team = hccl_team_all(c);
    const hccl_pairs_t pairs = hccl_pairs_of(&team);
    const size_t slots = (size_t) pairs.power + 1;
    int *start = malloc((slots + (size_t) team.n) * sizeof(*start)); /* and the order behind */
    hccl_builder_t *b = NULL == start ? NULL : hccl_build_start(c, algorithm, team.n);

    if (NULL == b) {
        free(start);
        return HCCL_ERR_NOMEM;
    }
    const hccl_map_t map = {.start = start, .per = 1};

    order_by_slot(&pairs, start, start + slots);
    hccl_build_order(b, start + slots);
    halve(b, &team, &pairs, &map);
    free(start);
    return hccl_build_finish(b, plan);
}

/* Step t brings my block from the rank t ahead. The ranks from mine up to the last are combined as
 * they come, then the ranks from 0 up to the one before mine; the two are joined in rank order. */
int hccl_algo_reduce_scatter_pairwise(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks, me = c->me;
    hccl_builder_t *b = hccl_build_start(c, algorithm, n);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int in = hccl_build_scratch(b, n), low = hccl_build_scratch(b, n);
    int upper = HCCL_BASE_SEND;

    for (int t = 1; t < n; t++) {
        const int to = (me - t + n) % n, from = (me + t) % n;

        hccl_build_send(b, to, HCCL_BASE_SEND, to, 1);
        hccl_build_recv(b, from, 0 == from ? low : in, me, 1);
        hccl_build_wait(b);
        if (from > me) {
            hccl_part_combine(b, HCCL_BASE_RECV, upper, in, me, 1);
            upper = HCCL_BASE_RECV;
        } else if (0 < from) {
            hccl_part_combine(b, low, low, in, me, 1);
        }
    }
    if (0 < me) {
        hccl_part_combine(b, HCCL_BASE_RECV, low, upper, me, 1);
    } else {
        hccl_part_move(b, HCCL_BASE_RECV, upper, me, 1);
    }
    return hccl_build_finish(b, plan);
}
