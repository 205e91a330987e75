/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of topo/ share about places and nobody else needs.
 */
#ifndef HCCL_TOPO_SHAPE_INTERNAL_H
#define HCCL_TOPO_SHAPE_INTERNAL_H

#include "topo/topo.h"

typedef struct hccl_place_rank {
    hccl_place_t place;
    int rank;
} hccl_place_rank_t;

/* By place from the node down, unknown ids after the known ones; then by rank. */
void hccl_place_sort(hccl_place_rank_t *list, int n);

uint64_t hccl_shape_hash(const hccl_shape_t *shape);

/* Fills what follows from lead, ring and ringed. */
void hccl_shape_settle(hccl_shape_t *shape);

/* The cyclic map: deals one slot of each node in turn, passing over full ones. The slots of node v
 * are next[v] … end[v]-1; both arrays are used up. Returns how many were dealt. */
int hccl_slots_deal(int *next, int *end, int nnodes, int *slot);

/* The field of a level. */
static inline int32_t *hccl_place_id_at(hccl_place_t *place, int level)
{
    switch (level) {
    case HCCL_LEVEL_NODE:
        return &place->node;
    case HCCL_LEVEL_PACKAGE:
        return &place->package;
    case HCCL_LEVEL_NUMA:
        return &place->numa;
    case HCCL_LEVEL_L3:
        return &place->l3;
    default:
        return &place->core;
    }
}

static inline int32_t hccl_place_id(const hccl_place_t *place, int level)
{
    hccl_place_t copy = *place;

    return *hccl_place_id_at(&copy, level);
}

#endif
