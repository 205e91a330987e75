/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What two cores can do, without MPI: the latency of a flag, and how fast they copy, fold and pass on
 * lines, at a given size. Two threads on the cores of ranks 0 and 1; both sleep between windows.
 * Refuses to know collectives. Called by hccl_versus.c.
 */
#ifndef HCCL_BENCH_VERSUS_MACHINE_H
#define HCCL_BENCH_VERSUS_MACHINE_H

#include "stats.h"

#include <stdbool.h>
#include <stddef.h>

struct hccl_bench_machine; /* opaque */

/* One window, both cores at work. Rates are 5th percentiles, in nanoseconds per byte; small
 * sizes have the rates of 4 KiB, and of 64 KiB for lines. */
struct hccl_bench_machine_answer {
    double flag; /* one way, nanoseconds */
    double
        through; /* microseconds from one core's buffer through a shared mapping into the other's,
                       one way, flag included: the machine's copy curve; median */
    double line; /* loading what the other core has just written */
    double copy; /* memcpy of own memory, per byte loaded or stored */
    double fold; /* c[i] = a[i] + b[i] on floats in own memory, per byte loaded or stored */
};

/* Buffers for windows of up to `most` bytes. NULL: no memory, or no two different cores. */
struct hccl_bench_machine *hccl_bench_machine_open(int first_core, int second_core, size_t most);
void hccl_bench_machine_close(struct hccl_bench_machine *m);

/* False: more bytes than there are buffers for. */
bool hccl_bench_machine_window(struct hccl_bench_machine *m, size_t bytes,
                               struct hccl_bench_machine_answer *a);

#endif
