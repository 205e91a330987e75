/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan along a chain of all ranks, in segments: each rank gets what all before it have combined,
 * and passes on that and its own. Inside a node through shared memory.
 *
 * What lies before a run of ranks of a node (see runs.h) is known to no other run of its node, and has
 * something that lies behind the one before. So a node has to receive a vector for each of its runs but
 * the first run of all, whatever the algorithm, and to send one for each run but the last. That is all
 * that is sent here. And each rank combines two vectors, no more.
 *
 * Used through algorithms.def.
 */
#include "algo/parts.h"

typedef struct {
    const hccl_case_t *c;
    hccl_builder_t *b;
    int pub; /* what all up to a rank have combined, for the next one on its node; negative: all are sent */
} link_t;

static bool shares(const link_t *l, int rank)
{
    return 0 <= l->pub && 0 <= rank && rank < l->c->shape->nranks
           && l->c->shape->node_of[rank] == l->c->shape->node_of[l->c->me];
}

/* dst = what all before me have combined, and my own if asked to; `before` has it if it was sent. */
static void take(link_t *l, int before, bool and_mine, int dst)
{
    hccl_build_fold_begin(l->b, dst, 0, 1);
    if (shares(l, l->c->me - 1)) {
        hccl_build_fold_peer(l->b, l->c->shape->local_of[l->c->me - 1], l->pub, 0, 0);
    } else {
        hccl_build_fold_own(l->b, before, 0);
    }
    if (and_mine) {
        hccl_build_fold_own(l->b, HCCL_BASE_SEND, 0);
    }
    hccl_build_fold_end(l->b);
}

static void pass_on(link_t *l, int base)
{
    if (shares(l, l->c->me + 1)) {
        hccl_build_publish(l->b, l->pub, base, 0, 1);
    } else if (l->c->me + 1 < l->c->shape->nranks) {
        hccl_build_send(l->b, l->c->me + 1, base, 0, 1);
    }
}

static int chain(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, bool by_node,
                 bool inclusive)
{
    link_t l = {.c = c, .b = hccl_build_start(c, algorithm, 1), .pub = -1};

    if (NULL == l.b) {
        return HCCL_ERR_NOMEM;
    }
    if (by_node) {
        l.pub = hccl_build_publications(l.b, 1, 1);
    }
    const int before = hccl_build_scratch(l.b, 1);
    const int all = inclusive ? HCCL_BASE_RECV : hccl_build_scratch(l.b, 1);
    const bool last = c->me + 1 == c->shape->nranks;

    if (0 == c->me) {
        if (inclusive) {
            hccl_part_move(l.b, all, HCCL_BASE_SEND, 0, 1);
        }
        pass_on(&l, HCCL_BASE_SEND);
        return hccl_build_finish(l.b, plan);
    }
    if (!shares(&l, c->me - 1)) {
        hccl_build_recv(l.b, c->me - 1, before, 0, 1);
        hccl_build_wait(l.b);
    }
    if (inclusive || !last) {
        take(&l, before, true, all);
        pass_on(&l, all);
    }
    if (!inclusive) {
        take(&l, before, false, HCCL_BASE_RECV);
    }
    return hccl_build_finish(l.b, plan);
}

int hccl_algo_scan_hier_chain(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return chain(c, algorithm, plan, true, true);
}

int hccl_algo_exscan_hier_chain(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return chain(c, algorithm, plan, true, false);
}

int hccl_algo_scan_chain(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return chain(c, algorithm, plan, false, true);
}

int hccl_algo_exscan_chain(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return chain(c, algorithm, plan, false, false);
}
