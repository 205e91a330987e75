/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Scan and exscan on one node, and flat. Between nodes: gaps.c, prefixes.c, scan_chain.c. Exscan leaves RECV of rank 0
 * as it is.
 */
#include "algo/runs.h"

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
        hccl_runs_fold(b, c, pub, 0, operands, HCCL_BASE_RECV, 0);
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
