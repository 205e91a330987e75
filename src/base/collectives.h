/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The enumeration of the collectives and their fixed properties, expanded from collectives.def.
 * Knows nothing of MPI objects; every folder may use it.
 */
#ifndef HCCL_BASE_COLLECTIVES_H
#define HCCL_BASE_COLLECTIVES_H

#include <stdbool.h>

typedef enum {
#define HCCL_COLLECTIVE(ID, name, send, recv, root, reduces, sizes) HCCL_COLL_##ID,
#include "base/collectives.def"
#undef HCCL_COLLECTIVE
    HCCL_COLL_COUNT
} hccl_coll_t;

/** What a user buffer holds, see collectives.def. */
typedef enum { HCCL_HOLDS_NONE, HCCL_HOLDS_VECTOR, HCCL_HOLDS_GRID, HCCL_HOLDS_OWN } hccl_holds_t;

typedef struct hccl_coll_info {
    const char *name;  /* lower case, as in MPI_<Name> */
    hccl_holds_t send; /* content of the send buffer */
    hccl_holds_t recv; /* content of the receive buffer */
    bool rooted;       /* one rank is the root */
    bool reduces;      /* takes an op */
    bool shared_sizes; /* every rank knows the size of every block */
} hccl_coll_info_t;

extern const hccl_coll_info_t hccl_coll_info[HCCL_COLL_COUNT];

#endif
