/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See apart.h. Both ends of a block know its size, and so how it travels. Where they differ, which is
 * the user's error, nobody hangs: the sender decides, and says so in the flag line of a piece and in
 * the box of a parcel; the reader follows, and reports MPI_ERR_TRUNCATE if it has less room.
 */
#include "exec/apart_internal.h"

#include <string.h>

bool hccl_apart_measure(hccl_exec_t *x, const hccl_plan_t *plan)
{
    size_t slot = x->hc->slot_bytes[x->lane_kind];
    x->piece = slot;
    x->in_pieces = slot * (HCCL_APART_TAGS / (uint64_t) (plan->npub > 0 ? plan->npub : 1));
    x->parcel = 0;
    if (plan->box > 0) {
        size_t n = (size_t) plan->box;
        if (hccl_box_empty(n) > slot) {
            return false;
        }
        x->parcel = hccl_min(HCCL_PARCEL_BYTES, (slot - hccl_box_empty(n)) / n);
    }
    return true;
}

/* ---- pieces ----------------------------------------------------------------------------------- */

/* The segment's piece of a block; without units: there is none. */
static hccl_run_t piece_of(const hccl_exec_t *x, const hccl_cursor_t *c, hccl_run_t block)
{
    size_t at = (size_t) c->seg * x->piece;
    if (block.units > x->in_pieces || at >= block.units) {
        return (hccl_run_t){NULL, 0};
    }
    return (hccl_run_t){block.ptr + at, hccl_min(x->piece, block.units - at)};
}

static hccl_step_result_t publish_piece(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    hccl_run_t block = hccl_apart_block(x, step->base, step->first);
    hccl_run_t piece = piece_of(x, c, block);
    if (0 == piece.units) {
        return HCCL_STEP_DONE;
    }
    uint64_t tag = hccl_tag_of(x, c, step->pub);
    if (!hccl_lane_has_room_after_gap(x->lane, tag)) {
        return HCCL_STEP_LATER;
    }
    bool more = piece.ptr + piece.units < block.ptr + block.units;
    hccl_slot_t *slot = hccl_lane_slot(x->lane, tag);
    size_t filled = hccl_fill(slot, piece.ptr, piece.units, hccl_copy_give(piece.units));
    hccl_lane_publish(x->lane, slot, tag, x->signature, filled | (more ? HCCL_SLOT_MORE : 0));
    x->more = x->more || more;
    return HCCL_STEP_DONE;
}

/* The block ends here, whatever the user said. */
static void end_block(hccl_exec_t *x, int position, size_t units)
{
    if (HCCL_VIEW_OWN == x->recv.kind) {
        x->recv.units = units;
    } else {
        x->recv.len[hccl_block_of(x->plan, position)] = units;
    }
}

static hccl_step_result_t fetch_piece(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    hccl_run_t block = hccl_apart_block(x, step->base, step->first);
    hccl_run_t piece = piece_of(x, c, block);
    const hccl_source_t *from = &x->plan->sources[step->src];
    if (0 == piece.units) {
        return HCCL_STEP_DONE;
    }
    hccl_slot_t *slot = hccl_lane_peek(x->lane, from->peer, hccl_tag_of(x, c, from->base));
    if (NULL == slot) {
        return HCCL_STEP_LATER;
    }
    bool more = 0 != (slot->bytes & HCCL_SLOT_MORE);
    bool last = piece.ptr + piece.units == block.ptr + block.units;
    size_t came = slot->bytes & HCCL_SLOT_LENGTH;
    if (came > piece.units || (more && last)) {
        hccl_exec_fail(x, MPI_ERR_TRUNCATE);
    }
    if (came > 0) {
        size_t n = hccl_min(came, piece.units);
        hccl_copy(piece.ptr, hccl_lane_payload(x->lane, from->peer, slot), n,
                  hccl_copy_take(n, SIZE_MAX));
    }
    if (!more && !last) {
        end_block(x, step->first, (size_t) (piece.ptr - block.ptr) + came);
    }
    x->more = x->more || (more && !last);
    return HCCL_STEP_DONE;
}

/* ---- steps ------------------------------------------------------------------------------------ */

static void copy_whole(hccl_exec_t *x, const hccl_step_t *step)
{
    const hccl_source_t *from = &x->plan->sources[step->src];
    for (int i = 0; i < step->count; i++) {
        hccl_run_t to = hccl_apart_block(x, step->base, step->first + i);
        hccl_run_t block = hccl_apart_block(x, from->base, from->first + i);
        if (block.units > to.units) {
            hccl_exec_fail(x, MPI_ERR_TRUNCATE);
        }
        if (block.units > 0 && to.units > 0 && to.ptr != block.ptr) {
            size_t n = hccl_min(to.units, block.units);
            hccl_copy(to.ptr, block.ptr, n, hccl_copy_own(n));
        }
    }
}

hccl_step_result_t hccl_apart_try(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    bool parcels = HCCL_HOW_PARCELS == step->how;
    if (c->seg > 0 && HCCL_HOW_PIECES != step->how) {
        return HCCL_STEP_DONE;
    }
    switch ((hccl_step_kind_t) step->kind) {
    case HCCL_STEP_PUBLISH:
        return parcels ? hccl_parcels_publish(x, c, step) : publish_piece(x, c, step);
    case HCCL_STEP_FETCH:
        return parcels ? hccl_parcels_fetch(x, c, step) : fetch_piece(x, c, step);
    case HCCL_STEP_COPY:
        if (parcels) {
            hccl_parcels_copy(x, c, step);
        } else {
            copy_whole(x, step);
        }
        return HCCL_STEP_DONE;
    case HCCL_STEP_SEND:
    case HCCL_STEP_RECV:
        hccl_apart_start(x, c, step);
        return HCCL_STEP_DONE;
    case HCCL_STEP_WAIT:
        return hccl_apart_wait(x, c, step);
    default:
        hccl_exec_fail(x, OMPI_ERROR);
        return HCCL_STEP_DONE;
    }
}
