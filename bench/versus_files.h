/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The files that hccl_versus writes for other programs: rows as CSV and JSON, single windows as CSV.
 * Refuses to know rounds' sense. Called by hccl_versus.c.
 */
#ifndef HCCL_BENCH_VERSUS_FILES_H
#define HCCL_BENCH_VERSUS_FILES_H

#include "versus_options.h"
#include "versus_row.h"

#include <stdio.h>

/* NULL members: not asked for. */
struct hccl_bench_files {
    FILE *csv, *json, *windows;
    int json_rows; /* written so far */
};

/* Opens what the options ask for and writes the heads. NULL, or the option that failed, with errno. */
const char *hccl_bench_files_open(struct hccl_bench_files *f,
                                  const struct hccl_bench_versus_options *o);

void hccl_bench_files_row(struct hccl_bench_files *f, const struct hccl_bench_versus_options *o,
                          const struct hccl_bench_row *row);

/* Round number `round` of a row; order: the contenders as they measured. */
void hccl_bench_files_round(struct hccl_bench_files *f, const struct hccl_bench_versus_options *o,
                            const struct hccl_bench_row *row, int round,
                            const struct hccl_bench_round *r, const int *order);

/* False: something could not be written. */
bool hccl_bench_files_close(struct hccl_bench_files *f);

#endif
