/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See borrowing.h.
 */
#include "exec/borrowing.h"

#include <stdlib.h>

#include "exec/touch.h"

/* Whether a step reads what it needs of it where the tier has it, and leaves it alone. A SEND would not. */
static bool reads(hccl_touch_t touch)
{
    return HCCL_TOUCH_READS == touch || HCCL_TOUCH_PUBLISHES == touch
           || HCCL_TOUCH_PUBLISHES_PART == touch;
}

/* The WAIT that ends RECV `at`; -1: none, or somebody has to do with its operand before. */
static int wait_of(const hccl_plan_t *plan, int at)
{
    for (int i = at + 1; i < plan->nsteps; i++) {
        if (HCCL_STEP_WAIT == plan->steps[i].kind) {
            return i;
        }
        if (HCCL_TOUCH_NOTHING != hccl_touch_of(plan, &plan->steps[at], &plan->steps[i])) {
            return -1;
        }
    }
    return -1;
}

/* Finds how long it is borrowed. */
static hccl_borrowing_t follow(const hccl_plan_t *plan, int recv, int wait)
{
    const hccl_step_t *r = &plan->steps[recv];
    hccl_borrowing_t b = {.recv = recv, .wait = wait, .last = wait, .home = false};
    int published = wait;
    bool more = true; /* it is still there */
    for (int i = wait + 1; more && i < plan->nsteps; i++) {
        hccl_touch_t touch = hccl_touch_of(plan, r, &plan->steps[i]);
        if (reads(touch) || HCCL_TOUCH_CONSUMES == touch) {
            b.last = i;
            published = HCCL_STEP_PUBLISH == plan->steps[i].kind ? i : published;
        }
        more = HCCL_TOUCH_NOTHING == touch || reads(touch);
        b.home = HCCL_TOUCH_SENDS == touch || HCCL_TOUCH_OTHER == touch;
    }
    b.home = b.home || (more && HCCL_BASE_RECV == r->base);
    b.last = b.home ? published : b.last;
    return b;
}

static void note(hccl_borrowings_t *all, int number)
{
    const hccl_plan_t *plan = all->plan;
    const hccl_borrowing_t *b = &all->borrowing[number];
    uint32_t bit = UINT32_C(1) << number;
    all->step[b->recv].number = number;
    for (int i = b->wait + 1; i < b->last; i++) {
        if (reads(hccl_touch_of(plan, &plan->steps[b->recv], &plan->steps[i]))) {
            all->step[i].reads |= bit;
        }
    }
    all->step[b->last].reads |= bit;
}

hccl_borrowings_t *hccl_borrowings_find(const hccl_plan_t *plan)
{
    hccl_borrowings_t *all = malloc(sizeof(*all) + (size_t) plan->nsteps * sizeof(all->step[0]));
    if (NULL == all) {
        return NULL;
    }
    all->plan = plan;
    all->n = 0;
    for (int i = 0; i < plan->nsteps; i++) {
        all->step[i] = (hccl_borrower_t){.reads = 0, .number = -1};
    }
    for (int i = 0; i < plan->nsteps && all->n < HCCL_MAX_BORROWINGS; i++) {
        const hccl_step_t *r = &plan->steps[i];
        int wait = HCCL_STEP_RECV == r->kind && r->count > 0 ? wait_of(plan, i) : -1;
        if (wait >= 0) {
            all->borrowing[all->n] = follow(plan, i, wait);
            note(all, all->n++);
        }
    }
    return all;
}
