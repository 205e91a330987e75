/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts what crosses the boundaries between packages, NUMA domains and L3 caches of nodes and holds
 * it against the least that is possible: tiers. Prints one line per algorithm.
 *
 * The least for D packages (or domains, or caches) with n bytes in all: each of them but the root's
 * takes all of a bcast in, gives its part of a reduction out; in an allgather each lacks what the
 * others have, D n - n together; an allreduce is a reduction and a bcast of each part of the vector.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/worlds.h"

enum { UNITS = 1000 };

/* Counted by hand: what ranks are in. */
typedef struct divided {
    const char *text;
    uint64_t ranks, parts;              /* parts: of the node, by its outermost level */
    uint64_t objects[HCCL_LEVEL_COUNT]; /* of a level, on each node; 0: no such level */
} divided_t;

static const divided_t shapes[] = {
    {"numa:2 core:2", 4, 2, {[HCCL_LEVEL_NUMA] = 2}},
    {"numa:2 core:4 map:0,4,1,5,2,6,3,7", 8, 2, {[HCCL_LEVEL_NUMA] = 2}},
    {"numa:2 core:(2,5)", 7, 2, {[HCCL_LEVEL_NUMA] = 2}},
    {"numa:3 core:(1,3,1)", 5, 3, {[HCCL_LEVEL_NUMA] = 3}},
    {"l3:8 core:4", 32, 8, {[HCCL_LEVEL_L3] = 8}},
    {"package:2 numa:2 core:2", 8, 2, {[HCCL_LEVEL_PACKAGE] = 2, [HCCL_LEVEL_NUMA] = 4}},
    {"package:2 numa:4 core:8", 64, 2, {[HCCL_LEVEL_PACKAGE] = 2, [HCCL_LEVEL_NUMA] = 8}},
    {"package:2 numa:(1,3) core:(3,2,2,1)",
     8,
     2,
     {[HCCL_LEVEL_PACKAGE] = 2, [HCCL_LEVEL_NUMA] = 4}},
    {"package:2 numa:2 l3:2 core:2 map:15,0,14,1,13,2,12,3,11,4,10,5,9,6,8,7",
     16,
     2,
     {[HCCL_LEVEL_PACKAGE] = 2, [HCCL_LEVEL_NUMA] = 4, [HCCL_LEVEL_L3] = 8}},
};

static const divided_t clusters[] = {
    {"node:2 numa:2 core:4", 16, 2, {[HCCL_LEVEL_NUMA] = 2}},
    {"node:3 package:2 numa:2 core:2 map:cyclic",
     24,
     2,
     {[HCCL_LEVEL_PACKAGE] = 2, [HCCL_LEVEL_NUMA] = 4}},
    {"node:4 numa:3 core:(1,5,2,1,5,2,1,5,2,1,5,2)", 32, 3, {[HCCL_LEVEL_NUMA] = 3}},
};

/* How often the n bytes, or a flag, cross the boundaries between d objects of a level. */
typedef uint64_t (*crossings_t)(const divided_t *shape, uint64_t d);

static uint64_t one_way(const divided_t *shape, uint64_t d)
{
    (void) shape;
    return d - 1;
}

static uint64_t two_ways(const divided_t *shape, uint64_t d)
{
    (void) shape;
    return 2 * (d - 1);
}

/* Up to 4 parts of the node meet, each reads of each other, instead of going two ways. */
static uint64_t two_ways_or_meet(const divided_t *shape, uint64_t d)
{
    uint64_t top = shape->parts <= 4 ? shape->parts * (shape->parts - 1) : 2 * (shape->parts - 1);
    return top + 2 * (d - shape->parts);
}

static const struct {
    hccl_coll_t coll;
    const char *name;
    crossings_t bytes;
    crossings_t reads; /* NULL: not looked at */
    const char *text;
} rows[] = {
    {HCCL_COLL_ALLREDUCE, "tier_slices", two_ways, NULL, "2 (D - 1) n"},
    {HCCL_COLL_REDUCE_SCATTER, "tier_slices", one_way, NULL, "(D - 1) n"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "tier_slices", one_way, NULL, "(D - 1) n"},
    {HCCL_COLL_REDUCE, "tier_slices", one_way, NULL, "(D - 1) n"},
    {HCCL_COLL_BCAST, "tier_slices", one_way, NULL, "(D - 1) n"},
    {HCCL_COLL_ALLGATHER, "tier_slices", one_way, NULL, "(D - 1) n"},
    {HCCL_COLL_ALLGATHERV, "tier_slices", one_way, NULL, "(D - 1) n"},
    {HCCL_COLL_ALLREDUCE, "tier_tree", two_ways_or_meet, two_ways_or_meet, "one read per crossing"},
    {HCCL_COLL_BARRIER, "tier_tree", two_ways_or_meet, two_ways_or_meet, "one read per crossing"},
    {HCCL_COLL_REDUCE, "tier_tree", one_way, one_way, "(D - 1) n in D - 1 reads"},
    {HCCL_COLL_BCAST, "tier_tree", one_way, one_way, "(D - 1) n in D - 1 reads"},
    {HCCL_COLL_ALLREDUCE, "hier_ring", two_ways, NULL, "2 (D - 1) n in each node"},
    {HCCL_COLL_ALLREDUCE, "hier_nhr", two_ways, NULL, "2 (D - 1) n in each node"},
    {HCCL_COLL_ALLREDUCE, "hier_nb", two_ways, NULL, "2 (D - 1) n in each node"},
    {HCCL_COLL_ALLREDUCE, "hier_rhd", two_ways, NULL, "2 (D - 1) n in each node"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_ring", one_way, NULL, "(D - 1) n in each node"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_nhr", one_way, NULL, "(D - 1) n in each node"},
    {HCCL_COLL_REDUCE_SCATTER, "hier_nb", one_way, NULL, "(D - 1) n in each node"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_ring", one_way, NULL, "(D - 1) n in each node"},
    {HCCL_COLL_ALLGATHER, "hier_ring", one_way, NULL, "(D - 1) n in each node"},
    {HCCL_COLL_ALLGATHER, "hier_nhr", one_way, NULL, "(D - 1) n in each node"},
    {HCCL_COLL_ALLGATHER, "hier_nb", one_way, NULL, "(D - 1) n in each node"},
    {HCCL_COLL_ALLGATHERV, "hier_ring", one_way, NULL, "(D - 1) n in each node"},
    {HCCL_COLL_ALLREDUCE, "hier_rd", two_ways, two_ways, "2 (D - 1) n in as many reads"},
    {HCCL_COLL_BARRIER, "hier", two_ways, two_ways, "2 (D - 1) reads"},
    {HCCL_COLL_REDUCE, "hier_tree", one_way, one_way, "(D - 1) n in D - 1 reads"},
    {HCCL_COLL_BCAST, "hier_tree", one_way, one_way, "(D - 1) n in D - 1 reads"},
    {HCCL_COLL_BCAST, "hier_chain", one_way, one_way, "(D - 1) n in D - 1 reads"},
};

static bool holds(size_t row, const divided_t *shape, const hccl_check_report_t *r, int node,
                  char *why)
{
    for (int level = HCCL_LEVEL_PACKAGE; level < HCCL_LEVEL_CORE; level++) {
        uint64_t d = shape->objects[level], is = r->across[level][node];
        uint64_t bytes = 0 == d ? 0 : rows[row].bytes(shape, d) * r->total_units;
        uint64_t read = r->reads[level][node];
        uint64_t reads = 0 == d || NULL == rows[row].reads ? 0 : rows[row].reads(shape, d);
        if (is != bytes || (NULL != rows[row].reads && read != reads)) {
            snprintf(why, HCCL_CHECK_WHY,
                     "node %d level %d: %llu units in %llu reads, expected %llu in %llu (n = %llu)",
                     node, level, (unsigned long long) is, (unsigned long long) read,
                     (unsigned long long) bytes, (unsigned long long) reads,
                     (unsigned long long) r->total_units);
            return false;
        }
    }
    return true;
}

static bool check_root(size_t row, int algorithm, const divided_t *divided,
                       const hccl_shape_t *shape, int root, char *why)
{
    world_t w;
    hccl_checker_t *k;
    hccl_check_report_t r;
    bool vector = HCCL_HOLDS_VECTOR == hccl_coll_info[rows[row].coll].recv;
    hccl_check_setup_t setup = {
        .nseg = 1, .slots = 8, .units = UNITS * (vector ? divided->ranks : 1), .unit_bytes = 1};
    if (!world_make(&w, algorithm, shape, NULL, root, NULL, why)) {
        return false;
    }
    bool ok = HCCL_OK == hccl_check_start(&w.check, &k, why);
    if (ok) {
        ok = HCCL_OK == hccl_check_run(k, &setup, &r);
        if (!ok) {
            memcpy(why, r.why, HCCL_CHECK_WHY);
        }
        for (int node = 0; ok && node < r.nodes; node++) {
            ok = holds(row, divided, &r, node, why);
        }
        hccl_check_end(k);
    }
    world_free(&w);
    return ok;
}

static bool check_shape(size_t row, int algorithm, const divided_t *divided, char *why)
{
    hccl_shape_t *shape;
    bool ok = true;
    if (HCCL_OK != hccl_shape_from_text(divided->text, -1, &shape, why, HCCL_CHECK_WHY)) {
        return false;
    }
    int roots = hccl_coll_info[rows[row].coll].rooted ? shape->nranks : 1;
    for (int root = 0; root < roots && ok; root++) {
        ok = check_root(row, algorithm, divided, shape, root, why);
    }
    hccl_shape_free(shape);
    return ok;
}

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        const char *coll = hccl_coll_info[rows[i].coll].name;
        int algorithm = hccl_algo_find(rows[i].coll, rows[i].name);
        char why[HCCL_CHECK_WHY] = "no such algorithm";
        const char *where = "";
        bool ok = algorithm >= 0;
        bool many = 0 == strncmp(rows[i].name, "hier", 4);
        const divided_t *list = many ? clusters : shapes;
        size_t n =
            many ? sizeof(clusters) / sizeof(clusters[0]) : sizeof(shapes) / sizeof(shapes[0]);
        for (size_t s = 0; s < n && ok; s++) {
            where = list[s].text;
            ok = check_shape(i, algorithm, &list[s], why);
        }
        if (ok) {
            printf("ok tiers/%s/%s\n#   %s across each level, %zu shapes, all roots\n", coll,
                   rows[i].name, rows[i].text, n);
        } else {
            printf("not ok tiers/%s/%s: %s: %s: %s\n", coll, rows[i].name, rows[i].text, where,
                   why);
            failed++;
        }
    }
    return 0 == failed ? 0 : 1;
}
