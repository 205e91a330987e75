/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_test as one of the jobs under hccl_versus: it measures a window when told to and sleeps
 * otherwise. Refuses to know the other jobs. Called by hccl_test.c.
 *
 * Commands come on one named pipe per rank (PREFIX.RANK), so that every rank of the job that is not
 * measuring sleeps in read(2) and none of them polls inside MPI: `NAME MODE BYTES`, `served NAME
 * MODE` or `quit`. The end of the pipe is `quit` too: a driver that dies takes its jobs with it. Rank 0 answers on
 * PREFIX.out: `hello RANKS CPU...`, then for each command `result ITERATIONS BATCH MIN P5 MEDIAN MAX
 * FLAG_BEFORE FLAG_AFTER WRONG`, `served COMPONENT` or `error WHY`.
 */
#ifndef HCCL_BENCH_CONTROL_H
#define HCCL_BENCH_CONTROL_H

#include "measure.h"

/* Serves commands until told to quit; returns the exit code. */
int hccl_bench_control(struct hccl_bench_bench *b, const char *prefix);

#endif
