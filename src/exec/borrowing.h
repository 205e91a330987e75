/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What a plan receives only to read it: such a message may be read where the network tier has it, for
 * instance folded from the ring that it came through, and need not be copied to where the plan says (borrow.h
 * does that). Found once for each plan, from its steps alone; plans and builders know nothing of it.
 *
 * A RECV is *borrowed* from the WAIT that ends it until the last step that reads it, if all steps so far
 * can read it there: sources of COPY, REDUCE and FOLD, and what is published. It has to come *home*, to where the plan
 * says, if it is part of the user's buffer at the end, or if a step needs it there: one that sends it on, or
 * that changes a part of it. Then it is borrowed until the last PUBLISH before that, so that the node's ranks do not
 * wait for it, or not at all. Refuses to know buffers, sizes and the network. Used by exec/ and by unit tests.
 */
#ifndef HCCL_EXEC_BORROWING_H
#define HCCL_EXEC_BORROWING_H

#include <stdbool.h>
#include <stdint.h>

#include "plan/plan.h"

/** Most of them in one plan: a bit each, of a word. Further RECVs go where the plan says. */
enum { HCCL_MAX_BORROWINGS = 32 };

typedef struct hccl_borrowing {
    int32_t recv; /* the RECV's step */
    int32_t wait; /* the WAIT's */
    int32_t last; /* the last step that reads it, or the WAIT */
    bool home;    /* it is copied to where the plan says, in that step */
} hccl_borrowing_t;

/** What a step has to do with them. */
typedef struct hccl_borrower {
    uint32_t reads; /* those that it reads, or that end with it: a bit each */
    int32_t number; /* RECV: the borrowing that begins with it; -1: none */
} hccl_borrower_t;

typedef struct hccl_borrowings {
    const hccl_plan_t *plan;
    int n;
    hccl_borrowing_t borrowing[HCCL_MAX_BORROWINGS];
    hccl_borrower_t step[]; /* [nsteps] */
} hccl_borrowings_t;

/** Those of a plan; NULL: no memory. Freed with free, before the plan. */
hccl_borrowings_t *hccl_borrowings_find(const hccl_plan_t *plan);

#endif
