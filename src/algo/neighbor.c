/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The five neighbourhood collectives: every message straight to its neighbour. RECV block j comes
 * from source j; SEND block j goes to destination j, or the only block to all of them.
 */
#include "algo/parts.h"

/* In a Cartesian grid, what I send towards one side of a dimension arrives from the other side.
 * With one or two processes in the dimension both sides are the same process, who gets its two
 * messages in the order in which I start them: block 2d, which is its block 2d + 1, comes first. */
static int receive_order(const hccl_case_t *c, int i)
{
    return c->cartesian ? i ^ 1 : i;
}

int hccl_algo_neighbor_linear(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const bool one_block = HCCL_HOLDS_OWN == hccl_coll_info[c->coll].send;
    const int most = c->nsources > c->ndests ? c->nsources : c->ndests;
    hccl_builder_t *b = hccl_build_start(c, algorithm, 0 < most ? most : 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < c->nsources; i++) {
        const int j = receive_order(c, i);

        if (0 <= c->sources[j]) {
            hccl_build_recv(b, c->sources[j], HCCL_BASE_RECV, j, 1);
        }
    }
    for (int j = 0; j < c->ndests; j++) {
        if (0 <= c->dests[j]) {
            hccl_build_send(b, c->dests[j], HCCL_BASE_SEND, one_block ? 0 : j, 1);
        }
    }
    return hccl_build_finish(b, plan);
}
