/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan receives in order to publish it: such a message may be written straight into the slot in
 * which the node's ranks read it (land.h does that). Found once for each plan, from its steps alone; plans
 * and builders know nothing of it.
 *
 * A RECV has a *landing* if a later PUBLISH takes all of its operand along, and in between nobody needs
 * the operand where the plan says it is: it is sent on, which the slot serves as well, or left alone.
 * Refuses to know buffers, sizes and the network. Used by exec/ and by unit tests.
 */
#ifndef HCCL_EXEC_LANDING_H
#define HCCL_EXEC_LANDING_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/** Most of them in one plan: a bit each, of a word. Further RECVs go where the plan says. */
enum { HCCL_MAX_LANDINGS = 32 };

typedef struct hccl_landing {
    int32_t recv;    /* the RECV's step */
    int32_t publish; /* the PUBLISH's */
    int32_t first;   /* the RECV's operand */
    int32_t count;
    bool whole; /* it is all that is published */
    bool home;  /* later steps, or the user, want it where the plan says: it is copied there */
} hccl_landing_t;

typedef struct hccl_landings {
    const hccl_plan_t *plan;
    int n;
    hccl_landing_t landing[HCCL_MAX_LANDINGS];
    int32_t *published; /* [npub] the step that publishes under a number, -1: none on this rank */
    int8_t of[]; /* [nsteps] RECV: its landing; SEND and COPY: the landing that they can read from
                           instead of where the plan says, all of it; -1: none */
} hccl_landings_t;

/** Those of a plan; NULL: no memory. Freed with free, before the plan. */
hccl_landings_t *hccl_landings_find(const hccl_plan_t *plan);

#endif
