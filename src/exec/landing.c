/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See landing.h.
 */
#include "exec/landing.h"

#include <stdlib.h>

#include "exec/touch.h"

/* What a step has to do with the operand of a RECV. */
typedef enum {
    TOUCH_NOTHING,
    TOUCH_READS,     /* a part of it and nothing else: SEND, or COPY of one source */
    TOUCH_PUBLISHES, /* all of it, and maybe more */
    TOUCH_REPLACES,  /* writes all of it */
    TOUCH_OTHER      /* in a way that needs it where the plan says */
} touch_t;

static touch_t touch_of(const hccl_plan_t *plan, const hccl_step_t *r, const hccl_step_t *s)
{
    touch_t touch = TOUCH_NOTHING;
    for (int i = 0; i < s->nsrc; i++) {
        const hccl_source_t *source = &plan->sources[s->src + i];
        if (source->peer < 0 && hccl_touch_overlaps(r, source->base, source->first, s->count)) {
            bool alone = HCCL_STEP_COPY == s->kind
                         && hccl_touch_contains(r->first, r->count, source->first, s->count);
            touch = alone ? TOUCH_READS : TOUCH_OTHER;
        }
    }
    if (HCCL_STEP_WAIT == s->kind || !hccl_touch_overlaps(r, s->base, s->first, s->count)) {
        return touch;
    }
    if (hccl_touch_writes(s)) {
        return TOUCH_NOTHING == touch && hccl_touch_contains(s->first, s->count, r->first, r->count)
                   ? TOUCH_REPLACES
                   : TOUCH_OTHER;
    }
    if (HCCL_STEP_PUBLISH == s->kind) {
        return hccl_touch_contains(s->first, s->count, r->first, r->count) ? TOUCH_PUBLISHES
                                                                           : TOUCH_OTHER;
    }
    return hccl_touch_contains(r->first, r->count, s->first, s->count) ? TOUCH_READS : TOUCH_OTHER;
}

/* The PUBLISH that takes the operand of RECV `at` along, before anything needs it; -1: none does. */
static int publish_of(const hccl_plan_t *plan, int at)
{
    for (int i = at + 1; i < plan->nsteps; i++) {
        switch (touch_of(plan, &plan->steps[at], &plan->steps[i])) {
        case TOUCH_PUBLISHES:
            return i;
        case TOUCH_REPLACES:
        case TOUCH_OTHER:
            return -1;
        case TOUCH_NOTHING:
        case TOUCH_READS:
            break;
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
    const hccl_step_t *r = &plan->steps[landing->recv];
    bool is_scratch = r->base >= HCCL_BASE_TMP;
    int last = is_scratch ? plan->nsteps : landing->publish;
    landing->home = !is_scratch;
    for (int i = landing->recv + 1; i < last; i++) {
        touch_t touch = touch_of(plan, r, &plan->steps[i]);
        if (TOUCH_READS == touch) {
            l->of[i] = (int8_t) number;
        } else if (TOUCH_REPLACES == touch) {
            return;
        } else if (i != landing->publish && TOUCH_NOTHING != touch) {
            landing->home = true;
        }
        if (TOUCH_OTHER == touch) {
            return; /* it may be another one from here on */
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
