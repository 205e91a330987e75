/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover walks the plans: cursors, rings and acknowledgements as in exec/run.c and tier/lane.h.
 */
#include "plan/check_internal.h"

#include <string.h>

/* ---- publications ----------------------------------------------------------------------------- */

/* Tags up to this one belong to operations before this one. */
uint64_t hccl_check_base_tag(const hccl_checker_t *k)
{
    return k->setup.seed % 13;
}

uint64_t hccl_check_tag(const hccl_checker_t *k, int rank, const hccl_walker_t *c, int pub)
{
    return hccl_check_base_tag(k) + (uint64_t) c->seg * (uint64_t) k->world.plans[rank]->npub
           + (uint64_t) pub + 1;
}

hccl_slot_image_t *hccl_check_slot(const hccl_checker_t *k, int rank, uint64_t tag)
{
    return &k->rank[rank].ring[tag & (uint64_t) (k->setup.slots - 1)];
}

/* Whether all peers have read what lies in the slot for this tag. Where each segment ends before the
 * next one begins, tags that are left unused are nothing to wait for. */
static bool has_room(const hccl_checker_t *k, int rank, uint64_t tag)
{
    uint64_t slots = (uint64_t) k->setup.slots;
    uint64_t held = tag > slots ? tag - slots : 0;
    int size = hccl_check_node_size(k, rank);
    if (k->apart) {
        held = hccl_check_slot(k, rank, tag)->tag;
    }
    for (int i = 0; i < size; i++) {
        int peer = hccl_check_local(k, rank, i);
        if (peer != rank && k->rank[peer].ack < held) {
            return false;
        }
    }
    return true;
}

double hccl_check_spend(hccl_checker_t *k, int rank, hccl_walker_t *c, double seconds)
{
    hccl_walk_rank_t *w = &k->rank[rank];
    double begin = c->clock > w->cpu ? c->clock : w->cpu;
    w->cpu = c->clock = begin + seconds;
    return c->clock;
}

hccl_check_result_t hccl_check_publish(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                       const hccl_step_t *step)
{
    int n;
    uint64_t tag = hccl_check_tag(k, rank, c, step->pub);
    if (!has_room(k, rank, tag)) {
        return HCCL_CHECK_LATER;
    }
    hccl_slot_image_t *slot = hccl_check_slot(k, rank, tag);
    if (slot->tag >= tag) {
        hccl_check_fail(k, "rank %d segment %d step %d PUBLISH: a later publication has the slot",
                        rank, c->seg, c->step);
        return HCCL_CHECK_DONE;
    }
    hccl_cell_t *cells = hccl_check_cells(k, rank, c, step->base, step->first, step->count, &n);
    if (!hccl_check_readable(k, rank, c, step->base, step->first, step->count, cells, n)) {
        return HCCL_CHECK_DONE;
    }
    if (slot->room < n) {
        slot->cells = hccl_check_take(k, (size_t) n * sizeof(hccl_cell_t));
        slot->room = n;
    }
    for (int i = 0; i < n && NULL != slot->cells; i++) {
        slot->cells[i] = cells[i];
        slot->cells[i].sending = 0;
    }
    if (HCCL_HOW_PARCELS == step->how && NULL != slot->cells) {
        hccl_check_mark(k, rank, step->base, step->first, slot->cells, n);
    }
    uint64_t units = hccl_check_moved(k, rank, c, step);
    k->report->published[rank] += units;
    hccl_check_count_pass(k, rank, 1, units);
    slot->tag = tag;
    slot->step = step;
    slot->known = hccl_check_remember(k, k->rank[rank].known);
    slot->seen = hccl_check_clock(k, c->seen, slot->seen);
    slot->hops = c->hops;
    slot->time =
        hccl_check_spend(k, rank, c, (double) units * k->setup.unit_bytes * k->setup.cost->beta_shm)
        + k->setup.cost->alpha_shm;
    return HCCL_CHECK_DONE;
}

/* Whether the publications that a step reads are there. */
hccl_check_result_t hccl_check_look(hccl_checker_t *k, int rank, const hccl_walker_t *c,
                                    const hccl_step_t *step)
{
    const hccl_source_t *s = &k->world.plans[rank]->sources[step->src];
    for (int j = 0; j < step->nsrc; j++) {
        if (s[j].peer < 0) {
            continue;
        }
        int peer = hccl_check_local(k, rank, s[j].peer);
        uint64_t tag = hccl_check_tag(k, rank, c, s[j].base);
        const hccl_slot_image_t *slot = hccl_check_slot(k, peer, tag);
        if (slot->tag > tag) {
            hccl_check_fail(k,
                            "rank %d segment %d step %d: publication %d of rank %d was overwritten "
                            "before it was read",
                            rank, c->seg, c->step, s[j].base, peer);
            return HCCL_CHECK_DONE;
        }
        if (slot->tag < tag) {
            return HCCL_CHECK_LATER;
        }
    }
    return HCCL_CHECK_DONE;
}

/* ---- combining -------------------------------------------------------------------------------- */

/* The cells of one source, NULL after a fault or if none is followed. */
const hccl_cell_t *hccl_check_source(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                     const hccl_step_t *step, const hccl_source_t *s,
                                     const hccl_cell_t *dst, int n)
{
    if (s->peer < 0) {
        int nsrc;
        hccl_cell_t *src = hccl_check_cells(k, rank, c, s->base, s->first, step->count, &nsrc);
        if (!hccl_check_readable(k, rank, c, s->base, s->first, step->count, src, nsrc)) {
            return NULL;
        }
        if (src != dst && src < dst + n && dst < src + nsrc) {
            hccl_check_fail(k, "rank %d step %d %s: source and result overlap, shifted", rank,
                            c->step, hccl_check_step_name(step->kind));
        }
        return src;
    }
    int peer = hccl_check_local(k, rank, s->peer);
    hccl_slot_image_t *slot = hccl_check_slot(k, peer, hccl_check_tag(k, rank, c, s->base));
    c->hops = c->hops > slot->hops ? c->hops : slot->hops;
    c->clock = c->clock > slot->time ? c->clock : slot->time;
    hccl_check_learn(k, k->rank[rank].known, slot->known);
    hccl_check_hear(k, c, slot->seen);
    const hccl_cell_t *cells =
        n > 0 ? slot->cells + (k->before[s->first] - k->before[slot->step->first]) : NULL;
    uint64_t units = HCCL_HOW_PARCELS == step->how ? hccl_check_marked(k, cells, n)
                                                   : hccl_check_moved(k, rank, c, step);
    k->report->fetched[rank] += units;
    hccl_check_count_read(k, rank, peer, units);
    return cells;
}

hccl_check_result_t hccl_check_fold(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                    const hccl_step_t *step)
{
    const hccl_source_t *s = &k->world.plans[rank]->sources[step->src];
    const hccl_cell_t *src[step->nsrc];
    int n;
    if (HCCL_CHECK_LATER == hccl_check_look(k, rank, c, step)) {
        return HCCL_CHECK_LATER;
    }
    hccl_cell_t *dst = hccl_check_cells(k, rank, c, step->base, step->first, step->count, &n);
    for (int j = 0; j < step->nsrc && !k->failed; j++) {
        src[j] = hccl_check_source(k, rank, c, step, &s[j], dst, n);
    }
    if (k->failed) {
        return HCCL_CHECK_DONE;
    }
    bool itself = 1 == step->nsrc && src[0] == dst;
    if (!itself && !hccl_check_writable(k, rank, c, dst, n)) {
        return HCCL_CHECK_DONE;
    }
    for (int i = 0; i < n && !itself; i++) {
        hccl_cell_t value = src[0][i];
        for (int j = 1; j < step->nsrc; j++) {
            hccl_check_combine(k, &value, &src[j][i]);
        }
        value.sending = value.receiving = 0;
        dst[i] = value;
    }
    uint64_t units = itself ? 0 : hccl_check_moved(k, rank, c, step);
    double bytes = (double) units * k->setup.unit_bytes;
    hccl_check_count_pass(k, rank, step->nsrc, units);
    hccl_check_spend(k, rank, c,
                     1 == step->nsrc ? bytes * k->setup.cost->beta_shm
                                     : bytes * step->nsrc * k->setup.cost->gamma);
    return HCCL_CHECK_DONE;
}

/* ---- cursors ---------------------------------------------------------------------------------- */

uint64_t hccl_check_moved(const hccl_checker_t *k, int rank, const hccl_walker_t *c,
                          const hccl_step_t *step)
{
    return HCCL_HOW_PARCELS == step->how
               ? hccl_check_parcels(k, rank, c, step->base, step->first, step->count)
               : hccl_check_units(k, rank, c->seg, step->base, step->first, step->count);
}

hccl_check_result_t hccl_check_try(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                   const hccl_step_t *step)
{
    switch ((hccl_step_kind_t) step->kind) {
    case HCCL_STEP_PUBLISH:
        return hccl_check_publish(k, rank, c, step);
    case HCCL_STEP_SEND:
    case HCCL_STEP_RECV:
        hccl_check_start_message(k, rank, c, step);
        return HCCL_CHECK_DONE;
    case HCCL_STEP_WAIT:
        if (hccl_check_is_open(k, c, step)) {
            return HCCL_CHECK_LATER;
        }
        hccl_check_finish_messages(k, rank, c, step);
        return HCCL_CHECK_DONE;
    default:
        return hccl_check_fold(k, rank, c, step);
    }
}

static void acknowledge(hccl_checker_t *k, int rank)
{
    hccl_walk_rank_t *w = &k->rank[rank];
    int oldest = w->next_seg;
    int32_t ack = 0;
    for (int i = 0; i < k->ncursors; i++) {
        if (w->cursor[i].seg >= 0 && w->cursor[i].seg < oldest) {
            oldest = w->cursor[i].seg;
            ack = w->cursor[i].ack;
        }
    }
    w->ack = hccl_check_base_tag(k) + (uint64_t) oldest * (uint64_t) k->world.plans[rank]->npub
             + (uint64_t) ack;
}

/* Up to `limit` steps of one cursor. */
static bool walk(hccl_checker_t *k, int rank, hccl_walker_t *c, int limit)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    int begun = k->rank[rank].next_seg;
    bool moved = false;
    while (c->step < plan->nsteps && limit-- > 0) {
        const hccl_step_t *step = &plan->steps[c->step];
        if (HCCL_CHECK_LATER
            == (k->apart ? hccl_check_apart_try(k, rank, c, step)
                         : hccl_check_try(k, rank, c, step))) {
            return moved;
        }
        if (k->failed) {
            return true;
        }
        moved = true;
        k->report->steps++;
        c->step++;
        if (NULL != c->seen) {
            c->seen[rank] = (uint32_t) c->step;
        }
        if (step->ack > c->ack) {
            c->ack = step->ack;
            if (k->nseg > 1 || begun > 1 || plan->npub > k->setup.slots / 2) {
                acknowledge(k, rank);
            }
        }
    }
    if (c->step == plan->nsteps) {
        hccl_walk_rank_t *w = &k->rank[rank];
        hccl_check_result(k, rank, c);
        k->report->seconds = c->clock > k->report->seconds ? c->clock : k->report->seconds;
        k->report->rounds = c->hops > k->report->rounds ? c->hops : k->report->rounds;
        w->running--;
        c->seg = -1;
        if (k->nseg > 1 || w->more) {
            acknowledge(k, rank);
        }
        moved = true;
    }
    return moved;
}

bool hccl_check_start_segment(hccl_checker_t *k, int rank)
{
    hccl_walk_rank_t *w = &k->rank[rank];
    hccl_walker_t *c = &w->cursor[w->next_seg % k->ncursors];
    bool any = k->apart ? 0 == w->next_seg || w->more : w->next_seg < k->nseg;
    if (!any || c->seg >= 0) {
        return false;
    }
    w->more = false;
    c->seg = w->next_seg++;
    c->step = 0;
    c->open = 0;
    c->halves = -1;
    c->ack = 0;
    if (NULL != c->seen) {
        memset(c->seen, 0, (size_t) k->world.n * sizeof(*c->seen));
    }
    hccl_check_fill(k, rank, c);
    w->running++;
    return true;
}

static void end_rank(hccl_checker_t *k, int rank)
{
    hccl_walk_rank_t *w = &k->rank[rank];
    const hccl_role_t *role = &k->role[rank];
    w->ended = true;
    w->ack = k->apart ? UINT64_MAX
                      : hccl_check_base_tag(k)
                            + (uint64_t) k->nseg * (uint64_t) k->world.plans[rank]->npub;
    int first = role->far >= 0 ? role->far : role->first;
    int n = role->far >= 0 ? k->world.cases[rank].nremote : k->world.cases[rank].shape->nranks;
    for (int i = first; k->barrier && i < first + n; i++) {
        if (0 == (w->known[i / 64] >> i % 64 & 1)) {
            hccl_check_fail(k, "rank %d leaves the barrier before rank %d is known to have entered",
                            rank, i);
            return;
        }
    }
}

/* One rank, up to `limit` steps of each of its cursors. */
bool hccl_check_advance(hccl_checker_t *k, int rank, int limit, bool youngest_first)
{
    hccl_walk_rank_t *w = &k->rank[rank];
    bool moved = false;
    if (w->ended) {
        return false;
    }
    do {
        int first = w->next_seg % k->ncursors;
        for (int i = 0; i < k->ncursors && !k->failed; i++) {
            int number = youngest_first ? k->ncursors - 1 - i : i;
            hccl_walker_t *c = &w->cursor[(first + number) % k->ncursors];
            if (c->seg >= 0) {
                moved |= walk(k, rank, c, limit);
            }
        }
    } while (hccl_check_start_segment(k, rank) && !k->failed);
    if (0 == w->running && !k->failed) {
        end_rank(k, rank);
        moved = true;
    }
    return moved;
}
