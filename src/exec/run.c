/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Walking a plan: every segment has a cursor, the oldest goes first. A step that cannot be done yet
 * stops its cursor only, so the network phase of one segment overlaps the shared-memory phases of
 * its neighbours.
 */
#include <string.h>

#include "base/log.h"
#include "exec/apart.h"
#include "exec/borrow.h"
#include "exec/layout.h"
#include "exec/trial.h"

/* Units of a scratch area, for the longest segment. TABLE: also where each position begins. */
static int area_units(hccl_exec_t *x, size_t *units)
{
    const hccl_plan_t *plan = x->plan;
    size_t positions = (size_t) plan->tmp_blocks;
    size_t longest = hccl_min(x->seg_units, x->units);
    if (HCCL_VIEW_VECTOR == x->grid) {
        size_t blocks = (size_t) plan->nblocks;
        *units = positions * ((longest + blocks - 1) / blocks);
    } else if (HCCL_VIEW_UNIFORM == x->grid) {
        *units = positions * longest;
    } else if (HCCL_VIEW_TABLE == x->grid) {
        x->tmp_offset = hccl_exec_take(x, (positions + 1) * sizeof(size_t));
        if (NULL == x->tmp_offset) {
            return OMPI_ERR_OUT_OF_RESOURCE;
        }
        *units = 0;
        for (int i = 0; i < plan->nblocks; i++) {
            size_t len = x->len[hccl_block_of(plan, i)];
            x->tmp_offset[i] = *units;
            *units += (len + (size_t) x->nseg - 1) / (size_t) x->nseg;
        }
        x->tmp_offset[plan->nblocks] = *units;
    } else {
        *units = 0;
    }
    return OMPI_SUCCESS;
}

/* One piece of pool memory holds requests, loans and scratch areas of all cursors. */
static int take_scratch(hccl_exec_t *x)
{
    const hccl_plan_t *plan = x->plan;
    size_t units = 0;
    int ntmp = plan->ntmp;
    if (ntmp > 0 && !plan->apart) {
        int rc = area_units(x, &units);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    x->area_bytes = (units * x->unit + 63) / 64 * 64;
    size_t requests = (size_t) plan->max_requests * sizeof(hccl_message_t);
    if (plan->apart) {
        x->area_bytes = ntmp > 0 ? hccl_apart_area(x) : 0;
        requests = hccl_apart_list(x);
    }
    requests = (requests + 63) / 64 * 64;
    size_t loans = (hccl_borrow_room(x) + 63) / 64 * 64;
    size_t each = requests + loans + (size_t) ntmp * x->area_bytes;
    if (0 == each) {
        return OMPI_SUCCESS;
    }
    char *memory = hccl_exec_take(x, (size_t) x->ncursors * each);
    if (NULL == memory) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int i = 0; i < x->ncursors; i++) {
        char *mine = memory + (size_t) i * each;
        x->cursor[i].messages = (hccl_message_t *) (void *) mine;
        x->cursor[i].loans = (hccl_loan_t *) (void *) (mine + requests);
        x->cursor[i].tmp = mine + requests + loans;
    }
    return OMPI_SUCCESS;
}

void hccl_run_give_up(const hccl_exec_t *x)
{
    hccl_log_fatal("rank %d cannot take part in %s on communicator %s: no memory", x->hc->rank,
                   hccl_coll_info[x->call.coll].name, x->hc->comm->c_name);
}

void hccl_run_place(const hccl_exec_t *x, hccl_cursor_t *c, int seg)
{
    size_t blocks = (size_t) x->plan->nblocks;
    c->seg = seg;
    c->at = (size_t) seg * x->seg_units;
    c->units = x->units > c->at ? hccl_min(x->units - c->at, x->seg_units) : 0;
    c->end = 1 == blocks ? SIZE_MAX : c->units;
    c->q = HCCL_VIEW_VECTOR != x->grid || 1 == blocks ? c->units : (c->units + blocks - 1) / blocks;
}

/* Begins the next segment on its cursor. Segment s always runs on cursor s mod ncursors, on all
 * ranks: messages of different segments are told apart by their cursor's tag, and those of one
 * cursor come one after the other. */
static void start_segment(hccl_exec_t *x)
{
    hccl_cursor_t *c = &x->cursor[x->next_seg % x->ncursors];
    hccl_run_place(x, c, x->next_seg++);
    c->step = 0;
    c->nmessages = 0;
    c->ack = 0;
    c->stages = NULL;
    c->landed = 0;
    c->told = 0;
    c->asked = 0;
    c->lent = 0;
    x->running++;
}

int hccl_run_begin(hccl_exec_t *x)
{
    x->next_seg = 0;
    x->running = 0;
    x->lent = 0;
    x->more = false;
    x->ncursors = x->nseg < hccl_engine.pipeline ? x->nseg : hccl_engine.pipeline;
    if (NULL != x->lane) {
        x->base = x->lane->last;
        x->lane->last += x->plan->apart ? hccl_apart_tags(x->plan)
                                        : (uint64_t) x->nseg * (uint64_t) x->plan->npub;
    }
    int rc = OMPI_SUCCESS;
    if (x->plan->ntmp > 0 || x->plan->max_requests > 0) {
        rc = take_scratch(x);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    do {
        start_segment(x);
    } while (x->next_seg < x->ncursors);
    x->state = HCCL_EXEC_RUNNING;
    return rc;
}

/* Tells the peers what I have read: what the oldest segment under way has, and all before it. */
static void acknowledge(hccl_exec_t *x)
{
    int oldest = x->next_seg;
    int32_t ack = 0;
    for (int i = 0; i < x->ncursors; i++) {
        if (x->cursor[i].seg >= 0 && x->cursor[i].seg < oldest) {
            oldest = x->cursor[i].seg;
            ack = x->cursor[i].ack;
        }
    }
    hccl_lane_acknowledge(x->lane,
                          x->base + (uint64_t) oldest * (uint64_t) x->plan->npub + (uint64_t) ack);
}

/* Walks one cursor as far as it goes; true when its segment has ended. */
static bool walk(hccl_exec_t *x, hccl_cursor_t *c, bool *moved)
{
    const hccl_plan_t *plan = x->plan;
    while (c->step < plan->nsteps) {
        const hccl_step_t *step = &plan->steps[c->step];
        hccl_step_result_t result =
            HCCL_UNLIKELY(plan->apart) ? hccl_apart_try(x, c, step) : hccl_step_try(x, c, step);
        if (HCCL_STEP_LATER == result) {
            return false;
        }
        *moved = true;
        c->step++;
        if (step->ack > c->ack) {
            c->ack = step->ack;
            /* Only plans and messages that go around the ring need it before the end. */
            if (x->nseg > 1 || x->next_seg > 1 || (uint64_t) plan->npub > x->lane->nslots / 2) {
                acknowledge(x);
            }
        }
    }
    return true;
}

/* Walks all cursors, oldest segment first; true when one of them can begin another segment. */
static bool walk_all(hccl_exec_t *x, bool *moved)
{
    for (int i = 0; i < x->ncursors; i++) {
        hccl_cursor_t *c = &x->cursor[(x->next_seg + i) % x->ncursors];
        if (c->seg >= 0 && walk(x, c, moved)) {
            x->running--;
            c->seg = -1;
            if (NULL != x->lane) {
                acknowledge(x);
            }
        }
    }
    return x->next_seg < x->nseg && x->cursor[x->next_seg % x->ncursors].seg < 0;
}

/* Walks a plan for blocks of private sizes as often as mine need; true when it has ended. */
static bool walk_apart(hccl_exec_t *x, bool *moved)
{
    while (walk(x, &x->cursor[0], moved)) {
        if (!x->more) {
            return true;
        }
        x->more = false;
        start_segment(x);
        acknowledge(x);
    }
    return false;
}

/* Whether all peers have read what I have published in place. */
static bool is_returned(hccl_exec_t *x)
{
    if (HCCL_UNLIKELY(NULL != x->trial) && x->trial_closes) {
        x->lent = x->lane->last;
    }
    if (HCCL_UNLIKELY(0 != x->lent) && !hccl_lane_look(x->lane, x->lent)) {
        x->state = HCCL_EXEC_LENDING;
        return false;
    }
    if (HCCL_UNLIKELY(NULL != x->trial)) {
        hccl_trial_end(x);
    }
    return true;
}

bool hccl_run_advance(hccl_exec_t *x, bool *moved)
{
    if (HCCL_UNLIKELY(HCCL_EXEC_LENDING == x->state)) {
        if (!is_returned(x)) {
            return false;
        }
        x->state = HCCL_EXEC_ENDED;
        return true;
    }
    if (HCCL_UNLIKELY(x->plan->apart)) {
        x->running = walk_apart(x, moved) ? 0 : 1;
    } else if (HCCL_LIKELY(1 == x->nseg)) {
        x->running = walk(x, &x->cursor[0], moved) ? 0 : 1;
    } else {
        while (walk_all(x, moved)) {
            start_segment(x);
        }
    }
    if (x->running > 0) {
        return false;
    }
    if (NULL != x->lane) {
        hccl_lane_acknowledge(x->lane, x->lane->last);
        if (!is_returned(x)) {
            return false;
        }
    }
    x->state = HCCL_EXEC_ENDED;
    return true;
}
