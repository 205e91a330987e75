/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Plan, lane and segments of an operation, from facts that all ranks share.
 */
#include <stdlib.h>

#include "exec/apart.h"
#include "exec/arrivals.h"
#include "exec/layout.h"
#include "exec/trial.h"
#include "select/segments.h"
#include "select/select.h"

static hccl_case_t case_of(const hccl_exec_t *x, const hccl_shape_t *shape)
{
    const hccl_comm_t *hc = x->hc;
    return (hccl_case_t){.coll = x->call.coll,
                         .shape = shape,
                         .me = hc->rank,
                         .root = x->root,
                         .nremote = hc->remote_size,
                         .nsources = hc->nsources,
                         .ndests = hc->ndests,
                         .sources = hc->sources,
                         .dests = hc->dests,
                         .dials = hccl_engine.dials,
                         .cartesian = hc->cartesian};
}

/* Sum and maximum of the blocks of a TABLE, in units. */
static void table_extent(const hccl_exec_t *x, size_t *sum, size_t *largest)
{
    *sum = 0;
    *largest = 0;
    for (int i = 0; i < x->hc->size; i++) {
        *sum += x->len[i];
        *largest = x->len[i] > *largest ? x->len[i] : *largest;
    }
}

static size_t query_bytes(const hccl_exec_t *x)
{
    if (!hccl_coll_info[x->call.coll].shared_sizes) {
        return 0;
    }
    if (HCCL_VIEW_TABLE == x->grid && NULL != x->len) {
        size_t sum, largest;
        table_extent(x, &sum, &largest);
        return sum * x->unit / (size_t) x->hc->size;
    }
    return x->units * x->unit;
}

/* Units of the largest publication when nothing is cut. */
static size_t largest_publication(const hccl_exec_t *x, const hccl_plan_t *plan)
{
    size_t blocks = (size_t) plan->nblocks;
    size_t published = (size_t) plan->max_pub;
    size_t sum, largest;
    switch (x->grid) {
    case HCCL_VIEW_VECTOR:
        return published * ((x->units + blocks - 1) / blocks);
    case HCCL_VIEW_UNIFORM:
        return published * x->units;
    case HCCL_VIEW_TABLE:
        table_extent(x, &sum, &largest);
        return hccl_min(sum, published * largest);
    default:
        return 0;
    }
}

static void one_segment(hccl_exec_t *x)
{
    x->nseg = 1;
    x->seg_units = SIZE_MAX / 4;
}

/* Cuts each block of a TABLE alike, so that publications fit a slot. False: that is impossible. */
static bool cut_blocks(hccl_exec_t *x, const hccl_uncut_t *what, size_t slot_bytes)
{
    size_t slot_units = slot_bytes / x->unit;
    if (slot_units <= what->published) { /* rounding adds up to one unit per block */
        return false;
    }
    size_t room = slot_units - what->published;
    x->nseg = (int) ((what->publication + room - 1) / room);
    x->seg_units = 0;
    return true;
}

/* Lane and segments. False: this plan cannot run on shared memory. */
static bool choose_segments(hccl_exec_t *x, const hccl_plan_t *plan, size_t segment)
{
    bool alone = 1 == x->hc->shape->nnodes && !x->hc->crowded;
    one_segment(x);
    if (plan->apart && 0 != plan->publishes) {
        bool one_way = hccl_coll_info[plan->coll].rooted && alone;
        x->lane_kind = one_way ? HCCL_LANE_LARGE : HCCL_LANE_WIDE;
        return hccl_apart_measure(x, plan);
    }
    hccl_uncut_t what = {.coll = x->call.coll,
                         .unit = x->unit,
                         .units = x->units,
                         .blocks = HCCL_VIEW_VECTOR == x->grid ? (size_t) plan->nblocks : 1,
                         .publishes = 0 != plan->publishes,
                         .published = (size_t) plan->max_pub,
                         /* Blocks of messages may have sizes that this rank does not know. */
                         .publication = plan->publishes ? largest_publication(x, plan) : 0,
                         .longest = hccl_longest_buffer(x),
                         .segment = segment,
                         .alone = alone,
                         .slot_bytes = x->hc->slot_bytes};
    hccl_cut_t cut = hccl_select_cut(&what);
    x->lane_kind = cut.lane;
    if (cut.whole) {
        return true;
    }
    if (HCCL_VIEW_TABLE == x->grid) {
        return cut_blocks(x, &what, cut.slot);
    }
    if (0 == cut.seg_units) {
        return false;
    }
    x->seg_units = cut.seg_units;
    x->nseg = (int) ((x->units + cut.seg_units - 1) / cut.seg_units);
    return true;
}

/* The plan of an algorithm: cached, or built now. */
static int find_plan(hccl_exec_t *x, const hccl_case_t *c, int algorithm, const hccl_plan_t **plan)
{
    hccl_plan_key_t key = {(int32_t) x->call.coll, algorithm, x->root, x->flat ? 1 : 0};
    *plan = hccl_cache_find(&x->hc->plans, &key);
    if (NULL != *plan) {
        return OMPI_SUCCESS;
    }
    hccl_plan_t *built;
    int rc = hccl_select_build(c, algorithm, &built);
    if (HCCL_OK == rc) {
        rc = hccl_cache_add(&x->hc->plans, &key, built);
        *plan = built;
    }
    return HCCL_OK == rc          ? OMPI_SUCCESS
           : HCCL_ERR_NOMEM == rc ? OMPI_ERR_OUT_OF_RESOURCE
                                  : OMPI_ERROR;
}

static hccl_memo_t *memo_of(const hccl_exec_t *x)
{
    size_t hash = x->units * 5 + (size_t) (unsigned) x->root * 3 + (size_t) x->call.coll;
    return &x->hc->memo[(hash ^ hash >> 7) % HCCL_MEMOS];
}

static uint32_t signature_of(const hccl_exec_t *x)
{
    uint64_t h = (uint64_t) x->units * x->unit;
    h = (h ^ (uint64_t) (uint32_t) x->root << 40) * UINT64_C(0x9e3779b97f4a7c15);
    int op =
        NULL == x->call.op || !ompi_op_is_intrinsic(x->call.op) ? 0 : x->call.op->o_f_to_c_index;
    return (uint32_t) x->call.coll << 27 | (uint32_t) (op & 15) << 23 | (uint32_t) (h >> 41);
}

static bool recall(hccl_exec_t *x, const hccl_memo_t *memo)
{
    if (memo->units != x->units || memo->unit != x->unit || memo->root != x->root
        || memo->coll != (int) x->call.coll || memo->commutative != x->commutative
        || NULL == memo->plan) {
        return false;
    }
    x->plan = memo->plan;
    x->lane_kind = memo->lane;
    x->nseg = memo->nseg;
    x->seg_units = memo->seg_units;
    x->signature = memo->signature;
    if (memo->combine.op == x->call.op && memo->combine.type == x->type) {
        x->combine = memo->combine;
    } else if (NULL != x->call.op) {
        hccl_combine_init(&x->combine, x->call.op, x->type);
    }
    return true;
}

static void remember(const hccl_exec_t *x, hccl_memo_t *memo)
{
    *memo = (hccl_memo_t){.units = x->units,
                          .unit = x->unit,
                          .root = x->root,
                          .coll = (int) x->call.coll,
                          .commutative = x->commutative,
                          .plan = x->plan,
                          .lane = x->lane_kind,
                          .nseg = x->nseg,
                          .seg_units = x->seg_units,
                          .signature = x->signature};
    if (NULL != x->call.op && ompi_op_is_intrinsic(x->call.op)
        && ompi_datatype_is_predefined(x->type)) {
        memo->combine = x->combine;
    }
}

static int choose_plan(hccl_exec_t *x, bool flat)
{
    hccl_comm_t *hc = x->hc;
    hccl_memo_t *memo = memo_of(x);
    const hccl_plan_t *plan;
    const hccl_shape_t *shape;
    x->flat =
        flat || (0 == hc->remote_size && hc->shape->max_local > 1 && !hccl_comm_has_lanes(hc));
    if (!x->flat && HCCL_VIEW_TABLE != x->grid && recall(x, memo)) {
        return !x->plan->apart || hccl_apart_measure(x, x->plan) ? OMPI_SUCCESS : OMPI_ERROR;
    }
    x->signature = signature_of(x);
    if (NULL != x->call.op) {
        hccl_combine_init(&x->combine, x->call.op, x->type);
    }
    int rc = hccl_comm_shape(hc, x->flat, &shape);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    hccl_case_t c = case_of(x, shape);
    hccl_query_t query = {.c = &c,
                          .bytes = query_bytes(x),
                          .commutative = x->commutative,
                          .no_lanes = x->flat,
                          .crowded = hc->crowded};
    hccl_choice_t choice = hccl_select(&query);
    rc = find_plan(x, &c, choice.algorithm, &plan);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    if (!choose_segments(x, plan, choice.segment)) {
        return choose_plan(x, true);
    }
    x->plan = plan;
    if (!x->flat) {
        remember(x, memo);
    }
    return OMPI_SUCCESS;
}

int hccl_exec_plan(hccl_exec_t *x, bool flat)
{
    OPAL_THREAD_LOCK(&x->hc->plan_lock);
    int rc = choose_plan(x, flat);
    if (OMPI_SUCCESS == rc) {
        hccl_arrivals_choose(x);
        hccl_trial_choose(x, x->lane_kind > HCCL_LANE_SMALL ? query_bytes(x) : 0);
    }
    OPAL_THREAD_UNLOCK(&x->hc->plan_lock);
    return rc;
}
