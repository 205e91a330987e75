/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Short ways for blocking calls that are like an earlier one: same collective, root, op, counts and
 * types, other buffers. What bind.c, plan.c and layout.h found out for the first such call is kept
 * as a record: the plan's steps with their operands resolved to (user's buffer, offset, bytes). To
 * run a record is to do what run.c and steps.c would do with the plan, in the same order and under
 * the same tags; peers cannot tell which way a rank takes.
 *
 * A call has a record only where nothing is left to find out: predefined types and ops, no packing,
 * no scratch, no messages, data up to HCCL_REPEAT_BYTES, the lane open, buffers that are not to be
 * published in place; where blocks have sizes of their own, the same sizes and places again
 * (repeat_blocks.h). With several segments, this rank must only publish or only read: then there is
 * nothing to be gained by overlapping its segments, and they can be done one after the other.
 * Everything else takes the long way (drive.c). Used by entry/ and by drive.c.
 */
#ifndef HCCL_EXEC_REPEAT_H
#define HCCL_EXEC_REPEAT_H

#include "exec/exec.h"
#include "kernel/copy.h"

/** What decides the way of a call, as the user passed it. Types and ops are compared as pointers:
 *  those of a record are predefined, so their objects live for ever. */
typedef struct hccl_repeat_key {
    const ompi_datatype_t *stype, *rtype;
    const ompi_op_t *op;
    size_t scount, rcount;
    int32_t coll; /* hccl_coll_t */
    int32_t root;
    int32_t in_place; /* 1: the send buffer is MPI_IN_PLACE, 2: the receive buffer is */
} hccl_repeat_key_t;

/** The user's buffers, as operands refer to them. */
enum { HCCL_REPEAT_SEND, HCCL_REPEAT_RECV };

/** Where a step reads. */
typedef struct hccl_repeat_source {
    int32_t peer;    /* index within my node, -1: a user's buffer */
    uint32_t number; /* peer: publication number as above; else HCCL_REPEAT_SEND or RECV */
    size_t offset;   /* bytes, in the publication or in the buffer */
} hccl_repeat_source_t;

/** A step of the plan, for one segment. */
typedef struct hccl_repeat_step {
    bool publishes;      /* PUBLISH; else COPY, FETCH, REDUCE or FOLD */
    uint8_t buffer;      /* of the operand: HCCL_REPEAT_SEND or RECV */
    uint16_t nsrc;       /* sources */
    uint32_t number;     /* PUBLISH: publication number, counted through all segments */
    uint32_t ack;        /* publications below this number are read after this step; 0: as before */
    size_t offset;       /* of the operand in the buffer */
    size_t bytes;        /* of the operand */
    hccl_copy_fn_t copy; /* for that, where a step has one source or none */
} hccl_repeat_step_t;

/** A record. */
typedef struct hccl_repeat {
    hccl_repeat_key_t key;
    hccl_lane_t *lane;
    hccl_combine_t combine;
    uint32_t npub;      /* publication numbers of all segments */
    uint32_t signature; /* exec.h */
    uint16_t nsteps;
    bool apart;  /* of a plan for blocks of private sizes: repeat_blocks.c runs it */
    bool lends;  /* publications are long enough to be made in place: not for buffers in the heap */
    bool wanted; /* used since another call asked for its place */
    size_t room; /* bytes allocated */
    int narrays; /* blocks have sizes of their own: arrays that the call must have passed alike, */
    char *arrays;                  /* one after the other; behind the sources */
    hccl_repeat_source_t *sources; /* of all steps, one after the other; behind the steps */
    hccl_repeat_step_t steps[];    /* [nsteps] */
} hccl_repeat_t;

/** Longest vector or block: beyond it, finding the way costs less than a hundredth. */
#define HCCL_REPEAT_BYTES ((size_t) 1 << 20)

/** Most steps of a record. */
#define HCCL_REPEAT_STEPS 64

/** The key of a call. */
static inline hccl_repeat_key_t hccl_repeat_key(hccl_call_t call)
{
    return (hccl_repeat_key_t){.stype = call.send.type,
                               .rtype = call.recv.type,
                               .op = call.op,
                               .scount = call.send.count,
                               .rcount = call.recv.count,
                               .coll = (int32_t) call.coll,
                               .root = call.root,
                               .in_place = (MPI_IN_PLACE == call.send.buf ? 1 : 0)
                                           | (MPI_IN_PLACE == call.recv.buf ? 2 : 0)};
}

static inline bool hccl_repeat_is(const hccl_repeat_t *r, hccl_repeat_key_t key)
{
    return r->key.stype == key.stype && r->key.rtype == key.rtype && r->key.op == key.op
           && r->key.scount == key.scount && r->key.rcount == key.rcount && r->key.coll == key.coll
           && r->key.root == key.root && r->key.in_place == key.in_place;
}

/** The place of a call's record among those of its communicator. */
static inline hccl_repeat_t **hccl_repeat_place(hccl_comm_t *hc, hccl_repeat_key_t key)
{
    size_t hash = (key.scount + key.rcount) * 5 + (size_t) (unsigned) key.root * 3
                  + (size_t) (unsigned) key.coll;
    return &hc->repeats[(hash ^ hash >> 7) % HCCL_REPEATS];
}

/** Whether these buffers may be published in place, which a record does not do. */
static inline bool hccl_repeat_lends(const hccl_repeat_t *r, const void *sbuf, const void *rbuf)
{
    return HCCL_UNLIKELY(r->lends)
           && (hccl_lane_reaches(r->lane, sbuf, 1) || hccl_lane_reaches(r->lane, rbuf, 1));
}

/** The record of a blocking call whose blocks have sizes of their own (repeat_blocks.h), NULL:
 *  take the long way. */
hccl_repeat_t *hccl_repeat_find_blocks(hccl_comm_t *hc, const hccl_call_t *call);

/** Whether that is the one to ask. */
static inline bool hccl_repeat_has_blocks(hccl_coll_t coll)
{
    return HCCL_COLL_ALLGATHERV == coll || HCCL_COLL_ALLTOALLV == coll
           || HCCL_COLL_ALLTOALLW == coll || HCCL_COLL_GATHERV == coll || HCCL_COLL_SCATTERV == coll
           || HCCL_COLL_REDUCE_SCATTER == coll;
}

/** The record of a blocking call, NULL: take the long way. */
static inline hccl_repeat_t *hccl_repeat_find(hccl_comm_t *hc, hccl_call_t call)
{
    if (hccl_repeat_has_blocks(call.coll)) {
        return hccl_repeat_find_blocks(hc, &call);
    }
    if (NULL != call.send.counts || NULL != call.recv.counts) {
        return NULL; /* the sizes of blocks are in no key */
    }
    hccl_repeat_key_t key = hccl_repeat_key(call);
    hccl_repeat_t *r = *hccl_repeat_place(hc, key);
    if (NULL == r || !hccl_repeat_is(r, key)) {
        return NULL;
    }
    return hccl_repeat_lends(r, call.send.buf, call.recv.buf) ? NULL : r;
}

/** Runs a call to its end by its record. */
HCCL_CHECKED int hccl_repeat_run(hccl_comm_t *hc, hccl_repeat_t *r, const void *sbuf,
                                 const void *rbuf);

/** After a blocking call has taken the long way without error, and before it is unbound: makes a
 *  record of it if it can have one. */
void hccl_repeat_learn(const hccl_exec_t *x);

#endif
