/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages of plans for blocks of private sizes: boxes, and blocks that are too long for one. A cursor keeps a
 * list of those that are not known to have ended. See apart_internal.h, whose users may call this.
 */
#include "exec/apart_internal.h"

/* A message that is not known to have ended. */
typedef struct posted {
    hccl_message_t message;
    const hccl_step_t *step;
} posted_t;

size_t hccl_apart_list(const hccl_exec_t *x)
{
    return (size_t) x->plan->max_requests * sizeof(posted_t);
}

static posted_t *list_of(const hccl_cursor_t *c)
{
    return (posted_t *) c->messages;
}

void hccl_apart_post(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, void *data,
                     size_t bytes)
{
    posted_t *p = &list_of(c)[c->nmessages];
    hccl_address_t peer = {.comm = x->hc->comm,
                           .rank = step->peer,
                           .tag = x->tag + (HCCL_HOW_LONG == step->how ? 1 : 0)};
    int rc = HCCL_STEP_SEND == step->kind ? hccl_tier_send(&peer, data, bytes, &p->message)
                                          : hccl_tier_receive(&peer, data, bytes, &p->message);
    p->step = step;
    if (OMPI_SUCCESS == rc) {
        c->nmessages++;
    } else {
        hccl_exec_fail(x, rc);
    }
}

void hccl_apart_cancel(hccl_cursor_t *c, const hccl_step_t *step)
{
    for (int i = 0; i < c->nmessages; i++) {
        if (list_of(c)[i].step == step) {
            hccl_tier_cancel(&list_of(c)[i].message);
        }
    }
}

void hccl_apart_start(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    if (HCCL_HOW_LONG == step->how) {
        const hccl_shape_t *shape = x->hc->shape;
        bool near = shape->node_of[step->peer] == shape->node_of[x->hc->rank];
        hccl_run_t block = hccl_apart_block(x, step->base, step->first);
        if (block.units > (near ? x->in_pieces : x->parcel)) {
            hccl_apart_post(x, c, step, block.ptr, block.units);
        }
        return;
    }
    hccl_box_t *box = hccl_box_at(x, c, step->base, step->first);
    if (HCCL_STEP_SEND == step->kind) {
        hccl_apart_post(x, c, step, box, hccl_box_close(x, box));
    } else {
        hccl_apart_post(x, c, step, box, hccl_box_most(x, (size_t) step->count));
    }
}

hccl_step_result_t hccl_apart_wait(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *wait)
{
    posted_t *list = list_of(c);
    int left = 0, open = 0;
    for (int i = 0; i < c->nmessages; i++) {
        const hccl_step_t *step = list[i].step;
        int error = OMPI_SUCCESS;
        if (step->how != wait->how || !hccl_tier_test(&list[i].message, &error)) {
            open += step->how == wait->how;
            list[left++] = list[i];
            continue;
        }
        if (OMPI_SUCCESS != error) {
            hccl_exec_fail(x, error);
        }
        if (HCCL_HOW_PARCELS == step->how && HCCL_STEP_RECV == step->kind) {
            hccl_box_open(x, hccl_box_at(x, c, step->base, step->first), step->count,
                          OMPI_SUCCESS != error);
        }
    }
    c->nmessages = left;
    return open > 0 ? HCCL_STEP_LATER : HCCL_STEP_DONE;
}
