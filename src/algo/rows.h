/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Rows of runs (see runs.h): runs that follow one another on different nodes. In a row neighbours meet first, so
 * that what is combined is always a stretch of ranks. Groups of runs unite, a few in a round: before, in each of
 * them somebody holds the blocks of a node; then one of these gets them from the others. That is recursive halving
 * for any number of runs, and without more bytes where that is no power of two.
 *
 * Knows the shape and nothing of plans. Only files of algo/ may include this header.
 */
#ifndef HCCL_ALGO_ROWS_H
#define HCCL_ALGO_ROWS_H

#include "algo/runs.h"

/** All rows: a new one begins where a node would come a second time. */
typedef struct hccl_rows {
    const hccl_shape_t *shape;
    const hccl_runs_t *runs; /* outlive this */
    int n;
    int *begin; /* [n + 1] the first run of a row */
} hccl_rows_t;

/** HCCL_OK or HCCL_ERR_NOMEM; free with hccl_rows_free in both cases. */
HCCL_CHECKED int hccl_rows_make(const hccl_shape_t *shape, const hccl_runs_t *runs,
                                hccl_rows_t *rows);
void hccl_rows_free(hccl_rows_t *rows);

/** The row of a run. */
int hccl_rows_of(const hccl_rows_t *rows, int run);

/** A node's run in a row, -1: none. */
int hccl_rows_run(const hccl_rows_t *rows, int node, int row);

/** How many rows before a row are without a node. */
int hccl_rows_away(const hccl_rows_t *rows, int node, int row);

/** The run of a row that stands for a node without a run there. */
int hccl_rows_deputy(const hccl_rows_t *rows, int node, int row);

enum { HCCL_ROW_ROUNDS = 31 };

/** A group of runs of a row, which is divided into parts; I am in one of them. Runs are numbered in the row. */
typedef struct hccl_row_group {
    int low, n; /* its first run; how many */
    int parts;
    int mine;    /* my part */
    int *holder; /* [nodes] which run holds a node's blocks when the parts have united */
} hccl_row_group_t;

/** How a row unites. */
typedef struct hccl_row {
    int nodes, n; /* runs */
    int me;       /* my run */
    int most;     /* parts of a group */
    bool odd;     /* number of the row: which parts are the longer ones */
    int rounds;   /* groups */
    hccl_row_group_t group[HCCL_ROW_ROUNDS]; /* from the row on, inwards */
    int *holders; /* [rounds + 1][nodes] theirs; the last one's part is my run alone */
} hccl_row_t;

/** How the row of a run unites, up to `most` groups in a round. HCCL_OK or HCCL_ERR_NOMEM; free with hccl_row_free
 *  in both cases. */
HCCL_CHECKED int hccl_row_make(const hccl_rows_t *rows, int run, int most, hccl_row_t *row);
void hccl_row_free(hccl_row_t *row);

/** The first run of part i of a group; i may be the number of parts. */
int hccl_row_part(const hccl_row_t *row, const hccl_row_group_t *g, int i);

/** Who of part `to` holds what the run `member` of part `from` will have, until the parts unite. */
int hccl_row_mirror(const hccl_row_t *row, const hccl_row_group_t *g, int from, int to, int member);

/** node[0..nodes-1] = all nodes, so that what travels together in a row of all of them is together. HCCL_OK or
 *  HCCL_ERR_NOMEM. */
HCCL_CHECKED int hccl_row_order(int nodes, int most, int *node);

#endif
