/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * From the arguments of a call to views of memory, a plan and its segments. Everything that MPI
 * says about MPI_IN_PLACE, insignificant arguments and datatypes is dealt with here, once: behind
 * this file there are packed units at known addresses.
 */
#include <string.h>

#include "base/pool.h"
#include "exec/views.h"

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
static const hccl_side_t *sizing_side(const hccl_exec_t *x, const hccl_sides_t *sides)
{
    if (hccl_is_gather(x->call.coll) || hccl_is_scatter(x->call.coll)) {
        bool grid = hccl_is_gather(x->call.coll) ? sides->recv : sides->send;
        return hccl_is_gather(x->call.coll) == grid ? &x->call.recv : &x->call.send;
    }
    if (HCCL_COLL_REDUCE_SCATTER == x->call.coll) {
        return &x->call.send; /* has the counts, in place too */
    }
    return sides->recv ? &x->call.recv : &x->call.send;
}

/* Units of the vector or of a block. True when all ranks taking part know that there are no bytes to
 * move: then no rank may count the operation, since some may not even have been called (a count of
 * 0 makes Open MPI's bindings return early, an empty datatype does not). */
static bool measure(hccl_exec_t *x, const hccl_sides_t *sides)
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
    if (hccl_has_send(x, sides)) {
        x->units = hccl_units_of(x, &x->call.send, 0);
        none = 0 == x->units;
    }
    if (hccl_has_recv(x, sides)) {
        x->units = hccl_units_of(x, &x->call.recv, 0);
        none = none && 0 == x->units;
    }
    return none;
}

bool hccl_exec_is_nothing(hccl_exec_t *x)
{
    hccl_sides_t sides = hccl_sides_of(x);
    x->root = plan_root(x);
    return measure(x, &sides);
}

static void hold_types(const hccl_side_t *side, int n, bool retain)
{
    for (int i = 0; i < n; i++) {
        ompi_datatype_t *type = (ompi_datatype_t *) (uintptr_t) hccl_type_of(side, i);
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
    hccl_sides_t sides = hccl_sides_of(x);
    int nsend, nrecv;
    ompi_op_t *op = x->call.op;
    hccl_grid_sizes(x, &nsend, &nrecv);
    if (hccl_has_send(x, &sides)) {
        hold_types(&x->call.send, NULL == x->call.send.types ? 1 : nsend, retain);
    }
    if (hccl_has_recv(x, &sides)) {
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

int hccl_exec_bind(hccl_exec_t *x, bool *nothing)
{
    x->state = HCCL_EXEC_BOUND;
    x->error = OMPI_SUCCESS;
    x->nowned = 0;
    x->staged_recv = NULL;
    x->agree = NULL;
    x->len = NULL;
    x->root = plan_root(x);
    hccl_sides_t sides = hccl_sides_of(x);
    *nothing = measure(x, &sides);
    if (*nothing) {
        return OMPI_SUCCESS;
    }
    hccl_views_make(x, &sides);
    if (HCCL_COLL_REDUCE_SCATTER == x->call.coll) {
        x->len = x->send.len;
    } else if (HCCL_VIEW_TABLE == x->grid && 0 == x->hc->remote_size) {
        x->len = x->recv.len;
    }
    int rc = x->error;
    if (OMPI_SUCCESS == rc) {
        rc = hccl_exec_plan(x, false);
    }
    if (OMPI_SUCCESS != rc) {
        hccl_exec_fail(x, rc);
        return hccl_exec_unbind(x);
    }
    return rc;
}

int hccl_exec_unbind(hccl_exec_t *x)
{
    if (NULL != x->staged_recv && OMPI_SUCCESS == x->error) {
        hccl_views_unpack(x);
    }
    while (x->nowned > 0) {
        hccl_pool_give(x->owned[--x->nowned]);
    }
    return x->error;
}
