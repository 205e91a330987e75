/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover: takes the plans of all ranks of a communicator and walks them in one process, with no
 * MPI and no data, as exec/ would (cursors, rings of slots, acknowledgements, blocking messages).
 *
 * What it proves, for one world and one setup:
 *  - every plan is well formed and agrees with the others where plan.h says so;
 *  - no deadlock, no message without its partner, no publication overwritten before it was read;
 *  - nothing is read before it was written, nothing is written while a message uses it, SEND never;
 *  - every result is made of exactly the right contributions, in rank order where `ordered` says so,
 *    and all ranks of an allreduce combine by the same tree, so that they hold the same bits.
 * A collective, its ranks, root and neighbours come with the cases that the builders were given.
 *
 * On the way it counts what crosses each node's link, what ranks load and store, what of it crosses
 * boundaries inside the node, and what a cost model says of the time.
 *
 * Refuses to know algorithms (who calls it builds the plans), MPI and exec/. Used by tests and tools.
 */
#ifndef HCCL_PLAN_CHECK_H
#define HCCL_PLAN_CHECK_H

#include "plan/build.h"

/** All ranks of one collective operation. Borrowed for as long as the checker lives. */
typedef struct hccl_check_world {
    int n;                    /* ranks; on an inter-communicator those of both groups */
    const hccl_case_t *cases; /* [n] what each builder was given: the ranks of one group, then those
                                 of the other, who have a shape of their own */
    const hccl_plan_t *const *plans; /* [n] */
    bool ordered;                    /* the algorithm claims to combine in rank order here */
} hccl_check_world_t;

/** Who goes first. Whatever the order, the outcome must be the same. */
typedef enum {
    HCCL_SCHEDULE_FORWARD,  /* ranks in turn, each as far as it gets */
    HCCL_SCHEDULE_BACKWARD, /* the reverse, youngest segments first */
    HCCL_SCHEDULE_AHEAD,    /* one rank (by seed) as far as it gets, then one step of each other */
    HCCL_SCHEDULE_BEHIND,   /* one rank (by seed) moves only when nobody else can */
    HCCL_SCHEDULE_RANDOM,   /* by seed */
    HCCL_SCHEDULE_COUNT
} hccl_schedule_t;

/** Seconds; two tiers. Messages between nodes share their nodes' links. */
typedef struct hccl_cost_model {
    double alpha_net, beta_net; /* per message between nodes, per byte */
    double alpha_shm, beta_shm; /* per flag or message within a node, per byte copied */
    double gamma;               /* per byte of each operand combined */
} hccl_cost_model_t;

extern const hccl_cost_model_t hccl_cost_model_default;

typedef struct hccl_check_setup {
    int nseg;      /* segments, at least 1 */
    int slots;     /* of each ring, a power of two */
    bool in_place; /* alias SEND and RECV as plan.h says for MPI_IN_PLACE */
    hccl_schedule_t schedule;
    uint64_t seed;
    size_t units;      /* VECTOR: of the vector; else of a block. 0: one per block and segment */
    size_t parcel;     /* longest parcel, in units; 0: as long as units says */
    bool ragged;       /* blocks of tables and of private sizes differ in size, some are empty */
    double unit_bytes; /* for the cost */
    const hccl_cost_model_t *cost; /* NULL: the default */
} hccl_check_setup_t;

enum { HCCL_CHECK_WHY = 1024 };

typedef struct hccl_check_report {
    char why[HCCL_CHECK_WHY]; /* the first fault found, empty: none */
    uint64_t steps;           /* done by all ranks */
    uint64_t messages;        /* between nodes */
    uint64_t messages_inside; /* between ranks of a node */
    uint64_t *node_out;       /* [nodes] units sent to other nodes */
    uint64_t *node_in;        /* [nodes] */
    uint64_t *node_messages;  /* [nodes] sent to other nodes */
    uint64_t *published;      /* [n] units a rank published */
    uint64_t *fetched;        /* [n] units a rank read of others' publications */
    uint64_t *loaded;         /* [n] units of payload a rank loaded: PUBLISH, FETCH and COPY those
                                 of their operand, FOLD and REDUCE of each source; no messages */
    uint64_t *stored;         /* [n] ... and stored; a COPY onto itself is neither */
    /* Inside the nodes, by level from PACKAGE on, [nodes] each: what ranks read of publications of
     * (or messages from) ranks in another object of this level; CORE: of any other rank. */
    uint64_t *across[HCCL_LEVEL_COUNT]; /* units */
    uint64_t *reads[HCCL_LEVEL_COUNT];  /* times: as often a flag on the other side is polled */
    uint64_t total_units;               /* of the whole vector, or of all blocks of the grid */
    int nodes;                          /* of both groups */
    int rounds;                         /* most messages that follow each other between nodes */
    double seconds;                     /* by the cost model */
} hccl_check_report_t;

typedef struct hccl_checker hccl_checker_t;

/** Checks everything that can be seen without walking the plans. HCCL_OK; HCCL_ERR_INTERNAL: a
 *  fault, see why[HCCL_CHECK_WHY]; HCCL_ERR_NOMEM. *checker is set on HCCL_OK alone. */
HCCL_CHECKED int hccl_check_start(const hccl_check_world_t *world, hccl_checker_t **checker,
                                  char *why);

/** Large worlds: follow only this many positions, evenly spread with the first and the last among
 *  them. Exact for the positions followed, since blocks never mix. Collectives in whose plans they
 *  may (equal blocks that are moved freely) are always followed completely. */
void hccl_check_sample(hccl_checker_t *checker, int positions);

/** Smallest ring on which these plans need not deadlock. */
int hccl_check_smallest_ring(const hccl_checker_t *checker);

/** Whether setups with in_place differ from those without. */
bool hccl_check_has_in_place(const hccl_checker_t *checker);

/** Whether the plans may be walked in several segments. */
bool hccl_check_has_segments(const hccl_checker_t *checker);

/** Walks the plans. The report's arrays belong to the checker and last until its next run. Same
 *  codes; a fault is described in report->why. */
HCCL_CHECKED int hccl_check_run(hccl_checker_t *checker, const hccl_check_setup_t *setup,
                                hccl_check_report_t *report);

void hccl_check_end(hccl_checker_t *checker);

#endif
