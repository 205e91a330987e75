/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan: what one rank does in one collective, as an immutable list of steps.
 *
 * A plan names data by (base, first block, number of blocks) and ranks by number; it holds no
 * address, no byte count, no transport and no request. So one plan serves every buffer, count and
 * datatype, runs blocking, nonblocking or persistent, and can be proven in one process (check.h).
 * Written by the builders of algo/ through build.h, read by exec/ and by the prover; nobody else
 * looks inside.
 *
 * Blocks. A plan cuts its data into nblocks blocks. For a collective on vectors (collectives.def:
 * VECTOR) they are equal parts of the vector; else block r belongs to rank r of the group. Steps
 * address blocks by *position*: order[position] is the block (order NULL: the same number).
 * Builders choose an order in which the ranges that they move are contiguous, e.g. node by node.
 *
 * Segments. A long message is cut into segments: of the vector, or of every block alike. Each
 * segment walks the whole plan on a cursor of its own; builders never see it. Two things follow:
 * a plan must not assume that an earlier segment has ended, and a step must not touch data outside
 * of its operands.
 *
 * Shared memory. Within a node, every rank publishes blocks to all others: PUBLISH copies an
 * operand into the rank's own ring and marks it with a publication number; FETCH and FOLD wait for
 * a peer's publication of a given number and read a part of it. Publication numbers 0..npub-1 are
 * reserved by all ranks of a node alike (build.h: hccl_build_publications); every rank publishes
 * under a number at most once per segment, in growing order, and reads them in growing order too,
 * so that the ring can be reused: a rank never publishes number k before it has read all that it
 * reads below k-SLOTS (the prover walks the plan with a small ring).
 *
 * In place. Where the operand of a PUBLISH lies in memory that the node's ranks have mapped, the
 * engine may publish where it lies instead of a copy (exec/steps.c), if the step allows it: nobody
 * may write its positions before every peer has read them, in any schedule. The step's `direct` says
 * so, apart for SEND and RECV as different memory and as the same one (MPI_IN_PLACE). The builder
 * finds it for positions that no later step writes; where a later step does, but cannot before the
 * readers are done, an algorithm may say so (hccl_build_direct). The prover checks all of it.
 *
 * Blocks of private sizes (apart). In alltoallv, alltoallw, gatherv and scatterv two ranks alone know
 * the size of a block: who sends it and who receives it. Plans that are made for it say of each step
 * how it moves (hccl_how_t), and do nothing where a block is not of that kind; so all that a block
 * needs follows from its size, at both of its ends alike:
 *  - PIECES, between ranks of a node: the block of one position, a slot's worth in each segment, marked
 *    in its flag line if the block goes on. Segments are private too: a rank walks the plan as often
 *    as its own blocks need, and empty pieces are neither published nor awaited. So the ranks of a node
 *    reserve publication numbers for more segments than anybody will ever need, and leave most unused.
 *  - PARCELS, to other nodes: blocks up to a length that all ranks know are packed one behind the other,
 *    their lengths behind them, and what is longer has a mark there instead. Scratch areas are rows of
 *    boxes of `box` positions; a box is filled from its first position on, each one once, and
 *    sent, received and published as a whole, from its first position on. Whoever takes a parcel out
 *    learns its length from the box.
 *  - LONG: what fits neither of the two goes in a message of its own, which is waited for apart.
 *  - WHOLE: within a rank.
 * In all segments but the first only PIECES move.
 */
#ifndef HCCL_PLAN_PLAN_H
#define HCCL_PLAN_PLAN_H

#include <stddef.h>
#include <stdint.h>

#include "base/collectives.h"

/** Most segments of one operation that are under way at a time. */
enum { HCCL_CURSORS = 4 };

/** What a step reads or writes. SEND and RECV may be the same memory (MPI_IN_PLACE) for the
 *  collectives on vectors, for allgather(v) (SEND is then block `me` of RECV) and for gather(v) at
 *  the root, scatter(v) at the root (RECV is then block `root` of SEND): a plan must be right both
 *  ways; a COPY of an operand onto itself is allowed and does nothing. */
typedef enum {
    HCCL_BASE_SEND, /* the user's send buffer: never written */
    HCCL_BASE_RECV, /* the user's receive buffer */
    HCCL_BASE_TMP   /* scratch areas TMP, TMP+1, ..., private to the segment; see ntmp */
} hccl_base_t;

typedef enum {
    HCCL_STEP_PUBLISH, /* make my blocks visible to the node under publication number pub */
    HCCL_STEP_COPY,    /* operand = the one source, my own memory */
    HCCL_STEP_FETCH,   /* operand = the one source, a peer's publication */
    HCCL_STEP_REDUCE,  /* operand = sources combined from left to right, my own memory */
    HCCL_STEP_FOLD,    /* the same, at least one source is a peer's publication */
    HCCL_STEP_SEND,    /* start sending the operand to peer */
    HCCL_STEP_RECV,    /* start receiving the operand from peer */
    HCCL_STEP_WAIT     /* all SEND and RECV started before have completed */
} hccl_step_kind_t;

/** When peers may read the operand of a PUBLISH where it lies, until they have acknowledged it. */
typedef enum {
    HCCL_DIRECT_NEVER = 0,
    HCCL_DIRECT_APART = 1,  /* where SEND and RECV are different memory */
    HCCL_DIRECT_ALIASED = 2 /* where they are the same */
} hccl_direct_t;

/** How a step of a plan for blocks of private sizes moves; HCCL_HOW_WHOLE in all other plans. */
typedef enum {
    HCCL_HOW_WHOLE = 0,
    HCCL_HOW_PIECES,  /* PUBLISH of a position of SEND, FETCH to a position of RECV */
    HCCL_HOW_PARCELS, /* PUBLISH, FETCH, COPY, SEND, RECV, WAIT: SEND -> boxes -> RECV */
    HCCL_HOW_LONG     /* SEND of a position of SEND, RECV to a position of RECV, WAIT */
} hccl_how_t;

/** Where FETCH, FOLD, COPY and REDUCE read: count blocks, as many as the step's operand has. */
typedef struct hccl_source {
    int32_t peer;      /* index of the publisher within my node (shape.local_of), -1: myself */
    int32_t base;      /* peer -1: the base; else the publication number */
    int32_t first;     /* first position read */
    int32_t pub_first; /* peer >= 0: first position of the range that was published */
} hccl_source_t;

/** One step. Its operand is (base, first, count); a count of 0 is allowed with no data moved but
 *  with the same synchronisation (PUBLISH, FETCH) or message (SEND, RECV). */
typedef struct hccl_step {
    uint8_t kind;   /* hccl_step_kind_t */
    uint8_t base;   /* hccl_base_t, source of SEND and PUBLISH, destination otherwise */
    uint16_t nsrc;  /* number of sources */
    int32_t first;  /* first position */
    int32_t count;  /* number of positions */
    int32_t peer;   /* SEND, RECV: rank in the group, or HCCL_PEER_REMOTE | rank */
    int32_t pub;    /* PUBLISH: the number */
    int32_t src;    /* index of the first source in the plan's sources */
    int32_t ack;    /* after this step I read no publication below this number (this segment) */
    int32_t direct; /* PUBLISH: hccl_direct_t, or both */
    int32_t how;    /* hccl_how_t */
} hccl_step_t;

/** In a plan on an inter-communicator: the peer is a member of the remote group. */
#define HCCL_PEER_REMOTE 0x40000000
#define HCCL_PEER_RANK(peer) ((peer) & ~HCCL_PEER_REMOTE)

typedef struct hccl_plan {
    hccl_coll_t coll;
    int algorithm; /* index into the table of algorithms */
    int nblocks;   /* blocks of the data; GRID collectives: the number of ranks of the group */
    int tmp_blocks; /* positions of each scratch area; if ntmp > 0 at least nblocks, or (apart) boxes; more
                         for blocks of equal size, and for vectors of one block: each holds one */
    int ntmp;         /* scratch areas that this rank uses */
    int npub;         /* publication numbers per segment, the same on all ranks of a node */
    int publishes;    /* 1: made for shared memory, so all ranks of the communicator open a lane,
                         also on nodes where npub is 0; the same on all ranks */
    int apart;        /* 1: for blocks of private sizes, see above; the same on all ranks */
    int box;          /* positions of a box of parcels, 0: none; the same on all ranks */
    int max_pub;      /* largest number of positions in one publication, on any rank of the
                         communicator (it bounds the segment length, so all ranks agree) */
    int max_requests; /* most SEND and RECV that are not waited for at any time */
    int nsteps;
    int nsources;
    const int32_t *order;         /* position -> block, or NULL */
    const hccl_step_t *steps;     /* [nsteps] */
    const hccl_source_t *sources; /* [nsources] */
    size_t bytes;                 /* size of the one allocation that holds all of it */
} hccl_plan_t;

/** Roots on inter-communicators, beside the rank of a root in the remote group. */
#define HCCL_ROOT_HERE (-1) /* MPI_ROOT: this rank */
#define HCCL_ROOT_NEAR (-2) /* MPI_PROC_NULL: another rank of this group */

#endif
