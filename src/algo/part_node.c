/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges through shared memory among the ranks of a node.
 *
 * Used by algo/ only.
 */
#include "algo/tiers.h"

hccl_node_t hccl_node_of(const hccl_case_t *c, int rank)
{
    const hccl_shape_t *shape = c->shape;
    const int node = shape->node_of[rank];

    return (hccl_node_t){.node = node,
                         .n = shape->node_start[node + 1] - shape->node_start[node],
                         .me = shape->local_of[rank]};
}

int hccl_slices_of(const hccl_slices_t *slices, int index)
{
    const int slice = index - slices->lead;

    return 0 <= slice && slice < slices->n ? slice : -1;
}

/* Most positions that hccl_part_node_publish puts under one number, anywhere. */
static int widest_publication(const hccl_case_t *c, const hccl_slices_t *slices)
{
    const int n = slices->n;

    if (0 < slices->map.widest) {
        return slices->map.widest;
    }
    const int without_first = hccl_map_count(&slices->map, 1, n - 1);
    const int without_last = hccl_map_count(&slices->map, 0, n - 1);

    if (1 == n || c->shape->max_local > n) {
        return hccl_map_count(&slices->map, 0, n);
    }
    return without_first > without_last ? without_first : without_last;
}

int hccl_part_node_publish(hccl_builder_t *b, const hccl_case_t *c, const hccl_slices_t *slices,
                           int src)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const hccl_map_t *map = &slices->map;
    const int n = slices->n;
    const int own = hccl_slices_of(slices, here.me);
    const int pub = hccl_build_publications(b, 1 < n ? 2 : 1, widest_publication(c, slices));

    if (1 == here.n) {
        return pub;
    }
    /* In place: a slice of mine is written again by what comes from its owner, alone, who has read
     * it by then. */
    if (0 > own) {
        hccl_build_publish(b, 1 < n ? pub + 1 : pub, src, hccl_map_first(map, 0),
                           hccl_map_count(map, 0, n));
        hccl_build_direct(b);
        return pub;
    }
    if (own + 1 < n) {
        hccl_build_publish(b, pub, src, hccl_map_first(map, own + 1),
                           hccl_map_count(map, own + 1, n - own - 1));
        hccl_build_direct(b);
    }
    if (0 < own) {
        hccl_build_publish(b, pub + 1, src, hccl_map_first(map, 0), hccl_map_count(map, 0, own));
        hccl_build_direct(b);
    }
    return pub;
}

int hccl_part_node_pub(const hccl_slices_t *slices, int pub, int peer, int own, int *pub_first)
{
    const int theirs = hccl_slices_of(slices, peer);

    if (0 <= theirs && theirs < own) {
        *pub_first = hccl_map_first(&slices->map, theirs + 1);
        return pub;
    }
    *pub_first = hccl_map_first(&slices->map, 0);
    return 1 < slices->n ? pub + 1 : pub;
}

/* Whether one rank owns all and the others should reach it through the groups of the node. */
static bool by_groups(const hccl_case_t *c, const hccl_slices_t *slices)
{
    return 1 == slices->n && hccl_tiers_gather(c->shape, c->shape->node_of[c->me]);
}

/* The groups of my node, led by the one owner. */
static bool open_groups(hccl_builder_t *b, const hccl_case_t *c, const hccl_slices_t *slices,
                        hccl_tiers_t *t)
{
    const int node = c->shape->node_of[c->me];
    const int leader = c->shape->node_ranks[c->shape->node_start[node] + slices->lead];
    const int rc = hccl_tiers_leaders(c, leader, t);

    if (HCCL_OK != rc) {
        hccl_build_fail(b, rc);
        return false;
    }
    t->first = hccl_map_first(&slices->map, 0);
    t->scale = hccl_map_count(&slices->map, 0, 1);
    return true;
}

void hccl_part_node_fold(hccl_builder_t *b, const hccl_case_t *c, const hccl_slices_t *slices,
                         int pub, int src, int dst, int first, int count)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const int own = hccl_slices_of(slices, here.me);

    hccl_build_fold_begin(b, dst, first, count);
    for (int peer = 0; peer < here.n; peer++) {
        if (peer == here.me) {
            hccl_build_fold_own(b, src, first);
        } else {
            int pub_first;
            const int number = hccl_part_node_pub(slices, pub, peer, own, &pub_first);

            hccl_build_fold_peer(b, peer, number, pub_first, first);
        }
    }
    hccl_build_fold_end(b);
}

int hccl_part_node_reduce(hccl_builder_t *b, const hccl_case_t *c, const hccl_slices_t *slices,
                          int src, int dst)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const int own = hccl_slices_of(slices, here.me);
    hccl_tiers_t groups;

    if (by_groups(c, slices)) {
        if (open_groups(b, c, slices, &groups)) {
            hccl_tiers_up(b, &groups, src, dst, dst);
            hccl_tiers_free(&groups);
        }
        return dst;
    }
    const int pub = hccl_part_node_publish(b, c, slices, src);

    if (1 == here.n) {
        return src;
    }
    if (0 <= own) {
        hccl_part_node_fold(b, c, slices, pub, src, dst, hccl_map_first(&slices->map, own),
                            hccl_map_count(&slices->map, own, 1));
    }
    return dst;
}

void hccl_part_node_spread(hccl_builder_t *b, const hccl_case_t *c, const hccl_slices_t *slices,
                           int base)
{
    const hccl_node_t here = hccl_node_of(c, c->me);
    const hccl_map_t *map = &slices->map;
    const int own = hccl_slices_of(slices, here.me);
    hccl_tiers_t groups;
    int widest = slices->map.widest;

    if (by_groups(c, slices)) {
        if (open_groups(b, c, slices, &groups)) {
            hccl_tiers_down(b, &groups, base);
            hccl_tiers_free(&groups);
        }
        return;
    }
    for (int i = 0; 0 == slices->map.widest && i < slices->n; i++) {
        const int count = hccl_map_count(map, i, 1);

        widest = count > widest ? count : widest;
    }
    const int pub = hccl_build_publications(b, 1, widest);

    if (1 == here.n) {
        return;
    }
    if (0 <= own) {
        hccl_build_publish(b, pub, base, hccl_map_first(map, own), hccl_map_count(map, own, 1));
    }
    for (int k = 1; k <= slices->n; k++) {
        /* everybody begins with another owner, the one after himself */
        const int i = ((0 <= own ? own : here.me) + k) % slices->n;
        const int first = hccl_map_first(map, i);

        if (i != own) {
            hccl_build_fetch(b, base, first, hccl_map_count(map, i, 1), slices->lead + i, pub,
                             first, first);
        }
    }
}

void hccl_part_node_block(hccl_builder_t *b, const hccl_case_t *c, int base, int index, int pub)
{
    const int node = c->shape->node_of[c->me];
    const int rank = c->shape->node_ranks[c->shape->node_start[node] + index];
    const int position = hccl_build_position(b, rank);

    hccl_build_fetch(b, base, position, 1, index, pub, position, position);
}
