/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator: from plans to a program. Plans are built one at a time and made small; no more
 * than one is kept.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_internal.h"

#define BUDGET_STEPS ((uint64_t) 40000000)

/* ---- growing arrays ------------------------------------------------------------------------- */

static bool grow(void **array, uint64_t *room, uint64_t need, size_t size)
{
    if (need <= *room) {
        return true;
    }
    uint64_t more = *room + *room / 2 + 1024;
    more = more < need ? need : more;
    void *moved = realloc(*array, more * size);
    if (NULL == moved) {
        return false;
    }
    *array = moved;
    *room = more;
    return true;
}

/* ---- channels ------------------------------------------------------------------------------- */

static uint64_t scatter_key(uint64_t key)
{
    key = (key ^ key >> 31) * UINT64_C(0x9e3779b97f4a7c15);
    return key ^ key >> 32;
}

static bool grow_table(hccl_sim_program_t *p)
{
    int size = 0 == p->table_size ? 1024 : 2 * p->table_size;
    int32_t *table = malloc((size_t) size * sizeof(*table));
    uint64_t *keys = malloc((size_t) size * sizeof(*keys));
    if (NULL == table || NULL == keys) {
        free(table);
        free(keys);
        return false;
    }
    memset(table, 0xff, (size_t) size * sizeof(*table));
    for (int i = 0; i < p->table_size; i++) {
        if (p->table[i] >= 0) {
            uint64_t at = scatter_key(p->keys[i]);
            while (table[at & (uint64_t) (size - 1)] >= 0) {
                at++;
            }
            table[at & (uint64_t) (size - 1)] = p->table[i];
            keys[at & (uint64_t) (size - 1)] = p->keys[i];
        }
    }
    free(p->table);
    free(p->keys);
    p->table = table;
    p->keys = keys;
    p->table_size = size;
    return true;
}

/* The channel's number, -1: no memory. offset: of the receiver's part from the sender's. */
static int channel_of(hccl_sim_program_t *p, int from, int to, int offset)
{
    uint64_t key =
        ((uint64_t) offset * (uint64_t) p->nranks + (uint64_t) from) * (uint64_t) p->nranks
        + (uint64_t) to;
    if (2 * p->nchannels >= p->table_size && !grow_table(p)) {
        return -1;
    }
    uint64_t at = scatter_key(key);
    for (;; at++) {
        int32_t found = p->table[at & (uint64_t) (p->table_size - 1)];
        if (found < 0) {
            break;
        }
        if (key == p->keys[at & (uint64_t) (p->table_size - 1)]) {
            return found;
        }
    }
    uint64_t room = (uint64_t) p->room_channels;
    if (!grow((void **) &p->channel, &room, (uint64_t) p->nchannels + 1, sizeof(*p->channel))) {
        return -1;
    }
    p->room_channels = (int) room;
    const hccl_sim_rank_t *a = &p->rank[from], *b = &p->rank[to];
    bool inside = 0 == offset && a->node == b->node;
    int from_leaf = hccl_sim_leaf(p, a->node), to_leaf = hccl_sim_leaf(p, b->node);
    p->channel[p->nchannels] = (hccl_sim_channel_t){
        .from = from,
        .to = to,
        .out = inside ? -1 : a->node,
        .in = inside ? -1 : b->node,
        .crosses = 0 != offset ? p->c.leaf > 0 : from_leaf != to_leaf,
        .from_leaf = from_leaf,
        .to_leaf = to_leaf,
        .tier = inside ? hccl_sim_tier(p->c.shape, a->rank, b->rank) : HCCL_TIER_NODE,
    };
    p->table[at & (uint64_t) (p->table_size - 1)] = p->nchannels;
    p->keys[at & (uint64_t) (p->table_size - 1)] = key;
    return p->nchannels++;
}

/* The channel of a message of `me`, a rank of part 0 (of the machine's only part). */
static int message_channel(hccl_sim_program_t *p, int me, const hccl_step_t *step)
{
    const hccl_shape_t *shape = p->c.shape;
    int node = shape->node_of[step->peer];
    int peer = p->node_first[node % p->part] + shape->local_of[step->peer];
    int offset = hccl_sim_offset(p, 0, node / p->part);
    return HCCL_STEP_SEND == step->kind ? channel_of(p, me, peer, offset)
                                        : channel_of(p, peer, me, hccl_sim_reverse(p, offset));
}

/* ---- plans ---------------------------------------------------------------------------------- */

static bool add_steps(hccl_sim_program_t *p, int me, const hccl_plan_t *plan)
{
    for (int i = 0; i < plan->nsteps; i++) {
        const hccl_step_t *s = &plan->steps[i];
        int at = s->pub;
        if (HCCL_HOW_LONG == s->how && HCCL_STEP_WAIT != s->kind
            && p->c.shape->node_of[p->rank[me].rank] == p->c.shape->node_of[s->peer]) {
            continue; /* blocks are never too long for pieces here */
        }
        if (HCCL_STEP_SEND == s->kind || HCCL_STEP_RECV == s->kind) {
            at = message_channel(p, me, s);
            if (at < 0) {
                return false;
            }
            p->channel[at].started += HCCL_STEP_SEND == s->kind ? 1 : -1;
        }
        p->steps[p->nsteps++] = (hccl_sim_step_t){
            .kind = s->kind,
            .how = (uint8_t) s->how,
            .nsrc = s->nsrc,
            .first = s->first,
            .count = s->count,
            .at = at,
            .src = (int32_t) p->nsources,
            .ack = s->ack,
        };
        for (int j = 0; j < s->nsrc; j++) {
            const hccl_source_t *source = &plan->sources[s->src + j];
            p->sources[p->nsources++] = (hccl_sim_source_t){source->peer, source->base};
        }
    }
    return true;
}

static int add_plan(hccl_sim_program_t *p, int me, const hccl_plan_t *plan, char *why)
{
    uint64_t budget = p->c.budget > 0 ? p->c.budget : BUDGET_STEPS;
    uint64_t steps = p->nsteps + (uint64_t) plan->nsteps;
    uint64_t sources = p->nsources;
    for (int i = 0; i < plan->nsteps; i++) {
        sources += plan->steps[i].nsrc;
    }
    /* Ranks mostly do as much as the first ones: do not begin what cannot be ended. */
    uint64_t guess = 7 == me ? steps / 8 * (uint64_t) p->nranks : steps;
    if (steps > budget || sources > INT32_MAX || guess > 4 * budget) {
        snprintf(why, HCCL_SIM_WHY, "its plans have more than %llu steps in all",
                 (unsigned long long) budget);
        return HCCL_ERR_NOTSUP;
    }
    if (!grow((void **) &p->steps, &p->room_steps, steps, sizeof(*p->steps))
        || !grow((void **) &p->sources, &p->room_sources, sources, sizeof(*p->sources))) {
        return HCCL_ERR_NOMEM;
    }
    p->rank[me].first = p->nsteps;
    p->rank[me].npub = plan->npub;
    if (0 == me) {
        p->nblocks = plan->nblocks > 0 ? plan->nblocks : 1;
        p->publishes = 0 != plan->publishes;
        p->box = plan->box;
        p->max_pub = plan->max_pub;
        if (NULL != plan->order) {
            p->order = malloc((size_t) plan->nblocks * sizeof(*p->order));
            if (NULL == p->order) {
                return HCCL_ERR_NOMEM;
            }
            memcpy(p->order, plan->order, (size_t) plan->nblocks * sizeof(*p->order));
        }
    }
    int positions = plan->tmp_blocks > plan->nblocks ? plan->tmp_blocks : plan->nblocks;
    p->npositions = positions > p->npositions ? positions : p->npositions;
    bool added = add_steps(p, me, plan);
    p->rank[me].nsteps = (int) (p->nsteps - p->rank[me].first);
    return added ? HCCL_OK : HCCL_ERR_NOMEM;
}

/* Who is simulated: the nodes of part 0. */
static bool place_ranks(hccl_sim_program_t *p)
{
    const hccl_shape_t *shape = p->c.shape;
    p->nnodes = p->part;
    p->nranks = shape->node_start[p->part];
    p->rank = calloc((size_t) p->nranks, sizeof(*p->rank));
    p->node_first = calloc((size_t) p->nnodes + 1, sizeof(*p->node_first));
    if (NULL == p->rank || NULL == p->node_first) {
        return false;
    }
    for (int i = 0; i < p->nranks; i++) {
        int rank = shape->node_ranks[i];
        p->rank[i] = (hccl_sim_rank_t){
            .rank = rank, .node = shape->node_of[rank], .local = shape->local_of[rank]};
    }
    memcpy(p->node_first, shape->node_start, ((size_t) p->nnodes + 1) * sizeof(*p->node_first));
    return true;
}

static int compile(hccl_sim_program_t *p, char *why)
{
    int rc = hccl_sim_find_map(p, why);
    if (HCCL_OK == rc && !place_ranks(p)) {
        rc = HCCL_ERR_NOMEM;
    }
    for (int i = 0; HCCL_OK == rc && i < p->nranks; i++) {
        hccl_plan_t *plan;
        rc = hccl_sim_build(p, p->rank[i].rank, &plan, why);
        if (HCCL_OK == rc) {
            rc = add_plan(p, i, plan, why);
            free(plan);
        }
    }
    for (int i = 0; HCCL_OK == rc && i < p->nchannels; i++) {
        if (0 != p->channel[i].started) {
            snprintf(why, HCCL_SIM_WHY, "rank %d and rank %d start %d messages that do not match",
                     p->rank[p->channel[i].from].rank, p->rank[p->channel[i].to].rank,
                     p->channel[i].started);
            rc = HCCL_ERR_INTERNAL;
        }
    }
    return rc;
}

int hccl_sim_compile(const hccl_sim_case_t *c, hccl_sim_program_t **program, char *why)
{
    hccl_sim_program_t *p = calloc(1, sizeof(*p));
    snprintf(why, HCCL_SIM_WHY, "no memory");
    if (NULL == p) {
        return HCCL_ERR_NOMEM;
    }
    p->c = *c;
    p->coll = hccl_algos[c->algorithm].coll;
    int rc = compile(p, why);
    if (HCCL_OK != rc) {
        hccl_sim_free(p);
        return rc;
    }
    *program = p;
    return rc;
}

void hccl_sim_free(hccl_sim_program_t *p)
{
    if (NULL == p) {
        return;
    }
    free(p->order);
    free(p->rank);
    free(p->node_first);
    free(p->steps);
    free(p->sources);
    free(p->channel);
    free(p->table);
    free(p->keys);
    free(p->links);
    free(p->start[0]);
    free(p->start[1]);
    free(p);
}

hccl_sim_extent_t hccl_sim_extent(const hccl_sim_program_t *p)
{
    return (hccl_sim_extent_t){.steps = p->nsteps,
                               .machine_ranks = p->c.shape->nranks,
                               .ranks = p->nranks,
                               .nodes = p->nnodes,
                               .sampled = p->sampled};
}

hccl_coll_t hccl_sim_collective(const hccl_sim_program_t *p)
{
    return p->coll;
}
