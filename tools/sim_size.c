/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator: segments as exec/plan.c cuts them, and the sizes of blocks in them.
 */
#include <stdlib.h>

#include "sim_internal.h"

/* As in exec/plan.c and exec/apart.c. */
enum { ALIGN_BYTES = 64, SHORTEST_BYTES = 8192, HALVED_FROM_BYTES = 4 << 20, PARCEL_BYTES = 2048 };

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static bool is_vector(const hccl_sim_program_t *p)
{
    return HCCL_HOLDS_VECTOR == hccl_coll_info[p->coll].recv;
}

/* Pieces of at most `most` bytes and of equal length: the length of one. */
static size_t cut(size_t bytes, size_t most, size_t multiple)
{
    size_t nseg = (bytes + most - 1) / most;
    size_t even = (bytes + nseg - 1) / nseg;
    size_t rounded = (even + multiple - 1) / multiple * multiple;
    return rounded <= most ? rounded : most;
}

/* Bytes of a segment, of the vector or of a block. */
static size_t segment_bytes(const hccl_sim_program_t *p, const hccl_sim_setup_t *setup)
{
    const hccl_machine_t *m = setup->machine;
    size_t bytes = setup->bytes, segment = setup->segment;
    size_t blocks = is_vector(p) ? (size_t) p->nblocks : 1;
    if (!hccl_coll_info[p->coll].shared_sizes || 0 == bytes) {
        return bytes;
    }
    if (!p->publishes) {
        return segment > 0 && bytes > segment ? cut(bytes, segment, 1) : bytes;
    }
    size_t published = p->max_pub > 0 ? (size_t) p->max_pub : 1;
    size_t largest = published * ((bytes + blocks - 1) / blocks);
    if (largest <= (size_t) m->slot_small) {
        return bytes;
    }
    bool alone = 1 == p->c.shape->nnodes, one_way = alone && segment > 0;
    size_t slot = (size_t) (one_way ? m->slot_large : m->slot_wide);
    size_t buffer = bytes * (is_vector(p) ? 1 : (size_t) p->c.shape->nranks);
    if (one_way && bytes > 2 * SHORTEST_BYTES) {
        size_t piece = bytes / HCCL_SIM_CURSORS;
        segment = smaller(piece > SHORTEST_BYTES ? piece : SHORTEST_BYTES, segment);
    } else if (alone && !one_way && buffer > HALVED_FROM_BYTES) {
        slot /= 2;
    }
    if (largest <= slot && (0 == segment || bytes <= segment)) {
        return bytes;
    }
    size_t each = slot / published > 0 ? slot / published : 1;
    size_t most = each * blocks, multiple = ALIGN_BYTES * blocks;
    most = segment >= multiple ? smaller(most, segment) : most;
    return cut(bytes, most, multiple);
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
    size_t part = setup->nseg > 0 ? (bytes + (size_t) setup->nseg - 1) / (size_t) setup->nseg
                                  : segment_bytes(p, setup);
    part = (part + unit - 1) / unit * unit;
    *sizes = (hccl_sim_sizes_t){.vector = is_vector(p), .nblocks = p->nblocks, .nseg = 1};
    sizes->parcel = hccl_sim_parcel(p->box, setup->machine);
    if (0 == bytes) {
        return HCCL_OK;
    }
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
