/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Who takes part in an exchange between nodes, and which blocks each one carries.
 *
 * Knows the shape and nothing of plans but their order of blocks. Used by algo/ only.
 */
#include <stdlib.h>

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

hccl_team_t hccl_team_leaders(const hccl_case_t *c, int root)
{
    hccl_team_t team = hccl_team_rail(c, 0);
    const int node = c->shape->node_of[c->me];

    team.replaced = c->shape->node_of[root];
    team.deputy = root;
    team.me = c->me == hccl_team_rank(&team, node) ? node : -1;
    return team;
}

hccl_team_t hccl_team_last(const hccl_case_t *c)
{
    hccl_team_t team = hccl_team_rail(c, 0);
    const int node = c->shape->node_of[c->me];

    team.at = c->shape->node_start + 1;
    team.shift = -1;
    team.me = c->me == hccl_team_rank(&team, node) ? node : -1;
    return team;
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

/* Where run r begins among size ranks. */
static int run_start(int size, int rails, int r)
{
    return (int) ((long long) size * r / rails);
}

int hccl_rails_make(const hccl_shape_t *shape, hccl_rails_t *rails)
{
    const int R = shape->min_local, H = shape->nnodes;
    int at = 0;

    *rails = (hccl_rails_t){.rails = R, .nnodes = H};
    rails->start = malloc(((size_t) R * (size_t) H + 1) * sizeof(*rails->start));
    rails->order = malloc((size_t) shape->nranks * sizeof(*rails->order));
    if (NULL == rails->start || NULL == rails->order) {
        hccl_rails_free(rails);
        return HCCL_ERR_NOMEM;
    }
    for (int r = 0; r < R; r++) {
        for (int v = 0; v < H; v++) {
            const int *ranks = shape->node_ranks + shape->node_start[v];
            const int size = shape->node_start[v + 1] - shape->node_start[v];
            const int end = run_start(size, R, r + 1);

            rails->start[r * H + v] = at;
            for (int i = run_start(size, R, r); i < end; i++) {
                rails->order[at++] = ranks[i];
            }
            if (rails->widest < at - rails->start[r * H + v]) {
                rails->widest = at - rails->start[r * H + v];
            }
        }
    }
    rails->start[R * H] = at;
    return HCCL_OK;
}

void hccl_rails_free(hccl_rails_t *rails)
{
    free(rails->start);
    free(rails->order);
    rails->start = NULL;
    rails->order = NULL;
}

hccl_map_t hccl_rails_map(const hccl_rails_t *rails, int rail)
{
    return (hccl_map_t){.start = rails->start + rail * rails->nnodes, .per = 1};
}

hccl_map_t hccl_rails_all(const hccl_rails_t *rails)
{
    return (hccl_map_t){.start = rails->start, .per = rails->nnodes};
}

int hccl_rails_of(const hccl_rails_t *rails, int node_size, int index)
{
    int r = 0;

    while (index >= run_start(node_size, rails->rails, r + 1)) {
        r++;
    }
    return r;
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

int hccl_by_node(const hccl_case_t *c, int rank)
{
    return c->shape->node_start[c->shape->node_of[rank]] + c->shape->local_of[rank];
}
