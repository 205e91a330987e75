/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Draws a comparison with gnuplot. Refuses to measure. Called by hccl_versus.c.
 */
#ifndef HCCL_BENCH_VERSUS_PLOT_H
#define HCCL_BENCH_VERSUS_PLOT_H

#include "versus_options.h"
#include "versus_row.h"

/* NULL, or why the files' names cannot be made from this prefix. */
const char *hccl_bench_plot_refuses(const char *prefix);

/* Writes PREFIX.gp, and by gnuplot PREFIX.svg and, where gnuplot can, PREFIX.png; prints their names, or
 * what is missing. False: gnuplot is there and failed, or a file cannot be written. */
bool hccl_bench_plot(const struct hccl_bench_versus_options *o, const struct hccl_bench_row *rows,
                     int count);

#endif
