/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan's steps have to do with each other's operands: ranges of positions, as plan.h has them. Used by
 * landing.c and borrowing.c, which find in a plan what becomes of what it receives.
 */
#ifndef HCCL_EXEC_TOUCH_H
#define HCCL_EXEC_TOUCH_H

#include <stdbool.h>

#include "plan/plan.h"

/** Whether a range of positions of a base shares some with a step's operand. */
static inline bool hccl_touch_overlaps(const hccl_step_t *r, int base, int first, int count)
{
    return r->base == base && first < r->first + r->count && r->first < first + count;
}

static inline bool hccl_touch_contains(int outer_first, int outer_count, int first, int count)
{
    return outer_first <= first && first + count <= outer_first + outer_count;
}

/** Whether a step writes its operand. */
static inline bool hccl_touch_writes(const hccl_step_t *s)
{
    return HCCL_STEP_PUBLISH != s->kind && HCCL_STEP_SEND != s->kind && HCCL_STEP_WAIT != s->kind;
}

#endif
