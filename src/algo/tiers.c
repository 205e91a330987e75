/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who owns what in the groups of a node.
 *
 * Slices: the ranks of the node stand in an order in which those of every group are spread evenly,
 * and position i belongs to the i-th of them. In a group, a position is owned by the rank of the
 * group that comes next in that order, with the first one next to the last. So every rank of a group
 * owns about the same number of positions, which are in a row and end with the rank's own, and the
 * next one of a group is also the next one of the part that it belongs to.
 *
 * Knows the shape and nothing of plans. Used by algo/ only.
 */
#include "algo/tiers.h"

#include <stdlib.h>
#include <string.h>

/* More parts than this meet at one of them: else each would poll too many far flags. */
enum { MOST_TO_MEET = 4 };

/* One rank polls the flags of all others of its node when they are fewer: see rules.def. */
enum { LEAST_TO_GATHER = 8 };

bool hccl_tiers_gather(const hccl_shape_t *shape, int node)
{
    const hccl_group_t *all = &shape->group[node];

    if (LEAST_TO_GATHER > all->nranks || !hccl_group_is_divided(all)) {
        return false;
    }
    for (int g = 0; g < shape->ngroups; g++) {
        if (node == shape->group[g].node && node != g
            && !hccl_group_is_range(shape, &shape->group[g])) {
            return false;
        }
    }
    return true;
}

bool hccl_tiers_alike(const hccl_shape_t *shape)
{
    if (1 == shape->nnodes || !shape->even || !hccl_tiers_gather(shape, 0)) {
        return false;
    }
    for (int i = 0; i < shape->nranks; i++) {
        /* places of a node are numbered by its lowest ranks */
        const hccl_place_t *mine = &shape->place[i];
        const hccl_place_t *first = &shape->place[shape->node_ranks[shape->local_of[i]]];

        if (mine->package != first->package || mine->numa != first->numa || mine->l3 != first->l3) {
            return false;
        }
    }
    return true;
}

static bool around(const hccl_shape_t *shape, int g, int rank)
{
    int h = shape->inner_of[rank];

    while (h != g && 0 <= h) {
        h = shape->group[h].parent;
    }
    return h == g;
}

int hccl_tiers_part(const hccl_shape_t *shape, int g, int rank)
{
    int part = -1;

    for (int h = shape->inner_of[rank]; h != g; h = shape->group[h].parent) {
        part = h;
    }
    return part;
}

int hccl_tiers_level(const hccl_shape_t *shape, int g)
{
    int level = 0;

    for (; 0 <= shape->group[g].parent; g = shape->group[g].parent) {
        level++;
    }
    return level;
}

static int open_tiers(const hccl_case_t *c, int n, hccl_tiers_t *t)
{
    const hccl_shape_t *shape = c->shape;
    size_t rows = 0;

    *t = (hccl_tiers_t){.c = c, .node = shape->node_of[c->me], .n = n, .scale = 1};
    for (int g = 0; g < shape->ngroups; g++) {
        rows += t->node == shape->group[g].node;
    }
    const size_t groups = (size_t) shape->ngroups, spread = (size_t) n * rows;

    t->memory = malloc((groups + spread + 2 * (size_t) n) * sizeof(int));
    if (NULL == t->memory) {
        return HCCL_ERR_NOMEM;
    }
    t->row = t->memory;
    t->owner = t->row + groups;
    t->order = t->owner + spread;
    rows = 0;
    for (int g = 0; g < shape->ngroups; g++) {
        t->row[g] = -1;
        if (t->node == shape->group[g].node) {
            const int level = hccl_tiers_level(shape, g);

            t->row[g] = (int) rows++;
            t->depth = level > t->depth ? level : t->depth;
        }
    }
    return HCCL_OK;
}

void hccl_tiers_free(hccl_tiers_t *t)
{
    free(t->memory);
}

int hccl_tiers_position(const hccl_tiers_t *t, int rank)
{
    int x = 0;

    while (1 < t->n && rank != t->order[x]) {
        x++;
    }
    return x;
}

static int *owners(const hccl_tiers_t *t, int g)
{
    return t->owner + (size_t) t->row[g] * (size_t) t->n;
}

int hccl_tiers_leaders(const hccl_case_t *c, int root, hccl_tiers_t *t)
{
    const hccl_shape_t *shape = c->shape;
    const int rc = open_tiers(c, 1, t);

    for (int g = 0; HCCL_OK == rc && g < shape->ngroups; g++) {
        if (0 <= t->row[g]) {
            *owners(t, g) = 0 <= root && around(shape, g, root) ? root : shape->group[g].ranks[0];
        }
    }
    return rc;
}

void hccl_tiers_meet(hccl_tiers_t *t)
{
    t->meet = t->c->shape->group[t->node].nreps <= MOST_TO_MEET;
}

/* The ranks of a group, those of each part spread evenly. The orders of the parts are known. */
static void merge_parts(const hccl_tiers_t *t, int g, int *taken)
{
    const hccl_shape_t *shape = t->c->shape;
    const hccl_group_t *group = &shape->group[g];
    int *order = owners(t, g);

    memset(taken, 0, (size_t) group->nreps * sizeof(int));
    for (int i = 0; i < group->nranks; i++) {
        int next = -1, next_size = 0;

        for (int j = 0; j < group->nreps; j++) {
            const int part = hccl_tiers_part(shape, g, group->reps[j]);
            const int size = 0 > part ? 1 : shape->group[part].nranks;

            /* the middles of the size-th parts of the way, (2 taken + 1) / (2 size), in turn */
            if (taken[j] < size
                && (0 > next || (2 * taken[j] + 1) * next_size < (2 * taken[next] + 1) * size)) {
                next = j;
                next_size = size;
            }
        }
        const int part = hccl_tiers_part(shape, g, group->reps[next]);

        order[i] = 0 > part ? group->reps[next] : owners(t, part)[taken[next]];
        taken[next]++;
    }
}

/* Each position's owner in a group: who comes next. */
static void own_next(const hccl_tiers_t *t, int g)
{
    const hccl_shape_t *shape = t->c->shape;
    int *owner = owners(t, g), next = -1;

    for (int i = 2 * t->n - 1; 0 <= i; i--) {
        const int rank = t->order[i % t->n];

        if (around(shape, g, rank)) {
            next = rank;
        }
        owner[i % t->n] = next;
    }
}

/* The owners in a group around the root, whose parts have theirs already. */
static void own_by_root(const hccl_tiers_t *t, int g, int root, hccl_tiers_way_t way)
{
    const hccl_group_t *group = &t->c->shape->group[g];
    const int part = hccl_tiers_part(t->c->shape, g, root);

    if (HCCL_TIERS_FROM_ALL == way && 0 <= part) {
        memcpy(owners(t, g), owners(t, part), (size_t) t->n * sizeof(int));
    } else if (HCCL_TIERS_FROM_ALL == way && group->nreps == group->nranks) {
        own_next(t, g);
    } else {
        for (int x = 0; x < t->n; x++) {
            owners(t, g)[x] = root;
        }
    }
}

int hccl_tiers_slices(const hccl_case_t *c, int root, hccl_tiers_way_t way, hccl_tiers_t *t)
{
    const hccl_shape_t *shape = c->shape;
    const int node = shape->node_of[c->me];
    const int rc = open_tiers(c, shape->group[node].nranks, t);

    if (HCCL_OK != rc) {
        return rc;
    }
    /* a parent comes before its children */
    for (int g = shape->ngroups - 1; 0 <= g; g--) {
        if (0 <= t->row[g]) {
            merge_parts(t, g, t->order + t->n);
        }
    }
    memcpy(t->order, owners(t, node), (size_t) t->n * sizeof(int));
    for (int g = shape->ngroups - 1; 0 <= g; g--) {
        if (0 <= t->row[g] && 0 <= root && around(shape, g, root)) {
            own_by_root(t, g, root, way);
        } else if (0 <= t->row[g]) {
            own_next(t, g);
        }
    }
    return HCCL_OK;
}
