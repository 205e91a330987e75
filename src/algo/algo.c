/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The table of algorithms and the two questions that are asked of it.
 */
#include "algo/algo.h"

#include <string.h>

#include "algo/parts.h"

const hccl_algo_t hccl_algos[] = {
#define HCCL_ALGO(ID, name, function, fits, about, rounds, bytes, source) \
    {#name, HCCL_COLL_##ID, fits, function, about, rounds, bytes, source},
#include "algo/algorithms.def"
#undef HCCL_ALGO
};

const hccl_source_text_t hccl_sources[] = {
#define HCCL_SOURCE(key, text) {#key, text},
#include "algo/sources.def"
#undef HCCL_SOURCE
};

const int hccl_source_count = (int) (sizeof(hccl_sources) / sizeof(hccl_sources[0]));

const int hccl_algo_count = (int) (sizeof(hccl_algos) / sizeof(hccl_algos[0]));

/* Whether the ranks of every group are consecutive in their node. */
static bool groups_in_order(const hccl_shape_t *shape)
{
    for (int g = 0; g < shape->ngroups; g++) {
        if (!hccl_group_is_range(shape, &shape->group[g])) {
            return false;
        }
    }
    return true;
}

bool hccl_algo_fits(const hccl_algo_t *algo, const hccl_case_t *c, bool commutative)
{
    /* a prefix is by its meaning in rank order, whatever the operation */
    const bool prefix = HCCL_COLL_SCAN == c->coll || HCCL_COLL_EXSCAN == c->coll;
    const bool needs_order = prefix || (hccl_coll_info[c->coll].reduces && !commutative);
    unsigned fits = algo->fits;

    if (algo->coll != c->coll) {
        return false;
    }
    if (0 == (fits & (0 < c->nremote ? HCCL_FITS_INTER : HCCL_FITS_INTRA))) {
        return false;
    }
    if (0 != (fits & HCCL_FITS_SHARED_MEMORY) && 1 == c->shape->max_local) {
        return false; /* also: the flat shape, used when shared memory can't be had */
    }
    if (0 != (fits & HCCL_FITS_ONE_NODE_ONLY) && 1 != c->shape->nnodes) {
        return false;
    }
    if (0 != (fits & HCCL_FITS_INNER_GROUPS) && c->shape->nnodes == c->shape->ngroups) {
        return false;
    }
    if (needs_order && 0 == (fits & HCCL_FITS_ORDERED)) {
        return 0 != (fits & HCCL_FITS_ORDERED_IF_CONTIGUOUS) && c->shape->contiguous
               && (0 == (fits & HCCL_FITS_INNER_GROUPS) || groups_in_order(c->shape));
    }
    return true;
}

int hccl_algo_find(hccl_coll_t coll, const char *name)
{
    for (int i = 0; i < hccl_algo_count; i++) {
        if (coll == hccl_algos[i].coll && 0 == strcmp(name, hccl_algos[i].name)) {
            return i;
        }
    }
    return -1;
}
