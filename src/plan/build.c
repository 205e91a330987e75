/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The plan builder: growing lists of steps and sources, frozen into one block of memory.
 */
#include "plan/build.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct hccl_builder {
    hccl_plan_t plan;       /* counters and extents so far; pointers unset until the end */
    hccl_step_t *steps;     /* [plan.nsteps], capacity steps_cap */
    hccl_source_t *sources; /* [plan.nsources], capacity sources_cap */
    size_t steps_cap;
    size_t sources_cap;
    int32_t *order;    /* position -> block, NULL: identity */
    int32_t *position; /* block -> position, NULL: identity */
    hccl_how_t how;    /* of the next steps */
    int open_requests; /* SEND and RECV that no WAIT has been emitted for, but LONG ones */
    int open_long;     /* LONG ones */
    int error;         /* first error, kept until finish */
};

void hccl_build_fail(hccl_builder_t *b, int error)
{
    if (HCCL_OK == b->error) {
        b->error = error;
    }
}

/* Makes room for one more element; false (and the builder failed) when there is no memory. */
static bool grow(hccl_builder_t *b, void **list, size_t *cap, int used, size_t element)
{
    if ((size_t) used < *cap) {
        return true;
    }
    size_t bigger = 0 == *cap ? 16 : 2 * *cap;
    void *moved = realloc(*list, bigger * element);
    if (NULL == moved) {
        hccl_build_fail(b, HCCL_ERR_NOMEM);
        return false;
    }
    *list = moved;
    *cap = bigger;
    return true;
}

/* Whether an operand lies inside of its buffer; fails the builder when not. */
static bool in_range(hccl_builder_t *b, int base, int first, int count)
{
    bool known = base >= 0 && base < HCCL_BASE_TMP + b->plan.ntmp && base <= UINT8_MAX;
    int positions = base < HCCL_BASE_TMP ? b->plan.nblocks : b->plan.tmp_blocks;
    if (!known || first < 0 || count < 0 || count > positions || first > positions - count) {
        hccl_build_fail(b, HCCL_ERR_INTERNAL);
        return false;
    }
    return true;
}

/* Appends a zeroed step and returns it, NULL after a failure. */
static hccl_step_t *append_step(hccl_builder_t *b, hccl_step_kind_t kind, int base, int first,
                                int count)
{
    if (HCCL_OK != b->error
        || !grow(b, (void **) &b->steps, &b->steps_cap, b->plan.nsteps, sizeof(hccl_step_t))) {
        return NULL;
    }
    if (!in_range(b, base, first, count)) {
        return NULL;
    }
    hccl_step_t *step = &b->steps[b->plan.nsteps++];
    memset(step, 0, sizeof(*step));
    step->kind = (uint8_t) kind;
    step->base = (uint8_t) base;
    step->first = first;
    step->count = count;
    step->peer = -1;
    step->how = b->how;
    return step;
}

static void append_source(hccl_builder_t *b, hccl_source_t source)
{
    if (HCCL_OK != b->error
        || !grow(b, (void **) &b->sources, &b->sources_cap, b->plan.nsources,
                 sizeof(hccl_source_t))) {
        return;
    }
    b->sources[b->plan.nsources++] = source;
}

hccl_builder_t *hccl_build_start(const hccl_case_t *c, int algorithm, int nblocks)
{
    hccl_builder_t *b = calloc(1, sizeof(*b));
    if (NULL == b) {
        return NULL;
    }
    b->plan.coll = c->coll;
    b->plan.algorithm = algorithm;
    b->plan.nblocks = nblocks;
    return b;
}

void hccl_build_order(hccl_builder_t *b, const int32_t *order)
{
    size_t n = (size_t) b->plan.nblocks;
    assert(NULL == b->order && 0 == b->plan.nsteps);
    b->order = malloc(n * sizeof(int32_t));
    b->position = malloc(n * sizeof(int32_t));
    if (NULL == b->order || NULL == b->position) {
        hccl_build_fail(b, HCCL_ERR_NOMEM);
        return;
    }
    memcpy(b->order, order, n * sizeof(int32_t));
    memset(b->position, -1, n * sizeof(int32_t));
    for (size_t i = 0; i < n; i++) {
        if (order[i] < 0 || (size_t) order[i] >= n || b->position[order[i]] >= 0) {
            hccl_build_fail(b, HCCL_ERR_INTERNAL); /* no permutation */
            return;
        }
        b->position[order[i]] = (int32_t) i;
    }
}

int hccl_build_position(const hccl_builder_t *b, int block)
{
    return NULL == b->position ? block : b->position[block];
}

void hccl_build_apart(hccl_builder_t *b, int box)
{
    assert(0 == b->plan.nsteps);
    b->plan.apart = 1;
    b->plan.box = box;
}

void hccl_build_how(hccl_builder_t *b, hccl_how_t how)
{
    assert(HCCL_HOW_WHOLE == how || b->plan.apart);
    b->how = how;
}

int hccl_build_scratch(hccl_builder_t *b, int positions)
{
    assert(b->plan.apart ? 0 < b->plan.box && 0 == positions % b->plan.box
                         : positions >= b->plan.nblocks);
    if (positions > b->plan.tmp_blocks) {
        b->plan.tmp_blocks = positions;
    }
    return HCCL_BASE_TMP + b->plan.ntmp++;
}

int hccl_build_publications(hccl_builder_t *b, int n, int max_blocks)
{
    int first = b->plan.npub;
    b->plan.publishes = 1;
    b->plan.npub += n;
    if (max_blocks > b->plan.max_pub) {
        b->plan.max_pub = max_blocks;
    }
    return first;
}

void hccl_build_publish(hccl_builder_t *b, int pub, int base, int first, int count)
{
    if (pub < 0 || pub >= b->plan.npub || count > b->plan.max_pub) {
        hccl_build_fail(b, HCCL_ERR_INTERNAL);
    }
    hccl_step_t *step = append_step(b, HCCL_STEP_PUBLISH, base, first, count);
    if (NULL != step) {
        step->pub = pub;
    }
}

void hccl_build_direct(hccl_builder_t *b)
{
    if (HCCL_OK == b->error) {
        assert(b->plan.nsteps > 0 && HCCL_STEP_PUBLISH == b->steps[b->plan.nsteps - 1].kind);
        b->steps[b->plan.nsteps - 1].direct = HCCL_DIRECT_APART | HCCL_DIRECT_ALIASED;
    }
}

void hccl_build_fetch(hccl_builder_t *b, int dst_base, int dst_first, int count, int peer, int pub,
                      int pub_first, int first)
{
    hccl_build_fold_begin(b, dst_base, dst_first, count);
    hccl_build_fold_peer(b, peer, pub, pub_first, first);
    hccl_build_fold_end(b);
}

void hccl_build_copy(hccl_builder_t *b, int dst_base, int dst_first, int count, int src_base,
                     int src_first)
{
    hccl_build_fold_begin(b, dst_base, dst_first, count);
    hccl_build_fold_own(b, src_base, src_first);
    hccl_build_fold_end(b);
}

void hccl_build_fold_begin(hccl_builder_t *b, int dst_base, int dst_first, int count)
{
    hccl_step_t *step = append_step(b, HCCL_STEP_REDUCE, dst_base, dst_first, count);
    if (NULL != step) {
        step->src = b->plan.nsources;
    }
}

void hccl_build_fold_own(hccl_builder_t *b, int base, int first)
{
    if (HCCL_OK == b->error && in_range(b, base, first, b->steps[b->plan.nsteps - 1].count)) {
        append_source(b, (hccl_source_t){.peer = -1, .base = base, .first = first});
    }
}

void hccl_build_fold_peer(hccl_builder_t *b, int peer, int pub, int pub_first, int first)
{
    if (peer < 0 || pub < 0 || pub >= b->plan.npub || pub_first < 0 || first < pub_first) {
        hccl_build_fail(b, HCCL_ERR_INTERNAL);
    }
    append_source(
        b, (hccl_source_t){.peer = peer, .base = pub, .first = first, .pub_first = pub_first});
}

void hccl_build_fold_end(hccl_builder_t *b)
{
    if (HCCL_OK != b->error) {
        return;
    }
    hccl_step_t *step = &b->steps[b->plan.nsteps - 1];
    bool shared = false;
    step->nsrc = (uint16_t) (b->plan.nsources - step->src);
    for (int i = step->src; i < b->plan.nsources; i++) {
        shared = shared || b->sources[i].peer >= 0;
    }
    if (0 == step->nsrc || b->plan.nsources - step->src > UINT16_MAX) {
        hccl_build_fail(b, HCCL_ERR_INTERNAL);
    } else if (1 == step->nsrc) {
        step->kind = shared ? HCCL_STEP_FETCH : HCCL_STEP_COPY;
    } else {
        step->kind = shared ? HCCL_STEP_FOLD : HCCL_STEP_REDUCE;
    }
}

static void append_message(hccl_builder_t *b, hccl_step_kind_t kind, int peer, int base, int first,
                           int count)
{
    hccl_step_t *step = append_step(b, kind, base, first, count);
    if (NULL == step) {
        return;
    }
    step->peer = peer;
    *(HCCL_HOW_LONG == b->how ? &b->open_long : &b->open_requests) += 1;
    if (b->open_requests + b->open_long > b->plan.max_requests) {
        b->plan.max_requests = b->open_requests + b->open_long;
    }
}

void hccl_build_send(hccl_builder_t *b, int peer, int base, int first, int count)
{
    append_message(b, HCCL_STEP_SEND, peer, base, first, count);
}

void hccl_build_recv(hccl_builder_t *b, int peer, int base, int first, int count)
{
    append_message(b, HCCL_STEP_RECV, peer, base, first, count);
}

void hccl_build_wait(hccl_builder_t *b)
{
    int *open = HCCL_HOW_LONG == b->how ? &b->open_long : &b->open_requests;
    if (*open > 0) {
        append_step(b, HCCL_STEP_WAIT, HCCL_BASE_SEND, 0, 0);
        *open = 0;
    }
}

/* After each step: the lowest publication number that a later step still reads. */
static void compute_acks(hccl_builder_t *b)
{
    int lowest = b->plan.npub;
    for (int i = b->plan.nsteps - 1; i >= 0; i--) {
        hccl_step_t *step = &b->steps[i];
        step->ack = lowest;
        for (int j = step->src; j < step->src + step->nsrc; j++) {
            if (b->sources[j].peer >= 0 && b->sources[j].base < lowest) {
                lowest = b->sources[j].base;
            }
        }
    }
}

/* Whether a step writes positions of a publication's operand, when SEND and RECV are the same memory
 * or not. */
static bool overwrites(const hccl_builder_t *b, const hccl_step_t *step, const hccl_step_t *pub,
                       bool aliased)
{
    bool writes = step->nsrc > 0 || HCCL_STEP_RECV == step->kind;
    bool same = step->base == pub->base
                || (aliased && step->base < HCCL_BASE_TMP && pub->base < HCCL_BASE_TMP);
    if (!writes || !same || step->first >= pub->first + pub->count
        || pub->first >= step->first + step->count) {
        return false;
    }
    const hccl_source_t *from = &b->sources[step->src];
    /* A copy onto itself. */
    return !(aliased && HCCL_STEP_COPY == step->kind && HCCL_BASE_SEND == from->base
             && from->first == step->first);
}

/* What may be published in place because nothing behind writes it. */
static void compute_direct(hccl_builder_t *b)
{
    for (int i = 0; i < b->plan.nsteps; i++) {
        hccl_step_t *pub = &b->steps[i];
        if (HCCL_STEP_PUBLISH != pub->kind) {
            continue;
        }
        if (pub->base >= HCCL_BASE_TMP || 0 == pub->count || b->plan.apart) {
            pub->direct = HCCL_DIRECT_NEVER;
            continue;
        }
        int direct = HCCL_DIRECT_APART | HCCL_DIRECT_ALIASED;
        for (int j = i + 1; j < b->plan.nsteps && HCCL_DIRECT_NEVER != direct; j++) {
            if (overwrites(b, &b->steps[j], pub, false)) {
                direct = HCCL_DIRECT_NEVER;
            } else if (overwrites(b, &b->steps[j], pub, true)) {
                direct &= ~HCCL_DIRECT_ALIASED;
            }
        }
        pub->direct |= direct;
    }
}

/* Keeps no more scratch areas than this rank's steps use: a rank without any takes no memory. */
static void trim_scratch(hccl_builder_t *b)
{
    int used = HCCL_BASE_TMP;
    for (int i = 0; i < b->plan.nsteps; i++) {
        used = b->steps[i].base >= used ? b->steps[i].base + 1 : used;
    }
    for (int i = 0; i < b->plan.nsources; i++) {
        const hccl_source_t *source = &b->sources[i];
        used = source->peer < 0 && source->base >= used ? source->base + 1 : used;
    }
    b->plan.ntmp = used - HCCL_BASE_TMP;
}

static hccl_plan_t *freeze(const hccl_builder_t *b)
{
    size_t steps = (size_t) b->plan.nsteps * sizeof(hccl_step_t);
    size_t sources = (size_t) b->plan.nsources * sizeof(hccl_source_t);
    size_t order = NULL == b->order ? 0 : (size_t) b->plan.nblocks * sizeof(int32_t);
    size_t bytes = sizeof(hccl_plan_t) + steps + sources + order;
    char *block = malloc(bytes);
    if (NULL == block) {
        return NULL;
    }
    hccl_plan_t *plan = (hccl_plan_t *) block;
    *plan = b->plan;
    plan->bytes = bytes;
    block += sizeof(hccl_plan_t);
    plan->steps = (const hccl_step_t *) block;
    if (steps > 0) {
        memcpy(block, b->steps, steps);
        block += steps;
    }
    plan->sources = (const hccl_source_t *) block;
    if (sources > 0) {
        memcpy(block, b->sources, sources);
        block += sources;
    }
    if (order > 0) {
        plan->order = (const int32_t *) block;
        memcpy(block, b->order, order);
    }
    return plan;
}

int hccl_build_finish(hccl_builder_t *b, hccl_plan_t **plan)
{
    b->how = b->plan.apart ? HCCL_HOW_PARCELS : HCCL_HOW_WHOLE;
    hccl_build_wait(b);
    b->how = HCCL_HOW_LONG;
    hccl_build_wait(b);
    int rc = b->error;
    if (HCCL_OK == rc) {
        compute_acks(b);
        compute_direct(b);
        trim_scratch(b);
        hccl_plan_t *frozen = freeze(b);
        if (NULL == frozen) {
            rc = HCCL_ERR_NOMEM;
        } else {
            *plan = frozen;
        }
    }
    free(b->steps);
    free(b->sources);
    free(b->order);
    free(b->position);
    free(b);
    return rc;
}
