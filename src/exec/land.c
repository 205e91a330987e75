/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See land.h.
 */
#include "exec/land.h"

#include <string.h>

#include "exec/layout.h"
#include "exec/steps.h"

static bool has_landed(const hccl_cursor_t *c, int number)
{
    return 0 != (c->landed >> number & 1);
}

static const hccl_step_t *publish_of(const hccl_exec_t *x, const hccl_landing_t *l)
{
    return &x->plan->steps[l->publish];
}

static size_t bytes_of(const hccl_exec_t *x, const hccl_cursor_t *c, int first, int count)
{
    return hccl_range_units(x, c, first, count) * x->unit;
}

/* Where the positions from `first` on lie in the slot of a PUBLISH. */
static char *place_of(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *publish,
                      int first)
{
    hccl_slot_t *slot = hccl_lane_slot(x->lane, hccl_tag_of(x, c, publish->pub));
    char *payload = hccl_slot_payload(slot, bytes_of(x, c, publish->first, publish->count));
    return payload + bytes_of(x, c, publish->first, first - publish->first);
}

/* ---- free slots ------------------------------------------------------------------------------- */

/* Whether what the operation's segment on this cursor publishes under a number is out, and not needed
 * in its slot by this rank. */
static bool is_done(const hccl_exec_t *x, const hccl_cursor_t *c, int pub)
{
    const hccl_landings_t *all = x->landings;
    int step = all->published[pub];
    for (int i = 0; i < all->n && step >= 0; i++) {
        if (has_landed(c, i) && all->landing[i].publish == step) {
            return false;
        }
    }
    return step < c->step;
}

bool hccl_land_is_free(const hccl_exec_t *x, uint64_t tag)
{
    uint64_t npub = (uint64_t) x->plan->npub;
    while (tag > x->base + x->lane->nslots) {
        tag -= x->lane->nslots;
        int seg = (int) ((tag - x->base - 1) / npub);
        if (seg < x->next_seg - x->ncursors) {
            return true;
        }
        const hccl_cursor_t *c = &x->cursor[seg % x->ncursors];
        if (c->seg == seg && !is_done(x, c, (int) ((tag - x->base - 1) % npub))) {
            return false;
        }
    }
    return true;
}

/* ---- arriving --------------------------------------------------------------------------------- */

char *hccl_land_begin(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, size_t bytes,
                      const hccl_address_t *from)
{
    int number = x->landings->of[step - x->plan->steps];
    if (number < 0) {
        return NULL;
    }
    const hccl_landing_t *l = &x->landings->landing[number];
    const hccl_step_t *publish = publish_of(x, l);
    uint64_t tag = hccl_tag_of(x, c, publish->pub);
    /* Short ones begin in the flag line, which has no other writer than this process. */
    if (bytes_of(x, c, publish->first, publish->count) <= HCCL_SHORT_BYTES
        || bytes != bytes_of(x, c, step->first, step->count) || !hccl_lane_has_room(x->lane, tag)
        || !hccl_land_is_free(x, tag) || hccl_step_goes_direct(x, c, publish)) {
        return NULL;
    }
    char *place = place_of(x, c, publish, step->first);
    if (!hccl_tier_lands(from, place, bytes, HCCL_LAND_ALWAYS == hccl_engine.land)) {
        return NULL;
    }
    c->landed |= UINT32_C(1) << number;
    return place;
}

static void store_flag(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *publish)
{
    uint64_t tag = hccl_tag_of(x, c, publish->pub);
    hccl_lane_publish(x->lane, hccl_lane_slot(x->lane, tag), tag, x->signature,
                      bytes_of(x, c, publish->first, publish->count));
}

void hccl_land_arrived(hccl_exec_t *x, hccl_cursor_t *c)
{
    for (uint32_t fresh = c->landed & ~c->told; 0 != fresh; fresh &= fresh - 1) {
        int number = __builtin_ctz(fresh);
        const hccl_landing_t *l = &x->landings->landing[number];
        if (l->whole) {
            store_flag(x, c, publish_of(x, l));
            c->told |= UINT32_C(1) << number;
        }
    }
}

/* ---- leaving ---------------------------------------------------------------------------------- */

const char *hccl_land_source(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step)
{
    int number = x->landings->of[step - x->plan->steps];
    if (number < 0 || !has_landed(c, number)) {
        return NULL;
    }
    int first = HCCL_STEP_COPY == step->kind ? x->plan->sources[step->src].first : step->first;
    return place_of(x, c, publish_of(x, &x->landings->landing[number]), first);
}

void hccl_land_copy(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *step,
                    const char *packed)
{
    int first = x->plan->sources[step->src].first;
    for (int i = 0; i < step->count; i++) {
        hccl_run_t to = hccl_locate(x, c, step->base, step->first + i);
        if (to.units > 0) {
            memcpy(to.ptr, packed + bytes_of(x, c, first, i), to.units * x->unit);
        }
    }
}

/* ---- publishing ------------------------------------------------------------------------------- */

/* The landing of this PUBLISH that is there and begins first from `from` on; NULL: none. */
static const hccl_landing_t *next_landing(const hccl_exec_t *x, const hccl_cursor_t *c, int publish,
                                          int from)
{
    const hccl_landing_t *next = NULL;
    for (uint32_t rest = c->landed; 0 != rest; rest &= rest - 1) {
        const hccl_landing_t *l = &x->landings->landing[__builtin_ctz(rest)];
        if (l->publish == publish && l->first >= from && (NULL == next || l->first < next->first)) {
            next = l;
        }
    }
    return next;
}

/* A part of a PUBLISH's operand, as a step. */
static hccl_step_t part_of(const hccl_step_t *publish, int first, int end)
{
    hccl_step_t part = *publish;
    part.first = first;
    part.count = end - first;
    return part;
}

/* Copies to the slot what lies where the plan says. */
static void fill_gaps(const hccl_exec_t *x, const hccl_cursor_t *c, const hccl_step_t *publish,
                      const hccl_landing_t *l)
{
    int at = publish->first;
    int end = publish->first + publish->count;
    while (at < end) {
        hccl_step_t gap = part_of(publish, at, NULL == l ? end : l->first);
        if (gap.count > 0) {
            hccl_step_gather(x, c, place_of(x, c, publish, at), &gap);
        }
        at = NULL == l ? end : l->first + l->count;
        l = next_landing(x, c, (int) (publish - x->plan->steps), at);
    }
}

bool hccl_land_publish(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    int publish = (int) (step - x->plan->steps);
    const hccl_landing_t *l = next_landing(x, c, publish, step->first);
    if (NULL == l) {
        return false;
    }
    if (!l->whole) {
        fill_gaps(x, c, step, l);
        store_flag(x, c, step);
    }
    for (; NULL != l; l = next_landing(x, c, publish, l->first + l->count)) {
        if (l->home) {
            hccl_step_t part = part_of(step, l->first, l->first + l->count);
            hccl_step_scatter(x, c, place_of(x, c, step, l->first), &part);
        }
    }
    return true;
}
