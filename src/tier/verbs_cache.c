/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See verbs_cache.h. The few registrations stand in a table that is looked through: forget can do
 * that without a lock, where a tree or list could not be walked.
 */
#include "tier/verbs_cache.h"

#include <string.h>

#define PAGE_BYTES ((uintptr_t) 4096)

void hccl_verbs_cache_init(hccl_verbs_cache_t *cache, const hccl_verbs_table_t *table,
                           struct ibv_pd *pd, size_t most, bool keeps)
{
    memset(cache, 0, sizeof(*cache));
    cache->table = table;
    cache->pd = pd;
    cache->most = most;
    cache->keeps = keeps;
}

static size_t bytes_of(const hccl_verbs_reg_t *reg)
{
    return atomic_load(&reg->end) - atomic_load(&reg->begin);
}

static void drop(hccl_verbs_cache_t *cache, hccl_verbs_reg_t *reg)
{
    if (NULL != reg->mr) {
        (void) cache->table->dereg_mr(reg->mr);
        reg->mr = NULL;
        cache->bytes -= reg->fixed ? 0 : bytes_of(reg);
        reg->fixed = false;
    }
    atomic_store(&reg->begin, 0);
    atomic_store(&reg->end, 0);
}

void hccl_verbs_cache_fini(hccl_verbs_cache_t *cache)
{
    for (int i = 0; i < HCCL_VERBS_REGISTRATIONS; i++) {
        drop(cache, &cache->reg[i]);
    }
}

/* Lets go of the registration that has been idle longest; false: none is idle. */
static bool drop_oldest(hccl_verbs_cache_t *cache)
{
    hccl_verbs_reg_t *oldest = NULL;
    for (int i = 0; i < HCCL_VERBS_REGISTRATIONS; i++) {
        hccl_verbs_reg_t *reg = &cache->reg[i];
        if (NULL != reg->mr && 0 == reg->users && !reg->fixed
            && (NULL == oldest || reg->used < oldest->used)) {
            oldest = reg;
        }
    }
    if (NULL != oldest) {
        drop(cache, oldest);
    }
    return NULL != oldest;
}

/* Looks for one that serves, and for room; lets go of what is stale. */
static hccl_verbs_reg_t *find(hccl_verbs_cache_t *cache, uintptr_t begin, uintptr_t end,
                              bool writable, hccl_verbs_reg_t **room)
{
    *room = NULL;
    for (int i = 0; i < HCCL_VERBS_REGISTRATIONS; i++) {
        hccl_verbs_reg_t *reg = &cache->reg[i];
        if (NULL != reg->mr && atomic_load(&reg->stale)) {
            if (0 == reg->users) {
                drop(cache, reg);
            }
        } else if (NULL != reg->mr && atomic_load(&reg->begin) <= begin
                   && end <= atomic_load(&reg->end) && (reg->writable || !writable)) {
            return reg;
        }
        if (NULL == reg->mr) {
            *room = reg;
        }
    }
    return NULL;
}

/* Registers. Memory that may only be read can still be sent. */
static struct ibv_mr *register_memory(hccl_verbs_cache_t *cache, hccl_verbs_reg_t *reg,
                                      bool writable)
{
    void *begin = (void *) atomic_load(&reg->begin);
    int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE;
    do {
        reg->writable = true;
        reg->mr = cache->table->reg_mr(cache->pd, begin, bytes_of(reg), access);
        if (NULL == reg->mr && !writable) {
            reg->writable = false;
            reg->mr = cache->table->reg_mr(cache->pd, begin, bytes_of(reg), 0);
        }
    } while (NULL == reg->mr && drop_oldest(cache));
    return reg->mr;
}

/* A registration of these pages in a free place; NULL: there is none to be had. */
static hccl_verbs_reg_t *make(hccl_verbs_cache_t *cache, hccl_verbs_reg_t *reg, uintptr_t begin,
                              uintptr_t end, bool writable)
{
    /* First where, then the registration: should the memory go meanwhile, it is noticed. */
    atomic_store(&reg->stale, false);
    atomic_store(&reg->begin, begin);
    atomic_store(&reg->end, end);
    reg->users = 0;
    if (NULL == register_memory(cache, reg, writable)) {
        drop(cache, reg);
        return NULL;
    }
    return reg;
}

static uintptr_t first_page(const void *address)
{
    return (uintptr_t) address / PAGE_BYTES * PAGE_BYTES;
}

static uintptr_t end_of_pages(const void *address, size_t bytes)
{
    return ((uintptr_t) address + bytes + PAGE_BYTES - 1) / PAGE_BYTES * PAGE_BYTES;
}

bool hccl_verbs_cache_fix(hccl_verbs_cache_t *cache, const void *address, size_t bytes)
{
    uintptr_t begin = first_page(address), end = end_of_pages(address, bytes);
    hccl_verbs_reg_t *room;
    (void) find(cache, begin, end, true, &room);
    if (NULL == room && drop_oldest(cache)) {
        (void) find(cache, begin, end, true, &room);
    }
    hccl_verbs_reg_t *reg = NULL == room ? NULL : make(cache, room, begin, end, true);
    if (NULL != reg) {
        reg->fixed = true;
    }
    return NULL != reg;
}

hccl_verbs_reg_t *hccl_verbs_cache_get(hccl_verbs_cache_t *cache, const void *address, size_t bytes,
                                       bool writable)
{
    uintptr_t begin = first_page(address), end = end_of_pages(address, bytes);
    hccl_verbs_reg_t *room;
    hccl_verbs_reg_t *reg = find(cache, begin, end, writable, &room);
    if (NULL == reg) {
        while (cache->bytes + (end - begin) > cache->most && drop_oldest(cache)) {
        }
        if (NULL == room) {
            /* Unless something has made way already. */
            reg = find(cache, begin, end, writable, &room);
        }
        if (NULL == room && drop_oldest(cache)) {
            reg = find(cache, begin, end, writable, &room);
        }
        reg = NULL == room ? NULL : make(cache, room, begin, end, writable);
        if (NULL == reg) {
            return NULL;
        }
        cache->bytes += end - begin;
        cache->made++;
    } else {
        cache->hits++;
    }
    reg->users++;
    reg->used = ++cache->uses;
    return reg;
}

void hccl_verbs_cache_put(hccl_verbs_cache_t *cache, hccl_verbs_reg_t *reg)
{
    if (NULL == reg || 0 != --reg->users || reg->fixed) {
        return;
    }
    if (!cache->keeps || atomic_load(&reg->stale) || cache->bytes > cache->most) {
        drop(cache, reg);
    }
}

void hccl_verbs_cache_forget(hccl_verbs_cache_t *cache, const void *address, size_t bytes)
{
    uintptr_t begin = (uintptr_t) address;
    for (int i = 0; i < HCCL_VERBS_REGISTRATIONS; i++) {
        hccl_verbs_reg_t *reg = &cache->reg[i];
        if (atomic_load(&reg->begin) < begin + bytes && begin < atomic_load(&reg->end)) {
            atomic_store(&reg->stale, true);
        }
    }
}
