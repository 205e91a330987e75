/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Bugs to plant in plans: a kind of bug, at the n-th place where it applies.
 */
#ifndef HCCL_TESTS_MODEL_MUTANTS_H
#define HCCL_TESTS_MODEL_MUTANTS_H

#include "../../tools/worlds.h"

typedef enum {
    MUTANT_DROP_PUBLISH, /* a step is left out */
    MUTANT_DROP_COPY,
    MUTANT_DROP_FETCH,
    MUTANT_DROP_COMBINE,
    MUTANT_DROP_SEND,
    MUTANT_DROP_RECV,
    MUTANT_DROP_WAIT,
    MUTANT_LATE_WAIT,      /* the WAIT comes after the step behind it */
    MUTANT_PEER,           /* a message goes to, or comes from, the next rank */
    MUTANT_SOURCE_PEER,    /* another rank's publication is read */
    MUTANT_OPERAND,        /* the operand begins one position further */
    MUTANT_SOURCE,         /* a source does */
    MUTANT_COUNT,          /* one position less */
    MUTANT_PUBLISH_NUMBER, /* published under the next number, or the previous one */
    MUTANT_READ_NUMBER,    /* read under it */
    MUTANT_SWAP_SOURCES,   /* two neighbouring operands of a combination change places */
    MUTANT_TWICE,          /* a source is combined again in place of its neighbour */
    MUTANT_BASE,           /* the step writes to, or sends from, another base */
    MUTANT_ACK,            /* a publication is acknowledged before it is read */
    MUTANT_DIRECT,         /* a publication that may not be read in place may be */
    MUTANT_HOW,            /* blocks of private sizes: the step moves them in another way */
    MUTANT_KINDS
} mutant_kind_t;

const char *mutant_name(mutant_kind_t kind);

/** A copy of the plan with a bug of the kind at step `step` (and source `source`), NULL where the
 *  kind does not apply. The copy is one block of memory. size: ranks of the group. */
hccl_plan_t *mutant_make(const hccl_plan_t *plan, mutant_kind_t kind, int step, int source,
                         int size, int local_size, int local_me);

/** Why the bug is none, NULL: it is one. Judges by the plans alone, without walking them. */
const char *mutant_excuse(const world_t *w, int rank, mutant_kind_t kind, int step, int source);

#endif
