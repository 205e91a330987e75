/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The table that hccl_versus prints: one line per size. Refuses to know rounds and files. Called by
 * hccl_versus.c.
 */
#ifndef HCCL_BENCH_VERSUS_TABLE_H
#define HCCL_BENCH_VERSUS_TABLE_H

#include "versus_row.h"

/* Who takes part, and where. */
void hccl_bench_table_contenders(const struct hccl_bench_contender *c, int count);

/* The head of a collective's table: who serves whom, the names of the columns. */
void hccl_bench_table_head(const struct hccl_bench_contender *c, int count, const char *collective,
                           const char *mode);

void hccl_bench_table_row(const struct hccl_bench_row *row, const struct hccl_bench_contender *c);

/* Under the table: geometric means of the ratios, and the lowest ratio to the best. */
void hccl_bench_table_end(const struct hccl_bench_row *rows, int count,
                          const struct hccl_bench_contender *c);

#endif
