/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See repeat.h.
 */
#include "exec/repeat.h"

#include <stdlib.h>

#include "exec/drive.h"
#include "exec/layout.h"
#include "exec/sides.h"

/* ---- running ---------------------------------------------------------------------------------- */

static void publish(hccl_repeat_t *r, const hccl_repeat_step_t *step, uint64_t tag,
                    const char *from)
{
    hccl_lane_t *lane = r->lane;
    int polls = 0;
    while (!hccl_lane_has_room(lane, tag)) {
        hccl_drive_pause(false, &polls);
    }
    hccl_slot_t *slot = hccl_lane_slot(lane, tag);
    if (step->bytes > 0) {
        hccl_copy(hccl_slot_payload(slot, step->bytes), from, step->bytes);
    }
    hccl_lane_publish(slot, tag, r->signature, step->bytes);
}

/* Waits for a peer's publication; returns its payload. */
static const char *await(hccl_lane_t *lane, int peer, uint64_t tag)
{
    hccl_slot_t *slot;
    int polls = 0;
    while (NULL == (slot = hccl_lane_peek(lane, peer, tag))) {
        hccl_drive_pause(false, &polls);
    }
    return hccl_lane_payload(lane, peer, slot);
}

static void combine(const hccl_repeat_t *r, const hccl_repeat_step_t *step,
                    const hccl_repeat_source_t *source, uint64_t first_tag, char *const *buffers)
{
    const char *src[step->nsrc];
    char *dst = buffers[step->buffer] + step->offset;
    for (int i = 0; i < step->nsrc; i++) {
        const char *start = source[i].peer < 0
                                ? buffers[source[i].number]
                                : await(r->lane, source[i].peer, first_tag + source[i].number);
        src[i] = start + source[i].offset;
    }
    if (0 == step->bytes) {
        return;
    }
    if (1 == step->nsrc) {
        if (dst != src[0]) {
            hccl_copy(dst, src[0], step->bytes);
        }
    } else {
        r->combine.kernel(dst, (const void *const *) src, step->nsrc, step->bytes);
    }
}

int hccl_repeat_run(hccl_comm_t *hc, hccl_repeat_t *r, const void *sbuf, const void *rbuf)
{
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
            publish(r, step, first_tag + step->number, buffers[step->buffer] + step->offset);
        } else {
            combine(r, step, source, first_tag, buffers);
            source += step->nsrc;
        }
    }
    hccl_lane_acknowledge(lane, lane->last);
    return OMPI_SUCCESS;
}

/* ---- learning --------------------------------------------------------------------------------- */

static bool is_lasting(const hccl_side_t *side)
{
    return NULL != side->type && ompi_datatype_is_predefined(side->type);
}

/* Whether this rank may publish the call's data in place, which depends on where they lie. */
static bool may_lend(const hccl_exec_t *x)
{
    return x->lane_kind > HCCL_LANE_SMALL && HCCL_ZERO_COPY_NEVER != hccl_engine.zero_copy
           && hccl_engine.zero_copy_min <= HCCL_REPEAT_BYTES;
}

/* Whether the way that a call took depends on nothing but its key. */
static bool can_be_kept(const hccl_exec_t *x)
{
    const hccl_plan_t *plan = x->plan;
    hccl_sides_t sides = hccl_sides_of(x);
    return x->units * x->unit <= HCCL_REPEAT_BYTES && NULL != x->lane && !may_lend(x) && !x->flat
           && 1 == x->nseg && 0 == x->nowned && HCCL_VIEW_TABLE != x->grid && 0 == plan->ntmp
           && 0 == plan->max_requests && (uint64_t) plan->npub <= x->lane->nslots / 2
           && (!hccl_has_send(x, &sides) || is_lasting(&x->call.send))
           && (!hccl_has_recv(x, &sides) || is_lasting(&x->call.recv))
           && (NULL == x->call.op
               || (ompi_op_is_intrinsic(x->call.op) && NULL != x->combine.kernel));
}

/* An operand as (buffer, offset, bytes). False: it is not one run. */
static bool resolve(const hccl_exec_t *x, int base, int first, int count, uint8_t *buffer,
                    size_t *offset, size_t *bytes)
{
    hccl_sides_t sides = hccl_sides_of(x);
    bool recv = HCCL_BASE_RECV == base;
    hccl_run_t run;
    if (!hccl_locate_range(x, &x->cursor[0], base, first, count, &run)) {
        return false;
    }
    if (sides.in_place) {
        recv = !hccl_is_scatter(x->call.coll);
    }
    const char *start = recv ? x->call.recv.buf : x->call.send.buf;
    *buffer = recv ? HCCL_REPEAT_RECV : HCCL_REPEAT_SEND;
    *bytes = run.units * x->unit;
    *offset = *bytes > 0 ? (size_t) (run.ptr - start) : 0;
    return true;
}

static bool keep_source(const hccl_exec_t *x, const hccl_step_t *step, const hccl_source_t *from,
                        hccl_repeat_source_t *to)
{
    to->peer = from->peer;
    if (from->peer >= 0) {
        to->number = (uint32_t) from->base;
        to->offset =
            hccl_range_units(x, &x->cursor[0], from->pub_first, from->first - from->pub_first)
            * x->unit;
        return true;
    }
    uint8_t buffer;
    size_t bytes;
    bool is_run = resolve(x, from->base, from->first, step->count, &buffer, &to->offset, &bytes);
    to->number = buffer;
    return is_run;
}

static bool keep_step(const hccl_exec_t *x, const hccl_step_t *step, hccl_repeat_step_t *to,
                      hccl_repeat_source_t *source)
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
                               .number = (uint32_t) step->pub};
    if (!resolve(x, step->base, step->first, step->count, &to->buffer, &to->offset, &to->bytes)
        || to->bytes > HCCL_REPEAT_BYTES) {
        return false;
    }
    if (to->publishes) {
        return true;
    }
    to->nsrc = step->nsrc;
    for (int i = 0; i < step->nsrc; i++) {
        if (!keep_source(x, step, &x->plan->sources[step->src + i], &source[i])) {
            return false;
        }
    }
    return true;
}

/* A record with room for a plan in this place; NULL: none. */
static hccl_repeat_t *make_room(hccl_repeat_t **place, const hccl_plan_t *plan)
{
    size_t steps = (size_t) plan->nsteps * sizeof(hccl_repeat_step_t);
    size_t bytes =
        sizeof(hccl_repeat_t) + steps + (size_t) plan->nsources * sizeof(hccl_repeat_source_t);
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
    return r;
}

void hccl_repeat_learn(const hccl_exec_t *x)
{
    hccl_repeat_key_t key = hccl_repeat_key(x->call);
    hccl_repeat_t **place = hccl_repeat_place(x->hc, key);
    if (!can_be_kept(x)) {
        return;
    }
    if (NULL != *place && (*place)->wanted) {
        (*place)->wanted = false;
        return;
    }
    hccl_repeat_t *r = make_room(place, x->plan);
    if (NULL == r) {
        return;
    }
    hccl_repeat_source_t *source = r->sources;
    r->wanted = true;
    r->key = key;
    r->lane = x->lane;
    r->combine = x->combine;
    r->npub = (uint32_t) x->plan->npub;
    r->signature = x->signature;
    r->nsteps = (uint16_t) x->plan->nsteps;
    for (int i = 0; i < x->plan->nsteps; i++) {
        if (!keep_step(x, &x->plan->steps[i], &r->steps[i], source)) {
            r->key.coll = -1; /* no call's */
            r->wanted = false;
            return;
        }
        source += r->steps[i].nsrc;
    }
}
