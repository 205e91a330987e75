/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See repeat_blocks.h. What a plan for blocks of private sizes does in its first segment is known from
 * the sizes of this rank's blocks, as long as peers keep to theirs: so a record holds its copies and
 * the pieces that are not empty, and messages not at all. Where a peer does not, the record does what
 * apart.c would.
 */
#include "exec/repeat_blocks.h"

#include <string.h>

#include "exec/apart.h"
#include "exec/layout.h"
#include "exec/sides.h"
#include "exec/wait.h"

/* Most ranks: beyond it, comparing the arrays takes as long as finding the way. */
#define MOST_RANKS 64

/* Longest block: beyond it, finding the way costs little. */
#define LONGEST_BYTES ((size_t) 32768)

/* ---- arrays ----------------------------------------------------------------------------------- */

static void add(hccl_blocks_array_t *to, int *n, const void *array, size_t bytes)
{
    if (NULL != array) {
        to[(*n)++] = (hccl_blocks_array_t){array, bytes};
    }
}

static void add_side(const hccl_comm_t *hc, const hccl_side_t *side, hccl_blocks_array_t *to,
                     int *n)
{
    size_t ranks = (size_t) hc->size;
    add(to, n, side->counts, ranks * sizeof(*side->counts));
    add(to, n, side->displs, ranks * sizeof(*side->displs));
    add(to, n, side->types, ranks * sizeof(*side->types));
}

static bool sends_blocks(const hccl_comm_t *hc, const hccl_call_t *call)
{
    switch (call->coll) {
    case HCCL_COLL_SCATTERV:
        return hc->rank == call->root;
    case HCCL_COLL_ALLTOALLV:
    case HCCL_COLL_ALLTOALLW:
        return MPI_IN_PLACE != call->send.buf;
    default:
        return HCCL_COLL_REDUCE_SCATTER == call->coll;
    }
}

static bool receives_blocks(const hccl_comm_t *hc, const hccl_call_t *call)
{
    switch (call->coll) {
    case HCCL_COLL_GATHERV:
        return hc->rank == call->root;
    case HCCL_COLL_ALLGATHERV:
    case HCCL_COLL_ALLTOALLV:
    case HCCL_COLL_ALLTOALLW:
        return true;
    default:
        return false;
    }
}

int hccl_blocks_arrays(const hccl_comm_t *hc, const hccl_call_t *call,
                       hccl_blocks_array_t to[HCCL_BLOCKS_ARRAYS])
{
    int n = 0;
    if (hc->remote_size > 0) {
        return 0; /* no such call has a record */
    }
    if (sends_blocks(hc, call)) {
        add_side(hc, &call->send, to, &n);
    }
    if (receives_blocks(hc, call)) {
        add_side(hc, &call->recv, to, &n);
    }
    return n;
}

hccl_repeat_t **hccl_blocks_place(hccl_comm_t *hc, const hccl_call_t *call)
{
    hccl_blocks_array_t arrays[HCCL_BLOCKS_ARRAYS];
    hccl_repeat_key_t key = hccl_repeat_key(*call);
    int n = hccl_blocks_arrays(hc, call, arrays);
    for (int i = 0; i < n; i++) {
        /* Two numbers of each: calls that differ in others alone take each other's place. */
        unsigned first, last;
        memcpy(&first, arrays[i].at, sizeof(first));
        memcpy(&last, (const char *) arrays[i].at + arrays[i].bytes - sizeof(last), sizeof(last));
        key.scount = key.scount * 7 + first + (size_t) last * 3;
    }
    return hccl_repeat_place(hc, key);
}

void hccl_blocks_keep_arrays(const hccl_exec_t *x, hccl_repeat_t *r)
{
    hccl_blocks_array_t arrays[HCCL_BLOCKS_ARRAYS];
    char *to = r->arrays;
    r->narrays = hccl_blocks_arrays(x->hc, &x->call, arrays);
    for (int i = 0; i < r->narrays; i++) {
        memcpy(to, arrays[i].at, arrays[i].bytes);
        to += arrays[i].bytes;
    }
}

hccl_repeat_t *hccl_repeat_find_blocks(hccl_comm_t *hc, const hccl_call_t *call)
{
    hccl_blocks_array_t arrays[HCCL_BLOCKS_ARRAYS];
    if (hc->size > MOST_RANKS || hc->remote_size > 0) {
        return NULL;
    }
    hccl_repeat_t *r = *hccl_blocks_place(hc, call);
    if (NULL == r || !hccl_repeat_is(r, hccl_repeat_key(*call))
        || hccl_blocks_arrays(hc, call, arrays) != r->narrays) {
        return NULL;
    }
    const char *kept = r->arrays;
    for (int i = 0; i < r->narrays; i++) {
        if (0 != memcmp(kept, arrays[i].at, arrays[i].bytes)) {
            return NULL;
        }
        kept += arrays[i].bytes;
    }
    return hccl_repeat_lends(r, call->send.buf, call->recv.buf) ? NULL : r;
}

/* ---- learning --------------------------------------------------------------------------------- */

bool hccl_blocks_can_be_kept(const hccl_exec_t *x)
{
    const hccl_plan_t *plan = x->plan;
    /* Beside tables of addresses, and what the walk needs for messages, nothing was allocated: no
     * block had to be packed. */
    int owned = (HCCL_VIEW_TABLE == x->send.kind) + (HCCL_VIEW_TABLE == x->recv.kind)
                + (plan->max_requests > 0);
    if (x->hc->size > MOST_RANKS || owned != x->nowned || NULL != x->staged_recv || x->nseg > 1) {
        return false;
    }
    return plan->apart ? 0 == plan->box && !hccl_sides_of(x).in_place : 0 == plan->max_requests;
}

/* A block as the user described it: a peer may have sent less than that this time. */
static bool resolve(const hccl_exec_t *x, int base, int position, hccl_repeat_step_t *to)
{
    bool recv = HCCL_BASE_RECV == base;
    const hccl_view_t *view = recv ? &x->recv : &x->send;
    const hccl_side_t *side = recv ? &x->call.recv : &x->call.send;
    int block = hccl_block_of(x->plan, position);
    const char *at = HCCL_VIEW_OWN == view->kind ? view->base : view->addr[block];
    const char *start = side->buf;
    to->buffer = recv ? HCCL_REPEAT_RECV : HCCL_REPEAT_SEND;
    to->bytes = hccl_units_of(x, side, HCCL_VIEW_OWN == view->kind ? 0 : block);
    to->offset = 0;
    if (to->bytes > 0 && (NULL == start || at < start)) {
        return false; /* MPI_BOTTOM, or a negative displacement */
    }
    if (to->bytes > 0) {
        to->offset = (size_t) (at - start);
    }
    return to->bytes <= hccl_min(LONGEST_BYTES, x->piece);
}

/* One step; *nothing: it does nothing in calls like this. */
static bool keep_step(const hccl_exec_t *x, const hccl_step_t *step, hccl_repeat_step_t *to,
                      hccl_repeat_source_t *source, bool *nothing)
{
    hccl_repeat_step_t from;
    /* Without operand: only says what was read, which the record does at its end. */
    *nothing = HCCL_STEP_WAIT == step->kind || 0 == step->count;
    if (*nothing) {
        return true;
    }
    *to = (hccl_repeat_step_t){.publishes = HCCL_STEP_PUBLISH == step->kind,
                               .number = (uint32_t) step->pub};
    if (1 != step->count || !resolve(x, step->base, step->first, to)) {
        return false;
    }
    to->copy = to->publishes                   ? hccl_copy_give(to->bytes)
               : HCCL_STEP_FETCH == step->kind ? hccl_copy_take(to->bytes, SIZE_MAX)
                                               : hccl_copy_own(to->bytes);
    /* No block is long enough for a message. */
    *nothing = 0 == to->bytes || HCCL_HOW_LONG == step->how;
    if (*nothing || to->publishes) {
        return true;
    }
    const hccl_source_t *where = &x->plan->sources[step->src];
    to->nsrc = 1;
    *source = (hccl_repeat_source_t){.peer = where->peer, .number = (uint32_t) where->base};
    if (HCCL_STEP_COPY == step->kind) {
        if (!resolve(x, where->base, where->first, &from) || from.bytes > to->bytes) {
            return false;
        }
        to->bytes = from.bytes;
        source->number = from.buffer;
        source->offset = from.offset;
        *nothing = 0 == from.bytes;
    }
    return true;
}

bool hccl_blocks_keep(const hccl_exec_t *x, hccl_repeat_t *r)
{
    hccl_repeat_source_t *source = r->sources;
    r->npub = (uint32_t) hccl_apart_tags(x->plan);
    for (int i = 0; i < x->plan->nsteps; i++) {
        bool nothing;
        hccl_repeat_step_t *to = &r->steps[r->nsteps];
        if (!keep_step(x, &x->plan->steps[i], to, source, &nothing)) {
            return false;
        }
        if (!nothing) {
            source += to->nsrc;
            r->nsteps++;
        }
    }
    return true;
}

/* ---- running ---------------------------------------------------------------------------------- */

static void publish(const hccl_repeat_t *r, const hccl_repeat_step_t *step, uint64_t tag,
                    const char *from)
{
    hccl_lane_t *lane = r->lane;
    hccl_wait_t wait = {0};
    while (!hccl_lane_has_room_after_gap(lane, tag)) {
        hccl_wait_pause(&wait, lane, false);
    }
    hccl_wait_moved(&wait);
    hccl_slot_t *slot = hccl_lane_slot(lane, tag);
    size_t filled = hccl_fill(slot, from, step->bytes, step->copy);
    hccl_lane_publish(lane, slot, tag, r->signature, filled);
}

static int fetch(const hccl_repeat_t *r, const hccl_repeat_step_t *step, int peer, uint64_t tag,
                 char *to)
{
    hccl_lane_t *lane = r->lane;
    hccl_wait_t wait = {0};
    hccl_slot_t *slot;
    while (NULL == (slot = hccl_lane_peek(lane, peer, tag))) {
        hccl_wait_pause(&wait, lane, false);
    }
    hccl_wait_moved(&wait);
    size_t came = slot->bytes & HCCL_SLOT_LENGTH;
    if (came > 0) {
        hccl_copy(to, hccl_lane_payload(lane, peer, slot), hccl_min(came, step->bytes), step->copy);
    }
    bool more = 0 != (slot->bytes & HCCL_SLOT_MORE);
    return more || came > step->bytes ? MPI_ERR_TRUNCATE : OMPI_SUCCESS;
}

int hccl_blocks_run(hccl_comm_t *hc, hccl_repeat_t *r, const void *sbuf, const void *rbuf)
{
    hccl_lane_t *lane = r->lane;
    char *buffers[2] = {(char *) (uintptr_t) sbuf, (char *) (uintptr_t) rbuf};
    uint64_t first_tag = lane->last + 1;
    const hccl_repeat_source_t *source = r->sources;
    int error = OMPI_SUCCESS;
    r->wanted = true;
    lane->last += r->npub;
    hc->next_op[HCCL_BLOCKING]++;
    for (int i = 0; i < r->nsteps; i++) {
        const hccl_repeat_step_t *step = &r->steps[i];
        char *at = buffers[step->buffer] + step->offset;
        if (step->publishes) {
            publish(r, step, first_tag + step->number, at);
            continue;
        }
        if (source->peer < 0) {
            const char *from = buffers[source->number] + source->offset;
            if (at != from) {
                hccl_copy(at, from, step->bytes, step->copy);
            }
        } else {
            int rc = fetch(r, step, source->peer, first_tag + source->number, at);
            error = OMPI_SUCCESS == error ? rc : error;
        }
        source++;
    }
    hccl_lane_acknowledge(lane, lane->last);
    hccl_wait_tell(lane);
    return error;
}
