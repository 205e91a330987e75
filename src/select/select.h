/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which algorithm serves a call. Decides by nothing but facts that all ranks of the communicator
 * share: collective, shape, packed bytes, whether the op commutes, root; never by a local count, a
 * datatype's layout or what could be allocated here (HAZARDS P17, P70).
 *
 * Knows the table of algorithms, no transport. Used by exec/.
 */
#ifndef HCCL_SELECT_SELECT_H
#define HCCL_SELECT_SELECT_H

#include <stdbool.h>
#include <stddef.h>

#include "plan/build.h"

typedef struct hccl_query {
    const hccl_case_t *c;
    size_t bytes;     /* of the vector; GRID collectives: of one block (on average, if they
                          differ); 0 when not every rank knows */
    bool commutative; /* the op commutes; true for collectives without op */
    bool no_lanes;    /* only the network tier can be had: algorithms with shared memory are out,
                          forced or not */
    bool crowded;     /* on some node, ranks outnumber the processors that they may run on */
} hccl_query_t;

typedef struct hccl_choice {
    int algorithm;  /* index into the table of algorithms */
    size_t segment; /* bytes of the vector or of one block per segment at the most, 0: not cut
                          unless the shared-memory ring asks for it */
} hccl_choice_t;

/** Checks a name given by the user for a collective and stores it for all later choices: "auto" or
 *  an algorithm's name. HCCL_ERR_ARG: no such algorithm; names (a buffer) then lists what there
 *  is. */
HCCL_CHECKED int hccl_select_force(hccl_coll_t coll, const char *name, char *names, size_t len);

/** The choice. Always succeeds: the table has an algorithm for every case (a unit test holds it to
 *  that); a forced algorithm that does not fit the case is passed over. */
hccl_choice_t hccl_select(const hccl_query_t *query);

/** Builds the plan of a chosen algorithm. */
HCCL_CHECKED int hccl_select_build(const hccl_case_t *c, int algorithm, hccl_plan_t **plan);

#endif
