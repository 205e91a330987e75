/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rails: the data of all nodes, cut for exchanges between nodes that go on side by side.
 *
 * Knows the shape and nothing of plans. Used by algo/ only.
 */
#include <stdlib.h>

#include "algo/parts.h"

/* Where the ranks of nodes of different size share out the data, it is cut into the least common
 * multiple of their sizes, but for more than this per rank of the largest node: then into so many,
 * and the shares of a node's ranks differ by one of them. */
enum { MOST_UNITS_PER_RANK = 64 };

static int node_size(const hccl_shape_t *shape, int node)
{
    return shape->node_start[node + 1] - shape->node_start[node];
}

static int common_divisor(int a, int b)
{
    return 0 == b ? a : common_divisor(b, a % b);
}

static int common_multiple(const hccl_shape_t *shape)
{
    const long long most = (long long) MOST_UNITS_PER_RANK * shape->max_local;
    long long multiple = 1;

    for (int v = 0; v < shape->nnodes && multiple <= most; v++) {
        const int size = node_size(shape, v);

        multiple = multiple / common_divisor((int) multiple, size) * size;
    }
    return (int) (multiple <= most ? multiple : most);
}

/* The first unit of a node's rank. */
static int unit_of(const hccl_rails_t *rails, int node, int index)
{
    const int size = node_size(rails->shape, node);

    if (!rails->all) {
        return index < rails->units ? index : rails->units;
    }
    return (int) (((long long) rails->units * index + size - 1) / size);
}

/* The rail that begins at a unit, or the first one behind it. */
static int rail_at(const hccl_rails_t *rails, int unit)
{
    int low = 0, high = rails->rails;

    while (low < high) {
        const int middle = (low + high) / 2;

        if (rails->cut[middle] < unit) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* A cut wherever the units of two ranks of any node meet, so that a rail has one rank per node. */
static void cut_rails(hccl_rails_t *rails)
{
    const hccl_shape_t *shape = rails->shape;
    int n = 0;

    for (int u = 0; u <= rails->units; u++) {
        rails->cut[u] = !rails->all;
    }
    for (int v = 0; v < shape->nnodes && rails->all; v++) {
        for (int i = 0; i <= node_size(shape, v); i++) {
            rails->cut[unit_of(rails, v, i)] = 1;
        }
    }
    for (int u = 0; u <= rails->units; u++) {
        if (0 != rails->cut[u]) {
            rails->cut[n++] = u;
        }
    }
    rails->rails = n - 1;
}

/* The number of a node's rank among those who serve. With one rail the leader is the first. */
static int number_of(const hccl_rails_t *rails, int node, int index)
{
    const int size = node_size(rails->shape, node), number = index - hccl_rails_lead(rails, node);

    return 0 > number ? number + size : number;
}

int hccl_rails_begin(const hccl_rails_t *rails, int node, int i)
{
    return rail_at(rails, unit_of(rails, node, i));
}

int hccl_rails_first(const hccl_rails_t *rails, int node, int index)
{
    for (int r = 0; NULL != rails->local && r < rails->rails; r++) {
        if (index == rails->local[r]) {
            return r;
        }
    }
    return hccl_rails_begin(rails, node, number_of(rails, node, index));
}

int hccl_rails_count(const hccl_rails_t *rails, int node, int index)
{
    if (NULL != rails->local) {
        return 1;
    }
    const int number = number_of(rails, node, index);

    return hccl_rails_begin(rails, node, number + 1) - hccl_rails_begin(rails, node, number);
}

int hccl_rails_owners(const hccl_rails_t *rails, int node)
{
    return rails->all ? node_size(rails->shape, node) : rails->units;
}

int hccl_rails_lead(const hccl_rails_t *rails, int node)
{
    return rails->one ? rails->shape->lead[node] : 0;
}

int hccl_rails_seat(const hccl_rails_t *rails, int node)
{
    return NULL == rails->seat ? node : rails->seat[node];
}

static int owner_of(const hccl_rails_t *rails, int node, int rail)
{
    if (NULL != rails->local) {
        return rails->local[rail];
    }
    return rails->all
               ? (int) ((long long) rails->cut[rail] * node_size(rails->shape, node) / rails->units)
               : rail + hccl_rails_lead(rails, node);
}

/* The rail on which the block of a node's rank travels: one that the rank serves, if it serves any. Where it
 * serves several, nodes of one size take turns, by units: so their blocks come to the ranks of the other nodes
 * in equal numbers. */
static int rail_of(const hccl_rails_t *rails, int node, int index)
{
    if (NULL != rails->local) {
        return hccl_rails_first(rails, node, index);
    }
    if (rails->all) {
        const int unit = unit_of(rails, node, index), next = unit_of(rails, node, index + 1);

        return rail_at(rails, unit + rails->turn[node] % (next - unit) + 1) - 1;
    }
    const int size = node_size(rails->shape, node);
    int r = (int) ((long long) index * rails->units / size);

    while (index >= (long long) size * (r + 1) / rails->units) {
        r++;
    }
    return r;
}

int hccl_rails_of(const hccl_rails_t *rails, int rank)
{
    return rail_of(rails, rails->shape->node_of[rank], rails->shape->local_of[rank]);
}

/* Each node is given its number among those of its size. HCCL_OK or HCCL_ERR_NOMEM. */
static int take_turns(hccl_rails_t *rails)
{
    const hccl_shape_t *shape = rails->shape;
    int *seen = calloc((size_t) shape->max_local + 1, sizeof(*seen));

    rails->turn = malloc((size_t) shape->nnodes * sizeof(*rails->turn));
    for (int v = 0; NULL != seen && NULL != rails->turn && v < shape->nnodes; v++) {
        rails->turn[v] = seen[node_size(shape, v)]++;
    }
    free(seen);
    return NULL == seen || NULL == rails->turn ? HCCL_ERR_NOMEM : HCCL_OK;
}

/* Positions of a vector: each rail has its units of it in as many parts as it has slots. */
static void lay_vector(hccl_rails_t *rails)
{
    const int slots = rails->slots;

    for (int r = 0; r < rails->rails; r++) {
        const int width = rails->cut[r + 1] - rails->cut[r];

        for (int s = 0; s < slots; s++) {
            rails->start[r * slots + s] = rails->cut[r] * slots + s * width;
        }
        rails->widest = width > rails->widest ? width : rails->widest;
    }
    rails->start[rails->rails * slots] = rails->units * slots;
}

/* Positions of the blocks of all ranks: by rail, then slot of the member, then rank. */
static void lay_blocks(hccl_rails_t *rails, const int *slot)
{
    const hccl_shape_t *shape = rails->shape;
    const int H = rails->nnodes;
    int at = 0;

    for (int i = 0; i <= rails->rails * H; i++) {
        rails->start[i] = 0;
    }
    for (int rank = 0; rank < shape->nranks; rank++) {
        rails->start[hccl_rails_of(rails, rank) * H
                     + slot[hccl_rails_seat(rails, shape->node_of[rank])]]++;
    }
    for (int i = 0; i <= rails->rails * H; i++) {
        const int count = rails->start[i];

        rails->widest = count > rails->widest ? count : rails->widest;
        rails->start[i] = at;
        at += count;
    }
    for (int v = 0; v < H; v++) {
        for (int i = 0; i < node_size(shape, v); i++) {
            const int rank = shape->node_ranks[shape->node_start[v] + i];

            const int cell = rail_of(rails, v, i) * H + slot[hccl_rails_seat(rails, v)];

            rails->order[rails->start[cell]++] = rank;
        }
    }
    for (int i = rails->rails * H; 0 < i; i--) {
        rails->start[i] = rails->start[i - 1];
    }
    rails->start[0] = 0;
}

/* The same by member, then rail, where each rail has one block of each node. */
static void lay_by_node(hccl_rails_t *rails)
{
    for (int i = 0; i < rails->nnodes * rails->rails; i++) {
        rails->order[i] = rails->member[i % rails->rails * rails->nnodes + i / rails->rails];
    }
}

int hccl_rails_make(const hccl_shape_t *shape, hccl_rails_who_t who, const int *local, int slots,
                    const int *slot, const int *seat, bool by_node, hccl_rails_t *rails)
{
    const size_t H = (size_t) shape->nnodes;

    *rails =
        (hccl_rails_t){.shape = shape, .nnodes = shape->nnodes, .local = local, .by_node = by_node};
    rails->all = HCCL_RAILS_ALL == who && !shape->even;
    rails->one = HCCL_RAILS_ONE == who;
    rails->seat = seat;
    rails->units = HCCL_RAILS_ONE == who ? 1 : shape->min_local;
    if (rails->all) {
        rails->units = common_multiple(shape);
    }
    rails->cut = malloc(((size_t) rails->units + 1) * sizeof(*rails->cut));
    if (NULL == rails->cut || (rails->all && HCCL_OK != take_turns(rails))) {
        return HCCL_ERR_NOMEM;
    }
    cut_rails(rails);
    rails->slots = 0 < slots ? slots : shape->nnodes;
    const size_t cells = (size_t) rails->rails * (size_t) rails->slots;

    rails->start = malloc((cells + 1) * sizeof(*rails->start));
    rails->member = malloc((size_t) rails->rails * H * sizeof(*rails->member));
    rails->order = malloc((size_t) shape->nranks * sizeof(*rails->order));
    if (NULL == rails->start || NULL == rails->member || NULL == rails->order) {
        return HCCL_ERR_NOMEM;
    }
    for (int r = 0; r < rails->rails; r++) {
        for (int v = 0; v < shape->nnodes; v++) {
            rails->member[r * shape->nnodes + hccl_rails_seat(rails, v)] =
                shape->node_ranks[shape->node_start[v] + owner_of(rails, v, r)];
        }
    }
    if (0 < slots) {
        lay_vector(rails);
    } else {
        lay_blocks(rails, slot);
    }
    if (by_node) {
        lay_by_node(rails);
    }
    return HCCL_OK;
}

void hccl_rails_free(hccl_rails_t *rails)
{
    free(rails->cut);
    free(rails->turn);
    free(rails->start);
    free(rails->member);
    free(rails->order);
}

hccl_map_t hccl_rails_map(const hccl_rails_t *rails, int rail)
{
    return (hccl_map_t){.start = rails->start + rail * rails->slots, .per = 1};
}

hccl_team_t hccl_rails_team(const hccl_rails_t *rails, const hccl_case_t *c, int rail)
{
    const int *members = rails->member + rail * rails->nnodes;
    const int seat = hccl_rails_seat(rails, rails->shape->node_of[c->me]);

    return (hccl_team_t){.n = rails->nnodes,
                         .me = c->me == members[seat] ? seat : -1,
                         .ranks = members,
                         .replaced = -1};
}

int hccl_rails_owner(const hccl_rails_t *rails, int node, int rail)
{
    return rails->shape
        ->local_of[rails->member[rail * rails->nnodes + hccl_rails_seat(rails, node)]];
}

bool hccl_rails_alone(const hccl_rails_t *rails, int rank, const int *slot)
{
    const int seat = hccl_rails_seat(rails, rails->shape->node_of[rank]);
    const int *cell = rails->start + hccl_rails_of(rails, rank) * rails->nnodes + slot[seat];

    return 1 == cell[1] - cell[0]
           && rank == rails->member[hccl_rails_of(rails, rank) * rails->nnodes + seat];
}
