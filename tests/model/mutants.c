/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Plants bugs in copies of plans, and tells which of them change nothing.
 */
#include "mutants.h"

#include <stdlib.h>
#include <string.h>

const char *mutant_name(mutant_kind_t kind)
{
    static const char *const names[MUTANT_KINDS] = {
        "drop-publish", "drop-copy",      "drop-fetch",  "drop-combine", "drop-send", "drop-recv",
        "drop-wait",    "late-wait",      "peer",        "source-peer",  "operand",   "source",
        "count",        "publish-number", "read-number", "swap-sources", "twice",     "base",
        "early-ack",    "in-place",       "how",
    };
    return names[kind];
}

static bool combines(const hccl_step_t *s)
{
    return HCCL_STEP_REDUCE == s->kind || HCCL_STEP_FOLD == s->kind;
}

static bool is_message(const hccl_step_t *s)
{
    return HCCL_STEP_SEND == s->kind || HCCL_STEP_RECV == s->kind;
}

static bool has_sources(const hccl_step_t *s)
{
    return combines(s) || HCCL_STEP_COPY == s->kind || HCCL_STEP_FETCH == s->kind;
}

/* ---- planting --------------------------------------------------------------------------------- */

/* What the builder would have computed for the steps as they are now. */
static void compute_acks(hccl_plan_t *plan, hccl_step_t *steps)
{
    int lowest = plan->npub;
    for (int i = plan->nsteps - 1; i >= 0; i--) {
        steps[i].ack = lowest;
        for (int j = steps[i].src; j < steps[i].src + steps[i].nsrc; j++) {
            if (plan->sources[j].peer >= 0 && plan->sources[j].base < lowest) {
                lowest = plan->sources[j].base;
            }
        }
    }
}

static hccl_plan_t *copy_plan(const hccl_plan_t *plan)
{
    char *block = world_memory(plan->bytes);
    memcpy(block, plan, plan->bytes);
    hccl_plan_t *copy = (hccl_plan_t *) block;
    copy->steps = (hccl_step_t *) (block + ((const char *) plan->steps - (const char *) plan));
    copy->sources =
        (hccl_source_t *) (block + ((const char *) plan->sources - (const char *) plan));
    if (NULL != plan->order) {
        copy->order = (int32_t *) (block + ((const char *) plan->order - (const char *) plan));
    }
    return copy;
}

static bool drop(hccl_plan_t *plan, hccl_step_t *steps, int i, bool right_kind)
{
    if (!right_kind) {
        return false;
    }
    memmove(&steps[i], &steps[i + 1], (size_t) (plan->nsteps - i - 1) * sizeof(*steps));
    plan->nsteps--;
    return true;
}

static void swap_steps(hccl_step_t *a, hccl_step_t *b)
{
    hccl_step_t other = *a;
    *a = *b;
    *b = other;
}

static bool plant_peer(hccl_step_t *s, int size)
{
    if (!is_message(s) || 0 != (s->peer & HCCL_PEER_REMOTE) || size < 3) {
        return false;
    }
    s->peer = (s->peer + 1) % size;
    return true;
}

static bool plant_number(hccl_plan_t *plan, int32_t *number)
{
    if (plan->npub < 2) {
        return false;
    }
    *number += *number + 1 < plan->npub ? 1 : -1;
    return true;
}

/* Another base of the plan that a step may name in place of this one. */
static bool plant_base(hccl_plan_t *plan, hccl_step_t *s)
{
    if (0 == s->count || plan->ntmp < 1) {
        return false;
    }
    s->base = HCCL_BASE_TMP == s->base ? HCCL_BASE_RECV : HCCL_BASE_TMP;
    return true;
}

static bool plant_in_step(hccl_plan_t *plan, hccl_step_t *steps, mutant_kind_t kind, int i,
                          int size)
{
    hccl_step_t *s = &steps[i];
    switch (kind) {
    case MUTANT_DROP_PUBLISH:
        return drop(plan, steps, i, HCCL_STEP_PUBLISH == s->kind);
    case MUTANT_DROP_COPY:
        return drop(plan, steps, i, HCCL_STEP_COPY == s->kind);
    case MUTANT_DROP_FETCH:
        return drop(plan, steps, i, HCCL_STEP_FETCH == s->kind);
    case MUTANT_DROP_COMBINE:
        return drop(plan, steps, i, combines(s));
    case MUTANT_DROP_SEND:
        return drop(plan, steps, i, HCCL_STEP_SEND == s->kind);
    case MUTANT_DROP_RECV:
        return drop(plan, steps, i, HCCL_STEP_RECV == s->kind);
    case MUTANT_DROP_WAIT:
        return drop(plan, steps, i, HCCL_STEP_WAIT == s->kind);
    case MUTANT_LATE_WAIT:
        if (HCCL_STEP_WAIT != s->kind || i + 1 == plan->nsteps || HCCL_STEP_WAIT == s[1].kind) {
            return false;
        }
        swap_steps(&s[0], &s[1]);
        plan->max_requests += 1; /* as the builder would count */
        return true;
    case MUTANT_PEER:
        return plant_peer(s, size);
    case MUTANT_OPERAND:
        s->first += s->first + s->count < plan->nblocks ? 1 : -1;
        return s->count > 0 && s->first >= 0;
    case MUTANT_COUNT:
        return s->count-- > 0;
    case MUTANT_PUBLISH_NUMBER:
        return HCCL_STEP_PUBLISH == s->kind && plant_number(plan, &s->pub);
    case MUTANT_BASE:
        return plant_base(plan, s);
    case MUTANT_ACK:
        return i > 0 && has_sources(s) && s[-1].ack < s->ack && (s[-1].ack = s->ack, true);
    case MUTANT_DIRECT:
        if (HCCL_STEP_PUBLISH != s->kind || 0 == s->count
            || (HCCL_DIRECT_APART | HCCL_DIRECT_ALIASED) == s->direct) {
            return false;
        }
        s->direct = HCCL_DIRECT_APART | HCCL_DIRECT_ALIASED;
        return true;
    case MUTANT_HOW:
        s->how = HCCL_HOW_PARCELS != s->how                   ? HCCL_HOW_PARCELS
                 : HCCL_STEP_COPY == s->kind                  ? HCCL_HOW_WHOLE
                 : is_message(s) || HCCL_STEP_WAIT == s->kind ? HCCL_HOW_LONG
                                                              : HCCL_HOW_PIECES;
        return 0 != plan->apart && s->count + (HCCL_STEP_WAIT == s->kind) > 0;
    default:
        return false;
    }
}

/* The next one of the node's ranks. */
static int other_peer(int peer, int local_size, int local_me)
{
    do {
        peer = (peer + 1) % local_size;
    } while (peer == local_me);
    return peer;
}

static bool plant_in_source(hccl_plan_t *plan, const hccl_step_t *s, hccl_source_t *source, int j,
                            mutant_kind_t kind, int local_size, int local_me)
{
    hccl_source_t *at = &source[s->src + j];
    bool two = combines(s) && j + 1 < s->nsrc;
    if (!has_sources(s)) {
        return false;
    }
    switch (kind) {
    case MUTANT_SOURCE_PEER:
        if (at->peer < 0 || local_size < 3) {
            return false;
        }
        at->peer = other_peer(at->peer, local_size, local_me);
        return true;
    case MUTANT_SOURCE:
        at->first += at->first + s->count < plan->nblocks ? 1 : -1;
        return s->count > 0 && at->first >= 0;
    case MUTANT_READ_NUMBER:
        return at->peer >= 0 && plant_number(plan, &at->base);
    case MUTANT_SWAP_SOURCES:
        if (two) {
            hccl_source_t other = at[0];
            at[0] = at[1];
            at[1] = other;
        }
        return two;
    case MUTANT_TWICE:
        if (two) {
            at[1] = at[0];
        }
        return two;
    default:
        return false;
    }
}

hccl_plan_t *mutant_make(const hccl_plan_t *plan, mutant_kind_t kind, int step, int source,
                         int size, int local_size, int local_me)
{
    hccl_plan_t *copy = copy_plan(plan);
    hccl_step_t *steps = (hccl_step_t *) (uintptr_t) copy->steps;
    hccl_source_t *sources = (hccl_source_t *) (uintptr_t) copy->sources;
    bool planted = source < 0 ? plant_in_step(copy, steps, kind, step, size)
                              : plant_in_source(copy, &steps[step], sources, source, kind,
                                                local_size, local_me);
    if (!planted) {
        free(copy);
        return NULL;
    }
    if (MUTANT_ACK != kind) {
        compute_acks(copy, steps);
    }
    return copy;
}

/* ---- bugs that are none ----------------------------------------------------------------------- */

/* Whether the send and the receive buffer of a collective may be the same memory. */
static bool may_alias(const world_t *w)
{
    const hccl_case_t *c = &w->cases[0];
    const hccl_coll_info_t *info = &hccl_coll_info[c->coll];
    bool copied = HCCL_HOLDS_GRID == info->send && !info->rooted;
    return 0 == c->nremote && !copied && c->coll < HCCL_COLL_NEIGHBOR_ALLGATHER;
}

static bool is_own(const hccl_plan_t *plan, int base)
{
    const hccl_coll_info_t *info = &hccl_coll_info[plan->coll];
    return (HCCL_BASE_SEND == base && HCCL_HOLDS_OWN == info->send)
           || (HCCL_BASE_RECV == base && HCCL_HOLDS_OWN == info->recv);
}

static bool overlap(const hccl_plan_t *plan, bool alias, int base_a, int first_a, int count_a,
                    int base_b, int first_b, int count_b)
{
    bool user = base_a <= HCCL_BASE_RECV && base_b <= HCCL_BASE_RECV && alias;
    if (0 == count_a || 0 == count_b || (base_a != base_b && !user)) {
        return false;
    }
    if (is_own(plan, base_a) || is_own(plan, base_b)) {
        return true; /* perhaps: the position says nothing */
    }
    return first_a < first_b + count_b && first_b < first_a + count_a;
}

/* Whether nothing that comes behind step `from` uses these positions as they are now. */
static bool is_dead(const world_t *w, const hccl_plan_t *plan, int from, int base, int first,
                    int count)
{
    bool alias = may_alias(w);
    for (int i = from; i < plan->nsteps; i++) {
        const hccl_step_t *s = &plan->steps[i];
        bool reads = HCCL_STEP_SEND == s->kind || HCCL_STEP_PUBLISH == s->kind;
        if (HCCL_STEP_WAIT == s->kind) {
            continue;
        }
        if (reads && overlap(plan, alias, s->base, s->first, s->count, base, first, count)) {
            return false;
        }
        for (int j = 0; j < s->nsrc; j++) {
            const hccl_source_t *at = &plan->sources[s->src + j];
            if (at->peer < 0
                && overlap(plan, alias, at->base, at->first, s->count, base, first, count)) {
                return false;
            }
        }
        if (!reads && s->base == base && !is_own(plan, base) && s->first <= first
            && s->first + s->count >= first + count) {
            return true;
        }
    }
    return base >= HCCL_BASE_TMP;
}

/* Whether a COPY does nothing when SEND and RECV are the same memory. */
static bool onto_itself(const hccl_plan_t *plan, const hccl_step_t *s)
{
    const hccl_source_t *at = &plan->sources[s->src];
    return HCCL_BASE_RECV == s->base && HCCL_BASE_SEND == at->base
           && (s->first == at->first || is_own(plan, s->base) || is_own(plan, at->base));
}

/* Whether a step disturbs, or is disturbed by, a message under way. */
static bool disturbs(const hccl_plan_t *plan, bool alias, const hccl_step_t *s,
                     const hccl_step_t *message)
{
    bool received = HCCL_STEP_RECV == message->kind;
    bool reads = HCCL_STEP_SEND == s->kind || HCCL_STEP_PUBLISH == s->kind;
    if (HCCL_STEP_WAIT == s->kind) {
        return false;
    }
    if (HCCL_STEP_COPY == s->kind && onto_itself(plan, s)) {
        alias = false; /* in place it does nothing */
    }
    if ((received || !reads)
        && overlap(plan, alias, s->base, s->first, s->count, message->base, message->first,
                   message->count)) {
        return true;
    }
    for (int j = 0; received && j < s->nsrc; j++) {
        const hccl_source_t *at = &plan->sources[s->src + j];
        if (at->peer < 0
            && overlap(plan, alias, at->base, at->first, s->count, message->base, message->first,
                       message->count)) {
            return true;
        }
    }
    return false;
}

/* Whether a step is the WAIT for what another WAIT (or message) is about. */
static bool is_wait_for(const hccl_step_t *s, const hccl_step_t *other)
{
    return HCCL_STEP_WAIT == s->kind && other->how == s->how;
}

/* Whether any step in [from, to) meets a message that the WAIT at `wait` ends. */
static bool wait_needed(const hccl_plan_t *plan, bool alias, int wait, int from, int to)
{
    for (int m = wait - 1; m >= 0 && !is_wait_for(&plan->steps[m], &plan->steps[wait]); m--) {
        if (!is_message(&plan->steps[m]) || plan->steps[m].how != plan->steps[wait].how) {
            continue;
        }
        for (int i = from; i < to; i++) {
            if (disturbs(plan, alias, &plan->steps[i], &plan->steps[m])) {
                return true;
            }
        }
    }
    return false;
}

static const char *excuse_wait(const world_t *w, const hccl_plan_t *plan, mutant_kind_t kind,
                               int wait)
{
    int end = wait + 1;
    while (end < plan->nsteps && !is_wait_for(&plan->steps[end], &plan->steps[wait])) {
        end++;
    }
    if (MUTANT_LATE_WAIT == kind) {
        end = wait + 2;
    }
    return wait_needed(plan, may_alias(w), wait, wait + 1, end)
               ? NULL
               : "nothing touches the messages' operands before the WAIT that ends them now";
}

/* Whether a rank of the node reads position `first` (-1: anything) of a publication. */
static bool is_read(const world_t *w, int rank, int pub, int first)
{
    const hccl_shape_t *shape = w->cases[rank].shape;
    for (int i = 0; i < w->check.n; i++) {
        const hccl_plan_t *plan = w->plans[i];
        if (w->cases[i].shape != shape
            || shape->node_of[w->cases[i].me] != shape->node_of[w->cases[rank].me]) {
            continue;
        }
        for (int k = 0; k < plan->nsteps; k++) {
            for (int j = plan->steps[k].src; j < plan->steps[k].src + plan->steps[k].nsrc; j++) {
                const hccl_source_t *at = &plan->sources[j];
                if (at->peer == shape->local_of[w->cases[rank].me] && at->base == pub
                    && (first < 0
                        || (at->first <= first && first < at->first + plan->steps[k].count))) {
                    return true;
                }
            }
        }
    }
    return false;
}

/* Whether a rank's plan waits for number `pub` or a later one of its node's rank `peer`, in the steps
 * [from, to). */
static bool awaits(const hccl_plan_t *plan, int from, int to, int peer, int pub)
{
    for (int i = from; i < to; i++) {
        for (int j = plan->steps[i].src; j < plan->steps[i].src + plan->steps[i].nsrc; j++) {
            if (plan->sources[j].peer == peer && plan->sources[j].base >= pub) {
                return true;
            }
        }
    }
    return false;
}

/* Whether what a step waits for must have happened when what the rank waits for later happens: the
 * same rank's later publication, or one made by a rank that waited for it too. */
static bool is_implied(const world_t *w, int rank, int step)
{
    const hccl_shape_t *shape = w->cases[rank].shape;
    const hccl_plan_t *plan = w->plans[rank];
    const hccl_source_t *now = &plan->sources[plan->steps[step].src];
    const int *node = shape->node_ranks + shape->node_start[shape->node_of[w->cases[rank].me]];
    if (awaits(plan, step + 1, plan->nsteps, now->peer, now->base)) {
        return true;
    }
    for (int i = step + 1; i < plan->nsteps; i++) {
        if (HCCL_STEP_FETCH != plan->steps[i].kind) {
            return false; /* perhaps it passes on what it knows */
        }
        const hccl_source_t *next = &plan->sources[plan->steps[i].src];
        const hccl_plan_t *theirs = w->plans[node[next->peer]];
        for (int k = 0; k < theirs->nsteps; k++) {
            if (HCCL_STEP_PUBLISH == theirs->steps[k].kind && theirs->steps[k].pub == next->base
                && awaits(theirs, 0, k, now->peer, now->base)) {
                return true;
            }
        }
    }
    return false;
}

/* Where the value at a position came from, before step `before`, through the rank's own copies. */
static void origin_of(const hccl_plan_t *plan, int before, int *base, int *first, int *written)
{
    *written = -1;
    for (int i = before - 1; i >= 0; i--) {
        const hccl_step_t *s = &plan->steps[i];
        bool writes = HCCL_STEP_RECV == s->kind || has_sources(s);
        if (!writes || s->base != *base || *first < s->first || *first >= s->first + s->count) {
            continue;
        }
        if (HCCL_STEP_COPY != s->kind) {
            *written = i;
            return;
        }
        *first += plan->sources[s->src].first - s->first;
        *base = plan->sources[s->src].base;
    }
}

/* Whether two steps compute the same. */
static bool same_sources(const hccl_plan_t *plan, int step_a, int step_b)
{
    if (step_a < 0 || step_b < 0 || step_a == step_b) {
        return step_a == step_b;
    }
    const hccl_step_t *a = &plan->steps[step_a], *b = &plan->steps[step_b];
    return has_sources(a) && a->kind == b->kind && a->nsrc == b->nsrc
           && 0
                  == memcmp(&plan->sources[a->src], &plan->sources[b->src],
                            (size_t) a->nsrc * sizeof(hccl_source_t));
}

static bool same_origin(const hccl_plan_t *plan, int step, int base, int other, int first)
{
    int first_a = first, first_b = first, written_a, written_b;
    origin_of(plan, step, &base, &first_a, &written_a);
    origin_of(plan, step, &other, &first_b, &written_b);
    return first_a == first_b && same_sources(plan, written_a, written_b)
           && (base == other || written_a >= 0);
}

/* Bugs in how data are published. */
/* Whether what a rank publishes under a number is its part of a result that all ranks have: it neither
 * writes it nor waits for anything afterwards. */
static bool publishes_result(const hccl_plan_t *plan, int pub)
{
    int i = 0;
    while (i < plan->nsteps
           && (HCCL_STEP_PUBLISH != plan->steps[i].kind || pub != plan->steps[i].pub)) {
        i++;
    }
    if (i == plan->nsteps || (0 < plan->steps[i].count && HCCL_BASE_RECV != plan->steps[i].base)) {
        return false;
    }
    for (i++; i < plan->nsteps; i++) {
        if (has_sources(&plan->steps[i])) {
            return false;
        }
    }
    return true;
}

/* Read from another rank: does that one publish the same result under the same number? */
static const char *excuse_peer(const world_t *w, int rank, int step)
{
    const hccl_shape_t *shape = w->cases[rank].shape;
    const hccl_plan_t *plan = w->plans[rank];
    const hccl_source_t *from = &plan->sources[plan->steps[step].src];
    int node = shape->node_of[w->cases[rank].me], start = shape->node_start[node];
    int other = other_peer(from->peer, shape->node_start[node + 1] - start,
                           shape->local_of[w->cases[rank].me]);
    bool same = HCCL_COLL_ALLREDUCE == plan->coll || HCCL_COLL_BARRIER == plan->coll;
    return same && 1 == plan->steps[step].nsrc
                   && publishes_result(w->plans[shape->node_ranks[start + from->peer]], from->base)
                   && publishes_result(w->plans[shape->node_ranks[start + other]], from->base)
               ? "two ranks publish the same result under the same number"
               : NULL;
}

static const char *excuse_publish(const world_t *w, int rank, mutant_kind_t kind,
                                  const hccl_step_t *s)
{
    if (MUTANT_COUNT == kind) {
        return is_read(w, rank, s->pub, s->first + s->count - 1)
                   ? NULL
                   : "nobody reads that part of the publication";
    }
    return is_read(w, rank, s->pub, -1) ? NULL : "nobody reads this publication";
}

/* The last step of a rank's plan that reads positions [first, first + count) of a publication of the
 * peer (count 0: any), -1: none. */
static int last_reading(const hccl_plan_t *plan, int peer, int pub, int first, int count)
{
    int last = -1;
    for (int i = 0; i < plan->nsteps; i++) {
        for (int j = plan->steps[i].src; j < plan->steps[i].src + plan->steps[i].nsrc; j++) {
            const hccl_source_t *at = &plan->sources[j];
            bool meets = 0 == count
                         || (at->first < first + count && first < at->first + plan->steps[i].count);
            last = at->peer == peer && at->base == pub && meets ? i : last;
        }
    }
    return last;
}

/* The step that makes a publication, -1: none. */
static int publishing(const hccl_plan_t *plan, int pub)
{
    for (int i = 0; i < plan->nsteps; i++) {
        if (HCCL_STEP_PUBLISH == plan->steps[i].kind && plan->steps[i].pub == pub) {
            return i;
        }
    }
    return -1;
}

/* The plan of the rank with an index in the node of `rank`. */
static int in_node(const world_t *w, int rank, int index)
{
    const hccl_shape_t *shape = w->cases[rank].shape;
    int me = w->cases[rank].me;
    return rank - me + shape->node_ranks[shape->node_start[shape->node_of[me]] + index];
}

/* Whether what the rank's steps up to `to` wait for was published when peer `who` of the node had done
 * its step `behind`: published by the peer itself, or by somebody who had waited for that. */
static bool has_told(const world_t *w, int rank, int to, int who, int behind, int depth)
{
    const hccl_plan_t *plan = w->plans[rank];
    for (int i = 0; i <= to && depth > 0; i++) {
        for (int j = plan->steps[i].src; j < plan->steps[i].src + plan->steps[i].nsrc; j++) {
            const hccl_source_t *at = &plan->sources[j];
            int from = at->peer < 0 ? -1 : in_node(w, rank, at->peer);
            int made = from < 0 ? -1 : publishing(w->plans[from], at->base);
            if (at->peer >= 0
                && (at->peer == who ? made > behind
                                    : has_told(w, from, made, who, behind, depth - 1))) {
                return true;
            }
        }
    }
    return false;
}

/* Whether each peer that reads what step `step` publishes has told so before
 * the operand is written again (or nobody writes it). */
static bool is_returned(const world_t *w, int rank, int step)
{
    const hccl_shape_t *shape = w->cases[rank].shape;
    const hccl_plan_t *plan = w->plans[rank];
    const hccl_step_t *pub = &plan->steps[step];
    int node = shape->node_of[w->cases[rank].me], me = shape->local_of[w->cases[rank].me];
    for (int i = step + 1; i < plan->nsteps; i++) {
        const hccl_step_t *s = &plan->steps[i];
        bool writes = HCCL_STEP_RECV == s->kind || has_sources(s);
        if (!writes
            || !overlap(plan, may_alias(w), s->base, s->first, s->count, pub->base, pub->first,
                        pub->count)) {
            continue;
        }
        for (int q = 0; q < shape->node_start[node + 1] - shape->node_start[node]; q++) {
            int last =
                q == me
                    ? -1
                    : last_reading(w->plans[in_node(w, rank, q)], me, pub->pub, s->first,
                                   is_own(plan, pub->base) || is_own(plan, s->base) ? 0 : s->count);
            if (last >= 0 && !has_told(w, rank, i, q, last, 4)) {
                return false;
            }
        }
    }
    return true;
}

const char *mutant_excuse(const world_t *w, int rank, mutant_kind_t kind, int step, int source)
{
    static const char dead[] = "nobody uses what this step writes here";
    static const char own[] = "a buffer of one block is that block at any position";
    const hccl_plan_t *plan = w->plans[rank];
    const hccl_step_t *s = &plan->steps[step];
    bool writes = HCCL_STEP_RECV == s->kind || has_sources(s);
    if (writes && s->count > 0 && MUTANT_COUNT != kind
        && is_dead(w, plan, step + 1, s->base, s->first, s->count)) {
        return dead;
    }
    switch (kind) {
    case MUTANT_DROP_WAIT:
    case MUTANT_LATE_WAIT:
        return excuse_wait(w, plan, kind, step);
    case MUTANT_DROP_COPY:
        return 0 == s->count && plan->npub <= 8 ? "all that is published has room in the ring"
                                                : NULL;
    case MUTANT_DROP_PUBLISH:
    case MUTANT_PUBLISH_NUMBER:
        return excuse_publish(w, rank, kind, s);
    case MUTANT_SOURCE_PEER:
        if (NULL != excuse_peer(w, rank, step)) {
            return excuse_peer(w, rank, step);
        }
        /* fall through */
    case MUTANT_DROP_FETCH:
    case MUTANT_READ_NUMBER:
        return 0 == s->count && is_implied(w, rank, step)
                   ? "what is awaited here has happened when the next thing awaited happens"
                   : NULL;
    case MUTANT_BASE:
        return !writes && 1 == s->count
                       && same_origin(plan, step, s->base,
                                      HCCL_BASE_TMP == s->base ? HCCL_BASE_RECV : HCCL_BASE_TMP,
                                      s->first)
                   ? "the other base holds a copy of the same"
                   : NULL;
    case MUTANT_DIRECT:
        return s->base < HCCL_BASE_TMP && is_returned(w, rank, step)
                   ? "all who read it have told so before it is written again"
                   : NULL;
    case MUTANT_SWAP_SOURCES:
        return w->check.ordered ? NULL : "no order is promised, and one rank computes this for all";
    case MUTANT_OPERAND:
        return is_own(plan, s->base) ? own : NULL;
    case MUTANT_SOURCE:
        return plan->sources[s->src + source].peer < 0
                       && is_own(plan, plan->sources[s->src + source].base)
                   ? own
                   : NULL;
    case MUTANT_COUNT:
        if (HCCL_STEP_PUBLISH == s->kind) {
            return excuse_publish(w, rank, kind, s);
        }
        return writes && is_dead(w, plan, step + 1, s->base, s->first + s->count - 1, 1) ? dead
                                                                                         : NULL;
    default:
        return NULL;
    }
}
