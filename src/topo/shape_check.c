/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Checks that a shape keeps what topo.h promises. Debug builds check every shape they make; the
 * tests check thousands.
 *
 * Shares no code with the maker of shapes, so that an error there can't hide here.
 */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "topo/shape_internal.h"

typedef struct checker {
    const hccl_shape_t *s;
    char *why;
    size_t whylen;
    int *first; /* [max_local] per object of one node and level: its lowest rank */
    int *size;  /* [max_local] and how many ranks it has */
} checker_t;

__attribute__((format(printf, 2, 3))) static bool broken(checker_t *c, const char *format, ...)
{
    va_list args;

    if (NULL != c->why && 0 < c->whylen) {
        va_start(args, format);
        vsnprintf(c->why, c->whylen, format, args);
        va_end(args);
    }
    return false;
}

static bool check_counts(checker_t *c)
{
    const hccl_shape_t *s = c->s;
    int min = INT_MAX;
    int max = 0;

    if (s->nranks < 1 || s->nnodes < 1 || s->nnodes > s->nranks || s->ngroups < s->nnodes) {
        return broken(c, "%d ranks, %d nodes, %d groups", s->nranks, s->nnodes, s->ngroups);
    }
    if (0 != s->node_start[0] || s->nranks != s->node_start[s->nnodes]) {
        return broken(c, "node_start runs from %d to %d, not to nranks %d", s->node_start[0],
                      s->node_start[s->nnodes], s->nranks);
    }
    for (int v = 0; v < s->nnodes; v++) {
        int local = s->node_start[v + 1] - s->node_start[v];
        if (local < 1 || s->node_start[v + 1] > s->nranks) {
            return broken(c, "node %d has %d ranks", v, local);
        }
        min = local < min ? local : min;
        max = local > max ? local : max;
    }
    if (min != s->min_local || max != s->max_local || (min == max) != s->even) {
        return broken(c, "min_local %d, max_local %d, even %d for nodes of %d to %d ranks",
                      s->min_local, s->max_local, s->even, min, max);
    }
    return true;
}

static bool check_nodes(checker_t *c)
{
    const hccl_shape_t *s = c->s;
    int seen = 0;
    bool contiguous = true;

    for (int rank = 0; rank < s->nranks; rank++) {
        int v = s->node_of[rank];
        if (v < 0 || v > seen || v >= s->nnodes || v != s->place[rank].node) {
            return broken(c, "rank %d on node %d, place says %d, %d nodes met before", rank, v,
                          (int) s->place[rank].node, seen);
        }
        if ((v == seen) != (0 == s->local_of[rank])) {
            return broken(c, "rank %d on node %d has local_of %d", rank, v, s->local_of[rank]);
        }
        seen += v == seen;
        contiguous = contiguous && (0 == rank || v >= s->node_of[rank - 1]);
        int at = s->node_start[v] + s->local_of[rank];
        if (s->local_of[rank] < 0 || at >= s->node_start[v + 1] || rank != s->node_ranks[at]) {
            return broken(c, "rank %d is not in node_ranks where local_of %d says", rank,
                          s->local_of[rank]);
        }
        if (0 < s->local_of[rank] && s->node_ranks[at - 1] >= rank) {
            return broken(c, "node_ranks of node %d do not ascend at rank %d", v, rank);
        }
    }
    if (seen != s->nnodes || contiguous != s->contiguous) {
        return broken(c, "%d nodes met of %d, contiguous is %d", seen, s->nnodes, s->contiguous);
    }
    return true;
}

/* Same object: same ids from the node down to the level, the last one known. */
static bool together(const hccl_shape_t *s, hccl_level_t level, int a, int b)
{
    for (int l = HCCL_LEVEL_NODE; l <= (int) level; l++) {
        if (hccl_place_id(&s->place[a], l) != hccl_place_id(&s->place[b], l)) {
            return false;
        }
    }
    return -1 != hccl_place_id(&s->place[a], level);
}

/* Every member has its group among those around it (above); here the converse, by counting. */
static bool check_group_sums(checker_t *c)
{
    const hccl_shape_t *s = c->s;
    long long members = 0;
    long long around = 0;

    for (int g = 0; g < s->ngroups; g++) {
        members += s->group[g].nranks;
    }
    for (int rank = 0; rank < s->nranks; rank++) {
        for (int g = s->inner_of[rank]; 0 <= g; g = s->group[g].parent) {
            around++;
        }
    }
    return members == around
           || broken(c, "groups hold %lld members, inner_of names %lld", members, around);
}

/* Ids inside a node are met in the order 0, 1, …, and one id is one object. Fills first, size. */
static bool check_ids(checker_t *c, hccl_level_t level, int node)
{
    const hccl_shape_t *s = c->s;
    int32_t seen = 0;

    for (int at = s->node_start[node]; at < s->node_start[node + 1]; at++) {
        int rank = s->node_ranks[at];
        int32_t id = hccl_place_id(&s->place[rank], level);
        if (id < -1 || id > seen) {
            return broken(c, "rank %d has id %d on level %d after %d others", rank, (int) id,
                          (int) level, (int) seen);
        }
        if (id == seen) {
            c->first[seen] = rank;
            c->size[seen++] = 0;
        }
        if (-1 != id && !together(s, level, c->first[id], rank)) {
            return broken(c, "ranks %d and %d share level %d, but not what is around it",
                          c->first[id], rank, (int) level);
        }
        if (-1 != id) {
            c->size[id]++;
        }
    }
    return true;
}

static int group_at(const hccl_shape_t *s, hccl_level_t level, int rank)
{
    int g = s->inner_of[rank];

    while (s->group[g].level > level) {
        g = s->group[g].parent;
    }
    return g;
}

/* Where ranks share an object, the smallest group that is not below its level holds them alone:
 * it is the object's own group, or one outside with the same members. */
static bool check_complete(checker_t *c, hccl_level_t level, int node)
{
    const hccl_shape_t *s = c->s;

    for (int at = s->node_start[node]; at < s->node_start[node + 1]; at++) {
        int rank = s->node_ranks[at];
        int32_t id = hccl_place_id(&s->place[rank], level);
        int g = group_at(s, level, rank);
        if (-1 != id && 2 <= c->size[id]
            && (s->group[g].nranks != c->size[id] || group_at(s, level, c->first[id]) != g)) {
            return broken(c, "rank %d shares an object of level %d with %d ranks, a group with %d",
                          rank, (int) level, c->size[id], s->group[g].nranks);
        }
    }
    return true;
}

static bool check_group_frame(checker_t *c, int g)
{
    const hccl_shape_t *s = c->s;
    const hccl_group_t *group = &s->group[g];
    bool is_node = g < s->nnodes;

    if (is_node != (HCCL_LEVEL_NODE == group->level) || is_node != (-1 == group->parent)
        || (is_node && g != group->node) || group->node < 0 || group->node >= s->nnodes
        || group->level >= HCCL_LEVEL_CORE) {
        return broken(c, "group %d has level %d, node %d, parent %d", g, (int) group->level,
                      group->node, group->parent);
    }
    if (!is_node) {
        const hccl_group_t *parent = &s->group[group->parent];
        if (group->parent < 0 || group->parent >= g || parent->level >= group->level
            || parent->node != group->node || s->group[g - 1].level > group->level) {
            return broken(c, "group %d of level %d can't lie in group %d of level %d", g,
                          (int) group->level, group->parent, (int) parent->level);
        }
        if (group->nranks < 2 || group->nranks >= parent->nranks) {
            return broken(c, "group %d has %d ranks, its parent %d", g, group->nranks,
                          parent->nranks);
        }
    }
    if (group->nranks < 1 || group->nreps < 1 || group->nreps > group->nranks
        || group->ranks[0] != group->reps[0]) {
        return broken(c, "group %d has %d ranks and %d reps", g, group->nranks, group->nreps);
    }
    return true;
}

/* Members ascend, belong together, and reps are those that no smaller group represents. */
static bool check_group_members(checker_t *c, int g)
{
    const hccl_shape_t *s = c->s;
    const hccl_group_t *group = &s->group[g];
    int rep = 0;

    for (int i = 0; i < group->nranks; i++) {
        int rank = group->ranks[i];
        if (rank < 0 || rank >= s->nranks || (0 < i && rank <= group->ranks[i - 1])
            || !together(s, group->level, group->ranks[0], rank)) {
            return broken(c, "group %d: member %d is rank %d", g, i, rank);
        }
        int below = s->inner_of[rank];
        while (below > g && s->group[below].parent > g) {
            below = s->group[below].parent;
        }
        if (below != g && (below < g || s->group[below].parent != g)) {
            return broken(c, "rank %d is in group %d, but not by its inner_of", rank, g);
        }
        if (below == g || rank == s->group[below].ranks[0]) {
            if (rep == group->nreps || rank != group->reps[rep++]) {
                return broken(c, "group %d: rank %d is not where it must be in reps", g, rank);
            }
        }
    }
    if (rep != group->nreps) {
        return broken(c, "group %d has %d reps too many", g, group->nreps - rep);
    }
    return true;
}

/* All ranks, node after node in the order of the ring. */
static bool check_ring_ranks(checker_t *c)
{
    const hccl_shape_t *s = c->s;

    for (int i = 0, at = 0; i < s->nnodes; i++) {
        for (int k = s->node_start[s->ring[i]]; k < s->node_start[s->ring[i] + 1]; k++, at++) {
            if (s->ring_ranks[at] != s->node_ranks[k]) {
                return broken(c, "rank %d is number %d in the ring", s->ring_ranks[at], at);
            }
        }
    }
    return true;
}

/* Every node has a leader and a seat, and what is kept beside them fits. */
static bool check_leaders(checker_t *c)
{
    const hccl_shape_t *s = c->s;
    bool led = false, moved = false;

    for (int v = 0; v < s->nnodes; v++) {
        if (s->lead[v] < 0 || s->lead[v] >= s->node_start[v + 1] - s->node_start[v]
            || s->lead_at[v] != s->node_start[v] + s->lead[v]) {
            return broken(c, "node %d is led by its rank %d, at %d", v, s->lead[v], s->lead_at[v]);
        }
        if (s->seat[v] < 0 || s->seat[v] >= s->nnodes || v != s->ring[s->seat[v]]
            || s->ring_start[s->seat[v]] != s->node_start[v]
            || s->ring_lead_at[s->seat[v]] != s->lead_at[v]) {
            return broken(c, "node %d has seat %d of the ring", v, s->seat[v]);
        }
        led = led || 0 < s->lead[v];
        moved = moved || v != s->seat[v];
    }
    if (led != s->led || (moved && !s->ringed)) {
        return broken(c, "led is %d, ringed is %d", s->led, s->ringed);
    }
    return check_ring_ranks(c);
}

int hccl_shape_check(const hccl_shape_t *shape, char *why, size_t whylen)
{
    checker_t c = {.s = shape, .why = why, .whylen = whylen};

    if (NULL == shape || !check_counts(&c) || !check_nodes(&c)) {
        return HCCL_ERR_INTERNAL;
    }
    int *scratch = malloc(2 * (size_t) shape->max_local * sizeof(int));
    if (NULL == scratch) {
        return HCCL_ERR_NOMEM;
    }
    c.first = scratch;
    c.size = scratch + shape->max_local;
    bool ok = check_leaders(&c);
    ok = ok && (shape->hash == hccl_shape_hash(shape) || broken(&c, "the hash is not its own"));
    for (int rank = 0; ok && rank < shape->nranks; rank++) {
        if (shape->inner_of[rank] < 0 || shape->inner_of[rank] >= shape->ngroups) {
            ok = broken(&c, "rank %d has inner_of %d", rank, shape->inner_of[rank]);
        }
    }
    for (int g = 0; ok && g < shape->ngroups; g++) {
        ok = check_group_frame(&c, g);
    }
    for (int g = 0; ok && g < shape->ngroups; g++) {
        ok = check_group_members(&c, g);
    }
    ok = ok && check_group_sums(&c);
    for (int level = HCCL_LEVEL_PACKAGE; ok && level < HCCL_LEVEL_COUNT; level++) {
        for (int v = 0; ok && v < shape->nnodes; v++) {
            ok = check_ids(&c, (hccl_level_t) level, v)
                 && (HCCL_LEVEL_CORE == level || check_complete(&c, (hccl_level_t) level, v));
        }
    }
    free(scratch);
    return ok ? HCCL_OK : HCCL_ERR_INTERNAL;
}
