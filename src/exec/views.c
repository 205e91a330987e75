/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See views.h.
 */
#include "exec/views.h"

#include "exec/layout.h"
#include "exec/pack.h"

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
        const ompi_datatype_t *type = hccl_type_of(side, i);
        char *at = hccl_block_address(side, i, &next);
        view->len[i] = hccl_units_of(x, side, i);
        bool staged = copy || !hccl_is_dense(type, hccl_block_count(side, i), &offset);
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
        char *at = hccl_block_address(side, i, &next);
        if (NULL == view->addr[i]) {
            ompi_datatype_t *type = (ompi_datatype_t *) (uintptr_t) hccl_type_of(side, i);
            view->addr[i] = packed;
            if (pack && HCCL_OK != hccl_pack(packed, at, hccl_block_count(side, i), type)) {
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
    view->units = hccl_units_of(x, side, 0);
    if (!copy && hccl_is_dense(side->type, side->count, &offset)) {
        view->base = (char *) (uintptr_t) side->buf + offset;
        view->stride = (ptrdiff_t) side->count * hccl_extent_of(side->type);
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
    view->units = hccl_units_of(x, side, 0);
    view->base = run_of(x, side, side->count, pack, copy, &staged);
    if (staged) {
        *image = view->base;
    }
}

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

void hccl_views_make(hccl_exec_t *x, const hccl_sides_t *sides)
{
    const hccl_coll_info_t *info = &hccl_coll_info[x->call.coll];
    int nsend, nrecv;
    char *ignored = NULL;
    hccl_grid_sizes(x, &nsend, &nrecv);
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
        bool reads = HCCL_COLL_BCAST == x->call.coll && hccl_is_root(x);
        bool pack = reads || HCCL_COLL_EXSCAN == x->call.coll;
        make_view(x, &x->recv, &x->call.recv, info->recv, nrecv, pack, false,
                  reads ? &ignored : &x->staged_recv);
    }
}

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
        ompi_datatype_t *type = (ompi_datatype_t *) (uintptr_t) hccl_type_of(side, i);
        char *to = hccl_block_address(side, i, &next);
        char *from =
            HCCL_VIEW_TABLE == x->recv.kind ? x->recv.addr[i] : x->recv.base + i * x->recv.stride;
        bool in_user_memory = HCCL_VIEW_TABLE == x->recv.kind
                              && hccl_is_dense(type, hccl_block_count(side, i), &offset);
        if (!in_user_memory && is_received(x, i)
            && HCCL_OK != hccl_unpack(to, hccl_block_count(side, i), type, from)) {
            hccl_exec_fail(x, OMPI_ERROR);
        }
    }
}

void hccl_views_unpack(hccl_exec_t *x)
{
    int nsend, nrecv;
    if (HCCL_HOLDS_GRID == hccl_coll_info[x->call.coll].recv) {
        hccl_grid_sizes(x, &nsend, &nrecv);
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
