/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Bcast of long vectors: scatter from the root, then allgather. Between nodes several ranks of each do
 * so, each with its own part of the vector, and each byte enters each node once.
 */
#include "algo/exchange.h"

#include <stdlib.h>

/* The `cuts` positions of member root's base from `first` on to all members. */
typedef void (*across_t)(hccl_builder_t *b, const hccl_team_t *team, int root, int base, int first,
                         int cuts);

static void across_pattern(hccl_builder_t *b, const hccl_team_t *team, int root, int base,
                           int first, const hccl_pattern_t *pattern)
{
    const hccl_stream_t s = {*team, hccl_map_even(first, 1), 1};
    hccl_exchange_t x;

    if (hccl_exchange_begin(&x, b, pattern, team->n)) {
        hccl_part_scattering(b, &x, &s, 1, root, base);
    }
    hccl_exchange_close(&x);
}

static void across_ring(hccl_builder_t *b, const hccl_team_t *team, int root, int base, int first,
                        int cuts)
{
    (void) cuts;
    across_pattern(b, team, root, base, first, &hccl_pattern_ring);
}

static void across_nhr(hccl_builder_t *b, const hccl_team_t *team, int root, int base, int first,
                       int cuts)
{
    (void) cuts;
    across_pattern(b, team, root, base, first, &hccl_pattern_nhr);
}

static void across_nb(hccl_builder_t *b, const hccl_team_t *team, int root, int base, int first,
                      int cuts)
{
    (void) cuts;
    across_pattern(b, team, root, base, first, &hccl_pattern_nb);
}

static void across_rhd(hccl_builder_t *b, const hccl_team_t *team, int root, int base, int first,
                       int cuts)
{
    const hccl_map_t map = hccl_map_even(first, 1);

    (void) cuts;
    hccl_part_halving_scatter(b, team, &map, root, base);
    hccl_part_unhalving(b, team, &map, base, root);
}

/* My team on a rail, and the root's number in it: in the order of rings where most data go to the next
 * member. */
static hccl_team_t team_of(const hccl_case_t *c, int rails, int rail, across_t across, int *root)
{
    const bool ring = across_ring == across || across_nhr == across;
    const int home = c->shape->node_of[c->root];

    *root = ring ? c->shape->seat[home] : home;
    if (1 == rails) {
        return ring ? hccl_team_ring_leaders(c, c->root) : hccl_team_leaders(c, c->root);
    }
    return ring ? hccl_team_ring(c, rail) : hccl_team_rail(c, rail);
}

/* In the root's node: it publishes one part after the other, whose owners send them on at once. A single
 * part is sent by the root itself. */
static void at_home(hccl_builder_t *b, const hccl_case_t *c, int rails, int cuts, across_t across)
{
    const hccl_node_t home = hccl_node_of(c, c->root);
    const int me = c->shape->local_of[c->me], own = me < rails ? me : -1;
    const hccl_slices_t whole = {1, home.me, hccl_map_even(0, cuts)};
    int root;
    const hccl_team_t team = team_of(c, rails, own, across, &root);

    if (1 == rails) {
        hccl_part_node_spread(b, c, &whole, HCCL_BASE_RECV);
        across(b, &team, root, HCCL_BASE_RECV, 0, cuts);
        return;
    }
    const int pub = hccl_build_publications(b, rails, cuts);

    for (int r = 0; r < rails; r++) {
        if (c->me == c->root) {
            hccl_build_publish(b, pub + r, HCCL_BASE_RECV, r * cuts, cuts);
            continue;
        }
        hccl_build_fetch(b, HCCL_BASE_RECV, r * cuts, cuts, home.me, pub + r, r * cuts, r * cuts);
        if (r == own) {
            across(b, &team, root, HCCL_BASE_RECV, own * cuts, cuts);
        }
    }
    if (c->me == c->root && 0 <= own) {
        across(b, &team, root, HCCL_BASE_RECV, own * cuts, cuts);
    }
}

static int hierarchical(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, int cuts,
                        across_t across)
{
    const int rails = c->shape->min_local, home = c->shape->node_of[c->root];
    const int lead = 1 == rails ? hccl_team_lead(c, c->root) : 0;
    const int own = c->shape->local_of[c->me] - lead;
    const hccl_slices_t cut = {rails, lead, hccl_map_even(0, cuts)};
    hccl_builder_t *b = hccl_build_start(c, algorithm, rails * cuts);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    if (home == c->shape->node_of[c->me]) {
        at_home(b, c, rails, cuts, across);
        return hccl_build_finish(b, plan);
    }
    if (0 <= own && own < rails) {
        int root;
        const hccl_team_t team = team_of(c, rails, own, across, &root);

        across(b, &team, root, HCCL_BASE_RECV, own * cuts, cuts);
    }
    hccl_part_node_spread(b, c, &cut, HCCL_BASE_RECV);
    return hccl_build_finish(b, plan);
}

int hccl_algo_bcast_hier_scatter_ring(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->nnodes, across_ring);
}

int hccl_algo_bcast_hier_scatter_nhr(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->nnodes, across_nhr);
}

int hccl_algo_bcast_hier_scatter_nb(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->nnodes, across_nb);
}

int hccl_algo_bcast_hier_scatter_rhd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, hccl_part_power(c->shape->nnodes), across_rhd);
}

/* ---- nodes of different size: all ranks of each take part ------------------------------------ */

typedef struct shares {
    const hccl_case_t *c;
    hccl_node_t here;
    hccl_exchange_t x;
    hccl_rails_t rails;
    int first, n;           /* my rails */
    hccl_stream_t *streams; /* [n] */
    int *start;             /* [ranks of my node + 1] where what each of them serves begins */
    int widest;             /* most positions that one rank of any node serves */
} shares_t;

static int open_shares(shares_t *h)
{
    const hccl_shape_t *shape = h->c->shape;
    int rc = hccl_exchange_open(&h->x, &hccl_pattern_nb, shape->nnodes);

    if (HCCL_OK == rc) {
        rc = hccl_rails_make(shape, HCCL_RAILS_ALL, NULL, shape->nnodes, h->x.slot, NULL, false,
                             &h->rails);
    }
    if (HCCL_OK != rc) {
        return rc;
    }
    h->first = hccl_rails_first(&h->rails, h->here.node, h->here.me);
    h->n = hccl_rails_count(&h->rails, h->here.node, h->here.me);
    h->streams = malloc((size_t) h->n * sizeof(*h->streams));
    h->start = malloc(((size_t) h->here.n + 1) * sizeof(*h->start));
    if (NULL == h->streams || NULL == h->start) {
        return HCCL_ERR_NOMEM;
    }
    for (int k = 0; k < h->n; k++) {
        h->streams[k] = (hccl_stream_t){hccl_rails_team(&h->rails, h->c, h->first + k),
                                        hccl_rails_map(&h->rails, h->first + k), 1};
    }
    for (int v = 0; v < shape->nnodes; v++) {
        for (int i = 0; i <= hccl_rails_owners(&h->rails, v); i++) {
            const int at = h->rails.start[hccl_rails_begin(&h->rails, v, i) * h->rails.slots];
            const int before =
                0 < i ? h->rails.start[hccl_rails_begin(&h->rails, v, i - 1) * h->rails.slots] : at;

            h->widest = at - before > h->widest ? at - before : h->widest;
            if (v == h->here.node) {
                h->start[i] = at;
            }
        }
    }
    return HCCL_OK;
}

static void close_shares(shares_t *h)
{
    hccl_exchange_close(&h->x);
    hccl_rails_free(&h->rails);
    free(h->streams);
    free(h->start);
}

/* In the root's node, which publishes what each rank serves, one after the other, all fetch everything before
 * they send on what they serve: another node's rank may wait for several of them at once, so none may wait
 * for it before the root has got rid of all. */
static void share_at_home(hccl_builder_t *b, shares_t *h)
{
    const int root = h->c->shape->local_of[h->c->root];
    const int pub = hccl_build_publications(b, h->here.n, h->widest);

    for (int i = 0; 1 < h->here.n && i < h->here.n; i++) {
        const int first = h->start[i], count = h->start[i + 1] - first;

        if (h->here.me == root) {
            hccl_build_publish(b, pub + i, HCCL_BASE_RECV, first, count);
        } else {
            hccl_build_fetch(b, HCCL_BASE_RECV, first, count, root, pub + i, first, first);
        }
    }
}

/* Whether the size of each node divides that of the largest, whose shares then lie in those of the
 * others. Else more and shorter messages than it has ranks would take longer than what is gained. */
static bool nest(const hccl_shape_t *shape)
{
    for (int v = 0; v < shape->nnodes; v++) {
        if (0 != shape->max_local % (shape->node_start[v + 1] - shape->node_start[v])) {
            return false;
        }
    }
    return true;
}

int hccl_algo_bcast_hier_ahc_scatter_nb(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int home = c->shape->node_of[c->root];
    shares_t h = {.c = c, .here = hccl_node_of(c, c->me)};
    int rc;

    if (c->shape->even || !nest(c->shape)) {
        return hccl_algo_bcast_hier_scatter_nb(c, algorithm, plan);
    }
    rc = open_shares(&h);
    hccl_builder_t *b =
        HCCL_OK == rc ? hccl_build_start(c, algorithm, h.rails.units * h.rails.slots) : NULL;

    if (NULL != b) {
        const hccl_slices_t cut = {h.here.n, 0, {.start = h.start, .per = 1, .widest = h.widest}};

        if (home == h.here.node) {
            share_at_home(b, &h);
        }
        hccl_part_scattering(b, &h.x, h.streams, h.n, home, HCCL_BASE_RECV);
        if (home != h.here.node) {
            hccl_part_node_spread(b, c, &cut, HCCL_BASE_RECV);
        }
    }
    rc = NULL != b ? hccl_build_finish(b, plan) : HCCL_OK == rc ? HCCL_ERR_NOMEM : rc;
    close_shares(&h);
    return rc;
}

/* Among all ranks, node after node. */
static int flat(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, int cuts, across_t across)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, cuts);
    const bool far = across_nb == across; /* most data do not go to the next member */
    const hccl_team_t team = far ? hccl_team_by_node(c) : hccl_team_by_ring(c);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    across(b, &team, far ? hccl_by_node(c, c->root) : hccl_by_ring(c, c->root), HCCL_BASE_RECV, 0,
           cuts);
    return hccl_build_finish(b, plan);
}

int hccl_algo_bcast_scatter_ring(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, c->shape->nranks, across_ring);
}

int hccl_algo_bcast_scatter_nhr(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, c->shape->nranks, across_nhr);
}

int hccl_algo_bcast_scatter_nb(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, c->shape->nranks, across_nb);
}

int hccl_algo_bcast_scatter_rhd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_part_power(c->shape->nranks), across_rhd);
}
