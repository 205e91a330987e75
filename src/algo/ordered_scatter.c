/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce_scatter in rank order where nodes have ranks that are not in a row (see ordered.c), for short
 * blocks: one rank of each node combines its runs, sends each other node that one's blocks of all runs
 * and combines what has come. Runs stay apart until then, so scratch is as many vectors as there are
 * runs; and since blocks may differ in size, they travel one run in a message.
 *
 * Long blocks go straight: where ranks alternate, no bytes can be saved (ordered_slices.c).
 */
#include "algo/runs.h"

/* More would need more scratch areas than a plan can name. */
enum { MOST_RUNS = 200 };

/* Messages of my node's runs to the leaders of the others, and theirs to me. */
static void swap(hccl_builder_t *b, const hccl_case_t *c, const hccl_runs_t *runs, int area)
{
    const hccl_team_t leaders = hccl_team_rail(c, 0);
    const int *start = c->shape->node_start;
    const int nodes = leaders.n, me = leaders.me, mine = start[me + 1] - start[me];

    for (int d = 1; d < nodes; d++) {
        const int to = (me + d) % nodes, from = (me - d + nodes) % nodes;

        for (int place = runs->node[from]; place < runs->node[from + 1]; place++) {
            hccl_build_recv(b, hccl_team_rank(&leaders, from), area + place, start[me], mine);
        }
        for (int place = runs->node[me]; place < runs->node[me + 1]; place++) {
            hccl_build_send(b, hccl_team_rank(&leaders, to), area + place, start[to],
                            start[to + 1] - start[to]);
        }
    }
    hccl_build_wait(b);
}

/* At the leader: its node's runs, of all blocks; then its node's blocks, of all runs. */
static void lead(hccl_builder_t *b, const hccl_case_t *c, const hccl_runs_t *runs, int pub,
                 int area, int result)
{
    const hccl_shape_t *shape = c->shape;
    const hccl_node_t here = hccl_node_of(c, c->me);

    for (int place = runs->node[here.node]; place < runs->node[here.node + 1]; place++) {
        const int k = runs->run[place];

        hccl_build_fold_begin(b, area + place, 0, shape->nranks);
        for (int rank = runs->first[k]; rank < runs->first[k + 1]; rank++) {
            if (rank == c->me) {
                hccl_build_fold_own(b, HCCL_BASE_SEND, 0);
            } else {
                hccl_build_fold_peer(b, shape->local_of[rank], pub, 0, 0);
            }
        }
        hccl_build_fold_end(b);
    }
    swap(b, c, runs, area);
    hccl_build_fold_begin(b, result, shape->node_start[here.node], here.n);
    for (int k = 0; k < runs->n; k++) {
        hccl_build_fold_own(b, area + runs->place[k], shape->node_start[here.node]);
    }
    hccl_build_fold_end(b);
}

int hccl_algo_reduce_scatter_hier_runs(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks;
    const hccl_node_t here = hccl_node_of(c, c->me);
    const int first = c->shape->node_start[here.node];
    hccl_runs_t runs;
    const int rc = hccl_runs_make(c->shape, &runs);

    if (HCCL_OK == rc && MOST_RUNS < runs.n) {
        hccl_runs_free(&runs);
        return hccl_algo_reduce_scatter_pairwise(c, algorithm, plan);
    }
    hccl_builder_t *b = HCCL_OK == rc ? hccl_build_start(c, algorithm, n) : NULL;

    if (NULL == b) {
        hccl_runs_free(&runs);
        return HCCL_ERR_NOMEM;
    }
    hccl_order_by_node(b, c->shape);
    const int pub = hccl_build_publications(b, 1, n);
    const int done = hccl_build_publications(b, 1, c->shape->max_local);
    const int result = hccl_build_scratch(b, n), mine = hccl_build_position(b, c->me);
    int area = result;

    for (int k = 0; k < runs.n; k++) {
        const int base = hccl_build_scratch(b, n);

        area = 0 == k ? base : area;
    }
    if (0 == here.me) {
        lead(b, c, &runs, pub, area, 1 == here.n ? HCCL_BASE_RECV : result);
        if (1 < here.n) {
            hccl_build_publish(b, done, result, first, here.n);
            hccl_part_move(b, HCCL_BASE_RECV, result, mine, 1);
        }
    } else {
        hccl_build_publish(b, pub, HCCL_BASE_SEND, 0, n);
        hccl_build_fetch(b, HCCL_BASE_RECV, mine, 1, 0, done, first, mine);
    }
    hccl_runs_free(&runs);
    return hccl_build_finish(b, plan);
}
