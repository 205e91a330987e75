/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter and reduce_scatter_block: on one node, hierarchical, and flat. Every block keeps
 * its position, so blocks may differ in size. RECV has nothing but my own block.
 */
#include <stdlib.h>

#include "algo/hier.h"

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

/* My node's blocks on my rail, if others than mine are among them, to their ranks; mine from who
 * serves its rail. */
static void deliver(hccl_hier_t *h, const hccl_case_t *c, int area, bool alone)
{
    const int pub = hccl_build_publications(h->b, 1, h->rails.widest);
    const int mine = hccl_build_position(h->b, c->me), rail = hccl_rails_of(&h->rails, c->me);
    const int slot = h->x.slot[h->seat];
    const hccl_map_t map = hccl_rails_map(&h->rails, rail);
    const int owner = hccl_rails_owner(&h->rails, h->here.node, rail);

    if (alone) {
        return;
    }
    if (0 < h->n) {
        const hccl_map_t own = hccl_rails_map(&h->rails, h->first);

        hccl_build_publish(h->b, pub, area, hccl_map_first(&own, slot),
                           hccl_map_count(&own, slot, 1));
    }
    if (owner == h->here.me) {
        hccl_part_move(h->b, HCCL_BASE_RECV, area, mine, 1);
    } else {
        hccl_build_fetch(h->b, HCCL_BASE_RECV, mine, 1, owner, pub, hccl_map_first(&map, slot),
                         mine);
    }
}

/* Inside the nodes each rail's blocks are combined by who serves it, then between the nodes: by the pattern
 * of the algorithm, or straight from each node, in the order of the nodes. Where a rail serves others
 * than its own rank, those fetch their blocks. */
static int between_nodes(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, bool in_order)
{
    const int n = c->shape->nranks;
    hccl_hier_t h;
    const int rc = hccl_hier_start(&h, c, algorithm, HCCL_HIER_REDUCE);

    if (HCCL_OK == rc) {
        const bool alone = hccl_rails_alone(&h.rails, c->me, h.x.slot);
        const int area = hccl_build_scratch(h.b, n), tmp = hccl_build_scratch(h.b, n);
        const int dst = alone ? HCCL_BASE_RECV : area;

        if (in_order) {
            hccl_hier_reduce_in_order(&h, HCCL_BASE_SEND, area, tmp, hccl_build_scratch(h.b, n),
                                      dst);
        } else {
            hccl_hier_reduce(&h, HCCL_BASE_SEND, area, tmp, dst);
        }
        deliver(&h, c, area, alone);
    }
    return hccl_hier_finish(&h, rc, plan);
}

int hccl_algo_reduce_scatter_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return between_nodes(c, algorithm, plan, false);
}

int hccl_algo_reduce_scatter_hier_pairwise(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return between_nodes(c, algorithm, plan, true);
}

/* Among all ranks, node after node. */
int hccl_algo_reduce_scatter_flat(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
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
        const int tmp = hccl_build_scratch(b, n);
        const int acc = way->pattern->passes ? tmp : hccl_build_scratch(b, n);

        hccl_part_reducing(b, &x, &s, 1, HCCL_BASE_SEND, acc, tmp, HCCL_BASE_RECV);
        rc = HCCL_OK == rc ? hccl_build_finish(b, plan) : rc;
    }
    hccl_exchange_close(&x);
    return NULL == b ? HCCL_ERR_NOMEM : rc;
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
