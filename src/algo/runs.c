/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs of ranks that share a node, and plans made of them.
 *
 * Used by algo/ only.
 */
#include "algo/runs.h"

#include <stdlib.h>

/* Sources that one step combines: a plan cannot count more than 65,535. */
enum { MOST_SOURCES = 256 };

static bool begins(const hccl_shape_t *shape, int rank)
{
    return 0 == rank || shape->node_of[rank] != shape->node_of[rank - 1];
}

int hccl_runs_make(const hccl_shape_t *shape, hccl_runs_t *runs)
{
    const int nodes = shape->nnodes, ranks = shape->nranks;

    *runs = (hccl_runs_t){.n = 0};
    for (int rank = 0; rank < ranks; rank++) {
        runs->n += begins(shape, rank) ? 1 : 0;
    }
    runs->first =
        malloc(((size_t) 3 * (size_t) runs->n + (size_t) nodes + 2) * sizeof(*runs->first));
    if (NULL == runs->first) {
        return HCCL_ERR_NOMEM;
    }
    runs->place = runs->first + runs->n + 1;
    runs->run = runs->place + runs->n;
    runs->node = runs->run + runs->n;
    for (int v = 0; v <= nodes; v++) {
        runs->node[v] = 0;
    }
    for (int rank = 0, k = 0; rank < ranks; rank++) {
        if (begins(shape, rank)) {
            runs->first[k++] = rank;
            runs->node[shape->node_of[rank] + 1]++;
        }
    }
    runs->first[runs->n] = ranks;
    for (int v = 0; v < nodes; v++) {
        runs->node[v + 1] += runs->node[v];
    }
    for (int k = 0; k < runs->n; k++) {
        /* as many places as runs of the node before this one: node[] moves and is put back below */
        runs->place[k] = runs->node[shape->node_of[runs->first[k]]]++;
        runs->run[runs->place[k]] = k;
    }
    for (int v = nodes; 0 < v; v--) {
        runs->node[v] = runs->node[v - 1];
    }
    runs->node[0] = 0;
    return HCCL_OK;
}

void hccl_runs_free(hccl_runs_t *runs)
{
    free(runs->first);
}

int hccl_runs_holding(const int *begin, int n, int value)
{
    int low = 0, high = n;

    while (low + 1 < high) {
        const int middle = (low + high) / 2;

        if (begin[middle] <= value) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low;
}

int hccl_runs_of(const hccl_runs_t *runs, int rank)
{
    return hccl_runs_holding(runs->first, runs->n, rank);
}

void hccl_runs_more(hccl_builder_t *b, int dst, int first, int count, int number)
{
    if (0 < number && 0 == number % (MOST_SOURCES - 1)) {
        hccl_build_fold_end(b);
        hccl_build_fold_begin(b, dst, first, count);
        hccl_build_fold_own(b, dst, first);
    }
}

void hccl_runs_fold(hccl_builder_t *b, const hccl_case_t *c, int pub, int from, int end, int dst,
                    int first)
{
    hccl_build_fold_begin(b, dst, first, 1);
    for (int rank = from; rank < end; rank++) {
        hccl_runs_more(b, dst, first, 1, rank - from);
        if (rank == c->me) {
            hccl_build_fold_own(b, HCCL_BASE_SEND, 0);
        } else {
            hccl_build_fold_peer(b, c->shape->local_of[rank], pub, 0, 0);
        }
    }
    hccl_build_fold_end(b);
}

int hccl_runs_gap(const hccl_runs_t *runs, int node, int run)
{
    const int place = runs->place[run];
    int all = 0;

    if (place != runs->node[node]) {
        return run - runs->run[place - 1] - 1;
    }
    while (all < run) {
        all = 2 * all + 1;
    }
    return all;
}

int hccl_runs_gap_digits(const hccl_runs_t *runs, const hccl_shape_t *shape)
{
    int digits = 0;

    for (int k = 0; k < runs->n; k++) {
        while (0 < hccl_runs_gap(runs, shape->node_of[runs->first[k]], k) >> digits) {
            digits++;
        }
    }
    return digits;
}

int hccl_ordered_open(hccl_ordered_t *o, const hccl_case_t *c, int algorithm, int blocks)
{
    *o = (hccl_ordered_t){.c = c, .here = hccl_node_of(c, c->me)};
    const int rc = hccl_runs_make(c->shape, &o->runs);

    if (HCCL_OK != rc) {
        return rc;
    }
    o->b = hccl_build_start(c, algorithm, blocks);
    return NULL == o->b ? HCCL_ERR_NOMEM : HCCL_OK;
}

int hccl_ordered_close(hccl_ordered_t *o, int rc, hccl_plan_t **plan)
{
    hccl_runs_free(&o->runs);
    if (NULL == o->b) {
        return rc;
    }
    if (HCCL_OK != rc) {
        hccl_build_fail(o->b, rc);
    }
    return hccl_build_finish(o->b, plan);
}
