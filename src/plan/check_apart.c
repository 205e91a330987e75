/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover: plans for blocks of private sizes (plan.h), walked as in exec/apart.c. Some blocks are
 * empty, some short, some several pieces long, some too long for pieces; where sizes are not ragged
 * all are short. In scratch and in publications of parcels, a cell's `order` is the parcel's length.
 */
#include "plan/check_internal.h"

/* Instead of a length: the block comes in a message of its own. */
#define LONG_MARK UINT64_MAX

/* ---- sizes ------------------------------------------------------------------------------------ */

void hccl_check_measure(hccl_checker_t *k)
{
    uint64_t units = k->setup.units > 0 ? k->setup.units : 1;
    k->parcel = k->setup.parcel > 0 ? k->setup.parcel : units;
    k->piece = units + units / 2;
    k->in_pieces = k->piece * (uint64_t) k->setup.nseg;
}

/* Units that one rank has for another. */
static uint64_t pair_units(const hccl_checker_t *k, int from, int to)
{
    uint64_t x =
        hccl_check_mix(k->setup.seed ^ hccl_check_mix((uint64_t) from << 32 | (uint64_t) to));
    uint64_t most = x >> 8;
    if (!k->setup.ragged) {
        return k->setup.units > 0 ? k->setup.units : 1;
    }
    switch (x % 5) {
    case 0:
        return 0;
    case 1:
    case 2:
        return 1 + most % k->parcel;
    case 3:
        return 1 + most % k->in_pieces;
    default:
        return k->in_pieces + 1 + most % k->in_pieces;
    }
}

/* Who is at the other end of a block of a rank's SEND or RECV. */
static int other_end(const hccl_checker_t *k, int rank, int base, int position)
{
    const hccl_role_t *role = &k->role[rank];
    if (HCCL_HOLDS_OWN == hccl_check_holds(role, base)) {
        return k->root;
    }
    return role->first + hccl_check_block(k, rank, base, position);
}

static uint64_t block_units(const hccl_checker_t *k, int rank, int base, int position)
{
    int other = other_end(k, rank, base, position);
    return HCCL_BASE_SEND == base ? pair_units(k, rank, other) : pair_units(k, other, rank);
}

static bool is_near(const hccl_checker_t *k, int rank, int other)
{
    return k->role[rank].node == k->role[other].node;
}

/* Units of the segment's piece, 0: none. */
static uint64_t piece_units(const hccl_checker_t *k, int seg, uint64_t units)
{
    uint64_t at = (uint64_t) seg * k->piece;
    if (units > k->in_pieces || at >= units) {
        return 0;
    }
    return units - at < k->piece ? units - at : k->piece;
}

uint64_t hccl_check_apart_units(const hccl_checker_t *k, int rank, int seg, int base, int first,
                                int count)
{
    uint64_t sum = 0;
    for (int i = first; i < first + count; i++) {
        if (base >= HCCL_BASE_TMP) {
            sum++;
            continue;
        }
        int other = other_end(k, rank, base, i);
        uint64_t units = block_units(k, rank, base, i);
        bool pieces = other != rank && is_near(k, rank, other) && units <= k->in_pieces;
        sum += pieces ? piece_units(k, seg, units) : 0 == seg ? units : 0;
    }
    return sum;
}

bool hccl_check_is_long(const hccl_checker_t *k, int rank, const hccl_step_t *step)
{
    int other = hccl_check_peer(&k->role[rank], step->peer);
    return block_units(k, rank, step->base, step->first)
           > (is_near(k, rank, other) ? k->in_pieces : k->parcel);
}

/* ---- parcels ---------------------------------------------------------------------------------- */

void hccl_check_mark(const hccl_checker_t *k, int rank, int base, int first, hccl_cell_t *cells,
                     int n)
{
    for (int i = 0; base < HCCL_BASE_TMP && i < n; i++) {
        uint64_t units = block_units(k, rank, base, first + i);
        cells[i].order = units > k->parcel ? LONG_MARK : units;
    }
}

uint64_t hccl_check_marked(const hccl_checker_t *k, const hccl_cell_t *cells, int n)
{
    uint64_t sum = 0;
    for (int i = 0; i < n; i++) {
        sum += cells[i].order > k->parcel ? 0 : cells[i].order;
    }
    return sum;
}

uint64_t hccl_check_parcels(const hccl_checker_t *k, int rank, const hccl_walker_t *c, int base,
                            int first, int count)
{
    uint64_t sum = 0;
    int n;
    const hccl_cell_t *cells = hccl_check_cells(k, rank, c, base, first, count, &n);
    if (base >= HCCL_BASE_TMP) {
        return hccl_check_marked(k, cells, n);
    }
    for (int i = 0; i < n; i++) {
        uint64_t units = block_units(k, rank, base, first + i);
        sum += units > k->parcel ? 0 : units;
    }
    return sum;
}

/* A box is filled anew, from its first position on. */
static bool empty_box(hccl_checker_t *k, int rank, hccl_walker_t *c, int base, int first)
{
    int n;
    int box = k->world.plans[rank]->box;
    hccl_cell_t *cells = hccl_check_cells(k, rank, c, base, first, box, &n);
    if (!hccl_check_writable(k, rank, c, cells, n)) {
        return false;
    }
    for (int i = 0; i < n; i++) {
        cells[i].n = 0;
    }
    return true;
}

static bool put(hccl_checker_t *k, int rank, hccl_walker_t *c, const hccl_step_t *step, int i,
                const hccl_cell_t *value)
{
    int n, at = step->first + i, box = k->world.plans[rank]->box;
    hccl_cell_t *cell = hccl_check_cells(k, rank, c, step->base, at, 1, &n);
    if (0 == at % box && !empty_box(k, rank, c, step->base, at)) {
        return false;
    }
    if (0 != at % box && (0 == cell[-1].n || 0 != cell->n)) {
        hccl_check_fail(k, "rank %d step %d %s: position %d of a box is not the next one", rank,
                        c->step, hccl_check_step_name(step->kind), at);
        return false;
    }
    *cell = *value;
    cell->sending = cell->receiving = 0;
    return true;
}

/* Whether an operand is all that is in a box. */
static bool is_box(hccl_checker_t *k, int rank, hccl_walker_t *c, const hccl_step_t *step)
{
    int n, box = k->world.plans[rank]->box;
    const hccl_cell_t *cells = hccl_check_cells(k, rank, c, step->base, step->first, box, &n);
    for (int i = 0; i < n; i++) {
        if ((0 != cells[i].n) != (i < step->count)) {
            hccl_check_fail(k, "rank %d step %d %s: the box does not hold %d parcels", rank,
                            c->step, hccl_check_step_name(step->kind), step->count);
            return false;
        }
    }
    return true;
}

/* COPY and FETCH: into boxes, or out of them. */
static hccl_check_result_t move(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                const hccl_step_t *step)
{
    const hccl_source_t *s = &k->world.plans[rank]->sources[step->src];
    int n;
    if (HCCL_CHECK_LATER == hccl_check_look(k, rank, c, step)) {
        return HCCL_CHECK_LATER;
    }
    hccl_cell_t *dst = hccl_check_cells(k, rank, c, step->base, step->first, step->count, &n);
    const hccl_cell_t *src = hccl_check_source(k, rank, c, step, s, dst, n);
    uint64_t units = 0;
    for (int i = 0; i < n && !k->failed; i++) {
        hccl_cell_t value = src[i];
        if (s->peer < 0) {
            hccl_check_mark(k, rank, s->base, s->first + i, &value, 1);
        }
        units += hccl_check_marked(k, &value, 1);
        if (step->base >= HCCL_BASE_TMP) {
            (void) put(k, rank, c, step, i, &value);
        } else if (LONG_MARK != value.order && hccl_check_writable(k, rank, c, &dst[i], 1)) {
            dst[i] = value;
            dst[i].sending = dst[i].receiving = 0;
        }
    }
    hccl_check_count_pass(k, rank, 1, units);
    hccl_check_spend(k, rank, c, (double) units * k->setup.unit_bytes * k->setup.cost->beta_shm);
    return HCCL_CHECK_DONE;
}

/* ---- steps ------------------------------------------------------------------------------------ */

/* PUBLISH and FETCH of a piece, if there is one; whether the block goes on. */
static hccl_check_result_t move_piece(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                      const hccl_step_t *step)
{
    uint64_t units = block_units(k, rank, step->base, step->first);
    uint64_t piece = piece_units(k, c->seg, units);
    if (0 == piece) {
        return HCCL_CHECK_DONE;
    }
    hccl_check_result_t result = HCCL_STEP_PUBLISH == step->kind
                                     ? hccl_check_publish(k, rank, c, step)
                                     : hccl_check_fold(k, rank, c, step);
    if (HCCL_CHECK_DONE == result && (uint64_t) c->seg * k->piece + piece < units) {
        k->rank[rank].more = true;
    }
    return result;
}

hccl_check_result_t hccl_check_apart_try(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                         const hccl_step_t *step)
{
    bool parcels = HCCL_HOW_PARCELS == step->how;
    if (HCCL_HOW_PIECES == step->how) {
        return move_piece(k, rank, c, step);
    }
    if (c->seg > 0) {
        return HCCL_CHECK_DONE;
    }
    bool right = true; /* else a fault has been found */
    switch ((hccl_step_kind_t) step->kind) {
    case HCCL_STEP_PUBLISH:
        right = step->base < HCCL_BASE_TMP || is_box(k, rank, c, step);
        break;
    case HCCL_STEP_SEND:
        right = !parcels || is_box(k, rank, c, step);
        break;
    case HCCL_STEP_RECV:
        right = !parcels || empty_box(k, rank, c, step->base, step->first);
        break;
    case HCCL_STEP_WAIT:
        break;
    default:
        if (parcels) {
            return move(k, rank, c, step);
        }
    }
    return right ? hccl_check_try(k, rank, c, step) : HCCL_CHECK_DONE;
}

/* ---- form ------------------------------------------------------------------------------------- */

static bool is_user_block(const hccl_step_t *step, int base)
{
    return base == (int) step->base && 1 == step->count;
}

static const char *message_fault(const hccl_step_t *step, int box)
{
    bool sends = HCCL_STEP_SEND == step->kind;
    if (HCCL_HOW_PARCELS == step->how) {
        return step->base >= HCCL_BASE_TMP && 0 == step->first % box && step->count <= box
                       && step->count > 0
                   ? NULL
                   : "a message of parcels is one box";
    }
    if (HCCL_HOW_LONG != step->how) {
        return "a message is parcels or LONG";
    }
    return is_user_block(step, sends ? HCCL_BASE_SEND : HCCL_BASE_RECV) ? NULL
                                                                        : "LONG is one block";
}

static const char *copy_fault(const hccl_plan_t *plan, const hccl_step_t *step)
{
    const hccl_source_t *s = &plan->sources[step->src];
    bool user = HCCL_BASE_RECV == step->base && s->base < HCCL_BASE_TMP;
    if (HCCL_STEP_COPY != step->kind || step->src < 0 || step->src >= plan->nsources) {
        return "such a plan only copies";
    }
    if (HCCL_HOW_WHOLE == step->how) {
        return user ? NULL : "whole blocks go from SEND to RECV";
    }
    return HCCL_HOW_PARCELS == step->how && !user ? NULL : "parcels go into boxes or out of them";
}

const char *hccl_check_how(const hccl_checker_t *k, int rank, const hccl_step_t *step)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    if (!plan->apart) {
        return HCCL_HOW_WHOLE == step->how ? NULL : "blocks are whole in this plan";
    }
    if (HCCL_HOW_PARCELS == step->how && plan->box < 1) {
        return "parcels without boxes";
    }
    switch ((hccl_step_kind_t) step->kind) {
    case HCCL_STEP_SEND:
    case HCCL_STEP_RECV:
        return message_fault(step, plan->box);
    case HCCL_STEP_WAIT:
        return HCCL_HOW_PARCELS == step->how || HCCL_HOW_LONG == step->how ? NULL
                                                                           : "no message is whole";
    case HCCL_STEP_PUBLISH:
    case HCCL_STEP_FETCH: {
        bool publishes = HCCL_STEP_PUBLISH == step->kind;
        bool piece = HCCL_HOW_PIECES == step->how
                     && is_user_block(step, publishes ? HCCL_BASE_SEND : HCCL_BASE_RECV);
        bool box = HCCL_HOW_PARCELS == step->how && step->count > 0
                   && (!publishes || step->base < HCCL_BASE_TMP || 0 == step->first % plan->box);
        return piece || box ? NULL : "publications are pieces of one block or parcels";
    }
    default:
        return copy_fault(plan, step);
    }
}
