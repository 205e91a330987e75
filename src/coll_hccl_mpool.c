/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Alloc_mem from the heap (tier/heap.h), whose blocks collectives can publish where they lie.
 *
 * Open MPI asks the components of its mpool framework which of them serves MPI_Alloc_mem; one is
 * entered there for as long as the coll component lives. It is no plugin file of its own: that would
 * have to find the coll component, and would be there without it. What the heap does not hold (small
 * blocks, or all when it is full) comes from Open MPI's default pool, malloc.
 *
 * Open MPI remembers for each block who served it, also beyond MPI_Finalize. A program that calls
 * MPI_Free_mem too late is wrong, but works with Open MPI's own pool; so it shall with this one: the
 * component's code stays in memory while there are blocks.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <string.h>

#include "base/log.h"
#include "coll_hccl.h"

/* Above that of the default pool (50), so that calls without hints come here. Below 100: a user's
 * hint for another pool wins. */
enum { PRIORITY = 60, PRIORITY_ASKED_FOR = 100 };

/* Blocks that the user has. */
static atomic_long blocks;

static void *take(mca_mpool_base_module_t *mpool, size_t size, size_t align, uint32_t flags)
{
    (void) mpool;
    void *block = size < hccl_params.zero_copy_min ? NULL : hccl_heap_take(size, align);
    if (NULL == block) {
        block = mca_mpool_base_default_module->mpool_alloc(mca_mpool_base_default_module, size,
                                                           align, flags);
    }
    if (NULL != block) {
        atomic_fetch_add_explicit(&blocks, 1, memory_order_relaxed);
    }
    return block;
}

static void give(mca_mpool_base_module_t *mpool, void *block)
{
    (void) mpool;
    atomic_fetch_sub_explicit(&blocks, 1, memory_order_relaxed);
    if (!hccl_heap_give(block)) {
        mca_mpool_base_default_module->mpool_free(mca_mpool_base_default_module, block);
    }
}

static int query(const char *hints, int *priority, mca_mpool_base_module_t **module);

static mca_mpool_base_component_t component = {
    .mpool_version =
        {
            MCA_MPOOL_BASE_VERSION_3_0_0,
            .mca_component_name = "hccl",
        },
    .mpool_query = query,
};

static mca_mpool_base_module_t pool = {
    .mpool_component = &component,
    .mpool_alloc = take,
    .mpool_free = give,
    .flags = MCA_MPOOL_FLAGS_MPI_ALLOC_MEM,
    .mpool_allocation_unit = HCCL_HEAP_GRANULE,
};

/* hints: the value of the key mpool_hints of the user's info object, NULL: none. */
static int query(const char *hints, int *priority, mca_mpool_base_module_t **module)
{
    bool asked = NULL != hints && NULL != strstr(hints, "mpool=hccl");
    if (NULL != hints && !asked) {
        return OPAL_ERR_NOT_FOUND;
    }
    *priority = asked ? PRIORITY_ASKED_FOR : PRIORITY;
    *module = &pool;
    return OPAL_SUCCESS;
}

static mca_base_component_list_item_t *entry;

void hccl_mpool_join(void)
{
    size_t size;
    if (NULL != entry || NULL == hccl_heap_range(&size)) {
        return;
    }
    entry = OBJ_NEW(mca_base_component_list_item_t);
    if (NULL != entry) {
        entry->cli_component = &component.mpool_version;
        opal_list_append(&opal_mpool_base_framework.framework_components, &entry->super);
    }
}

/* Keeps this plugin's code where it is until the process ends. */
static void stay(void)
{
    Dl_info here;
    if (0 == dladdr(&pool, &here)
        || NULL == dlopen(here.dli_fname, RTLD_NOW | RTLD_NOLOAD | RTLD_NODELETE)) {
        hccl_log_info("%ld blocks from MPI_Alloc_mem were not freed before MPI_Finalize, and must "
                      "not be any more",
                      atomic_load_explicit(&blocks, memory_order_relaxed));
    }
}

void hccl_mpool_leave(void)
{
    if (NULL != entry && 0 < atomic_load_explicit(&blocks, memory_order_relaxed)) {
        stay();
    }
    if (NULL != entry) {
        opal_list_remove_item(&opal_mpool_base_framework.framework_components, &entry->super);
        OBJ_RELEASE(entry);
        entry = NULL;
    }
}
