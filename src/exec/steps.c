/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The body of each step. A step is tried and either done or left for later; it never waits.
 */
#include <string.h>

#include "base/pool.h"
#include "exec/borrow.h"
#include "exec/land.h"
#include "exec/layout.h"
#include "exec/steps.h"

/* Where my own bytes of so many positions are that lie packed elsewhere than the plan says; NULL: they do not. */
static inline const char *lent_at(const hccl_exec_t *x, const hccl_cursor_t *c, int base, int first,
                                  int count)
{
    return HCCL_LIKELY(0 == c->lent) ? NULL : hccl_borrow_find(x, c, base, first, count);
}

void hccl_step_gather(const hccl_exec_t *x, const hccl_cursor_t *c, char *packed,
                      const hccl_step_t *step)
{
    for (int i = step->first; i < step->first + step->count; i++) {
        hccl_run_t run = hccl_locate(x, c, step->base, i);
        const char *lent = lent_at(x, c, step->base, i, 1);
        if (run.units > 0) {
            memcpy(packed, NULL == lent ? run.ptr : lent, run.units * x->unit);
            packed += run.units * x->unit;
        }
    }
}

void hccl_step_scatter(const hccl_exec_t *x, const hccl_cursor_t *c, const char *packed,
                       const hccl_step_t *step)
{
    for (int i = step->first; i < step->first + step->count; i++) {
        hccl_run_t run = hccl_locate(x, c, step->base, i);
        if (run.units > 0) {
            memcpy(run.ptr, packed, run.units * x->unit);
            packed += run.units * x->unit;
        }
    }
}

/* Units of an operand as its own buffer has them (SEND and RECV of a v-form may differ). */
static size_t operand_units(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step)
{
    hccl_run_t run;
    if (hccl_locate_range(x, c, step->base, step->first, step->count, &run)) {
        return run.units;
    }
    size_t sum = 0;
    for (int i = step->first; i < step->first + step->count; i++) {
        sum += hccl_locate(x, c, step->base, i).units;
    }
    return sum;
}

/* Whether this publication goes in place. */
static bool goes_direct(const hccl_exec_t *x, const hccl_step_t *step, const hccl_run_t *run,
                        size_t bytes)
{
    return HCCL_UNLIKELY(x->direct) && bytes >= hccl_engine.zero_copy_min
           && 0 != (step->direct & x->direct) && hccl_lane_reaches(x->lane, run->ptr, bytes);
}

bool hccl_step_goes_direct(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step)
{
    hccl_run_t run;
    return HCCL_UNLIKELY(x->direct)
           && hccl_locate_range(x, c, step->base, step->first, step->count, &run)
           && goes_direct(x, step, &run, run.units * x->unit);
}

/* A copy of the operand, of which something is lent, goes to a slot; returns what hccl_fill does. */
static size_t publish_lent(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step,
                           hccl_slot_t *slot)
{
    size_t bytes = operand_units(x, c, step) * x->unit;
    const char *whole = hccl_borrow_find(x, c, step->base, step->first, step->count);
    if (NULL == whole) {
        hccl_step_gather(x, c, hccl_slot_payload(slot, bytes), step);
    } else if (bytes > 0) {
        return hccl_fill(slot, whole, bytes, hccl_copy_give(bytes));
    }
    return bytes;
}

static hccl_step_result_t publish(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    uint64_t tag = hccl_tag_of(x, c, step->pub);
    if (HCCL_UNLIKELY(NULL != x->landings)) {
        if (hccl_land_publish(x, c, step)) {
            return HCCL_STEP_DONE;
        }
        if (!hccl_land_is_free(x, tag)) {
            return HCCL_STEP_LATER;
        }
    }
    if (!hccl_lane_has_room(x->lane, tag)) {
        return HCCL_STEP_LATER;
    }
    hccl_slot_t *slot = hccl_lane_slot(x->lane, tag);
    hccl_run_t run;
    size_t bytes;
    if (HCCL_LIKELY(hccl_locate_range(x, c, step->base, step->first, step->count, &run))) {
        bytes = run.units * x->unit;
        if (goes_direct(x, step, &run, bytes)) {
            if (HCCL_UNLIKELY(0 != c->lent)) {
                hccl_borrow_bring_home(x, c, step);
            }
            hccl_lane_publish_direct(x->lane, slot, tag, x->signature, run.ptr);
            x->lent = tag > x->lent ? tag : x->lent;
            return HCCL_STEP_DONE;
        }
        if (HCCL_UNLIKELY(0 != c->lent) && hccl_borrow_reads(x, c, step)) {
            bytes = publish_lent(x, c, step, slot);
        } else if (bytes > 0) {
            bytes = hccl_fill(slot, run.ptr, bytes, hccl_copy_give(bytes));
        }
    } else if (HCCL_UNLIKELY(0 != c->lent)) {
        bytes = publish_lent(x, c, step, slot);
    } else {
        bytes = operand_units(x, c, step) * x->unit;
        hccl_step_gather(x, c, hccl_slot_payload(slot, bytes), step);
    }
    hccl_lane_publish(x->lane, slot, tag, x->signature, bytes);
    return HCCL_STEP_DONE;
}

/* PUBLISH of something that may be lent. */
static hccl_step_result_t publish_borrowed(hccl_exec_t *x, hccl_cursor_t *c,
                                           const hccl_step_t *step)
{
    hccl_borrow_open(x, c, step);
    hccl_step_result_t result = publish(x, c, step);
    bool done = HCCL_STEP_DONE == result;
    hccl_borrow_close(x, c, step, done, done ? 1 : 0);
    return result;
}

/* A source's publication, NULL when it is not there yet. */
static hccl_slot_t *peek(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_source_t *source)
{
    return hccl_lane_peek(x->lane, source->peer, hccl_tag_of(x, c, source->base));
}

/* Where the bytes of position `first` are in what a peer has published from pub_first on. */
static const char *published(const hccl_exec_t *x, const hccl_cursor_t *c,
                             const hccl_source_t *source, hccl_slot_t *slot, int first)
{
    const char *payload = hccl_lane_payload(x->lane, source->peer, slot);
    if (first == source->pub_first) {
        return payload;
    }
    return payload + hccl_range_units(x, c, source->pub_first, first - source->pub_first) * x->unit;
}

/* dst = combination of a step's sources, which are runs of memory. */
static void combine_runs(hccl_exec_t *x, const hccl_step_t *step, char *dst, const char *const *src,
                         size_t units)
{
    if (0 == units) {
        return;
    }
    if (1 == step->nsrc) {
        size_t bytes = units * x->unit;
        if (dst != src[0]) {
            hccl_copy(dst, src[0], bytes,
                      HCCL_STEP_FETCH == step->kind ? hccl_copy_of_peer(x, bytes)
                                                    : hccl_copy_own(bytes));
        }
        return;
    }
    if (HCCL_OK != hccl_combine_fold(&x->combine, dst, src, step->nsrc, units)) {
        hccl_exec_fail(x, OMPI_ERR_OUT_OF_RESOURCE);
    }
}

/* Position by position, for operands that are not runs of memory. */
static void combine_positions(hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step,
                              const char **src)
{
    const hccl_source_t *source = &x->plan->sources[step->src];
    for (int i = 0; i < step->count; i++) {
        hccl_run_t dst = hccl_locate(x, c, step->base, step->first + i);
        for (int j = 0; j < step->nsrc; j++) {
            int first = source[j].first + i;
            if (source[j].peer >= 0) {
                src[j] = published(x, c, &source[j], peek(x, c, &source[j]), first);
                continue;
            }
            src[j] = lent_at(x, c, source[j].base, first, 1);
            if (NULL == src[j]) {
                src[j] = hccl_locate(x, c, source[j].base, first).ptr;
            }
        }
        combine_runs(x, step, dst.ptr, src, dst.units);
    }
}

/* COPY, FETCH, REDUCE and FOLD: the same but for where the sources are. */
static hccl_step_result_t combine(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    const hccl_source_t *source = &x->plan->sources[step->src];
    if (HCCL_UNLIKELY(NULL != x->landings) && HCCL_STEP_COPY == step->kind) {
        const char *landed = hccl_land_source(x, c, step);
        if (NULL != landed) {
            hccl_land_copy(x, c, step, landed);
            return HCCL_STEP_DONE;
        }
    }
    const char *src[step->nsrc];
    hccl_run_t dst = {NULL, 0};
    bool runs = hccl_locate_range(x, c, step->base, step->first, step->count, &dst);
    for (int j = 0; j < step->nsrc; j++) {
        hccl_run_t run = {NULL, 0};
        if (source[j].peer >= 0) {
            hccl_slot_t *slot = peek(x, c, &source[j]);
            if (NULL == slot) {
                return HCCL_STEP_LATER;
            }
            src[j] = published(x, c, &source[j], slot, source[j].first);
            continue;
        }
        src[j] = lent_at(x, c, source[j].base, source[j].first, step->count);
        if (NULL == src[j]) {
            runs =
                hccl_locate_range(x, c, source[j].base, source[j].first, step->count, &run) && runs;
            src[j] = run.ptr;
        }
    }
    if (runs) {
        combine_runs(x, step, dst.ptr, src, dst.units);
    } else {
        combine_positions(x, c, step, src);
    }
    return HCCL_STEP_DONE;
}

/* The same where some source may be lent. What is lent is held only when no peer is waited for. */
static hccl_step_result_t combine_borrowed(hccl_exec_t *x, hccl_cursor_t *c,
                                           const hccl_step_t *step)
{
    const hccl_source_t *source = &x->plan->sources[step->src];
    for (int j = 0; j < step->nsrc; j++) {
        if (source[j].peer >= 0 && NULL == peek(x, c, &source[j])) {
            return HCCL_STEP_LATER;
        }
    }
    hccl_borrow_open(x, c, step);
    hccl_step_result_t result = combine(x, c, step);
    hccl_borrow_close(x, c, step, true, 1 == step->nsrc ? 1 : 0);
    return result;
}

/* The communicator and the rank in it that a plan's peer means. */
static ompi_communicator_t *comm_of(const hccl_exec_t *x, int peer)
{
    return 0 == (peer & HCCL_PEER_REMOTE) ? x->hc->local_comm : x->hc->comm;
}

/* Memory for a message whose operand is not one run. Without it the peer would wait for ever. */
static hccl_stage_t *stage(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, size_t bytes)
{
    hccl_stage_t *s = hccl_pool_take(sizeof(*s) + bytes);
    if (NULL == s) {
        hccl_run_give_up(x);
    }
    s->step = step;
    s->next = c->stages;
    c->stages = s;
    return s;
}

/* Where the bytes of a message are, or go: where the plan says, if that is one run. NULL: there is no byte. */
static char *message_data(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, size_t bytes)
{
    hccl_run_t run;
    if (hccl_locate_range(x, c, step->base, step->first, step->count, &run)) {
        return run.ptr;
    }
    hccl_stage_t *s = stage(x, c, step, bytes);
    if (HCCL_STEP_SEND == step->kind) {
        hccl_step_gather(x, c, s->data, step);
    }
    return s->data;
}

/* The same in a slot where that can be; else NULL. */
static char *landed_data(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, size_t bytes,
                         const hccl_address_t *peer)
{
    /* What is sent is only read. */
    return HCCL_STEP_SEND == step->kind ? (char *) (uintptr_t) hccl_land_source(x, c, step)
                                        : hccl_land_begin(x, c, step, bytes, peer);
}

/* SEND and RECV. A message without bytes is sent only where the plan moves no block, as a signal:
 * else both sides know that the block is empty. */
static void start_message(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    bool sends = HCCL_STEP_SEND == step->kind;
    size_t bytes = operand_units(x, c, step) * x->unit;
    if (0 == bytes && step->count > 0) {
        return;
    }
    hccl_address_t peer = {.comm = comm_of(x, step->peer),
                           .rank = HCCL_PEER_RANK(step->peer),
                           .tag = x->tag + (int) (c - x->cursor)};
    if (peer.comm != x->hc->comm) {
        /* Not to meet that communicator's own. */
        peer.tag += HCCL_TAG_KINDS * hccl_engine.tag_ids * HCCL_CURSORS;
    }
    char *data = HCCL_UNLIKELY(NULL != x->landings) ? landed_data(x, c, step, bytes, &peer) : NULL;
    if (NULL == data && !sends && HCCL_UNLIKELY(NULL != x->borrowings)
        && hccl_borrow_begin(x, c, step, bytes, &peer)) {
        return;
    }
    data = NULL == data ? message_data(x, c, step, bytes) : data;
    hccl_message_t *m = &c->messages[c->nmessages];
    int rc =
        sends ? hccl_tier_send(&peer, data, bytes, m) : hccl_tier_receive(&peer, data, bytes, m);
    if (OMPI_SUCCESS == rc) {
        c->nmessages++;
    } else {
        hccl_exec_fail(x, rc);
    }
}

static void finish_stages(hccl_exec_t *x, hccl_cursor_t *c)
{
    while (NULL != c->stages) {
        hccl_stage_t *s = c->stages;
        c->stages = s->next;
        if (HCCL_STEP_RECV == s->step->kind) {
            hccl_step_scatter(x, c, s->data, s->step);
        }
        hccl_pool_give(s);
    }
}

static hccl_step_result_t wait_messages(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    while (c->nmessages > 0) {
        int error;
        if (!hccl_tier_test(&c->messages[c->nmessages - 1], &error)) {
            return HCCL_STEP_LATER;
        }
        if (OMPI_SUCCESS != error) {
            hccl_exec_fail(x, error);
        }
        c->nmessages--;
    }
    if (HCCL_UNLIKELY(0 != c->asked) && !hccl_borrow_wait(x, c)) {
        return HCCL_STEP_LATER;
    }
    finish_stages(x, c);
    if (HCCL_UNLIKELY(0 != c->lent)) {
        hccl_borrow_open(x, c, step);
        hccl_borrow_close(x, c, step, true, 0);
    }
    if (HCCL_UNLIKELY(NULL != x->landings)) {
        hccl_land_arrived(x, c);
    }
    return HCCL_STEP_DONE;
}

hccl_step_result_t hccl_step_try(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    switch ((hccl_step_kind_t) step->kind) {
    case HCCL_STEP_PUBLISH:
        return HCCL_LIKELY(0 == c->lent) ? publish(x, c, step) : publish_borrowed(x, c, step);
    case HCCL_STEP_COPY:
    case HCCL_STEP_FETCH:
    case HCCL_STEP_REDUCE:
    case HCCL_STEP_FOLD:
        return HCCL_LIKELY(0 == c->lent) ? combine(x, c, step) : combine_borrowed(x, c, step);
    case HCCL_STEP_SEND:
    case HCCL_STEP_RECV:
        start_message(x, c, step);
        return HCCL_STEP_DONE;
    case HCCL_STEP_WAIT:
        return wait_messages(x, c, step);
    }
    hccl_exec_fail(x, OMPI_ERROR);
    return HCCL_STEP_DONE;
}
