/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Boxes of parcels: short blocks of private sizes on their way to another node. See apart_internal.h, whose users
 * may call this.
 */
#include <string.h>

#include "exec/apart_internal.h"

/* In a box instead of a length: this block comes in a message of its own. */
#define LONG_MARK UINT16_MAX

_Static_assert(HCCL_PARCEL_BYTES < LONG_MARK, "a length is no mark");

/* ---- boxes ------------------------------------------------------------------------------------ */

/* Scratch memory of a box: as it travels, then the lengths while it is filled. */
static size_t lengths_at(const hccl_exec_t *x)
{
    return (hccl_box_most(x, (size_t) x->plan->box) + 7) / 8 * 8;
}

static size_t box_bytes(const hccl_exec_t *x)
{
    size_t bytes = lengths_at(x) + (size_t) x->plan->box * sizeof(uint16_t);
    return (bytes + 63) / 64 * 64;
}

size_t hccl_apart_area(const hccl_exec_t *x)
{
    return (size_t) (x->plan->tmp_blocks / x->plan->box) * box_bytes(x);
}

hccl_box_t *hccl_box_at(const hccl_exec_t *x, const hccl_cursor_t *c, int base, int position)
{
    char *area = c->tmp + (size_t) (base - HCCL_BASE_TMP) * x->area_bytes;
    return (hccl_box_t *) (area + (size_t) (position / x->plan->box) * box_bytes(x));
}

static uint16_t *box_lengths(const hccl_exec_t *x, hccl_box_t *box)
{
    return (uint16_t *) ((char *) box + lengths_at(x));
}

/* A position is filled: the first one of a box empties it. */
static void put(const hccl_exec_t *x, hccl_cursor_t *c, int base, int position, const char *data,
                uint16_t len)
{
    hccl_box_t *box = hccl_box_at(x, c, base, position);
    if (0 == position % x->plan->box) {
        box->used = box->n = 0;
    }
    box_lengths(x, box)[box->n++] = len;
    if (LONG_MARK != len && len > 0) {
        memcpy((char *) (box + 1) + box->used, data, len);
        box->used += len;
    }
}

/* Puts the lengths behind the parcels; bytes of the box as it travels. */
size_t hccl_box_close(const hccl_exec_t *x, hccl_box_t *box)
{
    memcpy((char *) (box + 1) + box->used, box_lengths(x, box), box->n * sizeof(uint16_t));
    return hccl_box_empty(box->n) + box->used;
}

/* Parcel number `i` of a box: its length; *offset: of its bytes. */
static uint16_t parcel(const char *lens, int i, size_t *offset)
{
    uint16_t len = LONG_MARK;
    *offset = 0;
    for (int j = 0; j <= i; j++) {
        *offset += LONG_MARK == len ? 0 : len;
        memcpy(&len, lens + (size_t) j * sizeof(len), sizeof(len));
    }
    return len;
}

static uint16_t length_mark(const hccl_exec_t *x, size_t units)
{
    return units > x->parcel ? LONG_MARK : (uint16_t) units;
}

/* A box has come, unless something failed: then its parcels are empty. */
void hccl_box_open(hccl_exec_t *x, hccl_box_t *box, int count, bool failed)
{
    uint16_t *lengths = box_lengths(x, box);
    size_t n = (size_t) count, used;
    if (!failed && box->n == n && box->used <= n * x->parcel) {
        memcpy(lengths, (char *) (box + 1) + box->used, n * sizeof(*lengths));
        uint16_t last = parcel((const char *) lengths, count - 1, &used);
        failed = box->used != used + (LONG_MARK == last ? 0 : last);
    } else {
        failed = true;
    }
    if (failed) {
        hccl_exec_fail(x, OMPI_ERROR);
        box->used = 0;
        box->n = (uint32_t) count;
        memset(lengths, 0, n * sizeof(*lengths));
    }
}

/* ---- parcels ---------------------------------------------------------------------------------- */

hccl_step_result_t hccl_parcels_publish(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    uint64_t tag = hccl_tag_of(x, c, step->pub);
    if (!hccl_lane_has_room_after_gap(x->lane, tag)) {
        return HCCL_STEP_LATER;
    }
    hccl_slot_t *slot = hccl_lane_slot(x->lane, tag);
    size_t bytes = 0;
    if (step->base >= HCCL_BASE_TMP) {
        hccl_box_t *box = hccl_box_at(x, c, step->base, step->first);
        bytes = hccl_box_close(x, box);
        bytes = hccl_fill(slot, (const char *) box, bytes, hccl_copy_give(bytes));
        hccl_lane_publish(x->lane, slot, tag, x->signature, bytes);
        return HCCL_STEP_DONE;
    }
    hccl_box_t head = {0, (uint32_t) step->count};
    for (int i = step->first; i < step->first + step->count; i++) {
        size_t units = hccl_apart_block(x, step->base, i).units;
        head.used += units > x->parcel ? 0 : (uint32_t) units;
    }
    bytes = hccl_box_empty(head.n) + head.used;
    char *at = hccl_slot_payload(slot, bytes);
    memcpy(at, &head, sizeof(head));
    at += sizeof(head);
    char *lengths = at + head.used;
    for (int i = step->first; i < step->first + step->count; i++, lengths += sizeof(uint16_t)) {
        hccl_run_t block = hccl_apart_block(x, step->base, i);
        uint16_t len = length_mark(x, block.units);
        memcpy(lengths, &len, sizeof(len));
        if (LONG_MARK != len && len > 0) {
            hccl_copy(at, block.ptr, len, memcpy);
            at += len;
        }
    }
    hccl_lane_publish(x->lane, slot, tag, x->signature, bytes);
    return HCCL_STEP_DONE;
}

/* The message in which a block would come that is LONG for its sender. */
static const hccl_step_t *long_step(const hccl_exec_t *x, int position)
{
    const hccl_step_t *step = x->plan->steps;
    while (HCCL_STEP_RECV != step->kind || HCCL_HOW_LONG != step->how || position != step->first) {
        step++;
    }
    return step;
}

/* A block that only one side takes for LONG. */
static void settle_long(hccl_exec_t *x, hccl_cursor_t *c, int position, bool comes)
{
    hccl_run_t block = hccl_apart_block(x, HCCL_BASE_RECV, position);
    const hccl_step_t *step = long_step(x, position);
    if (comes) {
        hccl_apart_post(x, c, step, block.ptr, block.units); /* it is cut off there, and says so */
        return;
    }
    hccl_apart_cancel(c, step);
}

static void take_out(hccl_exec_t *x, hccl_cursor_t *c, int position, const char *data, uint16_t len)
{
    hccl_run_t block = hccl_apart_block(x, HCCL_BASE_RECV, position);
    bool expects_long = block.units > x->parcel;
    if (expects_long != (LONG_MARK == len)) {
        settle_long(x, c, position, LONG_MARK == len);
    }
    if (LONG_MARK == len) {
        return;
    }
    if (len > block.units) {
        hccl_exec_fail(x, MPI_ERR_TRUNCATE);
    }
    if (len > 0 && block.units > 0) {
        hccl_copy(block.ptr, data, hccl_min(len, block.units), memcpy);
    }
}

/* A box of parcels in memory, and the number of the first one that is meant. */
static void move_parcels(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step,
                         const char *data, const char *lens, int first)
{
    size_t at;
    uint16_t len = parcel(lens, first, &at);
    for (int i = 0; i < step->count; i++) {
        if (i > 0) {
            at += LONG_MARK == len ? 0 : len;
            memcpy(&len, lens + (size_t) (first + i) * sizeof(len), sizeof(len));
        }
        if (step->base >= HCCL_BASE_TMP) {
            put(x, c, step->base, step->first + i, data + at, len);
        } else {
            take_out(x, c, step->first + i, data + at, len);
        }
    }
}

hccl_step_result_t hccl_parcels_fetch(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    const hccl_source_t *from = &x->plan->sources[step->src];
    hccl_slot_t *slot = hccl_lane_peek(x->lane, from->peer, hccl_tag_of(x, c, from->base));
    hccl_box_t head;
    if (NULL == slot) {
        return HCCL_STEP_LATER;
    }
    const char *data = hccl_lane_payload(x->lane, from->peer, slot);
    memcpy(&head, data, sizeof(head));
    data += sizeof(head);
    move_parcels(x, c, step, data, data + head.used, from->first - from->pub_first);
    return HCCL_STEP_DONE;
}

void hccl_parcels_copy(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    const hccl_source_t *from = &x->plan->sources[step->src];
    if (from->base >= HCCL_BASE_TMP) {
        hccl_box_t *box = hccl_box_at(x, c, from->base, from->first);
        move_parcels(x, c, step, (const char *) (box + 1), (const char *) box_lengths(x, box),
                     from->first % x->plan->box);
        return;
    }
    for (int i = 0; i < step->count; i++) {
        hccl_run_t block = hccl_apart_block(x, from->base, from->first + i);
        put(x, c, step->base, step->first + i, block.ptr, length_mark(x, block.units));
    }
}
