/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See apart.h. Both ends of a block know its size, and so how it travels. Where they differ, which is
 * the user's error, nobody hangs: the sender decides, and says so in the flag line of a piece and in
 * the box of a parcel; the reader follows, and reports MPI_ERR_TRUNCATE if it has less room.
 */
#include "exec/apart.h"

#include <string.h>

#include "exec/layout.h"

/* In a box instead of a length: this block comes in a message of its own. */
#define LONG_MARK UINT16_MAX

/* A box. What travels begins with it: then come the parcels' bytes and the length of each. */
typedef struct box {
    uint32_t used; /* bytes of parcels */
    uint32_t n;    /* parcels */
} box_t;

/* A message that is not known to have ended. */
typedef struct posted {
    hccl_message_t message;
    const hccl_step_t *step;
} posted_t;

_Static_assert(HCCL_PARCEL_BYTES < LONG_MARK, "a length is no mark");

/* ---- sizes ------------------------------------------------------------------------------------ */

/* Bytes of a box of n parcels without the parcels. */
static size_t empty_bytes(size_t n)
{
    return sizeof(box_t) + n * sizeof(uint16_t);
}

bool hccl_apart_measure(hccl_exec_t *x, const hccl_plan_t *plan)
{
    size_t slot = x->hc->slot_bytes[x->lane_kind];
    x->piece = slot;
    x->in_pieces = slot * (HCCL_APART_TAGS / (uint64_t) (plan->npub > 0 ? plan->npub : 1));
    x->parcel = 0;
    if (plan->box > 0) {
        size_t n = (size_t) plan->box;
        if (empty_bytes(n) > slot) {
            return false;
        }
        x->parcel = hccl_min(HCCL_PARCEL_BYTES, (slot - empty_bytes(n)) / n);
    }
    return true;
}

/* Most bytes of a box of n parcels, as it travels. */
static size_t most_bytes(const hccl_exec_t *x, size_t n)
{
    return empty_bytes(n) + n * x->parcel;
}

/* Scratch memory of a box: as it travels, then the lengths while it is filled. */
static size_t lengths_at(const hccl_exec_t *x)
{
    return (most_bytes(x, (size_t) x->plan->box) + 7) / 8 * 8;
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

size_t hccl_apart_list(const hccl_exec_t *x)
{
    return (size_t) x->plan->max_requests * sizeof(posted_t);
}

static hccl_run_t block_at(const hccl_exec_t *x, int base, int position)
{
    const hccl_view_t *view = hccl_view_of(x, base);
    if (HCCL_VIEW_OWN == view->kind) {
        return (hccl_run_t){view->base, view->units};
    }
    int block = hccl_block_of(x->plan, position);
    return (hccl_run_t){view->addr[block], view->len[block]};
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
    hccl_run_t block = block_at(x, step->base, step->first);
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
    hccl_fill(slot, piece.ptr, piece.units, hccl_copy_give(piece.units));
    hccl_lane_publish(slot, tag, x->signature, piece.units | (more ? HCCL_SLOT_MORE : 0));
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
    hccl_run_t block = block_at(x, step->base, step->first);
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
    size_t came = slot->bytes & ~HCCL_SLOT_MORE;
    if (came > piece.units || (more && last)) {
        hccl_exec_fail(x, MPI_ERR_TRUNCATE);
    }
    if (came > 0) {
        hccl_copy(piece.ptr, hccl_lane_payload(x->lane, from->peer, slot),
                  hccl_min(came, piece.units), memcpy);
    }
    if (!more && !last) {
        end_block(x, step->first, (size_t) (piece.ptr - block.ptr) + came);
    }
    x->more = x->more || (more && !last);
    return HCCL_STEP_DONE;
}

/* ---- boxes ------------------------------------------------------------------------------------ */

static box_t *box_at(const hccl_exec_t *x, const hccl_cursor_t *c, int base, int position)
{
    char *area = c->tmp + (size_t) (base - HCCL_BASE_TMP) * x->area_bytes;
    return (box_t *) (area + (size_t) (position / x->plan->box) * box_bytes(x));
}

static uint16_t *box_lengths(const hccl_exec_t *x, box_t *box)
{
    return (uint16_t *) ((char *) box + lengths_at(x));
}

/* A position is filled: the first one of a box empties it. */
static void put(const hccl_exec_t *x, hccl_cursor_t *c, int base, int position, const char *data,
                uint16_t len)
{
    box_t *box = box_at(x, c, base, position);
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
static size_t close_box(const hccl_exec_t *x, box_t *box)
{
    memcpy((char *) (box + 1) + box->used, box_lengths(x, box), box->n * sizeof(uint16_t));
    return empty_bytes(box->n) + box->used;
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

static hccl_step_result_t publish_parcels(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    uint64_t tag = hccl_tag_of(x, c, step->pub);
    if (!hccl_lane_has_room_after_gap(x->lane, tag)) {
        return HCCL_STEP_LATER;
    }
    hccl_slot_t *slot = hccl_lane_slot(x->lane, tag);
    size_t bytes = 0;
    if (step->base >= HCCL_BASE_TMP) {
        box_t *box = box_at(x, c, step->base, step->first);
        bytes = close_box(x, box);
        hccl_fill(slot, (const char *) box, bytes, hccl_copy_give(bytes));
        hccl_lane_publish(slot, tag, x->signature, bytes);
        return HCCL_STEP_DONE;
    }
    box_t head = {0, (uint32_t) step->count};
    for (int i = step->first; i < step->first + step->count; i++) {
        size_t units = block_at(x, step->base, i).units;
        head.used += units > x->parcel ? 0 : (uint32_t) units;
    }
    bytes = empty_bytes(head.n) + head.used;
    char *at = hccl_slot_payload(slot, bytes);
    memcpy(at, &head, sizeof(head));
    at += sizeof(head);
    char *lengths = at + head.used;
    for (int i = step->first; i < step->first + step->count; i++, lengths += sizeof(uint16_t)) {
        hccl_run_t block = block_at(x, step->base, i);
        uint16_t len = length_mark(x, block.units);
        memcpy(lengths, &len, sizeof(len));
        if (LONG_MARK != len && len > 0) {
            hccl_copy(at, block.ptr, len, memcpy);
            at += len;
        }
    }
    hccl_lane_publish(slot, tag, x->signature, bytes);
    return HCCL_STEP_DONE;
}

/* ---- messages --------------------------------------------------------------------------------- */

static posted_t *list_of(const hccl_cursor_t *c)
{
    return (posted_t *) c->messages;
}

static void post(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step, void *data,
                 size_t bytes)
{
    posted_t *p = &list_of(c)[c->nmessages];
    hccl_address_t peer = {.comm = x->hc->comm,
                           .rank = step->peer,
                           .tag = x->tag + (HCCL_HOW_LONG == step->how ? 1 : 0)};
    int rc = HCCL_STEP_SEND == step->kind ? hccl_tier_send(&peer, data, bytes, &p->message)
                                          : hccl_tier_receive(&peer, data, bytes, &p->message);
    p->step = step;
    if (OMPI_SUCCESS == rc) {
        c->nmessages++;
    } else {
        hccl_exec_fail(x, rc);
    }
}

static void start_message(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    if (HCCL_HOW_LONG == step->how) {
        const hccl_shape_t *shape = x->hc->shape;
        bool near = shape->node_of[step->peer] == shape->node_of[x->hc->rank];
        hccl_run_t block = block_at(x, step->base, step->first);
        if (block.units > (near ? x->in_pieces : x->parcel)) {
            post(x, c, step, block.ptr, block.units);
        }
        return;
    }
    box_t *box = box_at(x, c, step->base, step->first);
    if (HCCL_STEP_SEND == step->kind) {
        post(x, c, step, box, close_box(x, box));
    } else {
        post(x, c, step, box, most_bytes(x, (size_t) step->count));
    }
}

/* A box has come, unless something failed: then its parcels are empty. */
static void open_box(hccl_exec_t *x, box_t *box, int count, bool failed)
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

static hccl_step_result_t wait_messages(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *wait)
{
    posted_t *list = list_of(c);
    int left = 0, open = 0;
    for (int i = 0; i < c->nmessages; i++) {
        const hccl_step_t *step = list[i].step;
        int error = OMPI_SUCCESS;
        if (step->how != wait->how || !hccl_tier_test(&list[i].message, &error)) {
            open += step->how == wait->how;
            list[left++] = list[i];
            continue;
        }
        if (OMPI_SUCCESS != error) {
            hccl_exec_fail(x, error);
        }
        if (HCCL_HOW_PARCELS == step->how && HCCL_STEP_RECV == step->kind) {
            open_box(x, box_at(x, c, step->base, step->first), step->count, OMPI_SUCCESS != error);
        }
    }
    c->nmessages = left;
    return open > 0 ? HCCL_STEP_LATER : HCCL_STEP_DONE;
}

/* ---- parcels ---------------------------------------------------------------------------------- */

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
    hccl_run_t block = block_at(x, HCCL_BASE_RECV, position);
    const hccl_step_t *step = long_step(x, position);
    if (comes) {
        post(x, c, step, block.ptr, block.units); /* it is cut off there, and says so */
        return;
    }
    for (int i = 0; i < c->nmessages; i++) {
        if (list_of(c)[i].step == step) {
            hccl_tier_cancel(&list_of(c)[i].message);
        }
    }
}

static void take_out(hccl_exec_t *x, hccl_cursor_t *c, int position, const char *data, uint16_t len)
{
    hccl_run_t block = block_at(x, HCCL_BASE_RECV, position);
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

static hccl_step_result_t fetch_parcels(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    const hccl_source_t *from = &x->plan->sources[step->src];
    hccl_slot_t *slot = hccl_lane_peek(x->lane, from->peer, hccl_tag_of(x, c, from->base));
    box_t head;
    if (NULL == slot) {
        return HCCL_STEP_LATER;
    }
    const char *data = hccl_lane_payload(x->lane, from->peer, slot);
    memcpy(&head, data, sizeof(head));
    data += sizeof(head);
    move_parcels(x, c, step, data, data + head.used, from->first - from->pub_first);
    return HCCL_STEP_DONE;
}

static void copy_parcels(hccl_exec_t *x, hccl_cursor_t *c, const hccl_step_t *step)
{
    const hccl_source_t *from = &x->plan->sources[step->src];
    if (from->base >= HCCL_BASE_TMP) {
        box_t *box = box_at(x, c, from->base, from->first);
        move_parcels(x, c, step, (const char *) (box + 1), (const char *) box_lengths(x, box),
                     from->first % x->plan->box);
        return;
    }
    for (int i = 0; i < step->count; i++) {
        hccl_run_t block = block_at(x, from->base, from->first + i);
        put(x, c, step->base, step->first + i, block.ptr, length_mark(x, block.units));
    }
}

/* ---- steps ------------------------------------------------------------------------------------ */

static void copy_whole(hccl_exec_t *x, const hccl_step_t *step)
{
    const hccl_source_t *from = &x->plan->sources[step->src];
    for (int i = 0; i < step->count; i++) {
        hccl_run_t to = block_at(x, step->base, step->first + i);
        hccl_run_t block = block_at(x, from->base, from->first + i);
        if (block.units > to.units) {
            hccl_exec_fail(x, MPI_ERR_TRUNCATE);
        }
        if (block.units > 0 && to.units > 0 && to.ptr != block.ptr) {
            hccl_copy(to.ptr, block.ptr, hccl_min(to.units, block.units), memcpy);
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
        return parcels ? publish_parcels(x, c, step) : publish_piece(x, c, step);
    case HCCL_STEP_FETCH:
        return parcels ? fetch_parcels(x, c, step) : fetch_piece(x, c, step);
    case HCCL_STEP_COPY:
        if (parcels) {
            copy_parcels(x, c, step);
        } else {
            copy_whole(x, step);
        }
        return HCCL_STEP_DONE;
    case HCCL_STEP_SEND:
    case HCCL_STEP_RECV:
        start_message(x, c, step);
        return HCCL_STEP_DONE;
    case HCCL_STEP_WAIT:
        return wait_messages(x, c, step);
    default:
        hccl_exec_fail(x, OMPI_ERROR);
        return HCCL_STEP_DONE;
    }
}
