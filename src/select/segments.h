/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which lane a plan's publications need, and into what segments its data are cut. By facts that all ranks
 * share, as select.h says. Knows plans by a few numbers, no buffer and no lane. Used by exec/ and by the
 * simulator, which has no plans of single ranks.
 */
#ifndef HCCL_SELECT_SEGMENTS_H
#define HCCL_SELECT_SEGMENTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/collectives.h"

/** Lanes by size of publication: the smallest one that takes a plan's publications uncut is used,
 *  or one of the large ones with segments. LARGE: data that go one way on one node. The cores pass
 *  each segment on as it is made, so short ones are best, in a ring that stays in a cache. WIDE:
 *  where all ranks publish and read alike, each hand-over is a moment when all wait for all, and
 *  where the plan also crosses the network, messages should be long. */
typedef enum { HCCL_LANE_SMALL, HCCL_LANE_LARGE, HCCL_LANE_WIDE, HCCL_LANES } hccl_lane_kind_t;

/** What is to be cut. */
typedef struct hccl_uncut {
    hccl_coll_t coll;
    size_t unit;              /* bytes that stay together */
    size_t units;             /* of the vector, or of a block; 0: blocks have sizes of their own */
    size_t blocks;            /* that the plan makes of a vector; else 1 */
    bool publishes;           /* the plan is made for shared memory */
    size_t published;         /* positions in its largest publication, */
    size_t publication;       /* and units */
    size_t longest;           /* bytes of a call's longest buffer */
    size_t segment;           /* of hccl_choice_t */
    bool alone;               /* one node, not crowded */
    const size_t *slot_bytes; /* [HCCL_LANES] largest publication of each kind of lane */
} hccl_uncut_t;

typedef struct hccl_cut {
    int lane;    /* hccl_lane_kind_t; -1: none is needed */
    bool whole;  /* one segment */
    size_t slot; /* not whole: bytes of a publication, at the most */
    size_t
        seg_units; /* not whole: of each segment but the last. 0: they can't be cut alike, since an
                         element is too long, or blocks have sizes of their own */
} hccl_cut_t;

hccl_cut_t hccl_select_cut(const hccl_uncut_t *what);

#endif
