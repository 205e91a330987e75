/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan: on one node, hierarchical where every node's ranks are consecutive, and flat.
 * Exscan leaves RECV of rank 0 as it is.
 */
#include "algo/parts.h"

/* dst = SEND of my node's ranks 0, ..., n - 1 combined; n > 0. */
static void fold_first(hccl_builder_t *b, const hccl_case_t *c, int n, int pub, int dst)
{
    const int me = hccl_node_of(c, c->me).me;

    hccl_build_fold_begin(b, dst, 0, 1);
    for (int peer = 0; peer < n; peer++) {
        if (peer == me) {
            hccl_build_fold_own(b, HCCL_BASE_SEND, 0);
        } else {
            hccl_build_fold_peer(b, peer, pub, 0, 0);
        }
    }
    hccl_build_fold_end(b);
}

/* Prefixes inside the node; the last rank of each node, who has the node's total, takes part in an
 * exscan between nodes and publishes what comes before the node. On one node the prefixes are all.
 * inclusive: scan, else exscan. */
static int hierarchical(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, bool inclusive)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_node_t here = hccl_node_of(c, c->me);
    const hccl_team_t last = hccl_team_last(c);
    const bool is_last = here.n - 1 == here.me;
    const int operands = inclusive ? here.me + 1 : here.me; /* of my prefix inside the node */

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int prefix = hccl_build_scratch(b, 1), before = hccl_build_scratch(b, 1);
    const int total = hccl_build_scratch(b, 1), tmp = hccl_build_scratch(b, 1);
    const int pub = hccl_build_publications(b, 1, 1), carry = hccl_build_publications(b, 1, 1);

    hccl_build_scratch(b, 1); /* tmp + 1 */
    if (!is_last) {
        hccl_build_publish(b, pub, HCCL_BASE_SEND, 0, 1);
    }
    if (is_last) {
        fold_first(b, c, here.n, pub, total);
    }
    if (0 < operands) {
        fold_first(b, c, operands, pub, 0 == here.node ? HCCL_BASE_RECV : prefix);
    }
    hccl_part_exscan(b, &last, tmp, total, before, 0, 1);
    if (0 == here.node) {
        return hccl_build_finish(b, plan);
    }
    if (!is_last) {
        hccl_build_fetch(b, before, 0, 1, here.n - 1, carry, 0, 0);
    } else if (1 < here.n) {
        hccl_build_publish(b, carry, before, 0, 1);
    }
    if (0 < operands) {
        hccl_part_combine(b, HCCL_BASE_RECV, before, prefix, 0, 1);
    } else {
        hccl_part_move(b, HCCL_BASE_RECV, before, 0, 1);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_scan_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, true);
}

int hccl_algo_exscan_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, false);
}

static int mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, int operands)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int pub = hccl_build_publications(b, 1, 1);

    if (c->me < c->shape->nranks - 1) {
        hccl_build_publish(b, pub, HCCL_BASE_SEND, 0, 1);
    }
    if (0 < operands) {
        fold_first(b, c, operands, pub, HCCL_BASE_RECV);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_scan_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return mesh(c, algorithm, plan, c->me + 1);
}

int hccl_algo_exscan_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return mesh(c, algorithm, plan, c->me);
}

int hccl_algo_scan_rd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int tmp = hccl_build_scratch(b, 1);

    hccl_part_scan(b, &team, tmp, HCCL_BASE_SEND, HCCL_BASE_RECV, 0, 1);
    return hccl_build_finish(b, plan);
}

int hccl_algo_exscan_rd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int tmp = hccl_build_scratch(b, 1);

    hccl_build_scratch(b, 1); /* tmp + 1 */
    hccl_part_exscan(b, &team, tmp, HCCL_BASE_SEND, HCCL_BASE_RECV, 0, 1);
    return hccl_build_finish(b, plan);
}
