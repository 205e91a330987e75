/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who takes part in an exchange between nodes, and which blocks each one carries.
 *
 * Knows the shape and nothing of plans but their order of blocks. Used by algo/ only.
 */
#include "algo/parts.h"

hccl_team_t hccl_team_all(const hccl_case_t *c)
{
    return (hccl_team_t){.n = c->shape->nranks, .me = c->me, .replaced = -1};
}

hccl_team_t hccl_team_by_node(const hccl_case_t *c)
{
    const hccl_shape_t *shape = c->shape;

    return (hccl_team_t){.n = shape->nranks,
                         .me = hccl_by_node(c, c->me),
                         .ranks = shape->node_ranks,
                         .replaced = -1};
}

hccl_team_t hccl_team_by_ring(const hccl_case_t *c)
{
    hccl_team_t team = hccl_team_by_node(c);

    team.me = hccl_by_ring(c, c->me);
    team.ranks = c->shape->ring_ranks;
    return team;
}

hccl_team_t hccl_team_rail(const hccl_case_t *c, int index)
{
    const hccl_shape_t *shape = c->shape;

    return (hccl_team_t){.n = shape->nnodes,
                         .me = index == shape->local_of[c->me] ? shape->node_of[c->me] : -1,
                         .ranks = shape->node_ranks,
                         .at = shape->node_start,
                         .shift = index,
                         .replaced = -1};
}

hccl_team_t hccl_team_ring(const hccl_case_t *c, int index)
{
    const hccl_shape_t *shape = c->shape;
    hccl_team_t team = hccl_team_rail(c, index);

    team.me = -1 == team.me ? -1 : shape->seat[team.me];
    team.at = shape->ring_start;
    return team;
}

/* The member of number `own` is in my node, that of number `home` in the root's. */
static hccl_team_t leaders(const hccl_case_t *c, int root, const int *at, int own, int home)
{
    hccl_team_t team = {.n = c->shape->nnodes,
                        .me = own,
                        .ranks = c->shape->node_ranks,
                        .at = at,
                        .replaced = home,
                        .deputy = root};

    team.me = c->me == hccl_team_rank(&team, own) ? own : -1;
    return team;
}

hccl_team_t hccl_team_leaders(const hccl_case_t *c, int root)
{
    const hccl_shape_t *shape = c->shape;

    return leaders(c, root, shape->lead_at, shape->node_of[c->me],
                   0 > root ? -1 : shape->node_of[root]);
}

hccl_team_t hccl_team_ring_leaders(const hccl_case_t *c, int root)
{
    const hccl_shape_t *shape = c->shape;

    return leaders(c, root, shape->ring_lead_at, shape->seat[shape->node_of[c->me]],
                   0 > root ? -1 : shape->seat[shape->node_of[root]]);
}

int hccl_team_lead(const hccl_case_t *c, int root)
{
    const hccl_shape_t *shape = c->shape;
    const int node = shape->node_of[c->me];

    return 0 <= root && node == shape->node_of[root] ? shape->local_of[root] : shape->lead[node];
}

hccl_team_t hccl_team_part(const hccl_team_t *team, int from, int n)
{
    hccl_team_t part = *team;

    part.n = n;
    part.me -= from;
    part.replaced -= from;
    if (NULL != part.at) {
        part.at += from;
    } else {
        part.shift += from;
    }
    return part;
}

bool hccl_team_member(const hccl_team_t *team)
{
    return 0 <= team->me && team->me < team->n;
}

int hccl_team_rank(const hccl_team_t *team, int i)
{
    if (i == team->replaced) {
        return team->deputy;
    }
    const int place = (NULL != team->at ? team->at[i] : i) + team->shift;

    return NULL != team->ranks ? team->ranks[place] : place;
}

void hccl_order_by_node(hccl_builder_t *b, const hccl_shape_t *shape)
{
    _Static_assert(sizeof(int) == sizeof(int32_t), "node_ranks serves as an order");

    if (!shape->contiguous) {
        hccl_build_order(b, (const int32_t *) shape->node_ranks);
    }
}

hccl_map_t hccl_map_nodes(const hccl_case_t *c)
{
    return (hccl_map_t){.start = c->shape->node_start, .per = 1};
}

int hccl_by_ring(const hccl_case_t *c, int rank)
{
    const hccl_shape_t *shape = c->shape;
    int place = shape->local_of[rank];

    for (int i = 0; i < shape->seat[shape->node_of[rank]]; i++) {
        place += shape->node_start[shape->ring[i] + 1] - shape->node_start[shape->ring[i]];
    }
    return place;
}

int hccl_by_node(const hccl_case_t *c, int rank)
{
    return c->shape->node_start[c->shape->node_of[rank]] + c->shape->local_of[rank];
}
