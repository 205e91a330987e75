/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See versus_limit.h.
 *
 * A rank's buffer is seen by others only through shared memory, so what others need is copied in (one
 * load, one store per byte), and what comes from others is loaded across the cores. For each way of
 * doing a collective with p ranks the table says, for the rank that has most to do, how many flags
 * must pass one after the other, and how many bytes, in multiples of the size, it loads from lines
 * that another core has written (cross), loads or stores while it copies (copy), and loads or stores
 * while it reduces, without what is across (fold). These are the bounds on bytes per node, divided by
 * the ranks where the work can be divided:
 *     bcast 2ps; reduce-scatter s(3p-1); allreduce s(5p-2); allgather 2mp + 2mp^2;
 *     alltoall 4mp(p-1) + 2mp.
 */
#include "versus_limit.h"

#include <math.h>

enum { ROLES = 2, WAYS = 2 };

struct role {
    double cross, copy, fold;
};

/* The roles run side by side. */
struct way {
    int hops;
    struct role roles[ROLES];
};

/* The ways of one collective; the number of them. p: ranks. */
static int ways_of(enum hccl_bench_layout layout, double p, bool in_place, struct way ways[WAYS])
{
    double own = in_place ? 0 : 2; /* copying a rank's own block to its place */

    switch (layout) {
    case HCCL_BENCH_NOTHING:
        ways[0] = (struct way){.hops = 1};
        return 1;
    case HCCL_BENCH_BCAST: /* a receiver; the root */
        ways[0] = (struct way){1, {{1, 1, 0}, {0, 2, 0}}};
        return 1;
    case HCCL_BENCH_REDUCE_SCATTER:
        ways[0] = (struct way){1, {{(p - 1) / p, 2 * (p - 1) / p, 2 / p}}};
        return 1;
    case HCCL_BENCH_REDUCE: /* the root reduces all; or everybody a slice, which the root collects */
        ways[0] = (struct way){1, {{p - 1, 0, 2}, {0, 2, 0}}};
        ways[1] = (struct way){2, {{2 * (p - 1) / p, 3 * (p - 1) / p, 2 / p}}};
        return 2;
    case HCCL_BENCH_ALLREDUCE: /* everybody reduces all; or a slice, which the others fetch */
        ways[0] = (struct way){1, {{p - 1, 2, 2}}};
        ways[1] = (struct way){2, {{2 * (p - 1) / p, 3 * (p - 1) / p, 3 / p}}};
        return 2;
    case HCCL_BENCH_ALLGATHER:
        ways[0] = (struct way){1, {{p - 1, 2 + own + (p - 1), 0}}};
        return 1;
    case HCCL_BENCH_ALLTOALL:
        ways[0] = (struct way){1, {{p - 1, 3 * (p - 1) + own, 0}}};
        return 1;
    case HCCL_BENCH_GATHER: /* the root; the others */
        ways[0] = (struct way){1, {{p - 1, p - 1 + own, 0}, {0, 2, 0}}};
        return 1;
    case HCCL_BENCH_SCATTER: /* a receiver; the root */
        ways[0] = (struct way){1, {{1, 1, 0}, {0, 2 * (p - 1) + own, 0}}};
        return 1;
    default:
        return 0;
    }
}

double hccl_bench_limit(enum hccl_bench_layout layout, int ranks, size_t bytes, bool in_place,
                        const struct hccl_bench_machine_answer *rates)
{
    struct way ways[WAYS] = {{0}};
    int count = ranks < 2 ? 0 : ways_of(layout, ranks, in_place, ways);
    double least = 0;

    for (int w = 0; w < count; w++) {
        double longest = 0;
        for (int r = 0; r < ROLES; r++) {
            const struct role *role = &ways[w].roles[r];
            double time =
                (double) bytes
                * (role->cross * rates->line + role->copy * rates->copy + role->fold * rates->fold);
            longest = fmax(longest, time);
        }
        double time = 1e-3 * (ways[w].hops * rates->flag + longest);
        least = 0 == w ? time : fmin(least, time);
    }
    return least;
}
