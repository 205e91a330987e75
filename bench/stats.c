/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See stats.h.
 */
#include "stats.h"

#include <stdlib.h>

static int compare(const void *a, const void *b)
{
    double x = *(const double *) a, y = *(const double *) b;

    return (x > y) - (x < y);
}

struct hccl_bench_stats hccl_bench_stats_of(double *samples, int count)
{
    qsort(samples, (size_t) count, sizeof *samples, compare);
    return (struct hccl_bench_stats){
        .min = samples[0],
        .p5 = samples[count / 20],
        .median =
            0 == count % 2 ? (samples[count / 2 - 1] + samples[count / 2]) / 2 : samples[count / 2],
        .max = samples[count - 1]};
}
