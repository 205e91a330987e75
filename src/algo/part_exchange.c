/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The messages of an exchange. Blocks that lie in a row travel in one message, in the order of their
 * slots. Reducing is gathering backwards: the rounds in reverse order, receivers as senders.
 *
 * Used by algo/ only.
 */
#include "algo/exchange.h"

#include <stdlib.h>

/* How a block of a set is treated; blocks in a row that are treated alike form a run. */
enum { ABSENT, PLAIN, MET, OWN };

int hccl_exchange_ahead(const hccl_exchange_t *x, int me, int turn, int distance)
{
    const int n = x->n;
    const int member = (int) ((me + (long long) turn * distance) % n);

    return 0 > member ? member + n : member;
}

static int relative(const hccl_exchange_t *x, int distance)
{
    const int d = distance % x->n;

    return 0 > d ? d + x->n : d;
}

/* ---- sets of blocks and their runs ------------------------------------------------------------ */

/* The set first, first + stride, ... (count of them) ahead of me, with or without what has happened
 * to the blocks. That is the same seen from each member, so `shift` asks for what the member so far
 * ahead has done. */
static void mark(hccl_exchange_t *x, int me, int turn, const hccl_round_t *set, bool states,
                 int shift, bool last)
{
    x->low = x->n;
    x->end = 0;
    for (int j = 0; j < set->count; j++) {
        const int distance = set->first + j * set->stride;
        const int slot = x->slot[hccl_exchange_ahead(x, me, turn, distance)];
        const bool own = last && 0 == relative(x, distance);

        x->run[slot] = own ? OWN : states && x->met[relative(x, distance - shift)] ? MET : PLAIN;
        x->low = slot < x->low ? slot : x->low;
        x->end = slot < x->end ? x->end : slot + 1;
    }
}

static void unmark(hccl_exchange_t *x, int me, int turn, const hccl_round_t *set)
{
    for (int j = 0; j < set->count; j++) {
        x->run[x->slot[hccl_exchange_ahead(x, me, turn, set->first + j * set->stride)]] = ABSENT;
    }
}

/* Slots in a row. */
typedef struct {
    int first, count;
} run_t;

/* The next run among the marked slots from `from` on. */
static run_t next_run(const hccl_exchange_t *x, const hccl_map_t *map, int from)
{
    int first = from < x->low ? x->low : from;

    while (first < x->end && ABSENT == x->run[first]) {
        first++;
    }
    int end = first;

    while (end < x->end && x->run[end] == x->run[first] && (end == first || 0 == map->apart)) {
        end++;
    }
    return (run_t){.first = first, .count = end - first};
}

int hccl_exchange_source(const hccl_exchange_t *x, int me, int turn, int i)
{
    if (0 > i) {
        return me;
    }
    const hccl_round_t r = x->pattern->round(x->n, i);

    return hccl_exchange_ahead(x, me, turn, r.first - r.to);
}

/* One message per run of the marked set, none for runs without positions. */
static void messages(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, bool send,
                     int peer, int base, int base_met)
{
    for (run_t run = next_run(x, &s->map, 0); 0 < run.count;
         run = next_run(x, &s->map, run.first + run.count)) {
        const int first = hccl_map_first(&s->map, run.first);
        const int count = hccl_map_count(&s->map, run.first, run.count);

        if (0 == count) {
            continue;
        }
        if (send) {
            hccl_build_send(b, peer, MET == x->run[run.first] ? base_met : base, first, count);
        } else {
            hccl_build_recv(b, peer, base, first, count);
        }
    }
}

void hccl_exchange_marked(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, bool send,
                          int peer, int base, const int *round, int i)
{
    x->low = x->n;
    x->end = 0;
    for (int member = 0; member < x->n; member++) {
        const int slot = x->slot[member];

        if (i == round[member]) {
            x->run[slot] = PLAIN;
            x->low = slot < x->low ? slot : x->low;
            x->end = slot < x->end ? x->end : slot + 1;
        }
    }
    messages(b, x, s, send, peer, base, base);
    for (int slot = x->low; slot < x->end; slot++) {
        x->run[slot] = ABSENT;
    }
}

hccl_team_t hccl_exchange_team(const hccl_pattern_t *pattern, const hccl_case_t *c)
{
    return pattern->far ? hccl_team_by_node(c) : hccl_team_by_ring(c);
}

int hccl_exchange_order(const hccl_exchange_t *x, hccl_builder_t *b, const hccl_case_t *c)
{
    const hccl_team_t team = hccl_exchange_team(x->pattern, c);

    if (!x->pattern->strides && (x->pattern->far || !c->shape->ringed)) {
        hccl_order_by_node(b, c->shape);
        return HCCL_OK;
    }
    int32_t *order = malloc((size_t) x->n * sizeof(*order));

    if (NULL == order) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < x->n; i++) {
        order[x->slot[i]] = hccl_team_rank(&team, i);
    }
    hccl_build_order(b, order);
    free(order);
    return HCCL_OK;
}

/* ---- gathering -------------------------------------------------------------------------------- */

void hccl_exchange_gather(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int base,
                          int complete, int i)
{
    const hccl_round_t out = x->pattern->round(x->n, i);
    const hccl_round_t in = {.first = out.first - out.to, .stride = out.stride, .count = out.count};
    const int me = s->team.me;
    const int to = hccl_exchange_ahead(x, me, s->turn, out.to),
              from = hccl_exchange_ahead(x, me, s->turn, -out.to);

    if (to != complete) {
        mark(x, me, s->turn, &out, false, 0, false);
        messages(b, x, s, true, hccl_team_rank(&s->team, to), base, base);
        unmark(x, me, s->turn, &out);
    }
    if (me != complete) {
        mark(x, me, s->turn, &in, false, 0, false);
        messages(b, x, s, false, hccl_team_rank(&s->team, from), base, base);
        unmark(x, me, s->turn, &in);
    }
}

void hccl_part_gathering(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int count,
                         int base, int complete)
{
    for (int i = 0; hccl_team_member(&s->team) && i < hccl_exchange_rounds(x); i++) {
        for (int k = 0; k < count; k++) {
            hccl_exchange_gather(b, x, &s[k], base, complete, i);
        }
        hccl_build_wait(b);
    }
}

/* ---- reducing --------------------------------------------------------------------------------- */

/* Round i of reducing as the round of gathering that it undoes. */
static hccl_round_t undone(const hccl_exchange_t *x, int i)
{
    return x->pattern->round(x->n, hccl_exchange_rounds(x) - 1 - i);
}

hccl_round_t hccl_exchange_touched(const hccl_exchange_t *x, int i, bool sent)
{
    hccl_round_t r = undone(x, i);

    r.first -= sent ? r.to : 0;
    return r;
}

void hccl_exchange_reduce(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int src,
                          int acc, int tmp, int i)
{
    const hccl_round_t in = hccl_exchange_touched(x, i, false);
    const hccl_round_t out = hccl_exchange_touched(x, i, true);
    const int me = s->team.me;
    const int peer =
        hccl_exchange_ahead(x, me, s->turn, in.to); /* who sent to me in gathering is sent to */

    mark(x, me, s->turn, &out, true, 0, false);
    messages(b, x, s, true, hccl_team_rank(&s->team, hccl_exchange_ahead(x, me, s->turn, -in.to)),
             src, acc);
    unmark(x, me, s->turn, &out);
    mark(x, me, s->turn, &in, true, in.to, false);
    messages(b, x, s, false, hccl_team_rank(&s->team, peer), tmp, tmp);
    unmark(x, me, s->turn, &in);
}

void hccl_exchange_combine(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int src,
                           int acc, int tmp, int dst, int i)
{
    const hccl_round_t in = hccl_exchange_touched(x, i, false);
    const int me = s->team.me;
    const bool last = hccl_exchange_rounds(x) - 1 == i;
    const int own = x->met[0] ? acc : src;

    mark(x, me, s->turn, &in, true, 0, last);
    for (run_t run = next_run(x, &s->map, 0); 0 < run.count;
         run = next_run(x, &s->map, run.first + run.count)) {
        const int how = x->run[run.first];
        const int first = hccl_map_first(&s->map, run.first);
        const int count = hccl_map_count(&s->map, run.first, run.count);

        if (0 < count) {
            hccl_part_combine(b, OWN == how ? dst : acc, tmp,
                              OWN == how   ? own
                              : MET == how ? acc
                                           : src,
                              first, count);
        }
    }
    unmark(x, me, s->turn, &in);
}

void hccl_exchange_reduced(hccl_exchange_t *x, int i)
{
    const hccl_round_t in = hccl_exchange_touched(x, i, false);

    for (int j = 0; j < in.count; j++) {
        x->met[relative(x, in.first + j * in.stride)] = true;
    }
}

void hccl_part_reducing(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int count,
                        int src, int acc, int tmp, int dst)
{
    if (!hccl_team_member(&s->team)) {
        return;
    }
    for (int k = 0; 1 == x->n && k < count; k++) {
        hccl_part_move(b, dst, src, hccl_map_first(&s[k].map, 0), hccl_map_count(&s[k].map, 0, 1));
    }
    for (int i = 0; i < hccl_exchange_rounds(x); i++) {
        for (int k = 0; k < count; k++) {
            hccl_exchange_reduce(b, x, &s[k], src, acc, tmp, i);
        }
        hccl_build_wait(b);
        for (int k = 0; k < count; k++) {
            hccl_exchange_combine(b, x, &s[k], src, acc, tmp, dst, i);
        }
        hccl_exchange_reduced(x, i);
    }
}

void hccl_part_uniting(hccl_builder_t *b, const hccl_stream_t *s, int root, int base)
{
    hccl_exchange_t x;

    if (hccl_exchange_begin(&x, b, &hccl_pattern_nb, s->team.n)) {
        if (0 > root) {
            hccl_part_gathering(b, &x, s, 1, base, -1);
        } else {
            hccl_part_collecting(b, &x, s, 1, root, base);
        }
    }
    hccl_exchange_close(&x);
}
