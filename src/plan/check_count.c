/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover: counts what ranks load and store, and what of it comes from the other side of a
 * boundary inside the node. These are counters of the plans, not of a machine: every load and store
 * of payload counts, whether or not a cache has it.
 */
#include "plan/check_internal.h"

void hccl_check_count_open(hccl_checker_t *k)
{
    hccl_check_report_t *report = k->report;
    size_t ranks = (size_t) k->world.n * sizeof(uint64_t);
    size_t nodes = (size_t) k->nodes * sizeof(uint64_t);
    report->loaded = hccl_check_take(k, ranks);
    report->stored = hccl_check_take(k, ranks);
    for (int level = HCCL_LEVEL_PACKAGE; level < HCCL_LEVEL_COUNT; level++) {
        report->across[level] = hccl_check_take(k, nodes);
        report->reads[level] = hccl_check_take(k, nodes);
    }
}

void hccl_check_count_pass(hccl_checker_t *k, int rank, int sources, uint64_t units)
{
    k->report->loaded[rank] += (uint64_t) sources * units;
    k->report->stored[rank] += units;
}

/* Whether two ranks of a node are in different objects of a level. Ids of objects are told apart
 * over the whole node, so who is in another package is in another NUMA domain too. */
static bool apart(const hccl_place_t *a, const hccl_place_t *b, int level)
{
    switch (level) {
    case HCCL_LEVEL_PACKAGE:
        return a->package != b->package;
    case HCCL_LEVEL_NUMA:
        return a->numa != b->numa;
    case HCCL_LEVEL_L3:
        return a->l3 != b->l3;
    default:
        return true; /* ranks have nothing nearer in common */
    }
}

void hccl_check_count_read(hccl_checker_t *k, int reader, int writer, uint64_t units)
{
    const hccl_shape_t *shape = k->world.cases[reader].shape;
    const hccl_role_t *role = &k->role[reader];
    const hccl_place_t *a = &shape->place[reader - role->first];
    const hccl_place_t *b = &shape->place[writer - role->first];
    for (int level = HCCL_LEVEL_PACKAGE; reader != writer && level < HCCL_LEVEL_COUNT; level++) {
        if (apart(a, b, level)) {
            k->report->across[level][role->node] += units;
            k->report->reads[level][role->node]++;
        }
    }
}
