/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether processes outnumber the processors that they may run on, from their cards.
 */
#include <stdlib.h>

#include "topo/topo.h"

static int compare(const void *va, const void *vb)
{
    const hccl_cpus_t *a = va;
    const hccl_cpus_t *b = vb;

    if (a->host != b->host) {
        return a->host < b->host ? -1 : 1;
    }
    if (a->set != b->set) {
        return a->set < b->set ? -1 : 1;
    }
    return a->count < b->count ? -1 : a->count > b->count;
}

/* One host's processes, sorted by set. */
static bool is_crowded(const hccl_cpus_t *cpus, int n)
{
    int alike = 0; /* processes with the set of the one at i, so far */

    for (int i = 0; i < n; i++) {
        bool same = 0 < i && cpus[i].set == cpus[i - 1].set;
        alike = same ? alike + 1 : 1;
        if ((0 < cpus[i].count && alike > cpus[i].count)
            || (0 < cpus[i].quota && n > cpus[i].quota)) {
            return true;
        }
    }
    return false;
}

int hccl_cards_crowded(const hccl_card_t *const *cards, int n, uint64_t host, bool *any, bool *here)
{
    hccl_cpus_t *cpus = malloc((size_t) n * sizeof(*cpus));
    int known = 0;

    *any = *here = false;
    if (NULL == cpus) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < n; i++) {
        if (NULL != cards[i] && 0 != cards[i]->cpus.host) {
            cpus[known++] = cards[i]->cpus;
        }
    }
    qsort(cpus, (size_t) known, sizeof(*cpus), compare);
    for (int i = 0, end; i < known; i = end) {
        for (end = i + 1; end < known && cpus[end].host == cpus[i].host; end++) {
        }
        if (is_crowded(cpus + i, end - i)) {
            *any = true;
            *here = *here || cpus[i].host == host;
        }
    }
    free(cpus);
    return HCCL_OK;
}
