/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Builds shapes: gives places their canonical ids and grows the tier tree from them.
 *
 * Refuses to know where the places come from. The makers of topo.h end here.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "hccl_config.h"
#include "topo/shape_internal.h"

/* Scratch of one build; every pointer goes into one block. */
typedef struct build {
    int n;
    hccl_place_rank_t *sorted;     /* [n] by place, then rank */
    int *object[HCCL_LEVEL_COUNT]; /* [n] per rank: serial number of its object on this level */
    int *size[HCCL_LEVEL_COUNT];   /* [n] per object: its ranks */
    int *canon[HCCL_LEVEL_COUNT];  /* [n] per object: its canonical id, -1 until one is given */
    int *next;                     /* [n] per node: the next canonical id */
    int *inner;                    /* [n] per rank: smallest group so far */
    int *group_of_object;          /* [n] per object of the level at hand */
    hccl_group_t *group;           /* [ngroups_max] without their arrays */
    int ngroups;
} build_t;

static int compare(const void *va, const void *vb)
{
    const hccl_place_rank_t *a = va;
    const hccl_place_rank_t *b = vb;

    for (int level = 0; level < HCCL_LEVEL_COUNT; level++) {
        /* unsigned: the unknown, -1, sorts last */
        uint32_t x = (uint32_t) hccl_place_id(&a->place, level);
        uint32_t y = (uint32_t) hccl_place_id(&b->place, level);
        if (x != y) {
            return x < y ? -1 : 1;
        }
    }
    return a->rank < b->rank ? -1 : a->rank > b->rank;
}

void hccl_place_sort(hccl_place_rank_t *list, int n)
{
    qsort(list, (size_t) n, sizeof(*list), compare);
}

/* Every node needs at most n groups of its own and each inner one holds two ranks or more. */
static size_t groups_max(int n)
{
    return (size_t) n + 3 * ((size_t) n / 2);
}

static void *scratch_open(build_t *b, int n)
{
    size_t ints = (size_t) n * (3 * HCCL_LEVEL_COUNT + 3);
    size_t groups = groups_max(n) * sizeof(hccl_group_t);
    char *block = malloc(groups + (size_t) n * sizeof(hccl_place_rank_t) + ints * sizeof(int));

    if (NULL == block) {
        return NULL;
    }
    b->n = n;
    b->ngroups = 0;
    b->group = (hccl_group_t *) (void *) block;
    b->sorted = (hccl_place_rank_t *) (void *) (block + groups);
    int *at = (int *) (void *) (b->sorted + n);
    for (int level = 0; level < HCCL_LEVEL_COUNT; level++, at += 3 * (size_t) n) {
        b->object[level] = at;
        b->size[level] = at + n;
        b->canon[level] = at + 2 * (size_t) n;
    }
    b->next = at;
    b->inner = at + n;
    b->group_of_object = at + 2 * (size_t) n;
    return block;
}

/* An object is a run of the sorted list with equal ids from the node down to its level. */
static void find_objects(build_t *b)
{
    int serial[HCCL_LEVEL_COUNT] = {0};

    for (int i = 0; i < b->n; i++) {
        bool fresh = 0 == i;
        for (int level = 0; level < HCCL_LEVEL_COUNT; level++) {
            fresh = fresh
                    || hccl_place_id(&b->sorted[i].place, level)
                           != hccl_place_id(&b->sorted[i - 1].place, level);
            if (fresh) {
                serial[level] = 0 == i ? 0 : serial[level] + 1;
                b->size[level][serial[level]] = 0;
                b->canon[level][serial[level]] = -1;
            }
            b->object[level][b->sorted[i].rank] = serial[level];
            b->size[level][serial[level]]++;
        }
    }
}

/* Overwrites places with canonical ones: ids in the order in which ascending ranks meet them. */
static int number_objects(build_t *b, hccl_place_t *place)
{
    int nnodes = 0;

    for (int level = 0; level < HCCL_LEVEL_COUNT; level++) {
        memset(b->next, 0, (size_t) b->n * sizeof(int));
        for (int rank = 0; rank < b->n; rank++) {
            int32_t *id = hccl_place_id_at(&place[rank], level);
            int *canon = &b->canon[level][b->object[level][rank]];
            if (-1 == *id) {
                continue;
            }
            if (-1 == *canon) {
                *canon = HCCL_LEVEL_NODE == level ? nnodes++ : b->next[place[rank].node]++;
            }
            *id = *canon;
        }
    }
    return nnodes;
}

static void add_group(build_t *b, hccl_level_t level, int node, int parent, int nranks)
{
    b->group[b->ngroups++] = (hccl_group_t){
        .level = level, .node = node, .parent = parent, .nranks = nranks, .nreps = nranks};
    if (0 <= parent) {
        /* one leader stands for them all */
        b->group[parent].nreps -= nranks - 1;
    }
}

static void find_groups(build_t *b, const hccl_place_t *place)
{
    for (int rank = 0; rank < b->n; rank++) {
        b->inner[rank] = place[rank].node;
        if (place[rank].node == b->ngroups) {
            add_group(b, HCCL_LEVEL_NODE, b->ngroups, -1,
                      b->size[HCCL_LEVEL_NODE][b->object[HCCL_LEVEL_NODE][rank]]);
        }
    }
    for (int level = HCCL_LEVEL_PACKAGE; level < HCCL_LEVEL_CORE; level++) {
        memset(b->group_of_object, -1, (size_t) b->n * sizeof(int));
        for (int rank = 0; rank < b->n; rank++) {
            int object = b->object[level][rank];
            int size = b->size[level][object];
            int parent = b->inner[rank];
            if (-1 != b->group_of_object[object]) {
                b->inner[rank] = b->group_of_object[object];
            } else if (-1 != hccl_place_id(&place[rank], level) && 2 <= size
                       && size < b->group[parent].nranks) {
                b->inner[rank] = b->group_of_object[object] = b->ngroups;
                add_group(b, (hccl_level_t) level, place[rank].node, parent, size);
            }
        }
    }
}

/* One block: shape, groups, places, then all ints. Nodes share node_ranks as their ranks array. */
static hccl_shape_t *shape_open(const build_t *b, int nnodes, int **pool)
{
    size_t n = (size_t) b->n;
    size_t ints = 5 * n + 7 * (size_t) nnodes + 1;

    for (int g = 0; g < b->ngroups; g++) {
        ints += (size_t) b->group[g].nreps + (g < nnodes ? 0 : (size_t) b->group[g].nranks);
    }
    hccl_shape_t *s = malloc(sizeof(*s) + (size_t) b->ngroups * sizeof(hccl_group_t)
                             + n * sizeof(hccl_place_t) + ints * sizeof(int));
    if (NULL == s) {
        return NULL;
    }
    memset(s, 0, sizeof(*s));
    s->nranks = b->n;
    s->nnodes = nnodes;
    s->ngroups = b->ngroups;
    s->group = (hccl_group_t *) (void *) (s + 1);
    s->place = (hccl_place_t *) (void *) (s->group + b->ngroups);
    s->node_of = (int *) (void *) (s->place + n);
    s->local_of = s->node_of + n;
    s->inner_of = s->local_of + n;
    s->node_ranks = s->inner_of + n;
    s->node_start = s->node_ranks + n;
    s->lead = s->node_start + nnodes + 1;
    s->lead_at = s->lead + nnodes;
    s->ring = s->lead_at + nnodes;
    s->seat = s->ring + nnodes;
    s->ring_start = s->seat + nnodes;
    s->ring_lead_at = s->ring_start + nnodes;
    s->ring_ranks = s->ring_lead_at + nnodes;
    *pool = s->ring_ranks + n;
    return s;
}

static void fill_nodes(hccl_shape_t *s)
{
    s->node_start[0] = 0;
    s->min_local = s->max_local = s->group[0].nranks;
    for (int v = 0; v < s->nnodes; v++) {
        int local = s->group[v].nranks;
        s->lead[v] = 0;
        s->ring[v] = v;
        s->node_start[v + 1] = s->node_start[v] + local;
        s->min_local = local < s->min_local ? local : s->min_local;
        s->max_local = local > s->max_local ? local : s->max_local;
    }
    s->even = s->min_local == s->max_local;
    s->contiguous = true;
    for (int rank = 0; rank < s->nranks; rank++) {
        s->node_of[rank] = s->place[rank].node;
        s->contiguous = s->contiguous && (0 == rank || s->node_of[rank] >= s->node_of[rank - 1]);
    }
}

/* Ascending ranks append themselves to each group around them, from the smallest outwards. */
static void fill_members(hccl_shape_t *s, int *pool)
{
    for (int g = 0; g < s->ngroups; g++) {
        int *ranks = g < s->nnodes ? s->node_ranks + s->node_start[g] : pool;
        pool += g < s->nnodes ? 0 : s->group[g].nranks;
        s->group[g].ranks = ranks;
        s->group[g].reps = pool;
        pool += s->group[g].nreps;
        s->group[g].nranks = s->group[g].nreps = 0;
    }
    for (int rank = 0; rank < s->nranks; rank++) {
        bool stands = true; /* for the group below, or for itself */
        for (int g = s->inner_of[rank]; 0 <= g; g = s->group[g].parent) {
            hccl_group_t *group = &s->group[g];
            if (stands) {
                ((int *) (uintptr_t) group->reps)[group->nreps++] = rank;
            }
            if (-1 == group->parent) {
                s->local_of[rank] = group->nranks;
            }
            ((int *) (uintptr_t) group->ranks)[group->nranks++] = rank;
            stands = 1 == group->nranks;
        }
    }
}

static bool places_valid(const hccl_place_t *places, int n)
{
    for (int rank = 0; rank < n; rank++) {
        for (int level = 0; level < HCCL_LEVEL_COUNT; level++) {
            if (hccl_place_id(&places[rank], level) < (HCCL_LEVEL_NODE == level ? 0 : -1)) {
                return false;
            }
        }
    }
    return true;
}

#if HCCL_DEBUG
static int check_own_work(hccl_shape_t *shape)
{
    char why[200] = "no memory to check it";
    int rc = hccl_shape_check(shape, why, sizeof(why));

    if (HCCL_OK != rc) {
        fprintf(stderr, "hccl: a shape of %d ranks was made wrong: %s\n", shape->nranks, why);
        hccl_shape_free(shape);
    }
    return rc;
}
#else
static int check_own_work(hccl_shape_t *shape)
{
    (void) shape;
    return HCCL_OK;
}
#endif

int hccl_shape_from_places(const hccl_place_t *places, int n, hccl_shape_t **out)
{
    build_t b;
    int *pool;

    if (NULL == places || NULL == out || n < 1 || !places_valid(places, n)) {
        return HCCL_ERR_ARG;
    }
    hccl_place_t *canonical = malloc((size_t) n * sizeof(*canonical));
    void *scratch = scratch_open(&b, n);
    hccl_shape_t *s = NULL;
    int rc = HCCL_ERR_NOMEM;
    if (NULL != canonical && NULL != scratch) {
        for (int rank = 0; rank < n; rank++) {
            canonical[rank] = places[rank];
            b.sorted[rank] = (hccl_place_rank_t){places[rank], rank};
        }
        hccl_place_sort(b.sorted, n);
        find_objects(&b);
        int nnodes = number_objects(&b, canonical);
        find_groups(&b, canonical);
        s = shape_open(&b, nnodes, &pool);
    }
    if (NULL != s) {
        memcpy(s->place, canonical, (size_t) n * sizeof(*canonical));
        memcpy(s->group, b.group, (size_t) b.ngroups * sizeof(*b.group));
        memcpy(s->inner_of, b.inner, (size_t) n * sizeof(int));
        fill_nodes(s);
        fill_members(s, pool);
        hccl_shape_settle(s);
        rc = check_own_work(s);
    }
    if (HCCL_OK == rc) {
        *out = s;
    }
    free(scratch);
    free(canonical);
    return rc;
}
