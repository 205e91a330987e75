/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan of steps alone, written down by a unit test one after the other, as the parts of exec/ see it that look
 * for something in finished plans.
 */
#ifndef HCCL_TESTS_UNIT_BARE_STEPS_H
#define HCCL_TESTS_UNIT_BARE_STEPS_H

#include <string.h>

#include "plan/plan.h"

enum { MOST_STEPS = 12 };

static hccl_step_t steps[MOST_STEPS];
static hccl_source_t sources[2 * MOST_STEPS];
static hccl_plan_t plan;

static inline void begin(void)
{
    memset(steps, 0, sizeof(steps));
    memset(sources, 0, sizeof(sources));
    memset(&plan, 0, sizeof(plan));
    plan.npub = 4;
    plan.steps = steps;
    plan.sources = sources;
}

static inline hccl_step_t *step(hccl_step_kind_t kind, int base, int first, int count)
{
    hccl_step_t *s = &steps[plan.nsteps++];
    s->kind = (uint8_t) kind;
    s->base = (uint8_t) base;
    s->first = first;
    s->count = count;
    return s;
}

#endif
