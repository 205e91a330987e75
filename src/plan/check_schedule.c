/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover's scheduler: who moves, until nobody can; what a deadlock looks like.
 */
#include "plan/check_internal.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

/* ---- who moves -------------------------------------------------------------------------------- */

static bool sweep_forward(hccl_checker_t *k, int but)
{
    bool moved = false;
    for (int i = 0; i < k->world.n && !k->failed; i++) {
        moved |= i != but && hccl_check_advance(k, i, INT_MAX, false);
    }
    return moved;
}

static bool sweep_backward(hccl_checker_t *k)
{
    bool moved = false;
    for (int i = k->world.n - 1; i >= 0 && !k->failed; i--) {
        moved |= hccl_check_advance(k, i, INT_MAX, true);
    }
    return moved;
}

static bool sweep_ahead(hccl_checker_t *k, int star)
{
    bool moved = hccl_check_advance(k, star, INT_MAX, false);
    for (int i = 1; i < k->world.n && !k->failed; i++) {
        moved |= hccl_check_advance(k, (star + i) % k->world.n, 1, false);
        moved |= hccl_check_advance(k, star, INT_MAX, false);
    }
    return moved;
}

static bool sweep_behind(hccl_checker_t *k, int star)
{
    while (!k->failed && sweep_forward(k, star)) {
    }
    return !k->failed && hccl_check_advance(k, star, 1, false);
}

static bool sweep_random(hccl_checker_t *k)
{
    bool moved = false;
    uint64_t n = (uint64_t) k->world.n;
    for (int i = 0; i < k->world.n && !k->failed; i++) {
        uint64_t x = hccl_check_random(k);
        moved |= hccl_check_advance(k, (int) (x % n), 1 + (int) (x >> 40 & 3), 0 != (x >> 50 & 1));
    }
    return moved || (!k->failed && sweep_forward(k, -1));
}

static bool sweep(hccl_checker_t *k)
{
    int star = (int) (hccl_check_mix(k->setup.seed) % (uint64_t) k->world.n);
    switch (k->setup.schedule) {
    case HCCL_SCHEDULE_BACKWARD:
        return sweep_backward(k);
    case HCCL_SCHEDULE_AHEAD:
        return sweep_ahead(k, star);
    case HCCL_SCHEDULE_BEHIND:
        return sweep_behind(k, star);
    case HCCL_SCHEDULE_RANDOM:
        return sweep_random(k);
    default:
        return sweep_forward(k, -1);
    }
}

/* ---- deadlock --------------------------------------------------------------------------------- */

static void describe(const hccl_checker_t *k, int rank, const hccl_walker_t *c, char *text,
                     size_t size)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    const hccl_step_t *step = &plan->steps[c->step];
    int at = snprintf(text, size, "; rank %d segment %d step %d %s", rank, c->seg, c->step,
                      hccl_check_step_name(step->kind));
    if ((size_t) at >= size) {
        return;
    }
    text += at;
    size -= (size_t) at;
    if (HCCL_STEP_PUBLISH == step->kind) {
        snprintf(text, size, " %d waits for a free slot", step->pub);
    } else if (HCCL_STEP_WAIT == step->kind) {
        for (int i = c->halves; i >= 0; i = k->half[i].mine) {
            if (!k->half[i].matched) {
                snprintf(text, size, " waits for %s rank %d",
                         HCCL_STEP_SEND == k->half[i].step->kind ? "a RECV at" : "a SEND from",
                         hccl_check_peer(&k->role[rank], k->half[i].step->peer));
            }
        }
    } else {
        for (int j = step->nsrc - 1; j >= 0; j--) {
            const hccl_source_t *s = &plan->sources[step->src + j];
            if (s->peer >= 0) {
                int peer = hccl_check_local(k, rank, s->peer);
                uint64_t tag = hccl_check_tag(k, rank, c, s->base);
                if (hccl_check_slot(k, peer, tag)->tag != tag) {
                    snprintf(text, size, " waits for publication %d of rank %d", s->base, peer);
                }
            }
        }
    }
}

static void report_deadlock(hccl_checker_t *k)
{
    char text[HCCL_CHECK_WHY - 32] = "";
    int shown = 0;
    for (int i = 0; i < k->world.n && shown < 8; i++) {
        for (int j = 0; j < k->ncursors && shown < 8; j++) {
            const hccl_walker_t *c = &k->rank[i].cursor[j];
            if (c->seg >= 0 && !k->rank[i].ended) {
                size_t at = strlen(text);
                describe(k, i, c, text + at, sizeof(text) - at);
                shown++;
            }
        }
    }
    hccl_check_fail(k, "deadlock%s", text);
}

/* ---- a run ------------------------------------------------------------------------------------ */

static void prepare(hccl_checker_t *k)
{
    size_t n = (size_t) k->world.n, nodes = (size_t) k->nodes;
    hccl_check_report_t *report = k->report;
    report->nodes = k->nodes;
    report->node_out = hccl_check_take(k, nodes * sizeof(uint64_t));
    report->node_in = hccl_check_take(k, nodes * sizeof(uint64_t));
    report->node_messages = hccl_check_take(k, nodes * sizeof(uint64_t));
    report->published = hccl_check_take(k, n * sizeof(uint64_t));
    report->fetched = hccl_check_take(k, n * sizeof(uint64_t));
    hccl_check_count_open(k);
    k->link_out = hccl_check_take(k, nodes * sizeof(double));
    k->link_in = hccl_check_take(k, nodes * sizeof(double));
    k->rank = hccl_check_take(k, n * sizeof(*k->rank));
    k->tree[0] = hccl_check_take(k, ((size_t) k->tracked + 1) * sizeof(uint64_t));
    k->tree[1] = hccl_check_take(k, ((size_t) k->tracked + 1) * sizeof(uint64_t));
    k->buckets = 4 * k->world.n;
    k->bucket = hccl_check_take(k, 2 * (size_t) k->buckets * sizeof(int));
    k->words = (k->world.n + 63) / 64;
    if (k->failed) {
        return;
    }
    k->bucket_end = k->bucket + k->buckets;
    for (int i = 0; i < 2 * k->buckets; i++) {
        k->bucket[i] = -1;
    }
    k->free_half = -1;
    for (int i = k->nhalves - 1; i >= 0; i--) {
        k->half[i].next = k->free_half;
        k->free_half = i;
    }
    hccl_check_sizes(k);
    for (int i = 0; i < k->world.n && !k->failed; i++) {
        hccl_walk_rank_t *w = &k->rank[i];
        w->ack = hccl_check_base_tag(k);
        w->ring = hccl_check_take(k, (size_t) k->setup.slots * sizeof(*w->ring));
        w->known = hccl_check_take(k, k->barrier ? (size_t) k->words * sizeof(uint64_t) : 0);
        if (k->barrier && !k->failed) {
            w->known[i / 64] |= UINT64_C(1) << i % 64;
        }
        for (int j = 0; j < k->ncursors; j++) {
            w->cursor[j].seg = -1;
        }
        if (!k->failed && HCCL_OK == hccl_check_allocate(k, i)) {
            while (hccl_check_start_segment(k, i)) {
            }
        }
    }
}

void hccl_check_walk(hccl_checker_t *k)
{
    prepare(k);
    while (!k->failed && sweep(k)) {
    }
    for (int i = 0; i < k->world.n && !k->failed; i++) {
        if (!k->rank[i].ended) {
            report_deadlock(k);
        }
    }
}
