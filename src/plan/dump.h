/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A plan as text, one step per line, for people. Used by tools and tests.
 */
#ifndef HCCL_PLAN_DUMP_H
#define HCCL_PLAN_DUMP_H

#include <stdio.h>

#include "plan/plan.h"

/** Longest line of a step with up to 8 sources; of those with more the first 8 are shown. */
enum { HCCL_DUMP_LINE = 512 };

/** One step, without a line end. */
void hccl_dump_step(const hccl_plan_t *plan, int step, char line[HCCL_DUMP_LINE]);

/** The whole plan: a line of its counts, its order if it has one, its steps. */
void hccl_dump_plan(FILE *file, const hccl_plan_t *plan);

#endif
