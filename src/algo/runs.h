/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Runs: ranks in a row that share a node. Operations that do not commute can be combined inside a node
 * only within a run, whatever the mapping. Where each node's ranks are in a row, it is one run.
 *
 * Only files of algo/ may include this header.
 */
#ifndef HCCL_ALGO_RUNS_H
#define HCCL_ALGO_RUNS_H

#include "algo/parts.h"

/** In rank order, and by node: a run's place is its number in the order by node. */
typedef struct hccl_runs {
    int n;      /* runs */
    int *first; /* [n + 1] the rank that begins a run */
    int *place; /* [n] of a run */
    int *run;   /* [n] the run at a place */
    int *node;  /* [nodes + 1] the place where a node's runs begin */
} hccl_runs_t;

/** HCCL_OK or HCCL_ERR_NOMEM; free with hccl_runs_free in both cases. */
HCCL_CHECKED int hccl_runs_make(const hccl_shape_t *shape, hccl_runs_t *runs);
void hccl_runs_free(hccl_runs_t *runs);

/** Which of n ranges, which begin at begin[0] <= begin[1] ..., holds a value. */
int hccl_runs_holding(const int *begin, int n, int value);

/** The run of a rank. */
int hccl_runs_of(const hccl_runs_t *runs, int rank);

/** While positions are combined, before source number `number`: begins a new step if the last one has as
 *  many sources as it should. */
void hccl_runs_more(hccl_builder_t *b, int dst, int first, int count, int number);

/** Position `first` of dst = the SEND of ranks from, ..., end - 1 of my node, which the others among
 *  them have published under pub as a whole. */
void hccl_runs_fold(hccl_builder_t *b, const hccl_case_t *c, int pub, int from, int end, int dst,
                    int first);

/** How many runs lie between a run and the one before it in its node. The first run of a node has before it
 *  what all binary digits of the number of runs there make: no more than that are there. */
int hccl_runs_gap(const hccl_runs_t *runs, int node, int run);

/** Binary digits of the longest of these. */
int hccl_runs_gap_digits(const hccl_runs_t *runs, const hccl_shape_t *shape);

/** How many runs a node has. */
static inline int hccl_runs_count(const hccl_runs_t *runs, int node)
{
    return runs->node[node + 1] - runs->node[node];
}

/* ---- plans ------------------------------------------------------------------------------------ */

/** What builders of plans in rank order begin their state with. */
typedef struct hccl_ordered {
    const hccl_case_t *c;
    hccl_builder_t *b;
    hccl_node_t here;
    hccl_runs_t runs;
} hccl_ordered_t;

/** Starts a plan of so many blocks. HCCL_OK or HCCL_ERR_NOMEM; close in both cases. */
HCCL_CHECKED int hccl_ordered_open(hccl_ordered_t *o, const hccl_case_t *c, int algorithm,
                                   int blocks);

/** The finished plan, or what has failed: rc, or the builder's error. */
HCCL_CHECKED int hccl_ordered_close(hccl_ordered_t *o, int rc, hccl_plan_t **plan);

#endif
