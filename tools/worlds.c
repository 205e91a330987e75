/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Builds worlds for the prover.
 */
#include "worlds.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

hccl_dials_t world_dials = {.network_first = HCCL_NETWORK_FIRST};

void *world_memory(size_t bytes)
{
    void *memory = calloc(1, bytes > 0 ? bytes : 1);
    if (NULL == memory) {
        fprintf(stderr, "no memory\n");
        exit(2);
    }
    return memory;
}

hccl_shape_t *world_shape(const char *text)
{
    char why[256];
    hccl_shape_t *shape;
    if (HCCL_OK != hccl_shape_from_text(text, -1, &shape, why, sizeof(why))) {
        fprintf(stderr, "%s: %s\n", text, why);
        exit(2);
    }
    return shape;
}

/* ---- graphs ----------------------------------------------------------------------------------- */

static uint64_t mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

static void graph_start(world_graph_t *g, int n, bool cartesian, int degree)
{
    size_t count = (size_t) n;
    g->n = n;
    g->cartesian = cartesian;
    g->nsources = world_memory(count * sizeof(int));
    g->ndests = world_memory(count * sizeof(int));
    g->sources = world_memory(count * sizeof(int *));
    g->dests = world_memory(count * sizeof(int *));
    for (int i = 0; i < n; i++) {
        g->sources[i] = world_memory((size_t) degree * sizeof(int));
        g->dests[i] = world_memory((size_t) degree * sizeof(int));
    }
}

void world_graph_random(world_graph_t *g, int n, uint64_t seed)
{
    int edges = (int) (mix(seed) % (uint64_t) (3 * n + 1));
    graph_start(g, n, false, edges);
    for (int e = 0; e < edges; e++) {
        uint64_t x = mix(seed * 1000 + (uint64_t) e);
        int from = (int) (x % (uint64_t) n), to = (int) ((x >> 32) % (uint64_t) n);
        if (0 == x >> 60) {
            to = from;
        }
        g->dests[from][g->ndests[from]++] = to;
        g->sources[to][g->nsources[to]++] = from;
    }
}

void world_graph_grid(world_graph_t *g, int ndims, const int *dims, const bool *periodic)
{
    int n = 1;
    for (int d = 0; d < ndims; d++) {
        n *= dims[d];
    }
    graph_start(g, n, true, 2 * ndims);
    for (int r = 0; r < n; r++) {
        int stride = n, rest = r;
        for (int d = 0; d < ndims; d++) {
            stride /= dims[d];
            int at = rest / stride;
            rest %= stride;
            for (int side = 0; side < 2; side++) {
                int to = at + (0 == side ? -1 : 1), peer = -2;
                if (periodic[d] || (to >= 0 && to < dims[d])) {
                    peer = r + ((to + dims[d]) % dims[d] - at) * stride;
                }
                g->sources[r][g->nsources[r]++] = peer;
                g->dests[r][g->ndests[r]++] = peer;
            }
        }
    }
}

void world_graph_free(world_graph_t *g)
{
    for (int i = 0; i < g->n; i++) {
        free(g->sources[i]);
        free(g->dests[i]);
    }
    free(g->sources);
    free(g->dests);
    free(g->nsources);
    free(g->ndests);
}

/* ---- worlds ----------------------------------------------------------------------------------- */

static void fill_case(hccl_case_t *c, const hccl_algo_t *algo, const hccl_shape_t *shape, int me,
                      int nremote)
{
    *c = (hccl_case_t){
        .coll = algo->coll, .shape = shape, .me = me, .nremote = nremote, .dials = world_dials};
}

bool world_make(world_t *w, int algorithm, const hccl_shape_t *shape, const hccl_shape_t *remote,
                int root, const world_graph_t *graph, char why[HCCL_CHECK_WHY])
{
    const hccl_algo_t *algo = &hccl_algos[algorithm];
    const hccl_coll_info_t *info = &hccl_coll_info[algo->coll];
    int near = shape->nranks, far = NULL == remote ? 0 : remote->nranks;
    size_t n = (size_t) (near + far);
    w->cases = world_memory(n * sizeof(*w->cases));
    w->plans = world_memory(n * sizeof(*w->plans));
    for (int i = 0; i < near + far; i++) {
        hccl_case_t *c = &w->cases[i];
        if (i < near) {
            fill_case(c, algo, shape, i, far);
            c->root = !info->rooted ? 0
                      : 0 == far    ? root
                      : i == root   ? HCCL_ROOT_HERE
                                    : HCCL_ROOT_NEAR;
        } else {
            fill_case(c, algo, remote, i - near, near);
            c->root = info->rooted ? root : 0;
        }
        if (NULL != graph) {
            c->cartesian = graph->cartesian;
            c->nsources = graph->nsources[i];
            c->ndests = graph->ndests[i];
            c->sources = graph->sources[i];
            c->dests = graph->dests[i];
        }
        int rc = algo->build(c, algorithm, &w->plans[i]);
        if (HCCL_OK != rc) {
            snprintf(why, HCCL_CHECK_WHY, "rank %d: the builder returns %d", i, rc);
            w->check.n = i;
            world_free(w);
            return false;
        }
    }
    w->check.n = near + far;
    w->check.cases = w->cases;
    w->check.plans = (const hccl_plan_t *const *) w->plans;
    w->check.ordered = info->reduces && hccl_algo_fits(algo, &w->cases[0], false);
    return true;
}

void world_free(world_t *w)
{
    for (int i = 0; i < w->check.n; i++) {
        free(w->plans[i]);
    }
    free(w->plans);
    free(w->cases);
}
