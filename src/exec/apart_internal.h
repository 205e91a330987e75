/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files that walk plans for blocks of private sizes share (apart.h): blocks, boxes of parcels, and
 * messages. For apart.c, apart_message.c and apart_parcels.c alone.
 */
#ifndef HCCL_EXEC_APART_INTERNAL_H
#define HCCL_EXEC_APART_INTERNAL_H

#include "exec/apart.h"
#include "exec/layout.h"

/** A box. What travels begins with it: then come the parcels' bytes and the length of each. */
typedef struct hccl_box {
    uint32_t used; /* bytes of parcels */
    uint32_t n;    /* parcels */
} hccl_box_t;

/** Bytes of a box of n parcels without the parcels. */
static inline size_t hccl_box_empty(size_t n)
{
    return sizeof(hccl_box_t) + n * sizeof(uint16_t);
}

/** Most bytes of a box of n parcels, as it travels. */
static inline size_t hccl_box_most(const hccl_exec_t *x, size_t n)
{
    return hccl_box_empty(n) + n * x->parcel;
}

/** One of the user's blocks. */
static inline hccl_run_t hccl_apart_block(const hccl_exec_t *x, int base, int position)
{
    const hccl_view_t *view = hccl_view_of(x, base);
    if (HCCL_VIEW_OWN == view->kind) {
        return (hccl_run_t){view->base, view->units};
    }
    int block = hccl_block_of(x->plan, position);
    return (hccl_run_t){view->addr[block], view->len[block]};
}

/* ---- apart_parcels.c -------------------------------------------------------------------------- */

/** The box in scratch memory that has a position. */
hccl_box_t *hccl_box_at(const hccl_exec_t *x, const hccl_cursor_t *c, int base, int position);

/** Puts the lengths behind the parcels; bytes of the box as it travels. */
size_t hccl_box_close(const hccl_exec_t *x, hccl_box_t *box);

/** A box has come, unless something failed: then its parcels are empty. */
void hccl_box_open(hccl_exec_t *x, hccl_box_t *box, int count, bool failed);

/** The bodies of steps. */
HCCL_CHECKED hccl_step_result_t hccl_parcels_publish(hccl_exec_t *x, hccl_cursor_t *c,
                                                     const hccl_step_t *step);
HCCL_CHECKED hccl_step_result_t hccl_parcels_fetch(hccl_exec_t *x, hccl_cursor_t *c,
                                                   const hccl_step_t *step);
void hccl_parcels_copy(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step);

/* ---- apart_message.c -------------------------------------------------------------------------- */

/** Starts the message of a step. */
void hccl_apart_post(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, void *data,
                     size_t bytes);

/** Takes back a receive, if it has been started: nobody sends. */
void hccl_apart_cancel(hccl_cursor_t *c, const hccl_step_t *step);

/** The bodies of SEND and RECV, and of WAIT. */
void hccl_apart_start(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step);
HCCL_CHECKED hccl_step_result_t hccl_apart_wait(hccl_exec_t *x, hccl_cursor_t *c,
                                                const hccl_step_t *wait);

#endif
