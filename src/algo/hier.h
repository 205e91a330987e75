/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The two phases of collectives on several nodes: reducing, inside the nodes and then between them,
 * and gathering, between the nodes and then inside them. What happens inside (slices, or the ways
 * through the groups of a divided node) and what between (a pattern) are independent of each other.
 *
 * The data are cut by rails (parts.h): for each rail one rank of every node takes part in the
 * exchange. Knows no collective, as the other parts. Only files of algo/ may include this header.
 */
#ifndef HCCL_ALGO_HIER_H
#define HCCL_ALGO_HIER_H

#include "algo/exchange.h"
#include "algo/tiers.h"

typedef struct hccl_hier {
    const hccl_case_t *c;
    hccl_builder_t *b;
    hccl_node_t here;
    int seat; /* which member of exchanges is in my node */
    hccl_exchange_t x;
    hccl_rails_t rails;
    const hccl_way_t *way;
    bool round_by_round;    /* gathering: what has come is shared while the rest travels */
    bool groups;            /* inside the nodes: through their groups */
    hccl_tiers_t tiers;     /* groups */
    hccl_slices_t slices;   /* no groups: what the ranks of my node own */
    int *seats;             /* who is which member of exchanges, NULL: as the shape says */
    int *local;             /* groups: the rank of my node that serves a rail */
    int first;              /* my first rail */
    int n;                  /* my rails */
    hccl_stream_t *streams; /* [n] */
    bool *folded;           /* [n][nodes] piped: my node's share of it is combined */
} hccl_hier_t;

/** What the data are. */
typedef enum {
    HCCL_HIER_VECTOR, /* one vector, both phases */
    HCCL_HIER_REDUCE, /* blocks of all ranks, to be reduced */
    HCCL_HIER_GATHER  /* blocks of all ranks, to be gathered */
} hccl_hier_data_t;

/** Starts the plan of an algorithm whose name says what happens between the nodes. HCCL_OK or an error;
 *  hccl_hier_finish in both cases. */
HCCL_CHECKED int hccl_hier_start(hccl_hier_t *h, const hccl_case_t *c, int algorithm,
                                 hccl_hier_data_t data);

/** rc, or what hccl_build_finish says, after freeing everything. */
HCCL_CHECKED int hccl_hier_finish(hccl_hier_t *h, int rc, hccl_plan_t **plan);

/** dst = src of all ranks combined: on my rails, my node's share. area and tmp are overwritten; area
 *  may be dst. */
void hccl_hier_reduce(hccl_hier_t *h, int src, int area, int tmp, int dst);

/** The same for ways that go straight to each node, in the order of the nodes. low is overwritten too. */
void hccl_hier_reduce_in_order(hccl_hier_t *h, int src, int area, int tmp, int low, int dst);

/** dst = src of all ranks combined, everywhere, where the way says how between the nodes. */
void hccl_hier_allreduce(hccl_hier_t *h, int src, int tmp, int dst);

/** The shares of all nodes to all ranks, in base. Where blocks are gathered, each rank has its own
 *  in base and has published it under `pub`; otherwise the owners of my node's share have it. */
void hccl_hier_gather(hccl_hier_t *h, int base, int pub);

#endif
