/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * From the arguments of a call to views of memory, a plan and its segments. Everything that MPI
 * says about MPI_IN_PLACE, insignificant arguments and datatypes is dealt with here, once: behind
 * this file there are packed units at known addresses.
 */
#include <limits.h>
#include <string.h>

#include "base/pool.h"
#include "exec/layout.h"
#include "exec/pack.h"
#include "select/select.h"

void *hccl_exec_take(hccl_exec_t *x, size_t bytes)
{
    if (HCCL_EXEC_OWNED == x->nowned) {
        return NULL;
    }
    void *memory = hccl_pool_take(bytes);
    if (NULL != memory) {
        x->owned[x->nowned++] = memory;
    }
    return memory;
}

/* ---- which sides of the call have a meaning on this rank -------------------------------------- */

typedef struct sides {
    bool send, recv; /* the side's arguments are significant */
    bool in_place;   /* the user passed MPI_IN_PLACE */
} sides_t;

static bool is_gather(hccl_coll_t coll)
{
    return HCCL_COLL_GATHER == coll || HCCL_COLL_GATHERV == coll;
}

static bool is_scatter(hccl_coll_t coll)
{
    return HCCL_COLL_SCATTER == coll || HCCL_COLL_SCATTERV == coll;
}

static bool is_root(const hccl_exec_t *x)
{
    return x->hc->remote_size > 0 ? MPI_ROOT == x->call.root : x->hc->rank == x->call.root;
}

static sides_t significant_sides(const hccl_exec_t *x)
{
    const hccl_call_t *call = &x->call;
    const hccl_coll_info_t *info = &hccl_coll_info[call->coll];
    sides_t s = {HCCL_HOLDS_NONE != info->send, HCCL_HOLDS_NONE != info->recv, false};
    if (info->rooted) {
        bool inter = x->hc->remote_size > 0;
        bool root = is_root(x);
        bool idle = inter && MPI_PROC_NULL == call->root;
        if (HCCL_COLL_BCAST == call->coll) {
            s.recv = !idle;
        } else if (is_scatter(call->coll)) {
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
static bool has_send(const hccl_exec_t *x, const sides_t *sides)
{
    return sides->send && (!sides->in_place || is_scatter(x->call.coll));
}

static bool has_recv(const hccl_exec_t *x, const sides_t *sides)
{
    return sides->recv && !(sides->in_place && is_scatter(x->call.coll));
}

/* ---- views ------------------------------------------------------------------------------------ */

static const ompi_datatype_t *type_of(const hccl_side_t *side, int block)
{
    return NULL == side->types ? side->type : side->types[block];
}

static ptrdiff_t extent_of(const ompi_datatype_t *type)
{
    return type->super.ub - type->super.lb;
}

/* Where block `block` of a side begins in the user's layout. Without displacements the blocks of a
 * v-form follow each other (reduce_scatter); *next carries the count so far. */
static char *block_address(const hccl_side_t *side, int block, size_t *next)
{
    char *buf = (char *) (uintptr_t) side->buf;
    if (NULL != side->adispls) {
        return buf + side->adispls[block];
    }
    if (NULL != side->types) {
        return buf + side->displs[block];
    }
    if (NULL != side->displs) {
        return buf + (ptrdiff_t) side->displs[block] * extent_of(side->type);
    }
    if (NULL != side->counts) {
        char *at = buf + (ptrdiff_t) *next * extent_of(side->type);
        *next += (size_t) side->counts[block];
        return at;
    }
    return buf + (ptrdiff_t) ((size_t) block * side->count) * extent_of(side->type);
}

static size_t block_count(const hccl_side_t *side, int block)
{
    return NULL == side->counts ? side->count : (size_t) side->counts[block];
}

/* Units are elements in reductions, bytes else. */
static size_t units_of(const hccl_exec_t *x, const hccl_side_t *side, int block)
{
    size_t count = block_count(side, block);
    return NULL != x->type ? count : count * type_of(side, block)->super.size;
}

/* Packed memory for `units`; with pack, filled from count elements at buf. */
static char *packed_copy(hccl_exec_t *x, size_t units, const void *buf, size_t count,
                         const ompi_datatype_t *type, bool pack)
{
    char *packed = hccl_exec_take(x, units * x->unit);
    if (NULL == packed
        || (pack
            && HCCL_OK != hccl_pack(packed, buf, count, (ompi_datatype_t *) (uintptr_t) type))) {
        hccl_exec_fail(x, OMPI_ERR_OUT_OF_RESOURCE);
        return NULL;
    }
    return packed;
}

/* A run of count elements: the user's own memory if it is one run of bytes, else a packed image
 * (filled if `pack`). */
static char *run_of(hccl_exec_t *x, const hccl_side_t *side, size_t count, bool pack, bool copy,
                    bool *staged)
{
    ptrdiff_t offset;
    *staged = copy || !hccl_is_dense(side->type, count, &offset);
    if (!*staged) {
        return (char *) (uintptr_t) side->buf + offset;
    }
    return packed_copy(x, NULL != x->type ? count : count * side->type->super.size, side->buf,
                       count, side->type, pack);
}

/* A view with one address per block. Blocks that are no runs of bytes go to one packed image. */
static void make_table(hccl_exec_t *x, hccl_view_t *view, const hccl_side_t *side, int nblocks,
                       bool pack, bool copy, char **image)
{
    size_t total = 0, next = 0;
    size_t n = (size_t) nblocks;
    view->kind = HCCL_VIEW_TABLE;
    view->addr = hccl_exec_take(x, n * (sizeof(char *) + sizeof(size_t)) + sizeof(char *));
    if (NULL == view->addr) {
        hccl_exec_fail(x, OMPI_ERR_OUT_OF_RESOURCE);
        return;
    }
    view->len = (size_t *) (view->addr + n);
    for (int i = 0; i < nblocks; i++) {
        ptrdiff_t offset;
        const ompi_datatype_t *type = type_of(side, i);
        char *at = block_address(side, i, &next);
        view->len[i] = units_of(x, side, i);
        bool staged = copy || !hccl_is_dense(type, block_count(side, i), &offset);
        view->addr[i] = staged ? NULL : at + offset;
        total += staged ? view->len[i] : 0;
    }
    if (0 == total) {
        return;
    }
    char *packed = packed_copy(x, total, NULL, 0, NULL, false);
    *image = packed;
    next = 0;
    for (int i = 0; i < nblocks && NULL != packed; i++) {
        char *at = block_address(side, i, &next);
        if (NULL == view->addr[i]) {
            ompi_datatype_t *type = (ompi_datatype_t *) (uintptr_t) type_of(side, i);
            view->addr[i] = packed;
            if (pack && HCCL_OK != hccl_pack(packed, at, block_count(side, i), type)) {
                hccl_exec_fail(x, OMPI_ERROR);
            }
            packed += view->len[i] * x->unit;
        }
    }
}

/* Blocks of equal size. */
static void make_uniform(hccl_exec_t *x, hccl_view_t *view, const hccl_side_t *side, int nblocks,
                         bool pack, bool copy, char **image)
{
    ptrdiff_t offset;
    view->kind = HCCL_VIEW_UNIFORM;
    view->units = units_of(x, side, 0);
    if (!copy && hccl_is_dense(side->type, side->count, &offset)) {
        view->base = (char *) (uintptr_t) side->buf + offset;
        view->stride = (ptrdiff_t) side->count * extent_of(side->type);
        return;
    }
    view->stride = (ptrdiff_t) (view->units * x->unit);
    view->base = packed_copy(x, view->units * (size_t) nblocks, side->buf,
                             side->count * (size_t) nblocks, side->type, pack);
    *image = view->base;
}

/* The view of a side that holds what the collective says. pack: its contents matter; copy: it must
 * be a copy even if the user's memory would do. *image: the packed image, if there is one. */
static void make_view(hccl_exec_t *x, hccl_view_t *view, const hccl_side_t *side,
                      hccl_holds_t holds, int nblocks, bool pack, bool copy, char **image)
{
    if (HCCL_HOLDS_GRID == holds) {
        if (NULL != side->counts) {
            make_table(x, view, side, nblocks, pack, copy, image);
        } else {
            make_uniform(x, view, side, nblocks, pack, copy, image);
        }
        return;
    }
    bool staged;
    view->kind = HCCL_HOLDS_VECTOR == holds ? HCCL_VIEW_VECTOR : HCCL_VIEW_OWN;
    view->units = units_of(x, side, 0);
    view->base = run_of(x, side, side->count, pack, copy, &staged);
    if (staged) {
        *image = view->base;
    }
}

/* ---- in place --------------------------------------------------------------------------------- */

/* Block `block` of a grid view, as the view of one block. */
static void own_block(const hccl_view_t *grid, int block, hccl_view_t *own)
{
    own->kind = HCCL_VIEW_OWN;
    if (HCCL_VIEW_TABLE == grid->kind) {
        own->base = grid->addr[block];
        own->units = grid->len[block];
    } else {
        own->base = grid->base + block * grid->stride;
        own->units = grid->units;
    }
}

/* Both views, when the user passed MPI_IN_PLACE. `image`: as in make_view, of the receive side. */
static void views_in_place(hccl_exec_t *x, const hccl_coll_info_t *info, int nblocks, char **image)
{
    char *ignored = NULL;
    hccl_call_t *call = &x->call;
    switch (call->coll) {
    case HCCL_COLL_SCATTER:
    case HCCL_COLL_SCATTERV:
        /* The root keeps its block where it is. */
        make_view(x, &x->send, &call->send, info->send, nblocks, true, false, &ignored);
        if (OMPI_SUCCESS == x->error) {
            own_block(&x->send, x->hc->rank, &x->recv);
        }
        break;
    case HCCL_COLL_ALLGATHER:
    case HCCL_COLL_ALLGATHERV:
    case HCCL_COLL_GATHER:
    case HCCL_COLL_GATHERV:
        make_view(x, &x->recv, &call->recv, info->recv, nblocks, true, false, image);
        if (OMPI_SUCCESS == x->error) {
            own_block(&x->recv, x->hc->rank, &x->send);
        }
        break;
    case HCCL_COLL_ALLTOALL:
    case HCCL_COLL_ALLTOALLV:
    case HCCL_COLL_ALLTOALLW:
        make_view(x, &x->send, &call->recv, info->send, nblocks, true, true, &ignored);
        make_view(x, &x->recv, &call->recv, info->recv, nblocks, false, false, image);
        break;
    case HCCL_COLL_REDUCE_SCATTER:
    case HCCL_COLL_REDUCE_SCATTER_BLOCK:
        call->send.buf = call->recv.buf;
        make_view(x, &x->send, &call->send, info->send, nblocks, true, true, &ignored);
        make_view(x, &x->recv, &call->recv, info->recv, nblocks, false, false, image);
        call->send.buf = MPI_IN_PLACE;
        break;
    default:
        make_view(x, &x->recv, &call->recv, info->recv, nblocks, true, false, image);
        x->send = x->recv;
        break;
    }
}

/* ---- binding ---------------------------------------------------------------------------------- */

/* Blocks of the send and of the receive grid. */
static void grid_sizes(const hccl_exec_t *x, int *send, int *recv)
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

static void make_views(hccl_exec_t *x, const sides_t *sides)
{
    const hccl_coll_info_t *info = &hccl_coll_info[x->call.coll];
    int nsend, nrecv;
    char *ignored = NULL;
    grid_sizes(x, &nsend, &nrecv);
    x->send.kind = HCCL_VIEW_NONE;
    x->recv.kind = HCCL_VIEW_NONE;
    if (sides->in_place) {
        views_in_place(x, info, nrecv, &x->staged_recv);
        return;
    }
    if (sides->send) {
        make_view(x, &x->send, &x->call.send, info->send, nsend, true, false, &ignored);
    }
    if (sides->recv) {
        /* The root of a bcast only reads its buffer; an exscan's first rank must find it as it
         * was. */
        bool reads = HCCL_COLL_BCAST == x->call.coll && is_root(x);
        bool pack = reads || HCCL_COLL_EXSCAN == x->call.coll;
        make_view(x, &x->recv, &x->call.recv, info->recv, nrecv, pack, false,
                  reads ? &ignored : &x->staged_recv);
    }
}

/* Root as plans know it. */
static int plan_root(const hccl_exec_t *x)
{
    if (!hccl_coll_info[x->call.coll].rooted) {
        return 0;
    }
    if (MPI_ROOT == x->call.root) {
        return HCCL_ROOT_HERE;
    }
    return MPI_PROC_NULL == x->call.root ? HCCL_ROOT_NEAR : x->call.root;
}

static hccl_view_kind_t grid_kind(const hccl_exec_t *x)
{
    const hccl_coll_info_t *info = &hccl_coll_info[x->call.coll];
    if (HCCL_HOLDS_NONE == info->recv) {
        return HCCL_VIEW_NONE;
    }
    if (HCCL_HOLDS_VECTOR == info->recv) {
        return HCCL_VIEW_VECTOR;
    }
    switch (x->call.coll) {
    case HCCL_COLL_ALLGATHERV:
    case HCCL_COLL_REDUCE_SCATTER:
        return HCCL_VIEW_TABLE;
    default:
        return HCCL_VIEW_UNIFORM;
    }
}

/* The side whose sizes all ranks know and this rank surely has. */
static const hccl_side_t *sizing_side(const hccl_exec_t *x, const sides_t *sides)
{
    if (is_gather(x->call.coll) || is_scatter(x->call.coll)) {
        bool grid = is_gather(x->call.coll) ? sides->recv : sides->send;
        return is_gather(x->call.coll) == grid ? &x->call.recv : &x->call.send;
    }
    if (HCCL_COLL_REDUCE_SCATTER == x->call.coll) {
        return &x->call.send; /* has the counts, in place too */
    }
    return sides->recv ? &x->call.recv : &x->call.send;
}

/* Units of the vector or of a block. True when all ranks taking part know that there are no bytes to
 * move: then no rank may count the operation, since some may not even have been called (a count of
 * 0 makes Open MPI's bindings return early, an empty datatype does not). */
static bool measure(hccl_exec_t *x, const sides_t *sides)
{
    const hccl_coll_info_t *info = &hccl_coll_info[x->call.coll];
    bool inter = x->hc->remote_size > 0;
    x->grid = grid_kind(x);
    x->type = NULL;
    x->units = 0;
    x->unit = 1;
    x->commutative = true;
    if (HCCL_VIEW_NONE == x->grid) {
        return false;
    }
    if (!sides->send && !sides->recv) {
        return true; /* near the root of an inter-communicator: takes no part */
    }
    const hccl_side_t *side = sizing_side(x, sides);
    if (info->reduces) {
        x->type = side->type;
        x->unit = x->type->super.size;
        x->commutative = ompi_op_is_commute(x->call.op);
        if (0 == x->unit) {
            return true;
        }
    }
    if (!info->shared_sizes) {
        return false;
    }
    if (HCCL_COLL_REDUCE_SCATTER == x->call.coll || (HCCL_VIEW_TABLE == x->grid && !inter)) {
        size_t total = 0;
        for (int i = 0; i < x->hc->size; i++) {
            total += (size_t) side->counts[i];
        }
        return 0 == total * side->type->super.size;
    }
    if (HCCL_VIEW_TABLE == x->grid) {
        return false;
    }
    bool none = true;
    if (has_send(x, sides)) {
        x->units = units_of(x, &x->call.send, 0);
        none = 0 == x->units;
    }
    if (has_recv(x, sides)) {
        x->units = units_of(x, &x->call.recv, 0);
        none = none && 0 == x->units;
    }
    return none;
}

bool hccl_exec_is_nothing(hccl_exec_t *x)
{
    sides_t sides = significant_sides(x);
    x->root = plan_root(x);
    return measure(x, &sides);
}

static void hold_types(const hccl_side_t *side, int n, bool retain)
{
    for (int i = 0; i < n; i++) {
        ompi_datatype_t *type = (ompi_datatype_t *) (uintptr_t) type_of(side, i);
        if (!ompi_datatype_is_predefined(type)) {
            if (retain) {
                OBJ_RETAIN(type);
            } else {
                OBJ_RELEASE(type);
            }
        }
    }
}

void hccl_exec_hold(hccl_exec_t *x, bool retain)
{
    sides_t sides = significant_sides(x);
    int nsend, nrecv;
    ompi_op_t *op = x->call.op;
    grid_sizes(x, &nsend, &nrecv);
    if (has_send(x, &sides)) {
        hold_types(&x->call.send, NULL == x->call.send.types ? 1 : nsend, retain);
    }
    if (has_recv(x, &sides)) {
        hold_types(&x->call.recv, NULL == x->call.recv.types ? 1 : nrecv, retain);
    }
    if (NULL != op && !ompi_op_is_intrinsic(op)) {
        if (retain) {
            OBJ_RETAIN(op);
        } else {
            OBJ_RELEASE(op);
        }
    }
}

/* For a plan that moves sizes: what this rank knows of them. */
static int bind_sizes(hccl_exec_t *x)
{
    bool gathers = is_gather(x->call.coll);
    const hccl_view_t *grid = gathers ? &x->recv : &x->send;
    const hccl_view_t *own = gathers ? &x->send : &x->recv;
    size_t *len = grid->len;
    if (HCCL_VIEW_TABLE != grid->kind) {
        size_t bytes = (size_t) x->hc->size * sizeof(*len);
        len = hccl_exec_take(x, bytes);
        if (NULL == len) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        memset(len, 0, bytes);
        len[x->hc->rank] = own->units;
    }
    x->sizes = (hccl_view_t){.kind = HCCL_VIEW_UNIFORM,
                             .base = (char *) len,
                             .units = sizeof(*len),
                             .stride = sizeof(*len)};
    x->len = len;
    x->grid = HCCL_VIEW_TABLE;
    return OMPI_SUCCESS;
}

int hccl_exec_bind(hccl_exec_t *x, bool *nothing)
{
    x->state = HCCL_EXEC_BOUND;
    x->error = OMPI_SUCCESS;
    x->nowned = 0;
    x->staged_recv = NULL;
    x->agree = NULL;
    x->len = NULL;
    x->root = plan_root(x);
    sides_t sides = significant_sides(x);
    *nothing = measure(x, &sides);
    if (*nothing) {
        return OMPI_SUCCESS;
    }
    make_views(x, &sides);
    if (HCCL_COLL_REDUCE_SCATTER == x->call.coll) {
        x->len = x->send.len;
    } else if (HCCL_VIEW_TABLE == x->grid && 0 == x->hc->remote_size) {
        x->len = x->recv.len;
    }
    int rc = x->error;
    if (OMPI_SUCCESS == rc) {
        rc = hccl_exec_plan(x, false);
    }
    if (OMPI_SUCCESS == rc && x->plan->sized) {
        rc = bind_sizes(x);
    }
    if (OMPI_SUCCESS != rc) {
        hccl_exec_fail(x, rc);
        return hccl_exec_unbind(x);
    }
    return rc;
}

/* ---- results ---------------------------------------------------------------------------------- */

/* Whether block `block` of the receive grid was received: a missing neighbour's stays as it was. */
static bool is_received(const hccl_exec_t *x, int block)
{
    switch (x->call.coll) {
    case HCCL_COLL_NEIGHBOR_ALLGATHER:
    case HCCL_COLL_NEIGHBOR_ALLGATHERV:
    case HCCL_COLL_NEIGHBOR_ALLTOALL:
    case HCCL_COLL_NEIGHBOR_ALLTOALLV:
    case HCCL_COLL_NEIGHBOR_ALLTOALLW:
        return x->hc->sources[block] >= 0;
    default:
        return true;
    }
}

static void unpack_grid(hccl_exec_t *x, int nblocks)
{
    const hccl_side_t *side = &x->call.recv;
    size_t next = 0;
    for (int i = 0; i < nblocks; i++) {
        ptrdiff_t offset;
        ompi_datatype_t *type = (ompi_datatype_t *) (uintptr_t) type_of(side, i);
        char *to = block_address(side, i, &next);
        char *from =
            HCCL_VIEW_TABLE == x->recv.kind ? x->recv.addr[i] : x->recv.base + i * x->recv.stride;
        bool in_user_memory =
            HCCL_VIEW_TABLE == x->recv.kind && hccl_is_dense(type, block_count(side, i), &offset);
        if (!in_user_memory && is_received(x, i)
            && HCCL_OK != hccl_unpack(to, block_count(side, i), type, from)) {
            hccl_exec_fail(x, OMPI_ERROR);
        }
    }
}

static void unpack_results(hccl_exec_t *x)
{
    int nsend, nrecv;
    if (HCCL_HOLDS_GRID == hccl_coll_info[x->call.coll].recv) {
        grid_sizes(x, &nsend, &nrecv);
        unpack_grid(x, nrecv);
        return;
    }
    /* The first rank of an exscan has no result. */
    if (HCCL_COLL_EXSCAN == x->call.coll && 0 == x->hc->rank) {
        return;
    }
    void *buf = (void *) (uintptr_t) x->call.recv.buf;
    if (HCCL_OK != hccl_unpack(buf, x->call.recv.count, x->call.recv.type, x->staged_recv)) {
        hccl_exec_fail(x, OMPI_ERROR);
    }
}

int hccl_exec_unbind(hccl_exec_t *x)
{
    if (NULL != x->staged_recv && OMPI_SUCCESS == x->error) {
        unpack_results(x);
    }
    while (x->nowned > 0) {
        hccl_pool_give(x->owned[--x->nowned]);
    }
    return x->error;
}
