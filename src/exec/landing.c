/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See landing.h.
 */
#include "exec/landing.h"

#include <stdlib.h>

#include "exec/touch.h"

/* Whether a step takes from the slot what it needs of it: these can. */
static bool reads(const hccl_step_t *s, hccl_touch_t touch)
{
    return HCCL_TOUCH_SENDS == touch || (HCCL_TOUCH_READS == touch && HCCL_STEP_COPY == s->kind);
}

/* The PUBLISH that takes the operand of RECV `at` along, before anything needs it; -1: none does. */
static int publish_of(const hccl_plan_t *plan, int at)
{
    for (int i = at + 1; i < plan->nsteps; i++) {
        hccl_touch_t touch = hccl_touch_of(plan, &plan->steps[at], &plan->steps[i]);
        if (HCCL_TOUCH_PUBLISHES == touch) {
            return i;
        }
        if (HCCL_TOUCH_NOTHING != touch && !reads(&plan->steps[i], touch)) {
            return -1;
        }
    }
    return -1;
}

/* Notes who reads from the landing instead. Of scratch memory, nothing has to come home if these are all;
 * the receive buffer is the user's. */
static void find_readers(hccl_landings_t *l, int number)
{
    const hccl_plan_t *plan = l->plan;
    hccl_landing_t *landing = &l->landing[number];
    bool is_scratch = plan->steps[landing->recv].base >= HCCL_BASE_TMP;
    int last = is_scratch ? plan->nsteps : landing->publish;
    landing->home = !is_scratch;
    for (int i = landing->recv + 1; i < last; i++) {
        hccl_touch_t touch = hccl_touch_of(plan, &plan->steps[landing->recv], &plan->steps[i]);
        if (HCCL_TOUCH_REPLACES == touch) {
            return;
        }
        if (reads(&plan->steps[i], touch)) {
            l->of[i] = (int8_t) number;
        } else if (i != landing->publish && HCCL_TOUCH_NOTHING != touch) {
            landing->home = true;
            if (HCCL_TOUCH_PUBLISHES != touch) {
                return; /* it may be another one from here on */
            }
        }
    }
}

hccl_landings_t *hccl_landings_find(const hccl_plan_t *plan)
{
    size_t steps = ((size_t) plan->nsteps + 7) / 8 * 8;
    hccl_landings_t *l = malloc(sizeof(*l) + steps + (size_t) plan->npub * sizeof(*l->published));
    if (NULL == l) {
        return NULL;
    }
    l->plan = plan;
    l->n = 0;
    l->published = (int32_t *) (void *) (l->of + steps);
    for (int i = 0; i < plan->npub; i++) {
        l->published[i] = -1;
    }
    for (int i = 0; i < plan->nsteps; i++) {
        l->of[i] = -1;
        if (HCCL_STEP_PUBLISH == plan->steps[i].kind) {
            l->published[plan->steps[i].pub] = i;
        }
    }
    for (int i = 0; i < plan->nsteps && l->n < HCCL_MAX_LANDINGS; i++) {
        const hccl_step_t *r = &plan->steps[i];
        int publish = HCCL_STEP_RECV == r->kind && r->count > 0 ? publish_of(plan, i) : -1;
        if (publish >= 0) {
            l->landing[l->n] = (hccl_landing_t){.recv = i,
                                                .publish = publish,
                                                .first = r->first,
                                                .count = r->count,
                                                .whole = r->count == plan->steps[publish].count};
            l->of[i] = (int8_t) l->n;
            find_readers(l, l->n++);
        }
    }
    return l;
}
