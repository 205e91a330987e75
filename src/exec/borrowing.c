/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See borrowing.h.
 */
#include "exec/borrowing.h"

#include <stdlib.h>

#include "exec/touch.h"

/* What a step has to do with the operand of a RECV. */
typedef enum {
    TOUCH_NOTHING,
    TOUCH_READS,    /* in a way that can be done elsewhere */
    TOUCH_CONSUMES, /* likewise, and writes all of it */
    TOUCH_REPLACES, /* writes all of it */
    TOUCH_OTHER     /* in a way that needs it where the plan says */
} touch_t;

static touch_t touch_of(const hccl_plan_t *plan, const hccl_step_t *r, const hccl_step_t *s)
{
    bool reads = false;
    for (int i = 0; i < s->nsrc; i++) {
        const hccl_source_t *source = &plan->sources[s->src + i];
        if (source->peer < 0 && hccl_touch_overlaps(r, source->base, source->first, s->count)) {
            if (!hccl_touch_contains(r->first, r->count, source->first, s->count)) {
                return TOUCH_OTHER;
            }
            reads = true;
        }
    }
    if (HCCL_STEP_WAIT == s->kind || !hccl_touch_overlaps(r, s->base, s->first, s->count)) {
        return reads ? TOUCH_READS : TOUCH_NOTHING;
    }
    if (!hccl_touch_writes(s)) {
        return HCCL_STEP_PUBLISH == s->kind ? TOUCH_READS : TOUCH_OTHER;
    }
    if (!hccl_touch_contains(s->first, s->count, r->first, r->count)) {
        return TOUCH_OTHER;
    }
    return reads ? TOUCH_CONSUMES : TOUCH_REPLACES;
}

/* The WAIT that ends RECV `at`; -1: none, or somebody has to do with its operand before. */
static int wait_of(const hccl_plan_t *plan, int at)
{
    for (int i = at + 1; i < plan->nsteps; i++) {
        if (HCCL_STEP_WAIT == plan->steps[i].kind) {
            return i;
        }
        if (TOUCH_NOTHING != touch_of(plan, &plan->steps[at], &plan->steps[i])) {
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
        touch_t touch = touch_of(plan, r, &plan->steps[i]);
        if (TOUCH_READS == touch || TOUCH_CONSUMES == touch) {
            b.last = i;
            published = HCCL_STEP_PUBLISH == plan->steps[i].kind ? i : published;
        }
        more = TOUCH_NOTHING == touch || TOUCH_READS == touch;
        b.home = TOUCH_OTHER == touch;
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
        if (TOUCH_READS == touch_of(plan, &plan->steps[b->recv], &plan->steps[i])) {
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
