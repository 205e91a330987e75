/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See cache.h.
 */
#include "plan/cache.h"

#include <stdlib.h>
#include <string.h>

struct hccl_plan_entry {
    hccl_plan_key_t key;
    hccl_plan_t *plan; /* NULL: free */
};

static unsigned hash(const hccl_plan_key_t *key)
{
    uint64_t h = (uint64_t) (uint32_t) key->root * UINT64_C(0x9e3779b97f4a7c15);
    h ^= (uint64_t) (uint32_t) (key->coll << 16 | key->algorithm << 1 | key->flat)
         * UINT64_C(0xc2b2ae3d27d4eb4f);
    return (unsigned) (h >> 32);
}

/* The entry of the key, or the free one where it belongs. There is always a free one. */
static struct hccl_plan_entry *locate(struct hccl_plan_entry *entries, unsigned capacity,
                                      const hccl_plan_key_t *key)
{
    unsigned at = hash(key) & (capacity - 1);
    while (NULL != entries[at].plan && 0 != memcmp(&entries[at].key, key, sizeof(*key))) {
        at = (at + 1) & (capacity - 1);
    }
    return &entries[at];
}

const hccl_plan_t *hccl_cache_find(const hccl_plan_cache_t *cache, const hccl_plan_key_t *key)
{
    return 0 == cache->capacity ? NULL : locate(cache->entries, cache->capacity, key)->plan;
}

static int enlarge(hccl_plan_cache_t *cache)
{
    unsigned capacity = 0 == cache->capacity ? 16 : 2 * cache->capacity;
    struct hccl_plan_entry *entries = calloc(capacity, sizeof(*entries));
    if (NULL == entries) {
        return HCCL_ERR_NOMEM;
    }
    for (unsigned i = 0; i < cache->capacity; i++) {
        if (NULL != cache->entries[i].plan) {
            *locate(entries, capacity, &cache->entries[i].key) = cache->entries[i];
        }
    }
    free(cache->entries);
    cache->entries = entries;
    cache->capacity = capacity;
    return HCCL_OK;
}

int hccl_cache_add(hccl_plan_cache_t *cache, const hccl_plan_key_t *key, hccl_plan_t *plan)
{
    if (2 * (cache->used + 1) > cache->capacity) {
        int rc = enlarge(cache);
        if (HCCL_OK != rc) {
            free(plan);
            return rc;
        }
    }
    struct hccl_plan_entry *entry = locate(cache->entries, cache->capacity, key);
    if (NULL != entry->plan) {
        free(plan);
        return HCCL_ERR_INTERNAL;
    }
    entry->key = *key;
    entry->plan = plan;
    cache->used++;
    return HCCL_OK;
}

void hccl_cache_clear(hccl_plan_cache_t *cache)
{
    for (unsigned i = 0; i < cache->capacity; i++) {
        free(cache->entries[i].plan);
    }
    free(cache->entries);
    memset(cache, 0, sizeof(*cache));
}
