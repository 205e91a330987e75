/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * How an algorithm writes a plan. Only algo/ (and tests of the prover) call these.
 *
 * Errors (no memory, an operand out of range) are kept inside the builder: the
 * emitting functions return nothing, hccl_build_finish reports the first error.
 */
#ifndef HCCL_PLAN_BUILD_H
#define HCCL_PLAN_BUILD_H

#include <stdbool.h>

#include "base/codes.h"
#include "plan/plan.h"
#include "topo/topo.h"

/** What the user may say about algorithms; the same on all ranks. */
typedef struct hccl_dials {
    int network_first; /* hier_2d: percent of the vector that crosses the network first */
    int radix; /* radix, hier_radix: members that meet in one round, at most; below 2: as few as
                          the fewest rounds take */
    int tree_radix; /* tree4, hier_tree4: base of the k-nomial tree; below 2: HCCL_TREE_RADIX */
    int rings; /* multi_ring: parts of the vector, each with a ring of its own; hier_multi_ring: ways round
                  that differ, at most. Below 1: HCCL_RINGS, or as many as there are */
} hccl_dials_t;

/** What the parameters say where the user does not; tools take the same. */
enum {
    HCCL_NETWORK_FIRST = 25,
    HCCL_TREE_RADIX = 4,
    HCCL_MOST_RADIX = 64,
    HCCL_RINGS = 2,
    HCCL_MOST_RINGS = 16
};

/** What a builder is given. */
typedef struct hccl_case {
    hccl_coll_t coll;
    const hccl_shape_t *shape;  /* the (local) group; nranks members */
    int me;                     /* my rank in the (local) group */
    int root;                   /* rooted collectives: the root, see HCCL_ROOT_* for inter */
    int nremote;                /* members of the remote group, 0 on an intra-communicator */
    int nsources, ndests;       /* neighbourhood collectives: degrees of this rank */
    const int *sources, *dests; /* their ranks; negative: MPI_PROC_NULL, no transfer */
    hccl_dials_t dials;
    bool cartesian; /* neighbours are of a Cartesian grid: 2d, 2d+1 are a pair */
} hccl_case_t;

typedef struct hccl_builder hccl_builder_t;

/** Starts a plan of nblocks blocks. NULL when there is no memory. */
hccl_builder_t *hccl_build_start(const hccl_case_t *c, int algorithm, int nblocks);

/** The finished plan, or an error; the builder is gone in both cases. The plan is one block of
 *  memory: free() it. */
HCCL_CHECKED int hccl_build_finish(hccl_builder_t *b, hccl_plan_t **plan);

/** The plan can't be made: what hccl_build_finish will return. */
void hccl_build_fail(hccl_builder_t *b, int error);

/** Sets the order of blocks: order[position] = block, a permutation of 0..nblocks-1; copied.
 *  At most once, before the first step. */
void hccl_build_order(hccl_builder_t *b, const int32_t *order);

/** The position of a block in the order set (the block itself without one). */
int hccl_build_position(const hccl_builder_t *b, int block);

/** The plan is for blocks of private sizes, with boxes of so many positions (0: none): all ranks call
 *  it alike, before the first step. */
void hccl_build_apart(hccl_builder_t *b, int box);

/** Of plans for blocks of private sizes: how the steps that follow move; WHOLE at first. */
void hccl_build_how(hccl_builder_t *b, hccl_how_t how);

/** Reserves a scratch area of the given number of positions (at least nblocks) and returns its
 *  base (plans for blocks of private sizes: a multiple of a box). A scratch area has the same layout as a GRID buffer: position i has the size of block
 *  order[i]; only collectives whose blocks are all of equal size may use it otherwise, or ask for
 *  more positions than nblocks: and plans that take a vector as one block, whose copies those are. */
int hccl_build_scratch(hccl_builder_t *b, int positions);

/** Reserves n consecutive publication numbers, none of which will carry more than max_blocks
 *  positions on any rank of the communicator. All ranks call it alike (same max_blocks, and within
 *  one node the same n). Returns the first number. */
int hccl_build_publications(hccl_builder_t *b, int n, int max_blocks);

void hccl_build_publish(hccl_builder_t *b, int pub, int base, int first, int count);

/** Whatever later steps of mine write to the positions that I have published last, they write them
 *  when all who read them there have done so: they have told, by something that I wait for before. So
 *  the engine may publish them in place (plan.h). Where nothing writes them it may anyhow. */
void hccl_build_direct(hccl_builder_t *b);

/** dst = blocks [first, first+count) of what peer (index within my node) published under pub as
 *  positions [pub_first, ...). */
void hccl_build_fetch(hccl_builder_t *b, int dst_base, int dst_first, int count, int peer, int pub,
                      int pub_first, int first);

void hccl_build_copy(hccl_builder_t *b, int dst_base, int dst_first, int count, int src_base,
                     int src_first);

/** dst = source 1 op source 2 op ... in the order in which the sources are added; the association
 *  is ((s1 op s2) op s3) ... . dst may be the same operand as one of the sources (any of them),
 *  never a shifted one. REDUCE or FOLD follows from the sources; one source is a copy. */
void hccl_build_fold_begin(hccl_builder_t *b, int dst_base, int dst_first, int count);
void hccl_build_fold_own(hccl_builder_t *b, int base, int first);
void hccl_build_fold_peer(hccl_builder_t *b, int peer, int pub, int pub_first, int first);
void hccl_build_fold_end(hccl_builder_t *b);

/** Network steps. Messages between two ranks match in the order in which they are started. The
 *  operand of a SEND must stay unchanged, that of a RECV untouched, until the next WAIT. */
void hccl_build_send(hccl_builder_t *b, int peer, int base, int first, int count);
void hccl_build_recv(hccl_builder_t *b, int peer, int base, int first, int count);
/** In plans for blocks of private sizes: for those messages that move as hccl_build_how says. */
void hccl_build_wait(hccl_builder_t *b);

#endif
