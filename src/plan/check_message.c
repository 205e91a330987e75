/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover's network. Messages between two ranks on one cursor match in the order in which they are
 * started; a SEND completes when its RECV has been started, no earlier (any message may be too long
 * to be buffered). Data move when they match; until the WAIT nobody may touch them, so it does not
 * matter when exactly that was.
 */
#include "plan/check_internal.h"

#include <stdlib.h>
#include <string.h>

static const char *cell_fault(hccl_checker_t *k, int rank, const hccl_walker_t *c)
{
    const hccl_step_t *step = &k->world.plans[rank]->steps[c->step];
    return hccl_check_step_name(step->kind);
}

bool hccl_check_readable(hccl_checker_t *k, int rank, const hccl_walker_t *c, int base, int first,
                         int count, const hccl_cell_t *cells, int n)
{
    bool own = HCCL_HOLDS_OWN == hccl_check_holds(&k->role[rank], base);
    for (int i = 0; i < n; i++) {
        if (0 != cells[i].receiving) {
            hccl_check_fail(k, "rank %d segment %d step %d %s: reads what a message is writing",
                            rank, c->seg, c->step, cell_fault(k, rank, c));
            return false;
        }
        int position = own ? first : k->at[k->before[first] + i];
        if (0 == cells[i].n && hccl_check_units(k, rank, c->seg, base, position, 1) > 0) {
            hccl_check_fail(k,
                            "rank %d segment %d step %d %s: reads position %d of base %d (operand "
                            "[%d,%d)), which nobody has written",
                            rank, c->seg, c->step, cell_fault(k, rank, c), position, base, first,
                            first + count);
            return false;
        }
    }
    return true;
}

bool hccl_check_writable(hccl_checker_t *k, int rank, const hccl_walker_t *c,
                         const hccl_cell_t *cells, int n)
{
    for (int i = 0; i < n; i++) {
        if (0 != cells[i].receiving || 0 != cells[i].sending) {
            hccl_check_fail(k, "rank %d segment %d step %d %s: writes what a message is %s", rank,
                            c->seg, c->step, cell_fault(k, rank, c),
                            0 != cells[i].sending ? "reading" : "writing");
            return false;
        }
    }
    return hccl_check_unread(k, rank, c, cells, n);
}

void hccl_check_learn(const hccl_checker_t *k, uint64_t *into, const uint64_t *from)
{
    for (int i = 0; k->barrier && NULL != from && i < k->words; i++) {
        into[i] |= from[i];
    }
}

uint64_t *hccl_check_remember(hccl_checker_t *k, const uint64_t *known)
{
    if (!k->barrier) {
        return NULL;
    }
    uint64_t *copy = hccl_check_take(k, (size_t) k->words * sizeof(uint64_t));
    if (NULL != copy) {
        memcpy(copy, known, (size_t) k->words * sizeof(uint64_t));
    }
    return copy;
}

/* ---- matching --------------------------------------------------------------------------------- */

static hccl_walker_t *walker_of(const hccl_checker_t *k, const hccl_half_t *h)
{
    return &k->rank[h->rank].cursor[h->cursor];
}

/* Both name the same blocks in the same order. A message of the whole vector between groups that cut
 * it differently is the same bytes too. *cut: it is that. */
static bool same_blocks(hccl_checker_t *k, const hccl_half_t *s, const hccl_half_t *r, bool *cut)
{
    const hccl_step_t *a = s->step, *b = r->step;
    bool whole = a->count == k->world.plans[s->rank]->nblocks
                 && b->count == k->world.plans[r->rank]->nblocks;
    *cut = k->role[s->rank].group != k->role[r->rank].group
           && hccl_coll_info[k->world.plans[0]->coll].reduces;
    if (*cut && whole) {
        return true;
    }
    if (*cut) {
        hccl_check_fail(k,
                        "ranks %d and %d exchange a part of a vector that their groups cut "
                        "differently",
                        s->rank, r->rank);
        return false;
    }
    if (a->how != b->how) {
        hccl_check_fail(k, "of rank %d's message to rank %d one side is parcels, the other a block",
                        s->rank, r->rank);
        return false;
    }
    if (a->count != b->count) {
        hccl_check_fail(k, "rank %d step %d sends %d blocks to rank %d, whose step %d receives %d",
                        s->rank, (int) (a - k->world.plans[s->rank]->steps), a->count, r->rank,
                        (int) (b - k->world.plans[r->rank]->steps), b->count);
        return false;
    }
    for (int i = 0; k->fixed && i < a->count; i++) {
        if (hccl_check_block(k, s->rank, a->base, a->first + i)
            != hccl_check_block(k, r->rank, b->base, b->first + i)) {
            hccl_check_fail(k,
                            "rank %d step %d sends block %d to rank %d, whose step %d receives it "
                            "as block %d",
                            s->rank, (int) (a - k->world.plans[s->rank]->steps),
                            hccl_check_block(k, s->rank, a->base, a->first + i), r->rank,
                            (int) (b - k->world.plans[r->rank]->steps),
                            hccl_check_block(k, r->rank, b->base, b->first + i));
            return false;
        }
    }
    return true;
}

static void set_value(hccl_cell_t *to, const hccl_cell_t *from)
{
    to->n = from->n;
    to->sum = from->sum;
    to->order = from->order;
    to->tree = from->tree;
}

static void move_data(hccl_checker_t *k, const hccl_half_t *s, const hccl_half_t *r)
{
    int nsrc, ndst;
    bool cut;
    if (!same_blocks(k, s, r, &cut)) {
        return;
    }
    hccl_cell_t *src = hccl_check_cells(k, s->rank, walker_of(k, s), s->step->base, s->step->first,
                                        s->step->count, &nsrc);
    hccl_cell_t *dst = hccl_check_cells(k, r->rank, walker_of(k, r), r->step->base, r->step->first,
                                        r->step->count, &ndst);
    for (int i = 1; cut && i < nsrc; i++) {
        if (src[i].n != src[0].n || src[i].sum != src[0].sum || src[i].order != src[0].order
            || src[i].tree != src[0].tree) {
            hccl_check_fail(k,
                            "rank %d sends a vector whose blocks are combined differently to the "
                            "other group, which cuts it elsewhere",
                            s->rank);
            return;
        }
    }
    for (int i = 0; i < ndst; i++) {
        set_value(&dst[i], &src[cut ? 0 : i]);
    }
}

/* Counts the message and finds out when the model says that it is complete. */
static void account(hccl_checker_t *k, const hccl_half_t *s, hccl_half_t *r, double *done)
{
    const hccl_cost_model_t *m = k->setup.cost;
    int from = k->role[s->rank].node, to = k->role[r->rank].node;
    uint64_t units = hccl_check_moved(k, s->rank, walker_of(k, s), s->step);
    double bytes = (double) units * k->setup.unit_bytes;
    double begin = s->ready > r->ready ? s->ready : r->ready;
    if (from == to) {
        k->report->messages_inside++;
        hccl_check_count_read(k, r->rank, s->rank, units);
        *done = begin + m->alpha_shm + bytes * m->beta_shm;
        r->hops = s->hops;
        return;
    }
    k->report->messages++;
    k->report->node_messages[from]++;
    k->report->node_out[from] += units;
    k->report->node_in[to] += units;
    begin = begin > k->link_out[from] ? begin : k->link_out[from];
    begin = begin > k->link_in[to] ? begin : k->link_in[to];
    k->link_out[from] = k->link_in[to] = begin + bytes * m->beta_net;
    *done = begin + m->alpha_net + bytes * m->beta_net;
    r->hops = s->hops + 1;
}

static void match(hccl_checker_t *k, int first, int second)
{
    hccl_half_t *s = &k->half[first], *r = &k->half[second];
    if (HCCL_STEP_SEND != s->step->kind) {
        hccl_half_t *other = s;
        s = r;
        r = other;
    }
    move_data(k, s, r);
    if (k->failed) {
        return;
    }
    double done;
    account(k, s, r, &done);
    s->done = r->done = done;
    r->known = s->known;
    r->seen = s->seen;
    s->matched = r->matched = true;
    walker_of(k, s)->open--;
    walker_of(k, r)->open--;
}

static int take_half(hccl_checker_t *k)
{
    if (k->free_half < 0) {
        int more = 0 == k->nhalves ? 64 : 2 * k->nhalves;
        hccl_half_t *moved = realloc(k->half, (size_t) more * sizeof(*moved));
        if (NULL == moved) {
            hccl_check_fail(k, "no memory");
            return -1;
        }
        k->half = moved;
        for (int i = more - 1; i >= k->nhalves; i--) {
            k->half[i].next = k->free_half;
            k->free_half = i;
        }
        k->nhalves = more;
    }
    int taken = k->free_half;
    k->free_half = k->half[taken].next;
    return taken;
}

/* The oldest message of the channel that goes the other way; else the new one waits there. */
static void find_partner(hccl_checker_t *k, int number)
{
    hccl_half_t *h = &k->half[number];
    int bucket = (int) (hccl_check_mix(h->key) % (uint64_t) k->buckets);
    int before = -1;
    for (int i = k->bucket[bucket]; i >= 0; before = i, i = k->half[i].next) {
        if (k->half[i].key == h->key && k->half[i].step->kind != h->step->kind) {
            *(before < 0 ? &k->bucket[bucket] : &k->half[before].next) = k->half[i].next;
            if (k->bucket_end[bucket] == i) {
                k->bucket_end[bucket] = before;
            }
            match(k, i, number);
            return;
        }
    }
    h->next = -1;
    *(k->bucket[bucket] < 0 ? &k->bucket[bucket] : &k->half[k->bucket_end[bucket]].next) = number;
    k->bucket_end[bucket] = number;
}

void hccl_check_start_message(hccl_checker_t *k, int rank, hccl_walker_t *c,
                              const hccl_step_t *step)
{
    int n;
    bool sends = HCCL_STEP_SEND == step->kind;
    hccl_cell_t *cells = hccl_check_cells(k, rank, c, step->base, step->first, step->count, &n);
    bool is_long = HCCL_HOW_LONG == step->how;
    if (is_long ? !hccl_check_is_long(k, rank, step)
                : HCCL_HOW_PARCELS != step->how && step->count > 0
                      && 0 == hccl_check_moved(k, rank, c, step)) {
        return; /* both sides know that there is nothing to send */
    }
    if (sends ? !hccl_check_readable(k, rank, c, step->base, step->first, step->count, cells, n)
              : !hccl_check_writable(k, rank, c, cells, n)) {
        return;
    }
    for (int i = 0; i < n; i++) {
        if (sends) {
            cells[i].sending++;
        } else {
            cells[i].receiving = 1;
        }
    }
    int number = take_half(k);
    if (number < 0) {
        return;
    }
    int peer = hccl_check_peer(&k->role[rank], step->peer);
    uint64_t from = (uint64_t) (sends ? rank : peer), to = (uint64_t) (sends ? peer : rank);
    int cursor = (int) (c - k->rank[rank].cursor);
    k->half[number] = (hccl_half_t){
        .rank = rank,
        .cursor = cursor,
        .key = (from * (uint64_t) k->world.n + to) * HCCL_CURSORS + (uint64_t) cursor
               + (is_long ? 1 : 0),
        .mine = c->halves,
        .hops = c->hops,
        .ready = c->clock,
        .step = step,
        .seen = sends ? hccl_check_clock(k, c->seen, NULL) : NULL,
        .known = sends ? hccl_check_remember(k, k->rank[rank].known) : NULL,
    };
    c->halves = number;
    c->open++;
    find_partner(k, number);
}

bool hccl_check_is_open(const hccl_checker_t *k, const hccl_walker_t *c, const hccl_step_t *wait)
{
    for (int i = c->open > 0 ? c->halves : -1; i >= 0; i = k->half[i].mine) {
        if (!k->half[i].matched && k->half[i].step->how == wait->how) {
            return true;
        }
    }
    return false;
}

void hccl_check_finish_messages(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                const hccl_step_t *wait)
{
    int kept = -1;
    while (c->halves >= 0) {
        int number = c->halves, n;
        hccl_half_t *h = &k->half[number];
        const hccl_step_t *step = h->step;
        c->halves = h->mine;
        if (step->how != wait->how) {
            h->mine = kept;
            kept = number;
            continue;
        }
        hccl_cell_t *cells = hccl_check_cells(k, rank, c, step->base, step->first, step->count, &n);
        for (int i = 0; i < n; i++) {
            if (HCCL_STEP_SEND == step->kind) {
                cells[i].sending--;
            } else {
                cells[i].receiving = 0;
            }
        }
        if (HCCL_STEP_RECV == step->kind) {
            c->hops = c->hops > h->hops ? c->hops : h->hops;
            hccl_check_learn(k, k->rank[rank].known, h->known);
            hccl_check_hear(k, c, h->seen);
        }
        c->clock = c->clock > h->done ? c->clock : h->done;
        h->next = k->free_half;
        k->free_half = number;
    }
    c->halves = kept; /* the other way round: it matters to nobody */
}
