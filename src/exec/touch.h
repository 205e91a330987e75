/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan's steps have to do with what a RECV of it receives. Used by landing.c and borrowing.c, which find
 * in a plan what becomes of that. They differ in which steps can do without it where the plan says it is: a
 * slot can be sent and copied from, the network tier's memory can be read by all but SEND, which would need it
 * registered, or copied.
 */
#ifndef HCCL_EXEC_TOUCH_H
#define HCCL_EXEC_TOUCH_H

#include <stdbool.h>

#include "plan/plan.h"

typedef enum {
    HCCL_TOUCH_NOTHING,
    HCCL_TOUCH_READS,     /* COPY, REDUCE, FOLD: parts of it, and no other positions with them */
    HCCL_TOUCH_SENDS,     /* SEND: likewise */
    HCCL_TOUCH_PUBLISHES, /* all of it, and maybe more */
    HCCL_TOUCH_PUBLISHES_PART, /* not all of it, and maybe more */
    HCCL_TOUCH_CONSUMES,       /* READS, and writes all of it */
    HCCL_TOUCH_REPLACES,       /* writes all of it */
    HCCL_TOUCH_OTHER           /* in a way that needs it where the plan says */
} hccl_touch_t;

/** What step s has to do with the operand of RECV r. */
hccl_touch_t hccl_touch_of(const hccl_plan_t *plan, const hccl_step_t *r, const hccl_step_t *s);

#endif
