/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Times of one algorithm over many sizes, within bounds of memory and time: simulated where that is
 * affordable, else extrapolated from fewer nodes or fewer segments. docs/simulator.md says when.
 */
#ifndef HCCL_TOOLS_ESTIMATE_H
#define HCCL_TOOLS_ESTIMATE_H

#include "sim.h"

/** How a time was found. */
typedef enum {
    HCCL_ESTIMATE_NONE,   /* not at all */
    HCCL_ESTIMATE_ALL,    /* all ranks simulated */
    HCCL_ESTIMATE_PART,   /* some stand for all, compared with the plans of all */
    HCCL_ESTIMATE_SAMPLE, /* ... with those of a sample */
    HCCL_ESTIMATE_LINE    /* extrapolated by a straight line, over segments or nodes */
} hccl_estimate_how_t;

extern const char *const hccl_estimate_names[];

typedef struct hccl_estimate {
    double seconds;
    size_t segment; /* of those tried, with which it is fastest */
    hccl_estimate_how_t how;
    int rounds;
    double out; /* most bytes that leave a NIC */
} hccl_estimate_t;

typedef struct hccl_estimate_case {
    int algorithm, root;
    const hccl_machine_t *machine;
    const char *inside; /* the topology of one node; NULL: `whole` says all */
    const char *whole;
    int nodes;
    const size_t *segments; /* [nsegments] lengths to try */
    int nsegments;
    uint64_t work, keep; /* most steps done, and kept, by one simulation; 0: the defaults */
} hccl_estimate_case_t;

/** out[nsizes]. HCCL_OK also where nothing could be found (how says it); HCCL_ERR_ARG: no such
 *  shape, HCCL_ERR_NOTSUP: the algorithm does not fit it, HCCL_ERR_NOMEM, HCCL_ERR_INTERNAL;
 *  then why[HCCL_SIM_WHY] is written. */
HCCL_CHECKED int hccl_estimate(const hccl_estimate_case_t *c, const size_t *sizes, int nsizes,
                               hccl_estimate_t *out, char *why);

#endif
