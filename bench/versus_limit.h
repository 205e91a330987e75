/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The model's limit: the least time that a collective inside a node can take when every rank's bytes
 * move at the rates measured on the cores. Refuses to know contenders and how rates are measured.
 * Called by versus_row.c.
 */
#ifndef HCCL_BENCH_VERSUS_LIMIT_H
#define HCCL_BENCH_VERSUS_LIMIT_H

#include "collectives.h"
#include "versus_machine.h"

/* Microseconds; 0 where there is no model. `bytes` as the collective's size_meaning says. */
double hccl_bench_limit(enum hccl_bench_layout layout, int ranks, size_t bytes, bool in_place,
                        const struct hccl_bench_machine_answer *rates);

#endif
