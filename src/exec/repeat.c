/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See repeat.h.
 */
#include "exec/repeat.h"

#include <stdlib.h>
#include <string.h>

#include "exec/layout.h"
#include "exec/repeat_blocks.h"
#include "exec/sides.h"
#include "exec/wait.h"

/* ---- running ---------------------------------------------------------------------------------- */

/* Waiting is a function of its own, so that who need not wait keeps everything in registers. */
static __attribute__((noinline)) void wait_for_room(hccl_lane_t *lane, uint64_t tag)
{
    hccl_wait_t wait = {0};
    while (!hccl_lane_has_room(lane, tag)) {
        hccl_wait_pause(&wait, lane, false);
    }
    hccl_wait_moved(&wait);
}

static __attribute__((noinline)) hccl_slot_t *wait_for_peer(hccl_lane_t *lane, int peer,
                                                            uint64_t tag)
{
    hccl_slot_t *slot;
    hccl_wait_t wait = {0};
    do {
        hccl_wait_pause(&wait, lane, false);
        slot = hccl_lane_peek(lane, peer, tag);
    } while (NULL == slot);
    hccl_wait_moved(&wait);
    return slot;
}

static inline void publish(hccl_lane_t *lane, const hccl_repeat_step_t *step, uint64_t tag,
                           uint32_t signature, const char *from)
{
    if (HCCL_UNLIKELY(!hccl_lane_has_room(lane, tag))) {
        wait_for_room(lane, tag);
    }
    hccl_slot_t *slot = hccl_lane_slot(lane, tag);
    size_t bytes = step->bytes;
    if (bytes > 0) {
        bytes = hccl_fill(slot, from, bytes, step->copy);
    }
    hccl_lane_publish(lane, slot, tag, signature, bytes);
}

/* Where a source lies; waits for it if it is a peer's publication. */
static inline const char *find(hccl_lane_t *lane, const hccl_repeat_source_t *source,
                               uint64_t first_tag, char *const *buffers)
{
    int peer = source->peer;
    if (peer < 0) {
        return buffers[source->number] + source->offset;
    }
    uint64_t tag = first_tag + source->number;
    hccl_slot_t *slot = hccl_lane_peek(lane, peer, tag);
    if (NULL == slot) {
        slot = wait_for_peer(lane, peer, tag);
    }
    return (const char *) hccl_lane_payload(lane, peer, slot) + source->offset;
}

static __attribute__((noinline)) void combine_many(const hccl_repeat_t *r,
                                                   const hccl_repeat_step_t *step,
                                                   const hccl_repeat_source_t *source,
                                                   uint64_t first_tag, char *const *buffers)
{
    const char *src[step->nsrc];
    for (int i = 0; i < step->nsrc; i++) {
        src[i] = find(r->lane, &source[i], first_tag, buffers);
    }
    if (step->bytes > 0) {
        r->combine.kernel(buffers[step->buffer] + step->offset, (const void *const *) src,
                          step->nsrc, step->bytes);
    }
}

/* COPY, FETCH, REDUCE and FOLD. */
static inline void combine(const hccl_repeat_t *r, const hccl_repeat_step_t *step,
                           const hccl_repeat_source_t *source, uint64_t first_tag,
                           char *const *buffers)
{
    char *dst = buffers[step->buffer] + step->offset;
    if (step->nsrc > 2) {
        combine_many(r, step, source, first_tag, buffers);
        return;
    }
    const void *src[2];
    src[0] = find(r->lane, &source[0], first_tag, buffers);
    if (2 == step->nsrc) {
        src[1] = find(r->lane, &source[1], first_tag, buffers);
    }
    if (0 == step->bytes) {
        return;
    }
    if (2 == step->nsrc) {
        r->combine.kernel(dst, src, 2, step->bytes);
    } else if (dst != src[0]) {
        hccl_copy(dst, src[0], step->bytes, step->copy);
    }
}

int hccl_repeat_run(hccl_comm_t *hc, hccl_repeat_t *r, const void *sbuf, const void *rbuf)
{
    if (HCCL_UNLIKELY(r->apart)) {
        return hccl_blocks_run(hc, r, sbuf, rbuf);
    }
    hccl_lane_t *lane = r->lane;
    char *buffers[2] = {(char *) (uintptr_t) sbuf, (char *) (uintptr_t) rbuf};
    uint64_t first_tag = lane->last + 1;
    const hccl_repeat_source_t *source = r->sources;
    r->wanted = true;
    lane->last += r->npub;
    hc->next_op[HCCL_BLOCKING]++;
    for (int i = 0; i < r->nsteps; i++) {
        const hccl_repeat_step_t *step = &r->steps[i];
        if (step->publishes) {
            publish(lane, step, first_tag + step->number, r->signature,
                    buffers[step->buffer] + step->offset);
        } else {
            combine(r, step, source, first_tag, buffers);
            source += step->nsrc;
        }
        if (0 != step->ack) {
            hccl_lane_acknowledge(lane, first_tag + step->ack - 1);
        }
    }
    hccl_lane_acknowledge(lane, lane->last);
    hccl_wait_tell(lane);
    return OMPI_SUCCESS;
}

/* ---- learning --------------------------------------------------------------------------------- */

/* Whether the datatypes of a side, of which there may be one for each of n ranks, live for ever. */
static bool is_lasting(const hccl_side_t *side, int n)
{
    bool lasting = true;
    for (int i = 0; NULL != side->types && i < n; i++) {
        lasting = lasting && ompi_datatype_is_predefined(side->types[i]);
    }
    return NULL != side->types ? lasting
                               : NULL != side->type && ompi_datatype_is_predefined(side->type);
}

/* Bytes of the vector, of a block, or of all blocks whose sizes all ranks know. */
static size_t whole_bytes(const hccl_exec_t *x)
{
    size_t units = x->units;
    for (int i = 0; HCCL_VIEW_TABLE == x->grid && i < x->hc->size; i++) {
        units += x->len[i];
    }
    return units * x->unit;
}

/* Whether the call's publications are long enough to be made in place. */
static bool may_lend(const hccl_exec_t *x)
{
    return x->lane_kind > HCCL_LANE_SMALL && HCCL_ZERO_COPY_NEVER != hccl_engine.zero_copy
           && (x->lane->heaps_agreed || x->lane->memory_agreed)
           && whole_bytes(x) >= hccl_engine.zero_copy_min;
}

/* Whether the way that a call took depends on nothing but its key and where its buffers lie. */
static bool can_be_kept(const hccl_exec_t *x)
{
    const hccl_plan_t *plan = x->plan;
    hccl_sides_t sides = hccl_sides_of(x);
    bool blocks = hccl_repeat_has_blocks(x->call.coll);
    return x->units * x->unit <= HCCL_REPEAT_BYTES && NULL != x->lane && !x->flat
           && x->nseg * plan->nsteps <= HCCL_REPEAT_STEPS
           && (blocks ? hccl_blocks_can_be_kept(x)
                      : !plan->apart && 0 == x->nowned && 0 == plan->max_requests)
           && 0 == plan->ntmp && (uint64_t) plan->npub <= x->lane->nslots / 2
           && (!hccl_has_send(x, &sides) || is_lasting(&x->call.send, x->hc->size))
           && (!hccl_has_recv(x, &sides) || is_lasting(&x->call.recv, x->hc->size))
           && (NULL == x->call.op
               || (ompi_op_is_intrinsic(x->call.op) && NULL != x->combine.kernel))
           && !(may_lend(x)
                && (hccl_lane_reaches(x->lane, x->call.send.buf, 1)
                    || hccl_lane_reaches(x->lane, x->call.recv.buf, 1)));
}

/* Whether this rank does nothing but publish, or does not publish. */
static bool goes_one_way(const hccl_plan_t *plan)
{
    int publishes = 0;
    for (int i = 0; i < plan->nsteps; i++) {
        publishes += HCCL_STEP_PUBLISH == plan->steps[i].kind;
    }
    return 0 == publishes || plan->nsteps == publishes;
}

/* An operand as (buffer, offset, bytes). False: it is not one run. */
static bool resolve(const hccl_exec_t *x, const hccl_cursor_t *c, int base, int first, int count,
                    uint8_t *buffer, size_t *offset, size_t *bytes)
{
    hccl_sides_t sides = hccl_sides_of(x);
    bool recv = HCCL_BASE_RECV == base;
    hccl_run_t run;
    if (!hccl_locate_range(x, c, base, first, count, &run)) {
        return false;
    }
    if (sides.in_place) {
        recv = !hccl_is_scatter(x->call.coll);
    }
    const char *start = recv ? x->call.recv.buf : x->call.send.buf;
    if (run.units > 0 && run.ptr < start) {
        return false; /* a negative displacement */
    }
    *buffer = recv ? HCCL_REPEAT_RECV : HCCL_REPEAT_SEND;
    *bytes = run.units * x->unit;
    *offset = *bytes > 0 ? (size_t) (run.ptr - start) : 0;
    return true;
}

/* The number of a segment's publication among those of all segments. */
static uint32_t number_of(const hccl_exec_t *x, const hccl_cursor_t *c, int number)
{
    return (uint32_t) (c->seg * x->plan->npub + number);
}

static bool keep_source(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step,
                        const hccl_source_t *from, hccl_repeat_source_t *to)
{
    to->peer = from->peer;
    if (from->peer >= 0) {
        to->number = number_of(x, c, from->base);
        to->offset =
            hccl_range_units(x, c, from->pub_first, from->first - from->pub_first) * x->unit;
        return true;
    }
    uint8_t buffer;
    size_t bytes;
    bool is_run = resolve(x, c, from->base, from->first, step->count, &buffer, &to->offset, &bytes);
    to->number = buffer;
    return is_run;
}

static hccl_copy_fn_t copy_of(const hccl_exec_t *x, const hccl_step_t *step, size_t bytes)
{
    switch ((hccl_step_kind_t) step->kind) {
    case HCCL_STEP_PUBLISH:
        return hccl_copy_give(bytes);
    case HCCL_STEP_FETCH:
        return hccl_copy_of_peer(x, bytes);
    default:
        return hccl_copy_own(bytes);
    }
}

static bool keep_step(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step,
                      hccl_repeat_step_t *to, hccl_repeat_source_t *source)
{
    switch ((hccl_step_kind_t) step->kind) {
    case HCCL_STEP_PUBLISH:
    case HCCL_STEP_COPY:
    case HCCL_STEP_FETCH:
    case HCCL_STEP_REDUCE:
    case HCCL_STEP_FOLD:
        break;
    default:
        return false;
    }
    *to = (hccl_repeat_step_t){.publishes = HCCL_STEP_PUBLISH == step->kind,
                               .number = number_of(x, c, step->pub)};
    if (!resolve(x, c, step->base, step->first, step->count, &to->buffer, &to->offset,
                 &to->bytes)) {
        return false;
    }
    /* With one segment, what is read is acknowledged at the end. */
    to->ack = 1 == x->nseg || 0 == step->ack ? 0 : number_of(x, c, step->ack);
    to->copy = copy_of(x, step, to->bytes);
    if (to->publishes) {
        return true;
    }
    to->nsrc = step->nsrc;
    for (int i = 0; i < step->nsrc; i++) {
        if (!keep_source(x, c, step, &x->plan->sources[step->src + i], &source[i])) {
            return false;
        }
    }
    return true;
}

/* All steps of one segment, from r->nsteps on. */
static bool keep_segment(const hccl_exec_t *x, int seg, hccl_repeat_t *r)
{
    const hccl_plan_t *plan = x->plan;
    hccl_repeat_source_t *source = r->sources + seg * plan->nsources;
    hccl_cursor_t cursor;
    hccl_run_place(x, &cursor, seg);
    for (int i = 0; i < plan->nsteps; i++) {
        hccl_repeat_step_t *step = &r->steps[r->nsteps++];
        if (!keep_step(x, &cursor, &plan->steps[i], step, source)) {
            return false;
        }
        source += step->nsrc;
        if (x->nseg > 1 && plan->nsteps - 1 == i) {
            /* A peer that publishes waits for the acknowledgements of all, also of who reads nothing. */
            step->ack = number_of(x, &cursor, plan->npub);
        }
    }
    return true;
}

/* A record with room for the steps of all segments in this place; NULL: none. */
static hccl_repeat_t *make_room(hccl_repeat_t **place, const hccl_exec_t *x)
{
    size_t steps = (size_t) (x->nseg * x->plan->nsteps) * sizeof(hccl_repeat_step_t);
    size_t sources = (size_t) (x->nseg * x->plan->nsources) * sizeof(hccl_repeat_source_t);
    hccl_blocks_array_t passed[HCCL_BLOCKS_ARRAYS];
    size_t arrays = 0;
    for (int n = hccl_blocks_arrays(x->hc, &x->call, passed); n > 0; n--) {
        arrays += passed[n - 1].bytes;
    }
    size_t bytes = sizeof(hccl_repeat_t) + steps + sources + arrays;
    hccl_repeat_t *r = *place;
    if (NULL == r || r->room < bytes) {
        free(r);
        r = malloc(bytes);
        *place = r;
        if (NULL == r) {
            return NULL;
        }
        r->room = bytes;
    }
    r->sources = (hccl_repeat_source_t *) ((char *) r->steps + steps);
    r->arrays = (char *) r->sources + sources;
    return r;
}

static bool keep_all(const hccl_exec_t *x, hccl_repeat_t *r)
{
    if (r->apart) {
        return hccl_blocks_keep(x, r);
    }
    for (int seg = 0; seg < x->nseg; seg++) {
        if (!keep_segment(x, seg, r)) {
            return false;
        }
    }
    return true;
}

void hccl_repeat_learn(const hccl_exec_t *x)
{
    hccl_repeat_key_t key = hccl_repeat_key(x->call);
    hccl_repeat_t **place = hccl_repeat_has_blocks(x->call.coll)
                                ? hccl_blocks_place(x->hc, &x->call)
                                : hccl_repeat_place(x->hc, key);
    if (!can_be_kept(x) || (x->nseg > 1 && !goes_one_way(x->plan))) {
        return;
    }
    if (NULL != *place && (*place)->wanted) {
        (*place)->wanted = false;
        return;
    }
    hccl_repeat_t *r = make_room(place, x);
    if (NULL == r) {
        return;
    }
    r->wanted = true;
    r->lends = may_lend(x);
    r->key = key;
    r->lane = x->lane;
    r->combine = x->combine;
    r->npub = (uint32_t) (x->nseg * x->plan->npub);
    r->signature = x->signature;
    r->nsteps = 0;
    r->apart = 0 != x->plan->apart;
    hccl_blocks_keep_arrays(x, r);
    if (!keep_all(x, r)) {
        r->key.coll = -1; /* no call's */
        r->wanted = false;
    }
}
