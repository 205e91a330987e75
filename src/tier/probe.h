/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The start-up probe: which slots suit the rings of this machine.
 *
 * Knows neither MPI nor who else runs here. Called by the component when it opens, in one process of
 * a host.
 */
#ifndef HCCL_TIER_PROBE_H
#define HCCL_TIER_PROBE_H

#include "base/tuning.h"

/** Tries the candidates for the sizes of slots with two threads on two processors; they move data
 *  through rings like those of a lane. A candidate wins over the usual size, which `usual` says,
 *  only if it is clearly faster. Takes a few milliseconds, and at most `seconds`.
 *  HCCL_ERR_NOTSUP: not possible on these processors, or not done by then; HCCL_ERR_NOMEM. */
HCCL_CHECKED int hccl_probe(const int pair[2], double seconds, const hccl_tuning_t *usual,
                            hccl_tuning_t *found);

#endif
