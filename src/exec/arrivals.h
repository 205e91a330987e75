/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What may become of the messages that a plan receives, beside going where it says: they land in slots
 * (land.h), or are borrowed (borrow.h). Found in a plan when it is first asked for, and kept with the
 * communicator. Refuses to know what is done about it. Called by plan.c and comm.c.
 */
#ifndef HCCL_EXEC_ARRIVALS_H
#define HCCL_EXEC_ARRIVALS_H

#include "exec/exec.h"

/** Those of one plan. */
typedef struct hccl_arrivals {
    struct hccl_arrivals *next; /* of the same communicator */
    const hccl_plan_t *plan;
    struct hccl_landings *landings;     /* NULL: not asked for yet, or no memory for it */
    struct hccl_borrowings *borrowings; /* likewise */
} hccl_arrivals_t;

/** Sets what the operation's messages may do. Under plan_lock. */
void hccl_arrivals_choose(hccl_exec_t *x);

/** Frees a communicator's. Before its plans. */
void hccl_arrivals_free(hccl_comm_t *hc);

#endif
