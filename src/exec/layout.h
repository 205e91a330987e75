/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * From operands to addresses: where the positions of a plan lie, in views, scratch areas and
 * publications, for one segment. Inline, since every step asks.
 */
#ifndef HCCL_EXEC_LAYOUT_H
#define HCCL_EXEC_LAYOUT_H

#include <string.h>

#include "exec/exec.h"
#include "kernel/copy.h"

/** A run of memory. */
typedef struct hccl_run {
    char *ptr;
    size_t units;
} hccl_run_t;

static inline size_t hccl_min(size_t a, size_t b)
{
    return a < b ? a : b;
}

/** Bytes of the longest buffer of a call: those with a place for each rank's data, if there are any. */
static inline size_t hccl_longest_buffer(const hccl_exec_t *x)
{
    return x->units * x->unit * (HCCL_VIEW_UNIFORM == x->grid ? (size_t) x->hc->size : 1);
}

/** What copies so many bytes of a peer's publication to a buffer of the call. */
static inline hccl_copy_fn_t hccl_copy_of_peer(const hccl_exec_t *x, size_t bytes)
{
    size_t whole = hccl_longest_buffer(x);
    if (HCCL_VIEW_UNIFORM == x->grid) {
        whole *= 2; /* with the other buffer */
    }
    return hccl_copy_take(bytes, HCCL_VIEW_TABLE == x->grid ? SIZE_MAX : whole);
}

/** Tag of the publication that the segment makes under a plan's publication number. */
static inline uint64_t hccl_tag_of(const hccl_exec_t *x, const hccl_cursor_t *c, int pub)
{
    return x->base + (uint64_t) c->seg * (uint64_t) x->plan->npub + (uint64_t) pub + 1;
}

/** Copies runs that are often a few bytes long: no call up to three cache lines, then the given one.
 *  n > 0. */
static inline void hccl_copy(char *to, const char *from, size_t n, hccl_copy_fn_t copy)
{
    if (n > 3 * HCCL_LINE_BYTES) {
        copy(to, from, n);
    } else if (n >= 16) {
        /* The last 16 bytes may overlap those before. Wider pieces would cross lines. */
        for (size_t at = 0; at + 16 < n; at += 16) {
            memcpy(to + at, from + at, 16);
        }
        memcpy(to + n - 16, from + n - 16, 16);
    } else if (n >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + n - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + n - 8, &last, 8);
    } else if (n >= 4) {
        uint32_t first, last;
        memcpy(&first, from, 4);
        memcpy(&last, from + n - 4, 4);
        memcpy(to, &first, 4);
        memcpy(to + n - 4, &last, 4);
    } else {
        for (size_t at = 0; at < n; at++) {
            to[at] = from[at];
        }
    }
}

/** Copies n > 0 bytes to a slot; copy: of hccl_copy_give. Returns n, and with it HCCL_SLOT_LATER where
 *  the payload begins a line later, since the usual place would be slow to copy to: this is to be
 *  published. The flag line comes last: who waits for its tag would take it away while the other
 *  lines are written. */
static inline size_t hccl_fill(hccl_slot_t *slot, const char *from, size_t n, hccl_copy_fn_t copy)
{
    char *to = hccl_slot_payload(slot, n);
    if (n > HCCL_COPY_STRING && HCCL_UNLIKELY(hccl_copy_collides(to, from))) {
        hccl_copy(to + HCCL_LINE_BYTES, from, n, copy);
        return n | HCCL_SLOT_LATER;
    }
    if (n > HCCL_HEAD_BYTES && n <= HCCL_SHORT_BYTES) {
        hccl_copy(to + HCCL_HEAD_BYTES, from + HCCL_HEAD_BYTES, n - HCCL_HEAD_BYTES, copy);
        memcpy(to, from, HCCL_HEAD_BYTES);
    } else {
        hccl_copy(to, from, n, copy);
    }
    return n;
}

/** The segment's part of a block of len units: where it begins, how long it is (TABLE: every block
 *  is cut into nseg equal parts). */
static inline size_t hccl_part(const hccl_exec_t *x, int seg, size_t len, size_t *begin)
{
    if (1 == x->nseg) {
        *begin = 0;
        return len;
    }
    size_t part = (len + (size_t) x->nseg - 1) / (size_t) x->nseg;
    *begin = hccl_min(len, (size_t) seg * part);
    return hccl_min(len, *begin + part) - *begin;
}

static inline int hccl_block_of(const hccl_plan_t *plan, int position)
{
    return NULL == plan->order ? position : plan->order[position];
}

/** Units of one position, by the grid. */
static inline size_t hccl_position_units(const hccl_exec_t *x, const hccl_cursor_t *c, int position)
{
    size_t begin;
    int block = hccl_block_of(x->plan, position);
    switch (x->grid) {
    case HCCL_VIEW_VECTOR:
        begin = hccl_min(c->end, (size_t) block * c->q);
        return hccl_min(c->end, begin + c->q) - begin;
    case HCCL_VIEW_UNIFORM:
        return c->units;
    case HCCL_VIEW_TABLE:
        return hccl_part(x, c->seg, x->len[block], &begin);
    default:
        return 0;
    }
}

/** Units of count positions. */
static inline size_t hccl_range_units(const hccl_exec_t *x, const hccl_cursor_t *c, int first,
                                      int count)
{
    if (HCCL_VIEW_VECTOR == x->grid && NULL == x->plan->order) {
        return hccl_min(c->end, (size_t) (first + count) * c->q)
               - hccl_min(c->end, (size_t) first * c->q);
    }
    if (HCCL_VIEW_UNIFORM == x->grid) {
        return (size_t) count * c->units;
    }
    size_t sum = 0;
    for (int i = first; i < first + count; i++) {
        sum += hccl_position_units(x, c, i);
    }
    return sum;
}

static inline const hccl_view_t *hccl_view_of(const hccl_exec_t *x, int base)
{
    return HCCL_BASE_SEND == base ? &x->send : &x->recv;
}

/** Where one position of a view is. */
static inline hccl_run_t hccl_view_run(const hccl_exec_t *x, const hccl_cursor_t *c,
                                       const hccl_view_t *view, int position)
{
    size_t begin;
    hccl_run_t run;
    int block = hccl_block_of(x->plan, position);
    switch (view->kind) {
    case HCCL_VIEW_VECTOR:
        begin = hccl_min(c->units, (size_t) block * c->q);
        run.units = hccl_min(c->units, begin + c->q) - begin;
        run.ptr = view->base + (c->at + begin) * x->unit;
        break;
    case HCCL_VIEW_UNIFORM:
        run.units = hccl_min(view->units, c->at + x->seg_units) - hccl_min(view->units, c->at);
        run.ptr = view->base + block * view->stride + (ptrdiff_t) (c->at * x->unit);
        break;
    case HCCL_VIEW_TABLE:
        run.units = hccl_part(x, c->seg, view->len[block], &begin);
        run.ptr = view->addr[block] + begin * x->unit;
        break;
    case HCCL_VIEW_OWN:
        if (HCCL_VIEW_TABLE == x->grid) {
            run.units = hccl_part(x, c->seg, view->units, &begin);
            run.ptr = view->base + begin * x->unit;
        } else {
            run.units = hccl_min(view->units, c->at + x->seg_units) - hccl_min(view->units, c->at);
            run.ptr = view->base + c->at * x->unit;
        }
        break;
    default:
        run.ptr = NULL;
        run.units = 0;
        break;
    }
    return run;
}

/** Where one position of a base is. */
static inline hccl_run_t hccl_locate(const hccl_exec_t *x, const hccl_cursor_t *c, int base,
                                     int position)
{
    if (base < HCCL_BASE_TMP) {
        return hccl_view_run(x, c, hccl_view_of(x, base), position);
    }
    char *area = c->tmp + (size_t) (base - HCCL_BASE_TMP) * x->area_bytes;
    hccl_run_t run;
    switch (x->grid) {
    case HCCL_VIEW_VECTOR:
        run.ptr = area + (size_t) position * c->q * x->unit;
        run.units = hccl_position_units(x, c, position);
        break;
    case HCCL_VIEW_UNIFORM:
        run.ptr = area + (size_t) position * c->units * x->unit;
        run.units = c->units;
        break;
    default:
        run.ptr = area + x->tmp_offset[position] * x->unit;
        run.units = hccl_position_units(x, c, position);
        break;
    }
    return run;
}

/** hccl_locate_range where blocks have sizes of their own: positions that happen to be neighbours
 *  in memory. */
bool hccl_locate_neighbours(const hccl_exec_t *x, int base, int first, int count, hccl_run_t *run);

/** Whether count positions of a base are one run; then *run is it. */
static inline bool hccl_locate_range(const hccl_exec_t *x, const hccl_cursor_t *c, int base,
                                     int first, int count, hccl_run_t *run)
{
    if (HCCL_VIEW_VECTOR == x->grid && NULL == x->plan->order) {
        size_t begin = hccl_min(c->end, (size_t) first * c->q);
        run->units = hccl_min(c->end, (size_t) (first + count) * c->q) - begin;
        run->ptr = base < HCCL_BASE_TMP
                       ? hccl_view_of(x, base)->base + (c->at + begin) * x->unit
                       : c->tmp + (size_t) (base - HCCL_BASE_TMP) * x->area_bytes + begin * x->unit;
        return true;
    }
    if (1 == count) {
        *run = hccl_locate(x, c, base, first);
        return true;
    }
    if (0 == count) {
        run->ptr = NULL;
        run->units = 0;
        return true;
    }
    if (HCCL_VIEW_UNIFORM != x->grid) {
        return HCCL_VIEW_TABLE == x->grid && 1 == x->nseg
               && hccl_locate_neighbours(x, base, first, count, run);
    }
    if (base < HCCL_BASE_TMP) {
        const hccl_view_t *view = hccl_view_of(x, base);
        if (HCCL_VIEW_UNIFORM != view->kind || NULL != x->plan->order
            || view->stride != (ptrdiff_t) (view->units * x->unit) || x->nseg > 1) {
            return false;
        }
        run->units = (size_t) count * view->units;
        run->ptr = view->base + first * view->stride;
        return true;
    }
    *run = hccl_locate(x, c, base, first);
    run->units *= (size_t) count;
    return true;
}

#endif
