/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleeping until a peer of the node has news: ordering 7 of shm_layout.h.
 *
 * A rank that waits in shared memory and wants to give its processor back says so in its region
 * (hccl_doze_begin), looks once more whether what it waits for has come, and only then sleeps. A
 * peer that has published or acknowledged something looks at these words afterwards and wakes who
 * sleeps. While nobody does, nobody makes a system call. Sleep always ends after a given time: it
 * may be for other news that the process has to do something. Used by exec/wait.c alone.
 */
#ifndef HCCL_TIER_DOZE_H
#define HCCL_TIER_DOZE_H

#include "tier/lane.h"

/** Announces that this rank is about to sleep. lane: open, and one that is sleepy, so that
 *  peers look for sleepers. False: another thread of this process dozes already. After true,
 *  hccl_doze_end must follow. */
HCCL_CHECKED bool hccl_doze_begin(const hccl_lane_t *lane);

/** Between begin and end: sleeps until a peer calls hccl_doze_wake, at most this long; not at all
 *  when one has done so since the announcement. */
void hccl_doze_sleep(const hccl_lane_t *lane, uint64_t ns);

void hccl_doze_end(const hccl_lane_t *lane);

/** Wakes those peers of an open lane that doze. After publishing and acknowledging, before anything
 *  that may take long. */
void hccl_doze_wake(const hccl_lane_t *lane);

#endif
