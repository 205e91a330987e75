/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Plans for blocks of private sizes (plan.h): pieces, parcels, long messages. The one other walker of
 * steps beside steps.c; for run.c and plan.c alone.
 */
#ifndef HCCL_EXEC_APART_H
#define HCCL_EXEC_APART_H

#include "exec/exec.h"

/** Publication numbers that an operation reserves, beside those of its first segment. A lane counts
 *  with 64 bits: enough for 2^43 operations. */
#define HCCL_APART_TAGS (UINT64_C(1) << 20)

/** Both together. An odd number, so that operations in turn use all slots: with an even one, who
 *  publishes once in each would find the same few slots, and wait until they are read. */
static inline uint64_t hccl_apart_tags(const hccl_plan_t *plan)
{
    return (HCCL_APART_TAGS + (uint64_t) plan->npub) | 1;
}

/** Longest parcel, where boxes have room: beyond that, to copy costs more than a message. */
#define HCCL_PARCEL_BYTES ((size_t) 2048)

/** What a slot takes: how long pieces, parcels and blocks in pieces may be. The same on all ranks.
 *  False: a box of parcels does not fit a slot. */
HCCL_CHECKED bool hccl_apart_measure(hccl_exec_t *x, const hccl_plan_t *plan);

/** Bytes of a scratch area, and of the list of messages. */
size_t hccl_apart_area(const hccl_exec_t *x);
size_t hccl_apart_list(const hccl_exec_t *x);

/** As hccl_step_try. Sets x->more when one of my blocks goes on in the next segment. */
HCCL_CHECKED hccl_step_result_t hccl_apart_try(hccl_exec_t *x, hccl_cursor_t *c,
                                               const hccl_step_t *step);

#endif
