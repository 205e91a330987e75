/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator: whether some nodes stand for all. The machine is cut into equal parts (a node, or
 * the nodes of one leaf switch). When every part's plans are those of part 0 with all partners moved
 * alike (by s parts, or by exclusive or with s), and links are shared fairly, then whatever happens
 * in part 0 happens in all parts at the same time: what part 0 sends to the part d away arrives there
 * when part 0 gets the like from the part d before it.
 */
#include <stdio.h>
#include <stdlib.h>

#include "sim_internal.h"
#include "worlds.h"

/* Up to so many steps of all ranks together are compared; of more, a sample of parts. */
#define COMPARE_STEPS ((uint64_t) 30000000)

enum { SAMPLE = 8 };

hccl_tier_t hccl_sim_tier(const hccl_shape_t *shape, int a, int b)
{
    const hccl_place_t *x = &shape->place[a], *y = &shape->place[b];
    return x->package != y->package ? HCCL_TIER_NODE
           : x->numa != y->numa     ? HCCL_TIER_PACKAGE
           : x->l3 != y->l3         ? HCCL_TIER_NUMA
                                    : HCCL_TIER_L3;
}

int hccl_sim_build(const hccl_sim_program_t *p, int rank, hccl_plan_t **plan, char *why)
{
    hccl_case_t c = {.coll = p->coll,
                     .dials = world_dials,
                     .shape = p->c.shape,
                     .me = rank,
                     .root = hccl_coll_info[p->coll].rooted ? p->c.root : 0};
    int rc = hccl_algos[p->c.algorithm].build(&c, p->c.algorithm, plan);
    if (HCCL_OK != rc) {
        snprintf(why, HCCL_SIM_WHY, "rank %d: the builder returns %d", rank, rc);
    }
    return rc;
}

int hccl_sim_leaf(const hccl_sim_program_t *p, int node)
{
    if (NULL != p->c.leaf_of) {
        return p->c.leaf_of[node];
    }
    return node / (p->c.leaf > 0 ? p->c.leaf : p->c.shape->nnodes);
}

int hccl_sim_offset(const hccl_sim_program_t *p, int from, int to)
{
    return HCCL_SIM_XOR == p->map ? from ^ to : (to - from + p->parts) % p->parts;
}

int hccl_sim_reverse(const hccl_sim_program_t *p, int offset)
{
    return HCCL_SIM_XOR == p->map ? offset : (p->parts - offset) % p->parts;
}

static uint64_t mix(uint64_t hash, uint64_t word)
{
    hash = (hash ^ word) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 29;
}

hccl_sim_view_t hccl_sim_view(const hccl_sim_program_t *p, int rank, const hccl_plan_t *plan)
{
    const hccl_shape_t *shape = p->c.shape;
    int part = shape->node_of[rank] / p->part;
    hccl_sim_view_t view = {1, 1};
    uint64_t here = 1;
    for (int i = 0; i < plan->nsteps; i++) {
        const hccl_step_t *s = &plan->steps[i];
        here = mix(here, (uint64_t) s->kind << 32 | s->nsrc);
        here = mix(here, (uint64_t) (uint32_t) s->count << 32 | (uint32_t) s->ack);
        if (HCCL_STEP_SEND == s->kind || HCCL_STEP_RECV == s->kind) {
            int node = shape->node_of[s->peer], theirs = node / p->part;
            here =
                mix(here, (uint64_t) (node % p->part) << 32 | (uint32_t) shape->local_of[s->peer]);
            view.turn = mix(view.turn, (uint64_t) ((theirs - part + p->parts) % p->parts));
            view.exclusive = mix(view.exclusive, (uint64_t) (theirs ^ part));
        } else if (HCCL_STEP_PUBLISH == s->kind) {
            here = mix(here, (uint64_t) s->pub);
        }
        for (int j = 0; j < s->nsrc; j++) {
            const hccl_source_t *source = &plan->sources[s->src + j];
            uint64_t pub = source->peer >= 0 ? (uint32_t) source->base : 0;
            here = mix(here, (uint64_t) (uint32_t) source->peer << 32 | pub);
        }
    }
    view.turn = mix(view.turn, here);
    view.exclusive = mix(view.exclusive, here);
    return view;
}

bool hccl_sim_alike(const hccl_shape_t *shape)
{
    for (int v = 1; v < shape->nnodes; v++) {
        const int *a = &shape->node_ranks[0], *b = &shape->node_ranks[shape->node_start[v]];
        int n = shape->node_start[v + 1] - shape->node_start[v];
        if (n != shape->node_start[1]) {
            return false;
        }
        for (int i = 1; i < n; i++) {
            if (hccl_sim_tier(shape, a[i - 1], a[i]) != hccl_sim_tier(shape, b[i - 1], b[i])
                || hccl_sim_tier(shape, a[0], a[i]) != hccl_sim_tier(shape, b[0], b[i])) {
                return false;
            }
        }
    }
    return true;
}

/* The parts that are compared with part 0, those that most likely differ first. */
static int candidate(const hccl_sim_program_t *p, int i, bool all)
{
    static const double spread[SAMPLE] = {1, 0, 0.5, 0.1, 0.25, 0.3, 0.6, 0.9};
    if (all) {
        return 0 == i ? p->parts - 1 : i;
    }
    return 1 + (int) (spread[i] * (p->parts - 2));
}

/* Compares one part with part 0. */
static int compare(const hccl_sim_program_t *p, int part, const hccl_sim_view_t *first, bool *turn,
                   bool *exclusive, char *why)
{
    const hccl_shape_t *shape = p->c.shape;
    int n = p->part * shape->node_start[1];
    const int *ranks = &shape->node_ranks[part * n];
    for (int i = 0; i < n && (*turn || *exclusive); i++) {
        hccl_plan_t *plan;
        int rc = hccl_sim_build(p, ranks[i], &plan, why);
        if (HCCL_OK != rc) {
            return rc;
        }
        hccl_sim_view_t view = hccl_sim_view(p, ranks[i], plan);
        *turn &= view.turn == first[i].turn;
        *exclusive &= view.exclusive == first[i].exclusive;
        free(plan);
    }
    return HCCL_OK;
}

/* Looks for a map between parts of p->part nodes. */
static int try_parts(hccl_sim_program_t *p, char *why)
{
    const hccl_shape_t *shape = p->c.shape;
    int n = p->part * shape->node_start[1], rc = HCCL_OK;
    uint64_t steps = 0;
    bool turn = true, exclusive = 0 == (p->parts & (p->parts - 1));
    hccl_sim_view_t *first = calloc((size_t) n, sizeof(*first));
    if (NULL == first) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < n && HCCL_OK == rc; i++) {
        hccl_plan_t *plan;
        rc = hccl_sim_build(p, shape->node_ranks[i], &plan, why);
        if (HCCL_OK == rc) {
            first[i] = hccl_sim_view(p, shape->node_ranks[i], plan);
            steps += (uint64_t) plan->nsteps;
            free(plan);
        }
    }
    bool all = p->parts - 1 <= SAMPLE || steps * (uint64_t) p->parts <= COMPARE_STEPS;
    int parts = all ? p->parts - 1 : SAMPLE;
    for (int i = 0; i < parts && HCCL_OK == rc && (turn || exclusive); i++) {
        rc = compare(p, candidate(p, i, all), first, &turn, &exclusive, why);
    }
    free(first);
    if (HCCL_OK == rc && (turn || exclusive)) {
        p->map = turn ? HCCL_SIM_TURN : HCCL_SIM_XOR;
        p->sampled = !all;
    }
    return rc;
}

int hccl_sim_find_map(hccl_sim_program_t *p, char *why)
{
    const hccl_shape_t *shape = p->c.shape;
    int part = p->c.leaf > 0 ? p->c.leaf : 1, rc = HCCL_OK;
    p->map = HCCL_SIM_NO_MAP;
    if (!p->c.all_ranks && NULL == p->c.leaf_of && 0 == shape->nnodes % part && shape->nnodes > part
        && hccl_sim_alike(shape)) {
        p->part = part;
        p->parts = shape->nnodes / part;
        rc = try_parts(p, why);
    }
    if (HCCL_SIM_NO_MAP == p->map) {
        p->part = shape->nnodes;
        p->parts = 1;
    }
    return rc;
}
