/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Inter-communicators: simple flat forms. Grids and their positions are by remote rank, but for
 * reduce_scatter, whose grid is this group's own cut of the other group's result.
 */
#include "algo/parts.h"

static int remote(int rank)
{
    return HCCL_PEER_REMOTE | rank;
}

/* A plan on grids of remote ranks: large enough for those and for my own block. */
static hccl_builder_t *start_grid(const hccl_case_t *c, int algorithm)
{
    const int local = c->shape->nranks;

    return hccl_build_start(c, algorithm, local > c->nremote ? local : c->nremote);
}

int hccl_algo_inter_barrier(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    hccl_part_dissemination(b, &team);
    if (0 == c->me) {
        hccl_build_send(b, remote(0), HCCL_BASE_SEND, 0, 0);
        hccl_build_recv(b, remote(0), HCCL_BASE_RECV, 0, 0);
        hccl_build_wait(b);
    }
    hccl_part_bcast(b, &team, 0, HCCL_TREE_BINOMIAL, HCCL_BASE_RECV, 0, 0);
    return hccl_build_finish(b, plan);
}

/* The root sends to rank 0 of the other group, which passes it on. */
int hccl_algo_inter_bcast(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    if (HCCL_ROOT_HERE == c->root) {
        hccl_build_send(b, remote(0), HCCL_BASE_RECV, 0, 1);
    } else if (0 <= c->root) {
        if (0 == c->me) {
            hccl_build_recv(b, remote(c->root), HCCL_BASE_RECV, 0, 1);
            hccl_build_wait(b);
        }
        hccl_part_bcast(b, &team, 0, HCCL_TREE_BINOMIAL, HCCL_BASE_RECV, 0, 1);
    }
    return hccl_build_finish(b, plan);
}

/* Where rank 0 has the combination of my group's SEND, of all positions, after this. */
static int reduce_group(hccl_builder_t *b, const hccl_case_t *c, int positions)
{
    const hccl_team_t team = hccl_team_all(c);
    const int result = hccl_build_scratch(b, positions);
    const int tmp = hccl_part_reduce_scratch(b, HCCL_TREE_BINOMIAL, team.n, 0 == c->me, positions);

    if (1 == team.n) {
        return HCCL_BASE_SEND;
    }
    hccl_part_reduce(b, &team, 0, HCCL_TREE_BINOMIAL, tmp, HCCL_BASE_SEND, result, 0, positions);
    return result;
}

int hccl_algo_inter_reduce(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    if (HCCL_ROOT_HERE == c->root) {
        hccl_build_recv(b, remote(0), HCCL_BASE_RECV, 0, 1);
    } else if (0 <= c->root) {
        const int result = reduce_group(b, c, 1);

        if (0 == c->me) {
            hccl_build_send(b, remote(c->root), result, 0, 1);
        }
    }
    return hccl_build_finish(b, plan);
}

/* The two ranks 0 swap their groups' results. */
static void swap_results(hccl_builder_t *b, const hccl_case_t *c, int result, int dst,
                         int positions)
{
    if (0 == c->me) {
        hccl_build_send(b, remote(0), result, 0, positions);
        hccl_build_recv(b, remote(0), dst, 0, positions);
        hccl_build_wait(b);
    }
}

int hccl_algo_inter_allreduce(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, 1);
    const hccl_team_t team = hccl_team_all(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    swap_results(b, c, reduce_group(b, c, 1), HCCL_BASE_RECV, 1);
    hccl_part_bcast(b, &team, 0, HCCL_TREE_BINOMIAL, HCCL_BASE_RECV, 0, 1);
    return hccl_build_finish(b, plan);
}

/* The groups cut the vector differently, so results cross in one piece. */
int hccl_algo_inter_reduce_scatter(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks;
    hccl_builder_t *b = hccl_build_start(c, algorithm, n);
    const hccl_team_t team = hccl_team_all(c);
    const hccl_map_t map = hccl_map_even(0, 1);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int theirs = hccl_build_scratch(b, n);

    swap_results(b, c, reduce_group(b, c, n), theirs, n);
    hccl_part_scatter(b, &team, 0, &map, theirs, HCCL_BASE_RECV);
    if (0 == c->me) {
        hccl_build_copy(b, HCCL_BASE_RECV, 0, 1, theirs, 0);
    }
    return hccl_build_finish(b, plan);
}

/* With every remote rank: it gets my own block, or (own false) the block that is for it. */
static int exchange(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, bool own)
{
    hccl_builder_t *b = start_grid(c, algorithm);
    const int n = c->nremote;

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    for (int k = 0; k < n; k++) {
        const int peer = (c->me + k) % n; /* not all to the same one first */

        hccl_build_recv(b, remote(peer), HCCL_BASE_RECV, peer, 1);
    }
    for (int k = 0; k < n; k++) {
        const int peer = (c->me + k) % n;

        hccl_build_send(b, remote(peer), HCCL_BASE_SEND, own ? c->me : peer, 1);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_inter_allgather(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return exchange(c, algorithm, plan, true);
}

int hccl_algo_inter_alltoall(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return exchange(c, algorithm, plan, false);
}

int hccl_algo_inter_gather(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = start_grid(c, algorithm);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    if (HCCL_ROOT_HERE == c->root) {
        for (int i = 0; i < c->nremote; i++) {
            hccl_build_recv(b, remote(i), HCCL_BASE_RECV, i, 1);
        }
    } else if (0 <= c->root) {
        hccl_build_send(b, remote(c->root), HCCL_BASE_SEND, c->me, 1);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_inter_scatter(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_builder_t *b = start_grid(c, algorithm);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    if (HCCL_ROOT_HERE == c->root) {
        for (int i = 0; i < c->nremote; i++) {
            hccl_build_send(b, remote(i), HCCL_BASE_SEND, i, 1);
        }
    } else if (0 <= c->root) {
        hccl_build_recv(b, remote(c->root), HCCL_BASE_RECV, c->me, 1);
    }
    return hccl_build_finish(b, plan);
}
