/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See segments.h.
 */
#include "select/segments.h"

#include "plan/plan.h"

/* Segments start at multiples of this many bytes, where the data allows it. */
#define ALIGN_BYTES ((size_t) 64)

/* With buffers longer than this, they and the rings together fill the cache that the cores have in
 * common: shorter segments leave more of it to the buffers. */
#define HALVED_FROM_BYTES ((size_t) 4 << 20)

/* Segments that are cut only to overlap are not shorter, but for the two of what is longer than
 * WHOLE_TO_BYTES: the flags would cost more. Scans do worse with two so short. */
#define SHORTEST_BYTES ((size_t) 8192)
#define WHOLE_TO_BYTES ((size_t) 12288)

/* What a root combines: a segment of the peer's, one of its own and one of the result lie in the first-level
 * cache together. With more bytes than COMBINED_TO_BYTES the flags cost as much as that brings. */
#define COMBINED_BYTES ((size_t) 10240)
#define COMBINED_TO_BYTES ((size_t) 128 * 1024)

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

/* The length of pieces of at most `most` units and of equal length. */
static size_t equal_pieces(size_t units, size_t most, size_t multiple)
{
    size_t n = (units + most - 1) / most;
    size_t even = (units + n - 1) / n;
    size_t rounded = (even + multiple - 1) / multiple * multiple;
    return rounded <= most ? rounded : most;
}

/* So that each publication fits a slot, or shorter if the choice wants it. 0: impossible. */
static size_t cut_for_slots(const hccl_uncut_t *what, size_t slot, size_t segment)
{
    size_t align = ALIGN_BYTES % what->unit == 0 ? ALIGN_BYTES / what->unit : 1;
    size_t multiple = align * what->blocks;
    size_t most = slot / what->unit / what->published * what->blocks;
    size_t wanted = segment / what->unit;
    if (0 == most || 0 == what->units) {
        return 0;
    }
    return equal_pieces(what->units, wanted >= multiple ? smaller(most, wanted) : most, multiple);
}

/* Inside a node, data that goes one way is cut even where it fits a slot, so that readers copy one
 * piece while its owner publishes the next: into as many pieces as can be under way. */
static size_t overlapping(const hccl_uncut_t *what, size_t bytes)
{
    size_t piece = bytes / HCCL_CURSORS > SHORTEST_BYTES ? bytes / HCCL_CURSORS : SHORTEST_BYTES;
    if (HCCL_COLL_REDUCE == what->coll && bytes <= COMBINED_TO_BYTES) {
        piece = smaller(piece, COMBINED_BYTES);
    }
    size_t whole_to = hccl_coll_info[what->coll].rooted ? WHOLE_TO_BYTES : 2 * SHORTEST_BYTES;
    return bytes <= whole_to ? what->segment : smaller(piece, what->segment);
}

/* What only messages carry. */
static hccl_cut_t cut_messages(const hccl_uncut_t *what)
{
    size_t most = what->segment / what->unit;
    if (0 == most || what->units <= most) {
        return (hccl_cut_t){.lane = -1, .whole = true};
    }
    return (hccl_cut_t){.lane = -1, .seg_units = equal_pieces(what->units, most, 1)};
}

hccl_cut_t hccl_select_cut(const hccl_uncut_t *what)
{
    if (!what->publishes) {
        return cut_messages(what);
    }
    size_t published = what->publication * what->unit, bytes = what->units * what->unit;
    if (published <= what->slot_bytes[HCCL_LANE_SMALL]) {
        return (hccl_cut_t){.lane = HCCL_LANE_SMALL, .whole = true};
    }
    bool one_way = what->alone && what->segment > 0;
    size_t segment = one_way ? overlapping(what, bytes) : what->segment;
    hccl_cut_t cut = {.lane = one_way ? HCCL_LANE_LARGE : HCCL_LANE_WIDE};
    cut.slot = what->slot_bytes[cut.lane];
    if (what->alone && !one_way && what->longest > HALVED_FROM_BYTES) {
        cut.slot /= 2;
    }
    cut.whole = published <= cut.slot && (0 == segment || bytes <= segment);
    if (!cut.whole) {
        cut.seg_units = cut_for_slots(what, cut.slot, segment);
    }
    return cut;
}
