/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Counts what the ranks of one node load and store in long collectives and holds it against the
 * least that is possible when all data go through shared memory: payload. For each collective it
 * takes the algorithm that the rules choose. Prints one line per collective.
 *
 * The least, with p ranks, s units per rank (m: units of a block): each rank must copy in (2 per
 * unit) what others read of it, and copy out (2 per unit) what it gets; a fold loads each source
 * once and stores once.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/worlds.h"
#include "select/select.h"

/* Divides by 1, 2, ..., 16, so that slices are equal. */
#define UNITS ((uint64_t) 720720)

static uint64_t allreduce(uint64_t p, uint64_t s)
{
    return s * (5 * p - 2);
}

/* Owners load the slice that they have combined once more, to publish it. */
static uint64_t allreduce_slices(uint64_t p, uint64_t s)
{
    return s * (5 * p - 1);
}

/* The vector is p blocks of m. */
static uint64_t reduce_scatter(uint64_t p, uint64_t m)
{
    return p * m * (3 * p - 1);
}

static uint64_t bcast(uint64_t p, uint64_t s)
{
    return 2 * p * s;
}

static uint64_t allgather(uint64_t p, uint64_t m)
{
    return 2 * m * p + 2 * m * p * p;
}

static uint64_t alltoall(uint64_t p, uint64_t m)
{
    return 4 * m * p * (p - 1) + 2 * m * p;
}

/* Allreduce is held to s (5p - 1) exactly, and from 5 ranks on that is within 5 % of the least, s (5p - 2);
 * with 2, 3 and 4 ranks it is 1.13, 1.08 and 1.06 of it. */
static const struct {
    hccl_coll_t coll;
    uint64_t (*least)(uint64_t p, uint64_t units);
    int percent; /* most, of the least */
    int from;    /* ranks */
    const char *text;
} payloads[] = {
    {HCCL_COLL_ALLREDUCE, allreduce, 105, 5, "s (5p - 2)"},
    {HCCL_COLL_ALLREDUCE, allreduce_slices, 100, 2, "s (5p - 1)"},
    {HCCL_COLL_REDUCE_SCATTER, reduce_scatter, 105, 2, "s (3p - 1)"},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, reduce_scatter, 105, 2, "s (3p - 1)"},
    {HCCL_COLL_BCAST, bcast, 100, 2, "2 p s"},
    {HCCL_COLL_ALLGATHER, allgather, 100, 2, "2 m p + 2 m p^2"},
    {HCCL_COLL_ALLGATHERV, allgather, 100, 2, "2 m p + 2 m p^2"},
    {HCCL_COLL_ALLTOALL, alltoall, 100, 2, "4 m p (p - 1) + 2 m p"},
};

/* Units that all ranks load and store in one walk. */
static bool count(world_t *w, uint64_t units, uint64_t *sum, char *why)
{
    hccl_checker_t *k;
    hccl_check_report_t r;
    hccl_check_setup_t setup = {.nseg = 3, .slots = 8, .units = units, .unit_bytes = 1};
    if (HCCL_OK != hccl_check_start(&w->check, &k, why)) {
        return false;
    }
    bool ok = HCCL_OK == hccl_check_run(k, &setup, &r);
    *sum = 0;
    for (int i = 0; ok && i < w->check.n; i++) {
        *sum += r.loaded[i] + r.stored[i];
    }
    if (!ok) {
        memcpy(why, r.why, HCCL_CHECK_WHY);
    }
    hccl_check_end(k);
    return ok;
}

/* p ranks on one node without any levels. */
static bool check_ranks(size_t row, int p, char *why)
{
    char text[32];
    hccl_shape_t *shape;
    world_t w;
    uint64_t sum, least = payloads[row].least((uint64_t) p, UNITS);
    snprintf(text, sizeof(text), "rank:%d", p);
    if (HCCL_OK != hccl_shape_from_text(text, -1, &shape, why, HCCL_CHECK_WHY)) {
        return false;
    }
    hccl_case_t c = {.coll = payloads[row].coll, .shape = shape};
    hccl_query_t query = {.c = &c, .bytes = (size_t) 1 << 26, .commutative = true};
    int algorithm = hccl_select(&query).algorithm;
    bool ok = world_make(&w, algorithm, shape, NULL, 0, NULL, why);
    if (ok) {
        ok = count(&w, UNITS, &sum, why);
        world_free(&w);
    }
    if (ok && (sum < least || 100 * sum > (uint64_t) payloads[row].percent * least)) {
        snprintf(why, HCCL_CHECK_WHY, "%s, %d ranks: %llu, that is %.3f of the least",
                 hccl_algos[algorithm].name, p, (unsigned long long) sum,
                 (double) sum / (double) least);
        ok = false;
    }
    hccl_shape_free(shape);
    return ok;
}

int main(void)
{
    int failed = 0;
    for (size_t i = 0; i < sizeof(payloads) / sizeof(payloads[0]); i++) {
        const char *name = hccl_coll_info[payloads[i].coll].name;
        char why[HCCL_CHECK_WHY];
        bool ok = true;
        for (int p = payloads[i].from; p <= 16 && ok; p++) {
            ok = check_ranks(i, p, why);
        }
        if (ok) {
            printf("ok payload/%s/%d-ranks\n#   at most %d %% of %s, %d to 16 ranks\n", name,
                   payloads[i].from, payloads[i].percent, payloads[i].text, payloads[i].from);
        } else {
            printf("not ok payload/%s/%d-ranks: %s: %s\n", name, payloads[i].from, payloads[i].text,
                   why);
            failed++;
        }
    }
    return 0 == failed ? 0 : 1;
}
