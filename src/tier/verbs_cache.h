/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Registrations of user memory, kept for the next message from or to it.
 *
 * A registration pins pages. When the process unmaps an address and maps it anew, the device would go
 * on with the old pages: so whoever sees memory go (Open MPI's memory hooks) calls
 * hccl_verbs_cache_forget, and a registration that was forgotten never serves again. Where nobody can
 * see that, nothing is kept.
 *
 * All functions but forget are called under the owner's lock. forget may come from within any of them,
 * and from any thread at any time: it takes no lock, calls nothing and frees nothing.
 */
#ifndef HCCL_TIER_VERBS_CACHE_H
#define HCCL_TIER_VERBS_CACHE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codes.h"
#include "tier/verbs_table.h"

enum { HCCL_VERBS_REGISTRATIONS = 256 };

/** A registration, or room for one. */
typedef struct hccl_verbs_reg {
    _Atomic uintptr_t begin; /* whole pages; begin = end: room */
    _Atomic uintptr_t end;
    _Atomic bool stale; /* the memory has gone since */
    bool fixed;         /* memory that stays as long as the cache: never let go, and not counted */
    bool writable;      /* by the device; else messages are only sent from there */
    int users;          /* messages under way */
    uint64_t used;      /* when: the oldest goes first */
    struct ibv_mr *mr;
} hccl_verbs_reg_t;

typedef struct hccl_verbs_cache {
    const hccl_verbs_table_t *table;
    struct ibv_pd *pd;
    size_t most;   /* bytes kept at most */
    bool keeps;    /* someone calls forget */
    size_t bytes;  /* registered now */
    uint64_t uses; /* a clock */
    uint64_t made; /* registrations made so far */
    uint64_t hits;
    hccl_verbs_reg_t reg[HCCL_VERBS_REGISTRATIONS];
} hccl_verbs_cache_t;

void hccl_verbs_cache_init(hccl_verbs_cache_t *cache, const hccl_verbs_table_t *table,
                           struct ibv_pd *pd, size_t most, bool keeps);

/** Gives all up. Nobody may use one. */
void hccl_verbs_cache_fini(hccl_verbs_cache_t *cache);

/** Registers memory of the process that never goes before the cache does, for good; false: it cannot be
 *  had. */
HCCL_CHECKED bool hccl_verbs_cache_fix(hccl_verbs_cache_t *cache, const void *address,
                                       size_t bytes);

/** A registration that contains this memory (bytes > 0), for the time until hccl_verbs_cache_put; NULL:
 *  it cannot be had. writable: the device is to write there. */
hccl_verbs_reg_t *hccl_verbs_cache_get(hccl_verbs_cache_t *cache, const void *address, size_t bytes,
                                       bool writable);

/** Gives one back; NULL is allowed. */
void hccl_verbs_cache_put(hccl_verbs_cache_t *cache, hccl_verbs_reg_t *reg);

/** This memory is going, or has gone. */
void hccl_verbs_cache_forget(hccl_verbs_cache_t *cache, const void *address, size_t bytes);

#endif
