/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges inside a node that has packages, NUMA domains or L3 caches: who stands for which part of
 * the data in which group, and the two ways through the tree of groups, up (combine) and down
 * (spread). Data cross the boundary of a group once, whoever needs them inside.
 *
 * Knows no collective, as the other parts (parts.h). Only files of algo/ may include this header.
 *
 * A group's *parts* are the groups directly below it and the ranks that are in none of those. In
 * every group each position has an *owner*, a rank of the group; the owner in a group is also the
 * owner in the part of it that he belongs to (a rank that is a part owns everything of it). So:
 *
 *  up    in each group from the inside outwards, the owner of a position combines what the owners in
 *        the parts have combined before;
 *  down  in each group from the outside inwards, the owners in the parts fetch positions from the
 *        owner in the group.
 *
 * In both, a position is read once for each part but one: with d parts, (d - 1) times its bytes
 * cross their boundaries. Less is impossible.
 */
#ifndef HCCL_ALGO_TIERS_H
#define HCCL_ALGO_TIERS_H

#include "algo/parts.h"

typedef struct hccl_tiers {
    const hccl_case_t *c;
    int node;       /* the rank's node, also the number of its group */
    int n;          /* positions */
    int scale;      /* positions of the plan that each of them stands for */
    int first;      /* where the first one begins in the plan */
    int depth;      /* most groups around one rank inside the node */
    bool meet;      /* one position: up ends at the owners in all parts of the node at once */
    bool flags;     /* one position: nothing is moved, only waited for */
    int *row;       /* [ngroups] row of a group of this node in `owner`, -1: of another node */
    int *owner;     /* [rows][n] ranks */
    int32_t *order; /* [n] slices: the rank whose position it is, for hccl_build_order */
    int *memory;    /* all of it */
} hccl_tiers_t;

/** Whether the ranks of a node should gather at one of them by the tree: the node has groups and
 *  enough ranks, and the ranks of each group are consecutive, so that up combines in rank order. */
bool hccl_tiers_gather(const hccl_shape_t *shape, int node);

/** Whether the ranks of the same index of several nodes can each do the work of one slice: all nodes
 *  should gather by the tree and are divided alike, so that slices are in the same order. */
bool hccl_tiers_alike(const hccl_shape_t *shape);

/** Whose bias: groups around the root have the root as owner of all (TO_ALL: it has the data), or
 *  the ranks that share its smallest group (FROM_ALL: they are next to it). */
typedef enum { HCCL_TIERS_TO_ALL, HCCL_TIERS_FROM_ALL } hccl_tiers_way_t;

/** One position, owned by the first rank of each group, but around `root` (negative: none) by the
 *  root. HCCL_OK or HCCL_ERR_NOMEM; free with hccl_tiers_free. */
HCCL_CHECKED int hccl_tiers_leaders(const hccl_case_t *c, int root, hccl_tiers_t *t);

/** For leaders without a root, before up and down: where the node has few parts, their leaders
 *  combine all at once instead of going through one of them. */
void hccl_tiers_meet(hccl_tiers_t *t);

/** As many positions as the node has ranks; in each group every rank owns its share. In the node,
 *  that is position i for the rank order[i], unless there is a root. */
HCCL_CHECKED int hccl_tiers_slices(const hccl_case_t *c, int root, hccl_tiers_way_t way,
                                   hccl_tiers_t *t);

void hccl_tiers_free(hccl_tiers_t *t);

/** Slices: the position of a rank of the node. */
int hccl_tiers_position(const hccl_tiers_t *t, int rank);

/** dst = src of all ranks of the node combined, at the owner of each position in the node. Uses
 *  other positions of `mid` on the way; mid and dst may be the same. */
void hccl_tiers_up(hccl_builder_t *b, const hccl_tiers_t *t, int src, int mid, int dst);

/** Every position of base from its owner in the node to all ranks of it. */
void hccl_tiers_down(hccl_builder_t *b, const hccl_tiers_t *t, int base);

/** Every position of base from its owner in the node to the root. */
void hccl_tiers_collect(hccl_builder_t *b, const hccl_tiers_t *t, int root, int base);

/* ---- for tiers.c and part_tier.c -------------------------------------------------------------- */

/** The part of a group around a rank: a group, or -1: the rank itself. */
int hccl_tiers_part(const hccl_shape_t *shape, int g, int rank);

/** How many groups are around a group. */
int hccl_tiers_level(const hccl_shape_t *shape, int g);

#endif
