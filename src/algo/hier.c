/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The two phases of collectives on several nodes.
 *
 * Used by algo/ only.
 */
#include "algo/hier.h"

#include <stdlib.h>

/* What a vector's rounds of gathering bring is shared while the next one is under way only among nodes of
 * equal size, and up to so many: in each such round all ranks of a node wait for one another, and links are
 * idle where shares differ in length or rounds are many. Segments overlap both phases as well. By the
 * simulator, an allreduce of 16 MiB on 8 nodes of 8 takes 1.25 of the time that way, on 1, 2, 3 and 4 ranks
 * 1.2 to 1.35. */
enum { MOST_ROUND_BY_ROUND = 6 };

/* ---- start and end ---------------------------------------------------------------------------- */

/* Which rank of a node serves the rails: the order of the slices of its groups. */
static int open_groups(hccl_hier_t *h, hccl_hier_data_t data)
{
    const int rc = hccl_tiers_slices(
        h->c, -1, HCCL_HIER_REDUCE == data ? HCCL_TIERS_FROM_ALL : HCCL_TIERS_TO_ALL, &h->tiers);

    if (HCCL_OK != rc) {
        return rc;
    }
    h->groups = true;
    h->local = malloc((size_t) h->tiers.n * sizeof(*h->local));
    for (int i = 0; NULL != h->local && i < h->tiers.n; i++) {
        h->local[i] = h->c->shape->local_of[h->tiers.order[i]];
    }
    return NULL == h->local ? HCCL_ERR_NOMEM : HCCL_OK;
}

/* Most positions that a rank of any node publishes together: all but its own slice, on one side of it. */
static int widest_publication(const hccl_rails_t *rails)
{
    const int slots = rails->slots, all = rails->start[rails->rails * slots];
    int widest = 0;

    for (int v = 0; v < rails->nnodes; v++) {
        const int n = hccl_rails_owners(rails, v);
        const int above = all - rails->start[hccl_rails_begin(rails, v, 1) * slots];
        const int below = rails->start[hccl_rails_begin(rails, v, n - 1) * slots];

        widest = above > widest ? above : widest;
        widest = below > widest ? below : widest;
    }
    return widest;
}

/* What the ranks of my node own, for the steps inside it. */
static int open_slices(hccl_hier_t *h)
{
    const hccl_rails_t *rails = &h->rails;
    const int n = hccl_rails_owners(rails, h->here.node), slots = rails->slots;
    int *start = malloc(((size_t) n + 1) * sizeof(*start));

    if (NULL == start) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i <= n; i++) {
        start[i] = rails->start[hccl_rails_begin(rails, h->here.node, i) * slots];
    }
    h->slices = (hccl_slices_t){
        .n = n, .lead = hccl_rails_lead(rails, h->here.node), .map = {.start = start, .per = 1}};
    h->slices.map.widest = rails->all ? widest_publication(rails) : 0;
    return HCCL_OK;
}

static int open_streams(hccl_hier_t *h, bool gathers)
{
    const hccl_rails_t *rails = &h->rails;
    const size_t nodes = (size_t) rails->nnodes;

    h->first = hccl_rails_first(rails, h->here.node, h->here.me);
    h->n = hccl_rails_count(rails, h->here.node, h->here.me);
    h->streams = malloc(((size_t) h->n + 1) * sizeof(*h->streams));
    h->folded = calloc(((size_t) h->n + 1) * nodes, sizeof(*h->folded));
    if (NULL == h->streams || NULL == h->folded) {
        return HCCL_ERR_NOMEM;
    }
    for (int k = 0; k < h->n; k++) {
        h->streams[k] = (hccl_stream_t){.team = hccl_rails_team(rails, h->c, h->first + k),
                                        .map = hccl_rails_map(rails, h->first + k),
                                        .turn = hccl_exchange_turn(&h->x, h->first + k)};
        if (gathers && rails->by_node) {
            h->streams[k].map = (hccl_map_t){.first = h->first, .per = 1, .apart = rails->rails};
        }
    }
    return HCCL_OK;
}

int hccl_hier_start(hccl_hier_t *h, const hccl_case_t *c, int algorithm, hccl_hier_data_t data)
{
    const hccl_shape_t *shape = c->shape;
    const hccl_way_t *way = hccl_way_of(algorithm);
    const int *seat = NULL;
    int rc = HCCL_OK;

    *h = (hccl_hier_t){.c = c, .way = way, .here = hccl_node_of(c, c->me)};
    if (NULL == way) {
        return HCCL_ERR_INTERNAL;
    }
    const hccl_pattern_t *pattern = way->pattern;
    const bool linear = NULL != pattern && pattern->linear, vector = HCCL_HIER_VECTOR == data;
    const int slots = NULL == pattern ? way->cuts(shape->nnodes) : vector ? shape->nnodes : 0;

    if (NULL != pattern) {
        rc = hccl_exchange_open(&h->x, pattern, shape->nnodes);
        h->x.along = shape->ringed;
        h->x.rings = c->dials.rings;
        rc = HCCL_OK == rc ? hccl_exchange_seats(pattern, shape, &seat, &h->seats) : rc;
    }
    if (HCCL_OK == rc && HCCL_RAILS_SOME == way->who && !(linear && pattern->turns)
        && 1 < shape->min_local && hccl_tiers_alike(shape)) {
        rc = open_groups(h, data);
    }
    if (HCCL_OK == rc) {
        rc = hccl_rails_make(shape, way->who, h->local, slots, h->x.slot, seat,
                             HCCL_HIER_GATHER == data && h->groups && linear, &h->rails);
    }
    h->seat = hccl_rails_seat(&h->rails, h->here.node);
    rc = HCCL_OK == rc ? open_slices(h) : rc;
    rc = HCCL_OK == rc ? open_streams(h, HCCL_HIER_GATHER == data) : rc;
    if (HCCL_OK != rc) {
        return rc;
    }
    h->b = hccl_build_start(c, algorithm, vector ? h->rails.units * slots : shape->nranks);
    if (NULL == h->b) {
        return HCCL_ERR_NOMEM;
    }
    if (!vector) {
        hccl_build_order(h->b, h->rails.order);
    }
    h->tiers.scale = h->rails.slots;
    h->round_by_round =
        linear
        && (HCCL_HIER_GATHER == data
            || (way->piped && !h->groups && shape->even && MOST_ROUND_BY_ROUND >= shape->nnodes));
    return HCCL_OK;
}

int hccl_hier_finish(hccl_hier_t *h, int rc, hccl_plan_t **plan)
{
    hccl_exchange_close(&h->x);
    hccl_rails_free(&h->rails);
    if (h->groups) {
        hccl_tiers_free(&h->tiers);
    }
    free((void *) h->slices.map.start);
    free(h->seats);
    free(h->local);
    free(h->streams);
    free(h->folded);
    return HCCL_OK == rc ? hccl_build_finish(h->b, plan) : rc;
}

/* ---- reducing --------------------------------------------------------------------------------- */

/* The members of a set whose shares my node has not combined yet are combined now. */
static void fold_set(hccl_hier_t *h, const hccl_round_t *set, int pub, int src, int area)
{
    const int nodes = h->x.n;

    for (int k = 0; k < h->n; k++) {
        const hccl_stream_t *s = &h->streams[k];

        for (int j = 0; j < set->count; j++) {
            const int slot = h->x.slot[hccl_exchange_ahead(&h->x, s->team.me, s->turn,
                                                           set->first + j * set->stride)];
            const int first = hccl_map_first(&s->map, slot);
            const int count = hccl_map_count(&s->map, slot, 1);

            if (!h->folded[k * nodes + slot] && 0 < count) {
                hccl_part_node_fold(h->b, h->c, &h->slices, pub, src, area, first, count);
            }
            h->folded[k * nodes + slot] = true;
        }
    }
}

/* Inside the node, all of it or its first part. Returns where the results are; the number of the
 * publications, negative when all is combined. */
static int reduce_inside(hccl_hier_t *h, int src, int area, int *pub)
{
    *pub = -1;
    if (h->groups) {
        hccl_tiers_up(h->b, &h->tiers, src, area, area);
        return area;
    }
    if (!h->way->piped) {
        return hccl_part_node_reduce(h->b, h->c, &h->slices, src, area);
    }
    *pub = hccl_part_node_publish(h->b, h->c, &h->slices, src);
    if (1 == h->here.n) {
        *pub = -1;
        return src;
    }
    return area;
}

void hccl_hier_reduce(hccl_hier_t *h, int src, int area, int tmp, int dst)
{
    const int rounds = hccl_exchange_rounds(&h->x);
    int pub;
    const int from = reduce_inside(h, src, area, &pub);
    const int acc = h->x.pattern->passes ? tmp : area;
    const hccl_round_t own = {.count = 1};

    for (int i = 0; i < rounds; i++) {
        const hccl_round_t out = hccl_exchange_touched(&h->x, i, true);
        const hccl_round_t in = hccl_exchange_touched(&h->x, i, false);

        if (0 <= pub) {
            fold_set(h, &out, pub, src, area);
        }
        for (int k = 0; k < h->n; k++) {
            hccl_exchange_reduce(h->b, &h->x, &h->streams[k], from, acc, tmp, i);
        }
        if (0 <= pub) {
            fold_set(h, &in, pub, src, area);
        }
        hccl_build_wait(h->b);
        for (int k = 0; k < h->n; k++) {
            hccl_exchange_combine(h->b, &h->x, &h->streams[k], from, acc, tmp, dst, i);
        }
        hccl_exchange_reduced(&h->x, i);
    }
    if (0 <= pub) {
        fold_set(h, &own, pub, src, area); /* a single node */
    }
    for (int k = 0; 0 == rounds && k < h->n; k++) {
        const hccl_map_t *map = &h->streams[k].map;

        if (0 < hccl_map_count(map, 0, 1)) {
            hccl_part_move(h->b, dst, from, hccl_map_first(map, 0), hccl_map_count(map, 0, 1));
        }
    }
}

/* One stream's messages over a distance: to the node so far behind, what it stands for; from the node so
 * far ahead, what mine stands for. */
static void swap_straight(hccl_hier_t *h, const hccl_stream_t *s, int from, int dst, int distance)
{
    const int nodes = h->x.n, me = s->team.me;
    const int ahead = (me + distance) % nodes, behind = (me - distance + nodes) % nodes;
    const int mine = h->x.slot[me], theirs = h->x.slot[behind];

    if (0 < hccl_map_count(&s->map, theirs, 1)) {
        hccl_build_send(h->b, hccl_team_rank(&s->team, behind), from,
                        hccl_map_first(&s->map, theirs), hccl_map_count(&s->map, theirs, 1));
    }
    if (0 < hccl_map_count(&s->map, mine, 1)) {
        hccl_build_recv(h->b, hccl_team_rank(&s->team, ahead), dst, hccl_map_first(&s->map, mine),
                        hccl_map_count(&s->map, mine, 1));
    }
}

/* dst = left op right, of what my node stands for on one stream. */
static void combine_share(hccl_hier_t *h, const hccl_stream_t *s, int dst, int left, int right)
{
    const int mine = h->x.slot[s->team.me], count = hccl_map_count(&s->map, mine, 1);

    if (0 < count && left == right) {
        hccl_part_move(h->b, dst, left, hccl_map_first(&s->map, mine), count);
    } else if (0 < count) {
        hccl_part_combine(h->b, dst, left, right, hccl_map_first(&s->map, mine), count);
    }
}

void hccl_hier_reduce_in_order(hccl_hier_t *h, int src, int area, int tmp, int low, int dst)
{
    const int nodes = h->x.n, me = h->here.node;
    int pub;
    const int from = reduce_inside(h, src, area, &pub);
    int upper = from; /* my node and those above it, as they come; those below it in low */

    for (int distance = 1; distance < nodes; distance++) {
        const int node = (me + distance) % nodes;

        for (int k = 0; k < h->n; k++) {
            swap_straight(h, &h->streams[k], from, 0 == node ? low : tmp, distance);
        }
        hccl_build_wait(h->b);
        for (int k = 0; k < h->n; k++) {
            if (node > me) {
                combine_share(h, &h->streams[k], dst, upper, tmp);
            } else if (0 < node) {
                combine_share(h, &h->streams[k], low, low, tmp);
            }
        }
        upper = node > me ? dst : upper;
    }
    for (int k = 0; k < h->n; k++) {
        combine_share(h, &h->streams[k], dst, 0 < me ? low : upper, upper);
    }
}

/* ---- gathering -------------------------------------------------------------------------------- */

/* Most rails that one rank of my node serves: so many publications take one round. */
static int most_served(const hccl_hier_t *h)
{
    int most = 1;

    for (int i = 0; i < h->here.n; i++) {
        const int count = hccl_rails_count(&h->rails, h->here.node, i);

        most = count > most ? count : most;
    }
    return most;
}

/* Some slots of a rail, from who serves it to all ranks of my node. */
static void share_slots(hccl_hier_t *h, int base, int rail, int slot, int n, int number)
{
    const hccl_map_t map = hccl_rails_map(&h->rails, rail);
    const int owner = hccl_rails_owner(&h->rails, h->here.node, rail);
    const int first = hccl_map_first(&map, slot), count = hccl_map_count(&map, slot, n);

    if (0 == count) {
        return;
    }
    if (owner == h->here.me) {
        hccl_build_publish(h->b, number, base, first, count);
    } else {
        hccl_build_fetch(h->b, base, first, count, owner, number, first, first);
    }
}

/* What has come in round i (negative: my node's own share) to all ranks of my node. */
static void share(hccl_hier_t *h, int base, int i, int pub)
{
    const hccl_rails_t *rails = &h->rails;
    /* mine first, which publishes; then the next rails, so that readers part */
    const int begin = 0 < h->n ? h->first : h->c->me;

    if (1 == h->here.n) {
        return;
    }
    if (h->groups) {
        h->tiers.first = hccl_exchange_source(&h->x, h->seat, 1, i) * h->tiers.n;
        h->tiers.scale = 1;
        hccl_tiers_down(h->b, &h->tiers, base);
        return;
    }
    for (int k = 0; k < rails->rails; k++) {
        const int rail = (begin + k) % rails->rails;
        const int member = hccl_exchange_source(&h->x, h->seat, hccl_exchange_turn(&h->x, rail), i);

        const int owner = hccl_rails_owner(rails, h->here.node, rail);

        share_slots(h, base, rail, h->x.slot[member], 1,
                    pub + rail - hccl_rails_first(rails, h->here.node, owner));
    }
}

/* The blocks of my node's ranks that travel on rails of mine, or all others. */
static void fetch_blocks(hccl_hier_t *h, int base, bool mine, int pub)
{
    const hccl_shape_t *shape = h->c->shape;

    for (int k = 1; k < h->here.n; k++) {
        const int i = (h->here.me + k) % h->here.n;
        const int rail =
            hccl_rails_of(&h->rails, shape->node_ranks[shape->node_start[h->here.node] + i]);

        if (mine == (h->first <= rail && rail < h->first + h->n)) {
            hccl_part_node_block(h->b, h->c, base, i, pub);
        }
    }
}

/* What arrives in one round is shared while the next one is under way. */
static void gather_round_by_round(hccl_hier_t *h, int base, int pub)
{
    const int rounds = hccl_exchange_rounds(&h->x), served = h->groups ? 0 : most_served(h);

    for (int i = 0; i <= rounds; i++) {
        for (int k = 0; i < rounds && k < h->n; k++) {
            hccl_exchange_gather(h->b, &h->x, &h->streams[k], base, -1, i);
        }
        if (0 == i && 0 <= pub) {
            fetch_blocks(h, base, false, pub);
        } else {
            share(h, base, i - 1, hccl_build_publications(h->b, served, h->rails.widest));
        }
        hccl_build_wait(h->b);
    }
}

/* What has come to each rail, from who serves it to all ranks of my node: what lies below my node's
 * slot, and what lies above. */
static void share_others(hccl_hier_t *h, int base)
{
    const hccl_rails_t *rails = &h->rails;
    const int slot = h->x.slot[h->seat], nodes = rails->nnodes;
    const hccl_map_t all = {.start = rails->start, .per = nodes};
    int longest = 0;

    for (int rail = 0; rail < rails->rails; rail++) {
        const int count = hccl_map_count(&all, rail, 1);

        longest = count > longest ? count : longest;
    }
    const int pub = hccl_build_publications(h->b, 2 * most_served(h), longest);

    for (int k = 0; 1 < h->here.n && k < rails->rails; k++) {
        const int rail = ((0 < h->n ? h->first : h->c->me) + k) % rails->rails;
        const int owner = hccl_rails_owner(rails, h->here.node, rail);
        const int number = pub + 2 * (rail - hccl_rails_first(rails, h->here.node, owner));

        share_slots(h, base, rail, 0, slot, number);
        share_slots(h, base, rail, slot + 1, nodes - slot - 1, number + 1);
    }
}

/* What my node's ranks have on their rails to all of them. */
static void spread(hccl_hier_t *h, int base)
{
    if (h->groups) {
        hccl_tiers_down(h->b, &h->tiers, base);
    } else {
        hccl_part_node_spread(h->b, h->c, &h->slices, base);
    }
}

void hccl_hier_gather(hccl_hier_t *h, int base, int pub)
{
    const int rounds = hccl_exchange_rounds(&h->x);

    if (0 <= pub) {
        fetch_blocks(h, base, true, pub);
    }
    if (h->round_by_round) {
        gather_round_by_round(h, base, pub);
        return;
    }
    for (int i = 0; 0 == i || i < rounds; i++) {
        for (int k = 0; i < rounds && k < h->n; k++) {
            hccl_exchange_gather(h->b, &h->x, &h->streams[k], base, -1, i);
        }
        if (0 == i && 0 <= pub) {
            fetch_blocks(h, base, false, pub);
        }
        hccl_build_wait(h->b);
    }
    if (0 <= pub) {
        share_others(h, base);
    } else {
        spread(h, base);
    }
}

void hccl_hier_allreduce(hccl_hier_t *h, int src, int tmp, int dst)
{
    int pub;
    const int from = reduce_inside(h, src, dst, &pub);

    for (int k = 0; k < h->n; k++) {
        h->way->across(h->b, &h->streams[k].team, tmp, from, dst,
                       hccl_map_first(&h->streams[k].map, 0), h->rails.slots);
    }
    spread(h, dst);
}
