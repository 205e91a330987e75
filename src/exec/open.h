/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Opening a lane: each rank prepares its part, then all ranks of the communicator agree whether
 * everyone could, and whether all have the same settings and see the same topology. So either all
 * use shared memory or none does (HAZARDS P43, P65, P81). The agreement is an allreduce over the
 * network tier, run by the operation that needs the lane.
 */
#ifndef HCCL_EXEC_OPEN_H
#define HCCL_EXEC_OPEN_H

#include "exec/exec.h"

/** Begins the opening of x->lane, which must be NEW; x->state becomes OPENING. */
HCCL_CHECKED int hccl_open_begin(hccl_exec_t *x);

/** Goes on with it; true when the lane is OPEN or UNAVAILABLE. */
HCCL_CHECKED bool hccl_open_advance(hccl_exec_t *x, bool *moved);

#endif
