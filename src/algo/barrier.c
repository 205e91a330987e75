/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Barrier: publications and messages that carry nothing but their arrival.
 */
#include "algo/parts.h"

static void raise_flag(hccl_builder_t *b, int pub)
{
    hccl_build_publish(b, pub, HCCL_BASE_SEND, 0, 0);
}

static void await_flag(hccl_builder_t *b, int peer, int pub)
{
    hccl_build_fetch(b, HCCL_BASE_RECV, 0, 0, peer, pub, 0, 0);
}

int hccl_algo_barrier_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const int n = c->shape->nranks;

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int pub = hccl_build_publications(b, 1, 0);

    if (1 < n) {
        raise_flag(b, pub);
    }
    for (int k = 1; k < n; k++) {
        await_flag(b, (c->me + k) % n, pub);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_barrier_hier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_node_t here = hccl_node_of(c, c->me);
    const hccl_team_t leaders = hccl_team_rail(c, 0);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int arrived = hccl_build_publications(b, 1, 0);
    const int released = hccl_build_publications(b, 1, 0);

    if (0 < here.me) {
        raise_flag(b, arrived);
        await_flag(b, 0, released);
    } else {
        for (int peer = 1; peer < here.n; peer++) {
            await_flag(b, peer, arrived);
        }
        hccl_part_dissemination(b, &leaders);
        if (1 < here.n) {
            raise_flag(b, released);
        }
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_barrier_dissemination(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_part_dissemination(b, &team);
    return hccl_build_finish(b, plan);
}
