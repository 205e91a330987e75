/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce of short vectors between nodes that have several ranks: recursive doubling in which the
 * ranks of a node talk to different nodes at the same time, so that 2^k nodes meet in one round
 * instead of k.
 */
#include "algo/parts.h"

typedef struct {
    hccl_builder_t *b;
    const hccl_case_t *c;
    hccl_node_t here;
    hccl_pairs_t pairs; /* of nodes */
    int tmp;            /* scratch: what I have received */
} radix_t;

/* Nodes that meet in one round: a power of two, one partner per rank of the smallest node. */
static int radix_of(const hccl_case_t *c)
{
    return hccl_part_power(c->shape->min_local + 1);
}

/* dst = mine of the nodes base, base + stride, ..., in that order; that of the node whose number
 * differs from mine in the bits d was received by the node's rank of index d - 1. */
static void fold_nodes(const radix_t *x, int nodes, int stride, int pub, int mine, int dst)
{
    const int digit = x->pairs.me / stride % nodes;

    hccl_build_fold_begin(x->b, dst, 0, 1);
    for (int i = 0; i < nodes; i++) {
        const int receiver = (i ^ digit) - 1;

        if (0 > receiver) {
            hccl_build_fold_own(x->b, mine, 0);
        } else if (receiver == x->here.me) {
            hccl_build_fold_own(x->b, x->tmp, 0);
        } else {
            hccl_build_fold_peer(x->b, receiver, pub, 0, 0);
        }
    }
    hccl_build_fold_end(x->b);
}

/* The nodes whose numbers differ in one digit exchange what they have: one round. */
static void meet(const radix_t *x, int nodes, int stride, int mine, int dst)
{
    const int pub = hccl_build_publications(x->b, 1, 1);
    const int digit = x->here.me + 1; /* of the difference between my partner's number and mine */

    if (digit < nodes) {
        const hccl_team_t rail = hccl_team_rail(x->c, x->here.me);
        const int partner = hccl_pairs_member(&x->pairs, x->pairs.me ^ (digit * stride));

        hccl_build_send(x->b, hccl_team_rank(&rail, partner), mine, 0, 1);
        hccl_build_recv(x->b, hccl_team_rank(&rail, partner), x->tmp, 0, 1);
        hccl_build_wait(x->b);
        if (1 < x->here.n) {
            hccl_build_publish(x->b, pub, x->tmp, 0, 1);
        }
    }
    fold_nodes(x, nodes, stride, pub, mine, dst);
}

/* The first rank of a surplus node gives the node's vector to its neighbour, in which all ranks
 * combine the two. Returns where they have the result. */
static int join(const radix_t *x, int mine, int dst)
{
    const hccl_team_t rail = hccl_team_rail(x->c, 0);
    const int pub = hccl_build_publications(x->b, 1, 1);

    if (0 > x->pairs.me) {
        if (0 == x->here.me) {
            hccl_build_send(x->b, hccl_team_rank(&rail, x->here.node - 1), mine, 0, 1);
            hccl_build_wait(x->b);
        }
        return mine;
    }
    if (x->pairs.me >= x->pairs.surplus) {
        return mine;
    }
    if (0 == x->here.me) {
        hccl_build_recv(x->b, hccl_team_rank(&rail, x->here.node + 1), x->tmp, 0, 1);
        hccl_build_wait(x->b);
        if (1 < x->here.n) {
            hccl_build_publish(x->b, pub, x->tmp, 0, 1);
        }
    }
    hccl_build_fold_begin(x->b, dst, 0, 1);
    hccl_build_fold_own(x->b, mine, 0);
    if (0 == x->here.me) {
        hccl_build_fold_own(x->b, x->tmp, 0);
    } else {
        hccl_build_fold_peer(x->b, 0, pub, 0, 0);
    }
    hccl_build_fold_end(x->b);
    return dst;
}

/* The result to the surplus nodes. */
static void leave(const radix_t *x)
{
    const hccl_team_t rail = hccl_team_rail(x->c, 0);
    const int pub = hccl_build_publications(x->b, 1, 1);

    if (0 > x->pairs.me && 0 == x->here.me) {
        hccl_build_recv(x->b, hccl_team_rank(&rail, x->here.node - 1), HCCL_BASE_RECV, 0, 1);
        hccl_build_wait(x->b);
        if (1 < x->here.n) {
            hccl_build_publish(x->b, pub, HCCL_BASE_RECV, 0, 1);
        }
    } else if (0 > x->pairs.me) {
        hccl_build_fetch(x->b, HCCL_BASE_RECV, 0, 1, 0, pub, 0, 0);
    } else if (x->pairs.me < x->pairs.surplus && 0 == x->here.me) {
        hccl_build_send(x->b, hccl_team_rank(&rail, x->here.node + 1), HCCL_BASE_RECV, 0, 1);
    }
}

/* All ranks of a node publish and combine everything, so that all of them have it in every
 * round. */
static int mesh(const radix_t *x)
{
    const int pub = hccl_build_publications(x->b, 1, 1);

    if (1 == x->here.n) {
        return HCCL_BASE_SEND;
    }
    hccl_build_publish(x->b, pub, HCCL_BASE_SEND, 0, 1);
    hccl_build_fold_begin(x->b, HCCL_BASE_RECV, 0, 1);
    for (int peer = 0; peer < x->here.n; peer++) {
        if (peer == x->here.me) {
            hccl_build_fold_own(x->b, HCCL_BASE_SEND, 0);
        } else {
            hccl_build_fold_peer(x->b, peer, pub, 0, 0);
        }
    }
    hccl_build_fold_end(x->b);
    return HCCL_BASE_RECV;
}

int hccl_algo_allreduce_hier_radix(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const hccl_team_t nodes = {.n = c->shape->nnodes, .me = c->shape->node_of[c->me]};
    const int radix = radix_of(c);
    radix_t x = {.c = c, .here = hccl_node_of(c, c->me), .pairs = hccl_pairs_of(&nodes)};

    x.b = hccl_build_start(c, algorithm, 1);
    if (NULL == x.b) {
        return HCCL_ERR_NOMEM;
    }
    x.tmp = hccl_build_scratch(x.b, 1);
    int mine = join(&x, mesh(&x), HCCL_BASE_RECV);

    for (int stride = 1; 0 <= x.pairs.me && stride < x.pairs.power; stride *= radix) {
        const int left = x.pairs.power / stride;

        meet(&x, radix < left ? radix : left, stride, mine, HCCL_BASE_RECV);
        mine = HCCL_BASE_RECV;
    }
    if (0 <= x.pairs.me) {
        hccl_part_move(x.b, HCCL_BASE_RECV, mine, 0, 1);
    }
    leave(&x);
    return hccl_build_finish(x.b, plan);
}
