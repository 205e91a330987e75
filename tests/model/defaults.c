/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the default rules choose on several nodes: never an algorithm that does not know the nodes,
 * for short messages one that takes the fewest rounds and messages between nodes. Prints one line per
 * collective and check. And that one node more or less, or one rank, sends what it is worth.
 *
 * H: nodes, L: ranks of the smallest node. Each rank talks to one other at a time, so after a round
 * at most L + 1 times as many nodes know something: the fewest rounds are the smallest d with
 * (L + 1)^d >= H, and L d messages per node are enough.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "algo/algo.h"
#include "select/select.h"
#include "shapes.h"
#include "../../tools/worlds.h"

/* In node order, alternating, reversed, shuffled, uneven, one rank of some nodes and all of others
 * (what a communicator may be made of). */
static const char *const shapes[] = {
    "node:2 rank:2",
    "node:2 rank:4",
    "node:2 rank:4 map:cyclic",
    "node:3 rank:2 map:5,4,3,2,1,0",
    "node:3 rank:3",
    "node:3 rank:3 map:cyclic",
    "node:3 rank:(1,2,3)",
    "node:3 rank:(1,2,3) map:cyclic",
    "node:3 rank:(3,1,2) map:4,2,0,5,3,1",
    "node:4 rank:2",
    "node:4 rank:2 map:cyclic",
    "node:4 rank:4 map:0,4,8,12,13,9,5,1,2,6,10,14,15,11,7,3",
    "node:4 rank:(4,1,4,1)",
    "node:4 rank:(1,4,4,1) map:cyclic",
    "node:5 rank:2",
    "node:5 rank:4 map:cyclic",
    "node:5 rank:(4,4,4,4,3)",
    "node:6 rank:(1,8,1,8,8,1)",
    "node:7 rank:2 map:13,0,12,1,11,2,10,3,9,4,8,5,7,6",
    "node:7 rank:3",
    "node:8 rank:2",
    "node:9 rank:2 map:cyclic",
    "node:9 rank:8",
    "node:10 rank:8",
    "node:10 rank:3 map:cyclic",
    "node:13 rank:(3,2,2,3,2,2,3,2,2,3,2,2,3)",
    "node:16 rank:3",
    "node:17 rank:4",
    "node:26 rank:4 map:cyclic",
    "node:64 rank:8",
    "node:3 numa:2 core:4",
    "node:5 package:2 numa:2 core:2 map:cyclic",
};
enum { SHAPES = sizeof(shapes) / sizeof(shapes[0]) };

static const size_t sizes[] = {8, 256, 1024, 4096, 16384, 65536, 1 << 20, 16 << 20};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static int failed;

static void verdict(bool ok, const char *check, hccl_coll_t coll, const char *where,
                    const char *why)
{
    if (ok) {
        printf("ok defaults/%s/%s\n", check, hccl_coll_info[coll].name);
    } else {
        printf("not ok defaults/%s/%s: %s: %s\n", check, hccl_coll_info[coll].name, where, why);
        failed++;
    }
}

static int choose_for(hccl_coll_t coll, const hccl_shape_t *shape, int root, size_t bytes,
                      bool commutative)
{
    const hccl_case_t c = {.coll = coll, .shape = shape, .root = root};
    const hccl_query_t query = {.c = &c, .bytes = bytes, .commutative = commutative};

    return hccl_select(&query).algorithm;
}

static int choose(hccl_coll_t coll, const hccl_shape_t *shape, int root, size_t bytes)
{
    return choose_for(coll, shape, root, bytes, true);
}

/* ---- every choice knows the nodes ------------------------------------------------------------- */

/* Every topology of the prover's list that has several nodes, one of them with several ranks; no exceptions. An
 * algorithm that does not publish inside nodes does not know them. */
static void check_hierarchical(hccl_coll_t coll, bool commutative, const char *check,
                               const shape_list_t *list)
{
    char why[128] = "";
    const char *where = "";

    for (int i = 0; i < list->n && '\0' == why[0]; i++) {
        hccl_shape_t *shape = world_shape(list->text[i]);
        const bool rooted = hccl_coll_info[coll].rooted;

        where = list->text[i];
        for (int s = 0; s < SIZES && '\0' == why[0] && 1 < shape->nnodes && 1 < shape->max_local;
             s++) {
            for (int root = 0; root < (rooted ? shape->nranks : 1); root += 1 + shape->nranks / 3) {
                const hccl_algo_t *algo =
                    &hccl_algos[choose_for(coll, shape, root, sizes[s], commutative)];

                if (0 == (algo->fits & HCCL_FITS_SHARED_MEMORY)) {
                    snprintf(why, sizeof(why), "%zu bytes go by %s", sizes[s], algo->name);
                }
            }
        }
        hccl_shape_free(shape);
    }
    verdict('\0' == why[0], check, coll, where, why);
}

/* ---- short messages --------------------------------------------------------------------------- */

/* Beside those above: one rank on every node. */
static const char *const flat_shapes[] = {"node:2", "node:3", "node:5",  "node:6", "node:7",
                                          "node:8", "node:9", "node:12", "node:17"};
enum { FLAT_SHAPES = sizeof(flat_shapes) / sizeof(flat_shapes[0]) };

/* What one walk of short messages may cost; allreduce sends and receives whole vectors. */
static bool within_bounds(hccl_coll_t coll, const hccl_shape_t *shape, int root,
                          const hccl_check_report_t *r, char *why)
{
    const uint64_t h = (uint64_t) shape->nnodes, l = (uint64_t) shape->min_local;
    const uint64_t n = r->total_units;
    uint64_t d = 0;

    for (uint64_t reach = 1; reach < h; reach *= l + 1) {
        d++;
    }
    snprintf(why, HCCL_CHECK_WHY, "root %d: %d rounds, the fewest are %llu", root, r->rounds,
             (unsigned long long) d);
    bool ok = (uint64_t) r->rounds <= d;
    const uint64_t all = HCCL_COLL_BCAST == coll ? h - 1 : h * l * d;

    if (ok && r->messages > all) {
        snprintf(why, HCCL_CHECK_WHY, "root %d: %llu messages in all, more than %llu", root,
                 (unsigned long long) r->messages, (unsigned long long) all);
        ok = false;
    }
    for (uint64_t v = 0; v < h && ok; v++) {
        /* nodes of a smaller part of an allreduce serve two of a larger one */
        const uint64_t out = HCCL_COLL_ALLREDUCE == coll ? 2 * l * d : l * d;
        const uint64_t in = HCCL_COLL_ALLREDUCE == coll ? l * d * n
                            : HCCL_COLL_BCAST == coll   ? n
                                                        : 0;

        ok = r->node_messages[v] <= out && r->node_in[v] <= in;
        snprintf(why, HCCL_CHECK_WHY,
                 "root %d: node %llu sends %llu messages, at most %llu; receives %llu units, at "
                 "most %llu",
                 root, (unsigned long long) v, (unsigned long long) r->node_messages[v],
                 (unsigned long long) out, (unsigned long long) r->node_in[v],
                 (unsigned long long) in);
    }
    return ok;
}

static bool check_short(hccl_coll_t coll, const hccl_shape_t *shape, int root, size_t bytes,
                        char *why)
{
    world_t w;
    hccl_checker_t *k;
    hccl_check_report_t r;
    const hccl_check_setup_t setup = {.nseg = 1, .slots = 8, .unit_bytes = 1};

    if (!world_make(&w, choose(coll, shape, root, bytes), shape, NULL, root, NULL, why)) {
        return false;
    }
    int rc = hccl_check_start(&w.check, &k, why);

    if (HCCL_OK == rc) {
        rc = hccl_check_run(k, &setup, &r);
        if (HCCL_OK != rc) {
            memcpy(why, r.why, HCCL_CHECK_WHY);
        } else if (!within_bounds(coll, shape, root, &r, why)) {
            rc = HCCL_ERR_INTERNAL;
        }
        hccl_check_end(k);
    }
    world_free(&w);
    return HCCL_OK == rc;
}

static void check_rounds(hccl_coll_t coll)
{
    static const size_t small[] = {8, 1024};
    char why[HCCL_CHECK_WHY] = "";
    const char *where = "";
    bool ok = true;

    for (int i = 0; i < SHAPES + FLAT_SHAPES && ok; i++) {
        where = i < SHAPES ? shapes[i] : flat_shapes[i - SHAPES];
        hccl_shape_t *shape = world_shape(where);
        const int end = hccl_coll_info[coll].rooted ? shape->nranks : 1;

        for (int s = 0; s < 2 && ok; s++) {
            for (int root = 0; root < end && ok; root += 1 + end / 6) {
                ok = check_short(coll, shape, root, small[s], why);
            }
        }
        hccl_shape_free(shape);
    }
    verdict(ok, "fewest rounds", coll, where, why);
}

/* ---- one node or one rank more or less -------------------------------------------------------- */

/* Bytes over the busiest node's link, the way that carries more. */
static bool measure(hccl_coll_t coll, const char *where, size_t bytes, double *busiest, char *why)
{
    hccl_shape_t *shape = world_shape(where);
    hccl_checker_t *k;
    hccl_check_report_t r;
    const hccl_check_setup_t setup = {.nseg = 1, .slots = 8, .units = bytes, .unit_bytes = 1};
    world_t w;
    bool ok = world_make(&w, choose(coll, shape, 0, bytes), shape, NULL, 0, NULL, why);

    if (ok) {
        ok = HCCL_OK == hccl_check_start(&w.check, &k, why);
        if (ok) {
            ok = HCCL_OK == hccl_check_run(k, &setup, &r);
            memcpy(why, r.why, HCCL_CHECK_WHY);
            *busiest = 0;
            for (int v = 0; v < shape->nnodes && ok; v++) {
                const uint64_t most = r.node_out[v] > r.node_in[v] ? r.node_out[v] : r.node_in[v];

                *busiest = (double) most > *busiest ? (double) most : *busiest;
            }
            hccl_check_end(k);
        }
        world_free(&w);
    }
    hccl_shape_free(shape);
    return ok;
}

/* "node:H rank:(L,...,L,last)" */
static void describe(char *text, size_t size, int h, int l, int last, const char *map)
{
    size_t at = (size_t) snprintf(text, size, "node:%d rank:(", h);

    for (int v = 0; v + 1 < h; v++) {
        at += (size_t) snprintf(text + at, size - at, "%d,", l);
    }
    snprintf(text + at, size - at, "%d)%s", last, map);
}

/* H nodes of L ranks send no more than what lies between H - 1 and H + 1 nodes, and with one rank less
 * on the last node no more than with all, within 15 %. tests/model/trend has their times. */
static bool follows(hccl_coll_t coll, int h, int l, const char *map, size_t bytes, char *where,
                    char *why)
{
    double m[4];

    for (int j = 0; j < 4; j++) {
        describe(where, 128, 3 > j ? h - 1 + j : h, l, 3 > j ? l : l - 1, map);
        if (!measure(coll, where, bytes, &m[j], why)) {
            return false;
        }
    }
    describe(where, 128, h, l, l, map);
    const double middle = (m[0] + m[2]) / 2;

    snprintf(why, HCCL_CHECK_WHY,
             "%zu bytes: %.2f of the bytes between one node less and one more; one rank less takes "
             "%.2f of the bytes",
             bytes, m[1] / middle, m[3] / m[1]);
    return m[1] <= 1.15 * middle && m[3] <= 1.15 * m[1];
}

static void check_trend(hccl_coll_t coll, size_t bytes)
{
    char why[HCCL_CHECK_WHY] = "", where[128] = "", name[48];
    bool ok = true;

    for (int h = 3; h <= 17 && ok; h++) {
        for (int l = 2; l <= 4 && ok; l++) {
            ok = follows(coll, h, l, "", bytes, where, why)
                 && follows(coll, h, l, " map:cyclic", bytes, where, why);
        }
    }
    snprintf(name, sizeof(name), "one more or less at %zu KiB", bytes >> 10);
    verdict(ok, name, coll, where, why);
}

int main(void)
{
    shape_list_t list;

    shapes_make(&list, SHAPES_SHORT);
    for (int coll = 0; coll < HCCL_COLL_NEIGHBOR_ALLGATHER; coll++) {
        check_hierarchical((hccl_coll_t) coll, true, "hierarchical", &list);
        if (hccl_coll_info[coll].reduces) {
            check_hierarchical((hccl_coll_t) coll, false, "hierarchical in order", &list);
        }
    }
    shapes_free(&list);
    check_rounds(HCCL_COLL_ALLREDUCE);
    check_rounds(HCCL_COLL_BARRIER);
    check_rounds(HCCL_COLL_BCAST);
    check_trend(HCCL_COLL_ALLREDUCE, 256 << 10);
    check_trend(HCCL_COLL_ALLREDUCE, 4 << 20);
    check_trend(HCCL_COLL_BCAST, 4 << 20);
    check_trend(HCCL_COLL_REDUCE, 4 << 20);
    check_trend(HCCL_COLL_ALLGATHER, 512 << 10);
    check_trend(HCCL_COLL_REDUCE_SCATTER_BLOCK, 512 << 10);
    check_trend(HCCL_COLL_ALLTOALL, 64 << 10);
    check_trend(HCCL_COLL_GATHER, 512 << 10);
    check_trend(HCCL_COLL_SCATTER, 512 << 10);
    return 0 == failed ? 0 : 1;
}
