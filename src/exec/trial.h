/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether an operation publishes its buffers in place or copies them: found out by trying.
 *
 * The choice is this rank's alone. It says how this rank announces its data; readers follow the
 * announcement, so ranks may choose differently, and each may choose anew with every call. Used by
 * plan.c and run.c.
 */
#ifndef HCCL_EXEC_TRIAL_H
#define HCCL_EXEC_TRIAL_H

#include "exec/exec.h"

/** What the calls of one collective and size have told so far. Times are nanoseconds per byte. */
typedef struct hccl_trial {
    float call[2];  /* least time of a block's calls: of copying, of publishing in place */
    float cycle[2]; /* least time from call to call */
    float calls;    /* of the block under way */
    float cycles;
    double began; /* the last call, nanoseconds */
    float bytes;  /* its size */
    int runs;     /* calls so far */
    int holds;    /* calls for which the answer still holds; 0: the trial goes on */
    bool direct;  /* the answer */
} hccl_trial_t;

/** Sets x->direct, and x->trial if this call is to be timed. bytes: of the vector or of a block.
 *  Called with the communicator's plan_lock held, after the lane was chosen. */
void hccl_trial_choose(hccl_exec_t *x, size_t bytes);

/** A call that is timed has ended. */
void hccl_trial_end(hccl_exec_t *x);

#endif
