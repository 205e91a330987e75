/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See touch.h.
 */
#include "exec/touch.h"

static bool overlaps(const hccl_step_t *r, int base, int first, int count)
{
    return r->base == base && first < r->first + r->count && r->first < first + count;
}

static bool contains(int outer_first, int outer_count, int first, int count)
{
    return outer_first <= first && first + count <= outer_first + outer_count;
}

/* Sources in my own memory: HCCL_TOUCH_NOTHING, READS or OTHER. */
static hccl_touch_t touch_of_sources(const hccl_plan_t *plan, const hccl_step_t *r,
                                     const hccl_step_t *s)
{
    hccl_touch_t touch = HCCL_TOUCH_NOTHING;
    for (int i = 0; i < s->nsrc; i++) {
        const hccl_source_t *source = &plan->sources[s->src + i];
        if (source->peer < 0 && overlaps(r, source->base, source->first, s->count)) {
            if (!contains(r->first, r->count, source->first, s->count)) {
                return HCCL_TOUCH_OTHER;
            }
            touch = HCCL_TOUCH_READS;
        }
    }
    return touch;
}

hccl_touch_t hccl_touch_of(const hccl_plan_t *plan, const hccl_step_t *r, const hccl_step_t *s)
{
    hccl_touch_t reads = touch_of_sources(plan, r, s);
    if (HCCL_STEP_WAIT == s->kind || HCCL_TOUCH_OTHER == reads
        || !overlaps(r, s->base, s->first, s->count)) {
        return reads;
    }
    bool all = contains(s->first, s->count, r->first, r->count);
    switch (s->kind) {
    case HCCL_STEP_SEND:
        return contains(r->first, r->count, s->first, s->count) ? HCCL_TOUCH_SENDS
                                                                : HCCL_TOUCH_OTHER;
    case HCCL_STEP_PUBLISH:
        return all ? HCCL_TOUCH_PUBLISHES : HCCL_TOUCH_PUBLISHES_PART;
    default: /* writes it */
        return !all                        ? HCCL_TOUCH_OTHER
               : HCCL_TOUCH_READS == reads ? HCCL_TOUCH_CONSUMES
                                           : HCCL_TOUCH_REPLACES;
    }
}
