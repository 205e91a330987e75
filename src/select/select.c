/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See select.h.
 */
#include "select/select.h"

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "algo/algo.h"

typedef enum {
    WHERE_CROWD,
    WHERE_ONE,
    WHERE_TIERS,
    WHERE_ODD,
    WHERE_UNEVEN,
    WHERE_UNEVEN_QUARTER,
    WHERE_UNEVEN_THIRD,
    WHERE_UNEVEN_TWICE,
    WHERE_ODD_TWICE,
    WHERE_MIXED,
    WHERE_MANY,
    WHERE_FLAT,
    WHERE_ANY
} where_t;

typedef struct rule {
    hccl_coll_t coll;
    where_t where;
    int least;
    size_t most;
    const char *algorithm;
    size_t segment;
    int index; /* of the algorithm, + 1; 0: not looked up yet. Every thread finds the same value */
} rule_t;

#define ALL SIZE_MAX
#define SHARE_FLAG (SIZE_MAX - SIZE_MAX / 2)
#define SHARE(bytes) ((bytes) | SHARE_FLAG)
static rule_t rules[] = {
#define HCCL_RULE(COLL, where, least, most, algorithm, segment) \
    {HCCL_COLL_##COLL, WHERE_##where, least, most, #algorithm, segment, 0},
#include "select/rules.def"
#undef HCCL_RULE
};
#undef SHARE
#undef ALL

/* Forced algorithms, index + 1; 0: automatic. Set while the component opens, then only read. */
static int forced[HCCL_COLL_COUNT];

int hccl_select_force(hccl_coll_t coll, const char *name, char *names, size_t len)
{
    if (0 == strcmp(name, "auto")) {
        forced[coll] = 0;
        return HCCL_OK;
    }
    int index = hccl_algo_find(coll, name);
    if (index >= 0) {
        forced[coll] = index + 1;
        return HCCL_OK;
    }
    size_t used = (size_t) snprintf(names, len, "auto");
    for (int i = 0; i < hccl_algo_count && used < len; i++) {
        if (coll == hccl_algos[i].coll) {
            used += (size_t) snprintf(names + used, len - used, ", %s", hccl_algos[i].name);
        }
    }
    return HCCL_ERR_ARG;
}

/* Whether the largest node has at least large / small times the ranks of the smallest one. */
static bool differ_by(const hccl_shape_t *shape, int large, int small)
{
    return (long long) shape->max_local * small >= (long long) shape->min_local * large;
}

static bool applies(const rule_t *rule, const hccl_query_t *query)
{
    const hccl_shape_t *shape = query->c->shape;
    bool is_flat = 1 == shape->max_local;
    bool is_one = 1 == shape->nnodes && !is_flat;
    bool is_odd = 0 != (shape->nnodes & (shape->nnodes - 1));
    if (rule->coll != query->c->coll || query->bytes > rule->most) {
        return false;
    }
    switch (rule->where) {
    case WHERE_CROWD:
        return is_one && query->crowded && shape->nranks >= rule->least;
    case WHERE_ONE:
        return is_one && shape->nranks >= rule->least;
    case WHERE_TIERS:
        return is_one && hccl_group_is_divided(&shape->group[0]) && shape->nranks >= rule->least;
    case WHERE_ODD:
        return is_odd && shape->nnodes >= rule->least;
    case WHERE_UNEVEN:
        return !shape->even && shape->nnodes >= rule->least;
    case WHERE_UNEVEN_QUARTER:
        return differ_by(shape, 5, 4) && shape->nnodes >= rule->least;
    case WHERE_UNEVEN_THIRD:
        return differ_by(shape, 4, 3) && shape->nnodes >= rule->least;
    case WHERE_UNEVEN_TWICE:
        return differ_by(shape, 2, 1) && shape->nnodes >= rule->least;
    case WHERE_ODD_TWICE:
        return is_odd && differ_by(shape, 2, 1) && shape->nnodes >= rule->least;
    case WHERE_MIXED:
        return !is_one && !shape->contiguous && shape->nnodes >= rule->least;
    case WHERE_MANY:
        return !is_one && !is_flat && shape->nnodes >= rule->least;
    case WHERE_FLAT:
        return is_flat && shape->nranks >= rule->least;
    default:
        return shape->nranks >= rule->least;
    }
}

static int index_of(rule_t *rule)
{
    int index = __atomic_load_n(&rule->index, __ATOMIC_RELAXED);
    if (0 == index) {
        index = hccl_algo_find(rule->coll, rule->algorithm) + 1;
        __atomic_store_n(&rule->index, index, __ATOMIC_RELAXED);
    }
    return index - 1;
}

static bool fits(int index, const hccl_query_t *query)
{
    const hccl_algo_t *algo = &hccl_algos[index];
    return !(query->no_lanes && 0 != (algo->fits & HCCL_FITS_SHARED_MEMORY))
           && hccl_algo_fits(algo, query->c, query->commutative);
}

/* The bytes of a rule's segment; for SHARE, as many times as shares of the vector travel alone. */
static size_t segment_of(const rule_t *rule, const hccl_shape_t *shape)
{
    if (0 == (rule->segment & SHARE_FLAG)) {
        return rule->segment;
    }
    return (rule->segment & ~SHARE_FLAG) * (size_t) shape->min_local * (size_t) shape->nnodes;
}

hccl_choice_t hccl_select(const hccl_query_t *query)
{
    const hccl_case_t *c = query->c;
    int index = forced[c->coll] - 1;
    if (index >= 0 && fits(index, query)) {
        return (hccl_choice_t){.algorithm = index, .segment = 0};
    }
    for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++) {
        if (applies(&rules[i], query)) {
            index = index_of(&rules[i]);
            if (index >= 0 && fits(index, query)) {
                return (hccl_choice_t){.algorithm = index,
                                       .segment = segment_of(&rules[i], c->shape)};
            }
        }
    }
    /* Inter-communicators and neighbourhoods have one algorithm each; the unit test of the table
     * makes sure that there is one for every case. */
    index = 0;
    while (c->coll != hccl_algos[index].coll || !fits(index, query)) {
        index++;
    }
    return (hccl_choice_t){.algorithm = index, .segment = 0};
}

int hccl_select_build(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hccl_algos[algorithm].build(c, algorithm, plan);
}
