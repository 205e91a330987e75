/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_test's table and CSV. Refuses to measure. Called by rank 0 of hccl_test.
 */
#ifndef HCCL_BENCH_REPORT_H
#define HCCL_BENCH_REPORT_H

#include "measure.h"

#include <stdio.h>

/* The lines above the sizes of one collective in one mode. */
void hccl_bench_report_head(const struct hccl_bench_options *o,
                            const struct hccl_bench_collective *c, enum hccl_bench_mode mode,
                            int ranks);
void hccl_bench_report_row(const struct hccl_bench_options *o, const struct hccl_bench_result *r,
                           int ranks);

void hccl_bench_report_csv_head(FILE *csv);
void hccl_bench_report_csv_row(FILE *csv, const struct hccl_bench_result *r, int ranks);

/* Bytes of the whole operation, and what part of them the collective must move over a link. */
double hccl_bench_report_volume(const struct hccl_bench_collective *c, size_t bytes, int ranks);
double hccl_bench_report_bus_share(const struct hccl_bench_collective *c, int ranks);

#endif
