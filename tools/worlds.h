/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Worlds for the prover: the plans of all ranks of one operation, built by an algorithm. Used by the
 * model tests and by tools/hccl_plan; knows the algorithms and no MPI.
 */
#ifndef HCCL_TOOLS_WORLDS_H
#define HCCL_TOOLS_WORLDS_H

#include "algo/algo.h"
#include "plan/check.h"

/** Of all worlds made from now on, and of all that is simulated. */
extern hccl_dials_t world_dials;

/** A directed graph for neighbourhood collectives. */
typedef struct world_graph {
    int n;
    bool cartesian;
    int *nsources, *ndests; /* [n] */
    int **sources, **dests; /* [n] lists of ranks, negative: none */
} world_graph_t;

typedef struct world {
    hccl_check_world_t check; /* what the prover is given */
    hccl_case_t *cases;       /* [check.n] */
    hccl_plan_t **plans;      /* [check.n] */
} world_t;

/** Builds all plans. root: for a rooted collective, on inter-communicators a rank of `shape`'s group.
 *  remote: the other group's shape, or NULL. graph: for neighbourhood collectives, or NULL. Exits
 *  when there is no memory; false when a builder refuses, with the reason in why. */
bool world_make(world_t *w, int algorithm, const hccl_shape_t *shape, const hccl_shape_t *remote,
                int root, const world_graph_t *graph, char why[HCCL_CHECK_WHY]);

void world_free(world_t *w);

/** Random edges (several between a pair, to itself too), or a grid of dims[ndims]. */
void world_graph_random(world_graph_t *g, int n, uint64_t seed);
void world_graph_grid(world_graph_t *g, int ndims, const int *dims, const bool *periodic);
void world_graph_free(world_graph_t *g);

/** The shape of a topology in text form, or the end of the program. */
hccl_shape_t *world_shape(const char *text);

/** Memory or the end of the program. */
void *world_memory(size_t bytes);

#endif
