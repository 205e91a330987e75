/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator: how long the plans of a collective take on a machine, and what they carry over
 * each link, by discrete events, without MPI and without data. docs/simulator.md says what is
 * modelled, what is exact and what is not.
 *
 * A program is what the simulator walks: the plans of all ranks of one shape, made small; or, where
 * the plans are the same seen from every node (or from every leaf switch), those of one such part,
 * who stand for all others. Refuses to prove anything (plan/check.h does). Used by tools and tests.
 */
#ifndef HCCL_TOOLS_SIM_H
#define HCCL_TOOLS_SIM_H

#include <stdint.h>

#include "algo/algo.h"
#include "machine.h"

typedef struct hccl_sim_program hccl_sim_program_t;

/** What is made into a program. */
typedef struct hccl_sim_case {
    int algorithm;             /* index into hccl_algos; its collective is no neighbourhood's */
    const hccl_shape_t *shape; /* borrowed for as long as the program lives */
    int root;
    int leaf;           /* nodes below one switch, in order; 0: no second level */
    const int *leaf_of; /* [nodes] the switch of each node, 0, 1, ...; NULL: as `leaf` says */
    int leaves;         /* switches that leaf_of names, each at least once */
    bool all_ranks;     /* do not look for parts that stand for others */
    uint64_t budget;    /* most steps that are kept, 0: 40 million */
} hccl_sim_case_t;

enum { HCCL_SIM_WHY = 512 };

/** HCCL_OK; HCCL_ERR_NOTSUP: more steps than the budget; HCCL_ERR_INTERNAL: a builder refuses,
 *  or messages have no partner; HCCL_ERR_NOMEM. why[HCCL_SIM_WHY] then says it. */
HCCL_CHECKED int hccl_sim_compile(const hccl_sim_case_t *c, hccl_sim_program_t **program,
                                  char *why);
void hccl_sim_free(hccl_sim_program_t *program);

/** How far a program was reduced. */
typedef struct hccl_sim_extent {
    uint64_t steps; /* kept */
    int machine_ranks;
    int ranks;    /* that are simulated */
    int nodes;    /* ... theirs */
    bool sampled; /* that the others do the same was seen on a sample of nodes, not on all */
} hccl_sim_extent_t;

hccl_sim_extent_t hccl_sim_extent(const hccl_sim_program_t *program);

hccl_coll_t hccl_sim_collective(const hccl_sim_program_t *program);

/** One step of one rank, when it has been done. */
typedef struct hccl_sim_trace {
    double begin, end;
    int rank, segment, step;
    int round; /* messages between nodes that have led to it */
} hccl_sim_trace_t;

typedef struct hccl_sim_setup {
    const hccl_machine_t *machine;
    size_t bytes;   /* of the vector, or of one block */
    size_t segment; /* hccl_choice_t.segment */
    size_t unit;    /* bytes of an element, 0: blocks of a vector are equal parts of it, to
                       fractions of bytes. Programs in which ranks stand for others always take
                       these */
    int nseg;       /* 0: as exec/ cuts them */
    uint64_t work;  /* steps and changes of messages' rates at most, 0: no limit */
    void (*trace)(void *context, const hccl_sim_trace_t *step); /* may be NULL */
    void *context;
} hccl_sim_setup_t;

typedef struct hccl_sim_link {
    double bytes;
    uint64_t messages;
} hccl_sim_link_t;

/** Links are those of the ranks simulated (hccl_sim_extent). */
typedef struct hccl_sim_report {
    double seconds;
    int nseg;
    int rounds; /* most messages that follow each other between nodes */
    uint64_t events;
    int nodes, nics, leaves;
    hccl_sim_link_t *out, *in;        /* [nodes * nics] */
    hccl_sim_link_t *up, *down;       /* [leaves] */
    hccl_sim_link_t tier[HCCL_TIERS]; /* read of publications of ranks at this distance
                                         (messages: times), messages inside nodes included */
} hccl_sim_report_t;

/** Runs. The report's arrays belong to the program and last until its next run. HCCL_OK,
 *  HCCL_ERR_NOMEM, HCCL_ERR_NOTSUP: more work than allowed, HCCL_ERR_INTERNAL: the plans stop
 *  before their end. why[HCCL_SIM_WHY] then says it. */
HCCL_CHECKED int hccl_sim_run(hccl_sim_program_t *program, const hccl_sim_setup_t *setup,
                              hccl_sim_report_t *report, char *why);

/** Plans for blocks of private sizes, with boxes of so many positions (0: none): longest block that shares a
 *  message with others. */
double hccl_sim_parcel(int box, const hccl_machine_t *machine);

/** Into how many segments a setup is cut. Runs nothing. */
HCCL_CHECKED int hccl_sim_segments(hccl_sim_program_t *program, const hccl_sim_setup_t *setup,
                                   int *nseg);

/** Bytes of the elements that blocks of a vector are rounded to: 4 in reductions. */
size_t hccl_sim_unit(hccl_coll_t coll, size_t bytes);

#endif
