/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See arrivals.h.
 */
#include "exec/arrivals.h"

#include <stdlib.h>

#include "exec/borrowing.h"
#include "exec/landing.h"

/* The entry of a plan that a communicator has, or has from now on; NULL: no memory. */
static hccl_arrivals_t *entry_of(hccl_comm_t *hc, const hccl_plan_t *plan)
{
    hccl_arrivals_t *a = hc->arrivals;
    while (NULL != a && a->plan != plan) {
        a = a->next;
    }
    if (NULL == a) {
        a = malloc(sizeof(*a));
        if (NULL != a) {
            *a = (hccl_arrivals_t){.next = hc->arrivals, .plan = plan};
            hc->arrivals = a;
        }
    }
    return a;
}

static const hccl_landings_t *landings_of(hccl_arrivals_t *a)
{
    if (NULL == a->landings) {
        a->landings = hccl_landings_find(a->plan);
    }
    return NULL != a->landings && a->landings->n > 0 ? a->landings : NULL;
}

static const hccl_borrowings_t *borrowings_of(hccl_arrivals_t *a)
{
    if (NULL == a->borrowings) {
        a->borrowings = hccl_borrowings_find(a->plan);
    }
    return NULL != a->borrowings && a->borrowings->n > 0 ? a->borrowings : NULL;
}

void hccl_arrivals_choose(hccl_exec_t *x)
{
    const hccl_plan_t *plan = x->plan;
    x->landings = NULL;
    x->borrowings = NULL;
    if (plan->apart || 0 == plan->max_requests || HCCL_LAND_NEVER == hccl_engine.land
        || (HCCL_LAND_RDMA == hccl_engine.land && !hccl_rdma_active)) {
        return;
    }
    hccl_arrivals_t *a = entry_of(x->hc, plan);
    if (NULL == a) {
        return;
    }
    /* With more publications than slots, a segment would wait for its own end. */
    if (x->lane_kind >= 0 && (size_t) plan->npub <= hccl_engine.slots) {
        x->landings = landings_of(a);
    }
    bool is_private = HCCL_VIEW_TABLE == x->grid && NULL == x->len; /* sizes of blocks */
    if (!is_private) {
        x->borrowings = borrowings_of(a);
    }
}

void hccl_arrivals_free(hccl_comm_t *hc)
{
    while (NULL != hc->arrivals) {
        hccl_arrivals_t *a = hc->arrivals;
        hc->arrivals = a->next;
        free(a->landings);
        free(a->borrowings);
        free(a);
    }
}
