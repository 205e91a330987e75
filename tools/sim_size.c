/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator: segments, and the sizes of blocks in them.
 */
#include <stdlib.h>

#include "select/segments.h"
#include "sim_internal.h"

/* As in exec/apart.c. */
enum { PARCEL_BYTES = 2048 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_vector(const hccl_sim_program_t *p)
{
    return HCCL_HOLDS_VECTOR == hccl_coll_info[p->coll].recv;
}

/* Units of a segment, of the vector or of a block. */
static size_t segment_units(const hccl_sim_program_t *p, const hccl_sim_setup_t *setup, size_t unit,
                            size_t units)
{
    const hccl_machine_t *m = setup->machine;
    const size_t slots[HCCL_LANES] = {
        [HCCL_LANE_SMALL] = (size_t) m->slot_small,
        [HCCL_LANE_LARGE] = (size_t) m->slot_large,
        [HCCL_LANE_WIDE] = (size_t) m->slot_wide,
    };
    size_t blocks = is_vector(p) ? (size_t) p->nblocks : 1;
    size_t published = p->max_pub > 0 ? (size_t) p->max_pub : 1;
    const hccl_uncut_t what = {
        .coll = p->coll,
        .unit = unit,
        .units = units,
        .blocks = blocks,
        .publishes = p->publishes,
        .published = published,
        .publication = published * ((units + blocks - 1) / blocks),
        .longest = units * unit * (is_vector(p) ? 1 : (size_t) p->c.shape->nranks),
        .segment = setup->segment,
        .alone = 1 == p->c.shape->nnodes,
        .slot_bytes = slots,
    };
    const hccl_cut_t cut = hccl_select_cut(&what);
    if (cut.whole || !hccl_coll_info[p->coll].shared_sizes) {
        return units;
    }
    if (0 == cut.seg_units) {
        return blocks; /* where the component would take a flat plan */
    }
    return cut.seg_units;
}

/* Where the positions of a segment of a vector begin, in bytes, rounded to elements. */
static void round_blocks(const hccl_sim_program_t *p, size_t units, size_t unit, double *start)
{
    size_t q = (units + (size_t) p->nblocks - 1) / (size_t) p->nblocks, sum = 0;
    for (int i = 0; i < p->npositions; i++) {
        size_t block = (size_t) (NULL == p->order || i >= p->nblocks ? i : p->order[i]);
        start[i] = (double) (sum * unit);
        sum +=
            1 == p->nblocks ? units : smaller(units, (block + 1) * q) - smaller(units, block * q);
    }
    start[p->npositions] = (double) (sum * unit);
}

double hccl_sim_parcel(int box, const hccl_machine_t *machine)
{
    double most = 0 == box ? 0 : (machine->slot_wide - 4) / box - 2;
    return most < PARCEL_BYTES ? most : PARCEL_BYTES;
}

int hccl_sim_sizes(hccl_sim_program_t *p, const hccl_sim_setup_t *setup, hccl_sim_sizes_t *sizes)
{
    size_t unit = setup->unit > 0 ? setup->unit : 1;
    size_t bytes = HCCL_HOLDS_NONE == hccl_coll_info[p->coll].recv ? 0 : setup->bytes / unit * unit;
    *sizes = (hccl_sim_sizes_t){.vector = is_vector(p), .nblocks = p->nblocks, .nseg = 1};
    sizes->parcel = hccl_sim_parcel(p->box, setup->machine);
    if (0 == bytes) {
        return HCCL_OK;
    }
    size_t units = bytes / unit;
    size_t part = unit
                  * (setup->nseg > 0 ? (units + (size_t) setup->nseg - 1) / (size_t) setup->nseg
                                     : segment_units(p, setup, unit, units));
    sizes->nseg = (int) ((bytes + part - 1) / part);
    size_t last = bytes - (size_t) (sizes->nseg - 1) * part;
    sizes->bytes[0] = (double) part;
    sizes->bytes[1] = (double) last;
    for (int i = 0; sizes->vector && 0 != setup->unit && 1 == p->parts && i < 2; i++) {
        double *start = realloc(p->start[i], ((size_t) p->npositions + 1) * sizeof(*start));
        if (NULL == start) {
            return HCCL_ERR_NOMEM;
        }
        p->start[i] = start;
        round_blocks(p, (0 == i ? part : last) / unit, unit, start);
        sizes->start[i] = start;
    }
    return HCCL_OK;
}

int hccl_sim_segments(hccl_sim_program_t *p, const hccl_sim_setup_t *setup, int *nseg)
{
    hccl_sim_sizes_t sizes;
    int rc = hccl_sim_sizes(p, setup, &sizes);
    *nseg = sizes.nseg;
    return rc;
}

size_t hccl_sim_unit(hccl_coll_t coll, size_t bytes)
{
    return hccl_coll_info[coll].reduces && 0 == bytes % 4 ? 4 : 1;
}
