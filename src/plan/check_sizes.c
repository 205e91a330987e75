/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover: how large blocks are in each segment.
 */
#include "plan/check_internal.h"

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* Units of a block of a table. */
static uint64_t table_units(const hccl_checker_t *k, uint64_t units, int block)
{
    if (!k->setup.ragged) {
        return units;
    }
    uint64_t x = hccl_check_mix(k->setup.seed ^ (uint64_t) block << 20);
    bool inter = k->world.n > k->split; /* the groups' sums are equal, so not one of them is 0 */
    return 0 == x % 3 && (!inter || block > 0) ? 0 : 1 + x % (2 * units);
}

/* Units of a block in a segment, as exec/layout.h cuts. units: of the vector or of a block. */
static uint64_t block_units(const hccl_checker_t *k, int seg, int nblocks, int block,
                            uint64_t units)
{
    uint64_t n = (uint64_t) k->nseg, s = (uint64_t) seg;
    uint64_t part = (units + n - 1) / n; /* of a segment but the last */
    uint64_t here = smaller(units, (s + 1) * part) - smaller(units, s * part);
    switch (k->grid) {
    case HCCL_GRID_VECTOR: {
        if (k->copies) {
            return here;
        }
        uint64_t q = (here + (uint64_t) nblocks - 1) / (uint64_t) nblocks;
        uint64_t b = (uint64_t) block;
        return smaller(here, (b + 1) * q) - smaller(here, b * q);
    }
    case HCCL_GRID_TABLE: {
        uint64_t len = table_units(k, units, block);
        part = (len + n - 1) / n;
        return smaller(len, (s + 1) * part) - smaller(len, s * part);
    }
    case HCCL_GRID_EQUAL:
        return here;
    case HCCL_GRID_PRIVATE:
        return k->setup.ragged ? 1 : units; /* of blocks that are cut check_apart.c knows more */
    default:
        return 0;
    }
}

void hccl_check_sizes(hccl_checker_t *k)
{
    size_t positions = (size_t) k->npositions + 1;
    int nblocks = k->world.plans[0]->nblocks > 0 ? k->world.plans[0]->nblocks : 1;
    uint64_t units = k->setup.units;
    hccl_check_measure(k);
    k->nseg = hccl_check_has_segments(k) ? k->setup.nseg : 1;
    if (0 == units) {
        units = (uint64_t) k->nseg * (HCCL_GRID_VECTOR == k->grid ? (uint64_t) nblocks : 1);
    }
    if (HCCL_GRID_VECTOR == k->grid || HCCL_GRID_EQUAL == k->grid) {
        uint64_t part = (units + (uint64_t) k->nseg - 1) / (uint64_t) k->nseg;
        k->nseg = (int) ((units + part - 1) / part);
    }
    k->ncursors = k->nseg < HCCL_CURSORS ? k->nseg : HCCL_CURSORS;
    for (int g = 0; g < (k->world.n > k->split ? 2 : 1); g++) {
        int lead = 0 == g ? 0 : k->split;
        const hccl_plan_t *plan = k->world.plans[lead];
        k->start[g] = hccl_check_take(k, (size_t) k->nseg * positions * sizeof(uint64_t));
        for (int s = 0; s < k->nseg && !k->failed; s++) {
            uint64_t *start = k->start[g] + (size_t) s * positions, sum = 0;
            for (int i = 0; i < k->npositions; i++) {
                int block = NULL == plan->order || i >= plan->nblocks ? i : plan->order[i];
                start[i] = sum;
                sum += block_units(k, s, plan->nblocks > 0 ? plan->nblocks : 1, block, units);
            }
            start[k->npositions] = sum;
            k->report->total_units += 0 == g ? start[plan->nblocks] : 0;
        }
    }
    k->own_units = hccl_check_take(k, (size_t) k->nseg * (size_t) k->world.n * sizeof(uint64_t));
    for (int s = 0; s < k->nseg && !k->failed; s++) {
        for (int i = 0; i < k->world.n; i++) {
            k->own_units[s * k->world.n + i] =
                block_units(k, s, nblocks, k->world.cases[i].me, units);
        }
    }
}

uint64_t hccl_check_units(const hccl_checker_t *k, int rank, int seg, int base, int first,
                          int count)
{
    if (0 == count) {
        return 0;
    }
    if (k->apart) {
        return hccl_check_apart_units(k, rank, seg, base, first, count);
    }
    if (HCCL_HOLDS_OWN == hccl_check_holds(&k->role[rank], base)) {
        return k->own_units[seg * k->world.n + rank];
    }
    const uint64_t *start =
        k->start[k->role[rank].group] + (size_t) seg * ((size_t) k->npositions + 1);
    return start[first + count] - start[first];
}
