/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The two sides of a call as MPI means them: which of them have a meaning on this rank, where their
 * blocks lie in the user's layout and how large they are. Inline: every call asks.
 *
 * For bind.c and views.c alone.
 */
#ifndef HCCL_EXEC_SIDES_H
#define HCCL_EXEC_SIDES_H

#include "exec/exec.h"

typedef struct hccl_sides {
    bool send, recv; /* the side's arguments are significant */
    bool in_place;   /* the user passed MPI_IN_PLACE */
} hccl_sides_t;

static inline bool hccl_is_gather(hccl_coll_t coll)
{
    return HCCL_COLL_GATHER == coll || HCCL_COLL_GATHERV == coll;
}

static inline bool hccl_is_scatter(hccl_coll_t coll)
{
    return HCCL_COLL_SCATTER == coll || HCCL_COLL_SCATTERV == coll;
}

static inline bool hccl_is_root(const hccl_exec_t *x)
{
    return x->hc->remote_size > 0 ? MPI_ROOT == x->call.root : x->hc->rank == x->call.root;
}

static inline hccl_sides_t hccl_sides_of(const hccl_exec_t *x)
{
    const hccl_call_t *call = &x->call;
    const hccl_coll_info_t *info = &hccl_coll_info[call->coll];
    hccl_sides_t s = {HCCL_HOLDS_NONE != info->send, HCCL_HOLDS_NONE != info->recv, false};
    if (info->rooted) {
        bool inter = x->hc->remote_size > 0;
        bool root = hccl_is_root(x);
        bool idle = inter && MPI_PROC_NULL == call->root;
        if (HCCL_COLL_BCAST == call->coll) {
            s.recv = !idle;
        } else if (hccl_is_scatter(call->coll)) {
            s.send = root;
            s.recv = !idle && !(inter && root);
            s.in_place = s.recv && MPI_IN_PLACE == call->recv.buf;
            return s;
        } else {
            s.send = !idle && !(inter && root);
            s.recv = root;
        }
    }
    s.in_place = s.send && MPI_IN_PLACE == call->send.buf;
    return s;
}

/* Whether the user described this side: it has a meaning and is not MPI_IN_PLACE. */
static inline bool hccl_has_send(const hccl_exec_t *x, const hccl_sides_t *sides)
{
    return sides->send && (!sides->in_place || hccl_is_scatter(x->call.coll));
}

static inline bool hccl_has_recv(const hccl_exec_t *x, const hccl_sides_t *sides)
{
    return sides->recv && !(sides->in_place && hccl_is_scatter(x->call.coll));
}

static inline const ompi_datatype_t *hccl_type_of(const hccl_side_t *side, int block)
{
    return NULL == side->types ? side->type : side->types[block];
}

static inline ptrdiff_t hccl_extent_of(const ompi_datatype_t *type)
{
    return type->super.ub - type->super.lb;
}

/* Where block `block` of a side begins in the user's layout. Without displacements the blocks of a
 * v-form follow each other (reduce_scatter); *next carries the count so far. */
static inline char *hccl_block_address(const hccl_side_t *side, int block, size_t *next)
{
    char *buf = (char *) (uintptr_t) side->buf;
    if (NULL != side->adispls) {
        return buf + side->adispls[block];
    }
    if (NULL != side->types) {
        return buf + side->displs[block];
    }
    if (NULL != side->displs) {
        return buf + (ptrdiff_t) side->displs[block] * hccl_extent_of(side->type);
    }
    if (NULL != side->counts) {
        char *at = buf + (ptrdiff_t) *next * hccl_extent_of(side->type);
        *next += (size_t) side->counts[block];
        return at;
    }
    return buf + (ptrdiff_t) ((size_t) block * side->count) * hccl_extent_of(side->type);
}

static inline size_t hccl_block_count(const hccl_side_t *side, int block)
{
    return NULL == side->counts ? side->count : (size_t) side->counts[block];
}

/* Units are elements in reductions, bytes else. */
static inline size_t hccl_units_of(const hccl_exec_t *x, const hccl_side_t *side, int block)
{
    size_t count = hccl_block_count(side, block);
    return NULL != x->type ? count : count * hccl_type_of(side, block)->super.size;
}

/* Blocks of the send and of the receive grid. */
static inline void hccl_grid_sizes(const hccl_exec_t *x, int *send, int *recv)
{
    const hccl_comm_t *hc = x->hc;
    *send = *recv = hc->remote_size > 0 ? hc->remote_size : hc->size;
    switch (x->call.coll) {
    case HCCL_COLL_REDUCE_SCATTER:
    case HCCL_COLL_REDUCE_SCATTER_BLOCK:
        *send = *recv = hc->size;
        break;
    case HCCL_COLL_NEIGHBOR_ALLGATHER:
    case HCCL_COLL_NEIGHBOR_ALLGATHERV:
    case HCCL_COLL_NEIGHBOR_ALLTOALL:
    case HCCL_COLL_NEIGHBOR_ALLTOALLV:
    case HCCL_COLL_NEIGHBOR_ALLTOALLW:
        *send = hc->ndests;
        *recv = hc->nsources;
        break;
    default:
        break;
    }
}

#endif
