/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator walks: cursors, rings and acknowledgements as in exec/run.c and tier/lane.h, each
 * rank with one processor, everything in the order of time.
 *
 * An instant has two halves: first all events of that time take effect, then the ranks that they
 * may concern are looked at, until nothing is left. So the order of events of one instant has no
 * effect.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim_internal.h"

/* Times that differ by less than this (relatively) are the same instant. */
#define NEAR 1e-12

enum { PASSES = 3 };

/* ---- events --------------------------------------------------------------------------------- */

static void add_event(hccl_sim_t *s, hccl_sim_event_t event)
{
    if (s->nheap == s->room_heap) {
        int room = 2 * s->room_heap + 256;
        hccl_sim_event_t *heap = realloc(s->heap, (size_t) room * sizeof(*heap));
        if (NULL == heap) {
            s->failed = true;
            return;
        }
        s->heap = heap;
        s->room_heap = room;
    }
    int at = s->nheap++;
    while (at > 0 && s->heap[(at - 1) / 2].time > event.time) {
        s->heap[at] = s->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    s->heap[at] = event;
}

void hccl_sim_at(hccl_sim_t *s, double time, hccl_sim_kind_t kind, int who)
{
    add_event(s, (hccl_sim_event_t){time, (int) kind, who, 0});
}

static hccl_sim_event_t pop(hccl_sim_t *s)
{
    hccl_sim_event_t top = s->heap[0], last = s->heap[--s->nheap];
    int at = 0;
    for (int child = 1; child < s->nheap; child = 2 * at + 1) {
        if (child + 1 < s->nheap && s->heap[child + 1].time < s->heap[child].time) {
            child++;
        }
        if (s->heap[child].time >= last.time) {
            break;
        }
        s->heap[at] = s->heap[child];
        at = child;
    }
    s->heap[at] = last;
    return top;
}

void hccl_sim_look(hccl_sim_t *s, int rank)
{
    hccl_sim_state_t *r = &s->rank[rank];
    if (!r->queued && !r->ended) {
        r->queued = true;
        s->look[s->nlook++] = rank;
    }
}

/* What a rank has published lets those go on who wait for it. */
static void tell_readers(hccl_sim_t *s, int rank)
{
    int node = s->p->rank[rank].node;
    for (int i = s->p->node_first[node]; i < s->p->node_first[node + 1]; i++) {
        for (int j = 0; j < s->ncursors; j++) {
            if (rank == s->rank[i].cursor[j].missing) {
                hccl_sim_look(s, i);
            }
        }
    }
}

/* What it has acknowledged those who wait for room. */
static void tell_writers(hccl_sim_t *s, int rank)
{
    int node = s->p->rank[rank].node;
    for (int i = s->p->node_first[node]; i < s->p->node_first[node + 1]; i++) {
        if (s->rank[i].cramped) {
            hccl_sim_look(s, i);
        }
    }
}

/* ---- publications --------------------------------------------------------------------------- */

static uint64_t tag_of(const hccl_sim_t *s, int rank, const hccl_sim_cursor_t *c, int pub)
{
    return (uint64_t) c->seg * (uint64_t) s->p->rank[rank].npub + (uint64_t) pub + 1;
}

static hccl_sim_slot_t *slot_of(const hccl_sim_t *s, int rank, uint64_t tag)
{
    return &s->ring[(uint64_t) rank * (uint64_t) s->slots + tag % (uint64_t) s->slots];
}

static bool has_room(const hccl_sim_t *s, int rank, uint64_t tag)
{
    int node = s->p->rank[rank].node;
    uint64_t slots = (uint64_t) s->slots;
    for (int i = s->p->node_first[node]; tag > slots && i < s->p->node_first[node + 1]; i++) {
        if (i != rank && s->rank[i].seen_ack < tag - slots) {
            return false;
        }
    }
    return true;
}

/* The others see it one flag later: so it makes no difference who is looked at first. */
static void acknowledge(hccl_sim_t *s, int rank)
{
    hccl_sim_state_t *r = &s->rank[rank];
    int oldest = r->next_seg, ack = 0;
    if (!s->tight) {
        return;
    }
    for (int i = 0; i < s->ncursors; i++) {
        if (r->cursor[i].seg >= 0 && r->cursor[i].seg < oldest) {
            oldest = r->cursor[i].seg;
            ack = r->cursor[i].ack;
        }
    }
    uint64_t now = (uint64_t) oldest * (uint64_t) s->p->rank[rank].npub + (uint64_t) ack;
    if (now > r->ack) {
        r->ack = now;
        add_event(s, (hccl_sim_event_t){s->now + s->m->tier[HCCL_TIER_L3].alpha, HCCL_SIM_READ,
                                        rank, now});
    }
}

/* Whether the step's publications have come; if they are on their way the rank is woken then. */
static bool have_come(hccl_sim_t *s, int rank, hccl_sim_cursor_t *c, const hccl_sim_step_t *step)
{
    const hccl_sim_source_t *source = &s->p->sources[step->src];
    int first = s->p->node_first[s->p->rank[rank].node];
    double last = 0;
    for (int j = 0; j < step->nsrc; j++) {
        if (source[j].peer < 0) {
            continue;
        }
        int peer = first + source[j].peer;
        uint64_t tag = tag_of(s, rank, c, source[j].pub);
        const hccl_sim_slot_t *slot = slot_of(s, peer, tag);
        if (tag != slot->tag) {
            c->missing = peer;
            return false;
        }
        hccl_tier_t tier =
            hccl_sim_tier(s->p->c.shape, s->p->rank[rank].rank, s->p->rank[peer].rank);
        double seen = slot->time + s->m->tier[tier].alpha;
        last = seen > last ? seen : last;
    }
    if (last > s->now * (1 + NEAR)) {
        hccl_sim_at(s, last, HCCL_SIM_WAKE, rank);
        return false;
    }
    return true;
}

/* ---- steps: the processor's time, negative: it cannot be done yet --------------------------- */

static double publish(hccl_sim_t *s, int rank, hccl_sim_cursor_t *c, const hccl_sim_step_t *step)
{
    uint64_t tag = tag_of(s, rank, c, step->at);
    if (!has_room(s, rank, tag)) {
        s->rank[rank].cramped = true;
        return -1;
    }
    double time = hccl_sim_bytes(&s->sizes, c->seg, step) / s->m->copy;
    *slot_of(s, rank, tag) = (hccl_sim_slot_t){tag, s->now + time, c->hops};
    tell_readers(s, rank);
    return time;
}

/* COPY, FETCH, REDUCE, FOLD: each source is read at its speed, all but the first are combined. */
static double combine(hccl_sim_t *s, int rank, hccl_sim_cursor_t *c, const hccl_sim_step_t *step)
{
    const hccl_sim_source_t *source = &s->p->sources[step->src];
    if (!have_come(s, rank, c, step)) {
        return -1;
    }
    int first = s->p->node_first[s->p->rank[rank].node];
    double bytes = hccl_sim_bytes(&s->sizes, c->seg, step), time = 0;
    for (int j = 0; j < step->nsrc; j++) {
        if (source[j].peer < 0) {
            time += 1 == step->nsrc ? bytes / s->m->copy : 0;
            continue;
        }
        int peer = first + source[j].peer;
        hccl_tier_t tier =
            hccl_sim_tier(s->p->c.shape, s->p->rank[rank].rank, s->p->rank[peer].rank);
        const hccl_sim_slot_t *slot = slot_of(s, peer, tag_of(s, rank, c, source[j].pub));
        c->hops = c->hops > slot->hops ? c->hops : slot->hops;
        time += bytes / s->m->tier[tier].bandwidth;
        s->report->tier[tier].bytes += bytes;
        s->report->tier[tier].messages++;
    }
    return time + (step->nsrc - 1) * bytes / s->m->combine;
}

static double try_step(hccl_sim_t *s, int rank, int cursor, const hccl_sim_step_t *step)
{
    hccl_sim_cursor_t *c = &s->rank[rank].cursor[cursor];
    double bytes;
    switch ((hccl_step_kind_t) step->kind) {
    case HCCL_STEP_PUBLISH:
        return publish(s, rank, c, step);
    case HCCL_STEP_SEND:
    case HCCL_STEP_RECV:
        bytes = hccl_sim_bytes(&s->sizes, c->seg, step);
        if (step->count > 0 && !(bytes > 0) && HCCL_HOW_PARCELS != step->how) {
            return 0; /* both sides know that there is nothing to send */
        }
        c->open++;
        hccl_sim_start_message(s, rank, cursor, step, bytes, s->now + s->m->overhead);
        return s->m->overhead;
    case HCCL_STEP_WAIT:
        if (c->open > 0) {
            return -1;
        }
        c->hops = c->hops > c->arriving ? c->hops : c->arriving;
        return 0;
    default:
        return combine(s, rank, c, step);
    }
}

/* ---- ranks ---------------------------------------------------------------------------------- */

static bool start_segment(hccl_sim_t *s, int rank)
{
    hccl_sim_state_t *r = &s->rank[rank];
    hccl_sim_cursor_t *c = &r->cursor[r->next_seg % s->ncursors];
    if (r->next_seg >= s->sizes.nseg || c->seg >= 0) {
        return false;
    }
    *c = (hccl_sim_cursor_t){.seg = r->next_seg++, .missing = -1};
    r->running++;
    return true;
}

static void end_segment(hccl_sim_t *s, int rank, hccl_sim_cursor_t *c)
{
    hccl_sim_state_t *r = &s->rank[rank];
    hccl_sim_report_t *report = s->report;
    double seconds = s->now - s->begin;
    report->seconds = seconds > report->seconds ? seconds : report->seconds;
    report->rounds = c->hops > report->rounds ? c->hops : report->rounds;
    c->seg = -1;
    r->running--;
    acknowledge(s, rank);
    if (!start_segment(s, rank) && 0 == r->running) {
        r->ended = true;
        s->ended++;
    }
}

static void trace(hccl_sim_t *s, int rank, const hccl_sim_cursor_t *c, double seconds)
{
    if (NULL != s->setup->trace && s->last) {
        s->setup->trace(s->setup->context, &(hccl_sim_trace_t){.begin = s->now - s->begin,
                                                               .end = s->now - s->begin + seconds,
                                                               .rank = s->p->rank[rank].rank,
                                                               .segment = c->seg,
                                                               .step = c->step,
                                                               .round = c->hops});
    }
}

/* One step of one cursor, if it can be done. */
static bool move(hccl_sim_t *s, int rank, int cursor)
{
    hccl_sim_state_t *r = &s->rank[rank];
    hccl_sim_cursor_t *c = &r->cursor[cursor];
    const hccl_sim_rank_t *program = &s->p->rank[rank];
    c->missing = -1;
    if (c->seg < 0) {
        return false;
    }
    if (c->step == program->nsteps) {
        end_segment(s, rank, c);
        return true;
    }
    const hccl_sim_step_t *step = &s->p->steps[program->first + (uint64_t) c->step];
    double seconds = try_step(s, rank, cursor, step);
    if (seconds < 0) {
        return false;
    }
    trace(s, rank, c, seconds);
    s->report->events++;
    c->step++;
    c->ack = step->ack > c->ack ? step->ack : c->ack;
    if (seconds > 0) {
        r->busy = s->now + seconds;
        hccl_sim_at(s, r->busy, HCCL_SIM_WAKE, rank);
    } else {
        acknowledge(s, rank);
    }
    return true;
}

/* All that a rank can do now: oldest segments first, as long as it takes no time. */
static void advance(hccl_sim_t *s, int rank)
{
    hccl_sim_state_t *r = &s->rank[rank];
    bool moved = true;
    r->queued = false;
    if (r->busy > s->now * (1 + NEAR)) {
        return; /* it is woken when it has finished */
    }
    acknowledge(s, rank);
    r->cramped = false;
    while (moved && !r->ended && !(r->busy > s->now * (1 + NEAR))) {
        int first = r->next_seg % s->ncursors;
        moved = false;
        for (int i = 0; i < s->ncursors && !moved; i++) {
            moved = move(s, rank, (first + i) % s->ncursors);
        }
    }
}

/* ---- runs ----------------------------------------------------------------------------------- */

/* Events of one instant come in any order, so an older one may follow. */
static void see_acknowledgement(hccl_sim_t *s, const hccl_sim_event_t *event)
{
    hccl_sim_state_t *r = &s->rank[event->who];
    if (event->value > r->seen_ack) {
        r->seen_ack = event->value;
        tell_writers(s, event->who);
    }
}

static void instant(hccl_sim_t *s, double limit)
{
    while (s->nheap > 0 && s->heap[0].time <= limit) {
        hccl_sim_event_t event = pop(s);
        if (HCCL_SIM_WAKE == event.kind) {
            hccl_sim_look(s, event.who);
        } else if (HCCL_SIM_READ == event.kind) {
            see_acknowledgement(s, &event);
        } else {
            hccl_sim_message_event(s, &event);
        }
    }
    for (int who = hccl_flows_take(s->flows, s->now); who >= 0;
         who = hccl_flows_take(s->flows, s->now)) {
        hccl_sim_flow_ended(s, who);
    }
}

static int walk(hccl_sim_t *s, char *why)
{
    int n = s->p->nranks;
    for (int i = 0; i < n; i++) {
        while (start_segment(s, i)) {
        }
        hccl_sim_look(s, i);
    }
    while (s->ended < n && !s->failed && !hccl_flows_failed(s->flows)) {
        while (s->nlook > 0) {
            advance(s, s->look[--s->nlook]);
        }
        if (s->setup->work > 0 && s->report->events + hccl_flows_work(s->flows) > s->setup->work) {
            snprintf(why, HCCL_SIM_WHY, "it takes more than %llu steps and changes of rates",
                     (unsigned long long) s->setup->work);
            return HCCL_ERR_NOTSUP;
        }
        double next = hccl_flows_next(s->flows, s->now);
        if (s->nheap > 0 && s->heap[0].time < next) {
            next = s->heap[0].time;
        }
        if (s->ended < n && isinf(next)) {
            snprintf(why, HCCL_SIM_WHY, "after %.9g s nothing can go on: %d of %d ranks have ended",
                     s->now, s->ended, n);
            return HCCL_ERR_INTERNAL;
        }
        if (!isinf(next)) {
            s->now = next > s->now ? next : s->now;
            instant(s, s->now * (1 + NEAR));
        }
    }
    return s->failed || hccl_flows_failed(s->flows) ? HCCL_ERR_NOMEM : HCCL_OK;
}

static int count_leaves(const hccl_sim_program_t *p)
{
    return NULL != p->c.leaf_of ? p->c.leaves : hccl_sim_leaf(p, p->nnodes - 1) + 1;
}

/* Nodes whose NICs the links of a switch are made for. */
static int below(const hccl_sim_program_t *p, int leaf)
{
    int n = 0;
    if (NULL == p->c.leaf_of) {
        return p->c.leaf > 0 ? p->c.leaf : p->c.shape->nnodes;
    }
    for (int v = 0; v < p->nnodes; v++) {
        n += leaf == hccl_sim_leaf(p, v);
    }
    return n;
}

/* Links: NICs out, NICs in, uplinks, downlinks. */
static bool open_links(hccl_sim_t *s)
{
    hccl_sim_report_t *r = s->report;
    const hccl_machine_t *m = s->m;
    r->nodes = s->p->nnodes;
    r->nics = (int) m->nics;
    r->leaves = count_leaves(s->p);
    int nics = r->nodes * r->nics, n = 2 * nics + 2 * r->leaves;
    double *capacity = malloc((size_t) n * sizeof(*capacity));
    free(s->p->links);
    s->p->links = calloc((size_t) n, sizeof(*s->p->links));
    if (NULL == capacity || NULL == s->p->links) {
        free(capacity);
        return false;
    }
    for (int i = 0; i < n; i++) {
        capacity[i] = i < 2 * nics
                          ? m->bandwidth
                          : m->bandwidth * m->nics * below(s->p, (i - 2 * nics) % r->leaves)
                                / m->oversubscribed;
    }
    s->flows = hccl_flows_new(n, capacity);
    free(capacity);
    for (int i = 0; NULL != s->flows && i < 2 * nics && m->burst > 0; i++) {
        hccl_flows_burst(s->flows, i, m->burst, m->peak);
    }
    r->out = s->p->links;
    r->in = r->out + nics;
    r->up = r->in + nics;
    r->down = r->up + r->leaves;
    return NULL != s->flows;
}

static bool open_state(hccl_sim_t *s)
{
    size_t n = (size_t) s->p->nranks;
    s->ncursors = s->sizes.nseg < HCCL_CURSORS ? s->sizes.nseg : HCCL_CURSORS;
    s->slots = (int) s->m->slots;
    for (size_t i = 0; i < n; i++) {
        s->tight |= s->p->rank[i].npub * s->sizes.nseg > s->slots;
    }
    s->free_message = -1;
    size_t waiting = (size_t) s->p->nchannels * (size_t) s->ncursors;
    s->rank = calloc(n, sizeof(*s->rank));
    s->ring = s->p->publishes ? calloc(n * (size_t) s->slots, sizeof(*s->ring)) : NULL;
    s->look = calloc(n, sizeof(*s->look));
    s->waiting = malloc((waiting + 1) * sizeof(*s->waiting));
    if (NULL == s->rank || NULL == s->look || NULL == s->waiting
        || (s->p->publishes && NULL == s->ring)) {
        return false;
    }
    memset(s->waiting, 0xff, waiting * sizeof(*s->waiting));
    return open_links(s);
}

/* Before the first step; what links remember of an operation before stays. */
static void begin(hccl_sim_t *s)
{
    size_t n = (size_t) s->p->nranks;
    memset(s->rank, 0, n * sizeof(*s->rank));
    if (NULL != s->ring) {
        memset(s->ring, 0, n * (size_t) s->slots * sizeof(*s->ring));
    }
    for (size_t i = 0; i < n * HCCL_CURSORS; i++) {
        s->rank[i / HCCL_CURSORS].cursor[i % HCCL_CURSORS].seg = -1;
        s->rank[i / HCCL_CURSORS].cursor[i % HCCL_CURSORS].missing = -1;
    }
    s->nheap = s->nlook = s->ended = 0;
    s->begin = s->now;
}

/* Counts from the beginning again. */
static void forget(hccl_sim_report_t *r)
{
    size_t links = 2 * ((size_t) r->nodes * (size_t) r->nics + (size_t) r->leaves);
    memset(r->out, 0, links * sizeof(*r->out));
    memset(r->tier, 0, sizeof(r->tier));
    r->seconds = 0;
    r->rounds = 0;
    r->events = 0;
}

/* Links that let bursts pass have not got them back when one operation follows the other: the third
 * one's time counts. */
static int walk_all(hccl_sim_t *s, char *why)
{
    int rc = HCCL_OK;
    for (int i = s->m->burst > 0 ? 0 : PASSES - 1; i < PASSES && HCCL_OK == rc; i++) {
        begin(s);
        forget(s->report);
        s->last = PASSES - 1 == i;
        rc = walk(s, why);
    }
    return rc;
}

int hccl_sim_run(hccl_sim_program_t *p, const hccl_sim_setup_t *setup, hccl_sim_report_t *report,
                 char *why)
{
    hccl_sim_t s = {.p = p, .setup = setup, .m = setup->machine, .report = report};
    memset(report, 0, sizeof(*report));
    snprintf(why, HCCL_SIM_WHY, "no memory");
    int rc = hccl_sim_sizes(p, setup, &s.sizes);
    if (HCCL_OK == rc) {
        rc = open_state(&s) ? walk_all(&s, why) : HCCL_ERR_NOMEM;
    }
    report->nseg = s.sizes.nseg;
    hccl_flows_free(s.flows);
    free(s.rank);
    free(s.ring);
    free(s.look);
    free(s.waiting);
    free(s.message);
    free(s.heap);
    return rc;
}
