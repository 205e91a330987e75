/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The plans of one communicator, by what they depend on. A plan stays until the communicator goes,
 * so pointers to it may be kept as long. Not locked: collectives on one communicator are called by
 * one thread at a time.
 */
#ifndef HCCL_PLAN_CACHE_H
#define HCCL_PLAN_CACHE_H

#include <stdbool.h>

#include "base/codes.h"
#include "plan/plan.h"

typedef struct hccl_plan_key {
    int32_t coll; /* hccl_coll_t */
    int32_t algorithm;
    int32_t root; /* 0 when the collective has none */
    int32_t flat; /* 1: planned on the flat shape */
} hccl_plan_key_t;

typedef struct hccl_plan_cache {
    struct hccl_plan_entry *entries; /* open addressing, capacity a power of two */
    unsigned capacity;
    unsigned used;
} hccl_plan_cache_t;

/** The plan, or NULL. */
const hccl_plan_t *hccl_cache_find(const hccl_plan_cache_t *cache, const hccl_plan_key_t *key);

/** Adds a plan and takes ownership of it (also on failure). HCCL_ERR_INTERNAL: there is one already,
 *  which stays, as somebody may be using it. */
HCCL_CHECKED int hccl_cache_add(hccl_plan_cache_t *cache, const hccl_plan_key_t *key,
                                hccl_plan_t *plan);

/** Frees all plans. */
void hccl_cache_clear(hccl_plan_cache_t *cache);

#endif
