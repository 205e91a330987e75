/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover's look at publications that may be read in place: whoever writes their positions again
 * must know that all who read them are done, whatever the schedule.
 *
 * Each segment of each rank keeps, for every rank, how many of that rank's steps in the same segment
 * surely lie behind (a vector clock). It learns from the publications that it reads and from the
 * messages that it receives, nothing else: not from what merely happened before in this walk. Who
 * reads what in which step is known from the plans.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/check_internal.h"

/* A rank's clocks grow with the number of ranks; what is wrong shows on small worlds. */
enum { MOST_RANKS = 64 };

static int count_readings(const hccl_checker_t *k, int rank, int *of_peer)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    int n = 0;
    for (int i = 0; i < plan->nsteps; i++) {
        for (int j = 0; j < plan->steps[i].nsrc && plan->steps[i].count > 0; j++) {
            const hccl_source_t *s = &plan->sources[plan->steps[i].src + j];
            if (s->peer >= 0) {
                of_peer[hccl_check_local(k, rank, s->peer)]++;
                n++;
            }
        }
    }
    return n;
}

static void list_readings(hccl_checker_t *k, int rank)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    for (int i = 0; i < plan->nsteps; i++) {
        for (int j = 0; j < plan->steps[i].nsrc && plan->steps[i].count > 0; j++) {
            const hccl_source_t *s = &plan->sources[plan->steps[i].src + j];
            if (s->peer >= 0) {
                hccl_readings_t *of = &k->readings[hccl_check_local(k, rank, s->peer)];
                of->at[of->n++] = (hccl_reading_t){.pub = s->base,
                                                   .rank = rank,
                                                   .step = i,
                                                   .first = s->first,
                                                   .count = plan->steps[i].count};
            }
        }
    }
}

int hccl_check_prepare_direct(hccl_checker_t *k)
{
    size_t n = (size_t) k->world.n;
    if (n > MOST_RANKS) {
        return HCCL_OK;
    }
    int counts[MOST_RANKS] = {0};
    int total = 0;
    for (int i = 0; i < k->world.n; i++) {
        total += count_readings(k, i, counts);
    }
    if (0 == total) {
        return HCCL_OK;
    }
    k->readings = calloc(n, sizeof(*k->readings));
    k->reading = malloc((size_t) total * sizeof(*k->reading));
    if (NULL == k->readings || NULL == k->reading) {
        return HCCL_ERR_NOMEM;
    }
    hccl_reading_t *next = k->reading;
    for (size_t i = 0; i < n; i++) {
        k->readings[i].at = next;
        next += counts[i];
    }
    for (int i = 0; i < k->world.n; i++) {
        list_readings(k, i);
    }
    return HCCL_OK;
}

uint32_t *hccl_check_clock(hccl_checker_t *k, const uint32_t *from, uint32_t *into)
{
    if (NULL == k->readings) {
        return NULL;
    }
    size_t bytes = (size_t) k->world.n * sizeof(*into);
    if (NULL == into) {
        into = hccl_check_take(k, bytes);
    }
    if (NULL != into && NULL != from) {
        memcpy(into, from, bytes);
    }
    return into;
}

void hccl_check_hear(const hccl_checker_t *k, hccl_walker_t *c, const uint32_t *from)
{
    for (int i = 0; NULL != k->readings && NULL != from && i < k->world.n; i++) {
        c->seen[i] = c->seen[i] > from[i] ? c->seen[i] : from[i];
    }
}

bool hccl_check_unread(hccl_checker_t *k, int rank, const hccl_walker_t *c,
                       const hccl_cell_t *cells, int n)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    int bit = k->setup.in_place ? HCCL_DIRECT_ALIASED : HCCL_DIRECT_APART;
    for (int i = 0; NULL != k->readings && i < k->readings[rank].n; i++) {
        const hccl_reading_t *r = &k->readings[rank].at[i];
        int at = k->pub_step[rank][r->pub];
        const hccl_step_t *pub = &plan->steps[at];
        if (at >= c->step || 0 == (pub->direct & bit) || c->seen[r->rank] > (uint32_t) r->step) {
            continue;
        }
        int m;
        const hccl_cell_t *read = hccl_check_cells(k, rank, c, pub->base, r->first, r->count, &m);
        if (read < cells + n && cells < read + m) {
            hccl_check_fail(k,
                            "rank %d segment %d step %d %s: writes what step %d has published in "
                            "place and rank %d may still read",
                            rank, c->seg, c->step, hccl_check_step_name(plan->steps[c->step].kind),
                            at, r->rank);
            return false;
        }
    }
    return true;
}
