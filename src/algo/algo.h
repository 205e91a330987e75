/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The algorithms: one builder each, listed in algorithms.def. A builder turns a case (collective,
 * shape of the communicator, my rank, root) into a plan through plan/build.h. It knows no
 * transport, no buffer and no count, and must decide by nothing but the case, which is equal on
 * all ranks but for `me`.
 *
 * Called by exec/ through plan/cache.h and by the prover; select/ reads the table.
 */
#ifndef HCCL_ALGO_ALGO_H
#define HCCL_ALGO_ALGO_H

#include "plan/build.h"

/** When an algorithm may be used; combined by or. */
enum {
    HCCL_FITS_INTRA = 1 << 0,   /* intra-communicators */
    HCCL_FITS_INTER = 1 << 1,   /* inter-communicators */
    HCCL_FITS_ORDERED = 1 << 2, /* combines in rank order on every shape (ops that do not
                                      commute) */
    HCCL_FITS_ORDERED_IF_CONTIGUOUS = 1 << 3, /* ... when every node's ranks are consecutive */
    HCCL_FITS_ONE_NODE_ONLY = 1 << 4,         /* needs shape.nnodes == 1 */
    HCCL_FITS_SHARED_MEMORY = 1 << 5,         /* publishes within nodes that have several ranks */
    HCCL_FITS_LINEAR_COST = 1 << 6, /* number of steps grows with the number of ranks or more: not
                                      meant for (and not proven on) very large groups */
    HCCL_FITS_INNER_GROUPS = 1 << 7 /* needs nodes that are divided; ORDERED_IF_CONTIGUOUS then
                                       means that the ranks of every group are consecutive */
};

typedef struct hccl_algo {
    const char *name; /* as users write it in parameters */
    hccl_coll_t coll;
    unsigned fits;
    int (*build)(const hccl_case_t *c, int algorithm, hccl_plan_t **plan);
    /* for help texts and documentation, see algorithms.def */
    const char *about;
    const char *rounds;
    const char *bytes;
    const char *source; /* keys of hccl_sources, separated by ", " */
} hccl_algo_t;

/** A paper or a manual. */
typedef struct hccl_source_text {
    const char *key, *text;
} hccl_source_text_t;

extern const hccl_source_text_t hccl_sources[];
extern const int hccl_source_count;

extern const hccl_algo_t hccl_algos[];
extern const int hccl_algo_count;

/** Whether the algorithm may serve the case. commutative is ignored for collectives without op. */
bool hccl_algo_fits(const hccl_algo_t *algo, const hccl_case_t *c, bool commutative);

/** Index into hccl_algos of a collective's algorithm by name, -1 when there is none. */
int hccl_algo_find(hccl_coll_t coll, const char *name);

#endif
