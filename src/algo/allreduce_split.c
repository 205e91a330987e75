/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce in two dimensions at once: a share of the vector goes through the nodes first and then
 * between them, the rest the other way round, so that shared memory and network are busy together.
 * What goes through the network first crosses it once for every rank of a node. That pays where the
 * network of a rank is as fast as its node: else its share should be none.
 */
#include "algo/hier.h"

/* Shares are multiples of 1 / STEPS. */
enum { STEPS = 16 };

typedef struct {
    const hccl_case_t *c;
    hccl_builder_t *b;
    int local, nodes;     /* ranks of a node, nodes */
    int inner, outer;     /* parts of the vector that go first through nodes, network */
    int tmp;              /* scratch */
    hccl_exchange_t x[2]; /* of the inner and of the outer part */
    hccl_stream_t s[2];
} split_t;

static int common_divisor(int a, int b)
{
    return 0 == b ? a : common_divisor(b, a % b);
}

/* The positions: the inner part by slice, then node; the outer part by node, then slice. */
static void cut(split_t *t)
{
    const int me = t->c->shape->local_of[t->c->me];
    hccl_team_t rail = hccl_team_ring(t->c, me);
    const int outer = (t->c->dials.network_first * STEPS + 50) / 100;
    const int divisor = common_divisor(outer, STEPS);

    t->local = t->c->shape->min_local;
    rail.me = me < t->local ? rail.me : -1;
    t->nodes = t->c->shape->nnodes;
    t->outer =
        t->c->shape->even ? outer / divisor : 0; /* ranks without partners can't begin outside */
    t->inner = t->c->shape->even ? (STEPS - outer) / divisor : 1;
    t->s[0] = (hccl_stream_t){rail, hccl_map_even(0, t->inner), 1};
    t->s[0].map.first = me * t->nodes * t->inner;
    t->s[1] =
        (hccl_stream_t){rail, hccl_map_even(t->local * t->nodes * t->inner, t->local * t->outer),
                        1};
}

/* The rounds of reducing of one part that are left after the first `started`. */
static void reduce_rounds(split_t *t, int part, int src, int started)
{
    hccl_exchange_t *x = &t->x[part];
    const hccl_stream_t *s = &t->s[part];

    if (!hccl_team_member(&s->team)) {
        return;
    }
    if (1 == t->nodes) {
        hccl_part_move(t->b, HCCL_BASE_RECV, src, hccl_map_first(&s->map, 0),
                       hccl_map_count(&s->map, 0, 1));
    }
    for (int i = 0; i < hccl_exchange_rounds(x); i++) {
        if (i >= started) {
            hccl_exchange_reduce(t->b, x, s, src, t->tmp, t->tmp, i);
        }
        hccl_build_wait(t->b);
        hccl_exchange_combine(t->b, x, s, src, t->tmp, t->tmp, HCCL_BASE_RECV, i);
        hccl_exchange_reduced(x, i);
    }
}

static void gather_rounds(split_t *t, int part, int started)
{
    for (int i = 0; i < hccl_exchange_rounds(&t->x[part]); i++) {
        if (i >= started) {
            hccl_exchange_gather(t->b, &t->x[part], &t->s[part], HCCL_BASE_RECV, -1, i);
        }
        hccl_build_wait(t->b);
    }
}

static bool member(const split_t *t)
{
    return 1 < t->nodes && hccl_team_member(&t->s[0].team);
}

/* While the first round of one part is under way, the other part is at work inside the nodes. */
static void both_ways(split_t *t)
{
    const hccl_case_t *c = t->c;
    const int seat = c->shape->seat[c->shape->node_of[c->me]], width = t->local * t->outer;
    const hccl_slices_t inner = {t->local, 0, hccl_map_even(0, t->inner * t->nodes)};
    const hccl_slices_t outer = {t->local, 0,
                                 hccl_map_even(t->s[1].map.first + seat * width, t->outer)};
    int src = HCCL_BASE_SEND;

    if (member(t) && 0 < t->outer) {
        hccl_exchange_reduce(t->b, &t->x[1], &t->s[1], HCCL_BASE_SEND, t->tmp, t->tmp, 0);
    }
    if (0 < t->inner) {
        src = hccl_part_node_reduce(t->b, c, &inner, HCCL_BASE_SEND, HCCL_BASE_RECV);
    }
    if (0 < t->outer) {
        reduce_rounds(t, 1, HCCL_BASE_SEND, 1);
    }
    if (member(t) && 0 < t->inner) {
        hccl_exchange_reduce(t->b, &t->x[0], &t->s[0], src, t->tmp, t->tmp, 0);
    }
    if (0 < t->outer) {
        hccl_part_node_reduce(t->b, c, &outer, HCCL_BASE_RECV, HCCL_BASE_RECV);
        hccl_part_node_spread(t->b, c, &outer, HCCL_BASE_RECV);
    }
    if (0 < t->inner) {
        reduce_rounds(t, 0, src, 1);
    }
    if (member(t) && 0 < t->inner) {
        gather_rounds(t, 0, 0);
    }
    if (member(t) && 0 < t->outer) {
        hccl_exchange_gather(t->b, &t->x[1], &t->s[1], HCCL_BASE_RECV, -1, 0);
    }
    if (0 < t->inner) {
        hccl_part_node_spread(t->b, c, &inner, HCCL_BASE_RECV);
    }
    if (member(t) && 0 < t->outer) {
        gather_rounds(t, 1, 1);
    }
}

int hccl_algo_allreduce_hier_2d(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_way_t *way = hccl_way_of(algorithm);
    split_t t = {.c = c};

    if (NULL == way) {
        return HCCL_ERR_INTERNAL;
    }
    const hccl_pattern_t *pattern = way->pattern;

    cut(&t);
    const int blocks = (t.inner + t.outer) * t.local * t.nodes;
    const int inner = hccl_exchange_open(&t.x[0], pattern, t.nodes);
    const int outer = hccl_exchange_open(&t.x[1], pattern, t.nodes);

    if (HCCL_OK == inner && HCCL_OK == outer) {
        t.b = hccl_build_start(c, algorithm, blocks);
    }
    if (NULL != t.b) {
        t.tmp = hccl_build_scratch(t.b, blocks);
        both_ways(&t);
    }
    hccl_exchange_close(&t.x[0]);
    hccl_exchange_close(&t.x[1]);
    return NULL == t.b ? HCCL_ERR_NOMEM : hccl_build_finish(t.b, plan);
}
