/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover: what data stand for. Every contribution has a random 64-bit id; a cell keeps the sum of
 * the ids that were combined (who), a polynomial in them (in which order) and a hash of the
 * expression (by which association). Collectives that only move give an id to each block of each
 * rank. Also what each collective's result must be.
 */
#include "plan/check_internal.h"

#include <stdlib.h>
#include <string.h>

/* The polynomial's modulus, a prime, and its base. */
#define PRIME ((UINT64_C(1) << 61) - 1)
#define BASE UINT64_C(0x1c3a95d7f2b46e81)

static uint64_t multiply(uint64_t a, uint64_t b)
{
    unsigned __int128 product = (unsigned __int128) a * b;
    uint64_t folded = (uint64_t) (product & PRIME) + (uint64_t) (product >> 61);
    return folded >= PRIME ? folded - PRIME : folded;
}

hccl_cell_t hccl_check_contribution(uint64_t who, uint64_t block)
{
    uint64_t id = hccl_check_mix(who << 32 | block);
    return (hccl_cell_t){.n = 1, .sum = id, .order = id % PRIME, .tree = id};
}

void hccl_check_combine(const hccl_checker_t *k, hccl_cell_t *left, const hccl_cell_t *right)
{
    uint32_t limit = 2 * (uint32_t) k->world.n; /* more is wrong anyhow */
    uint64_t shifted = multiply(left->order, k->power[right->n < limit ? right->n : limit]);
    left->order = (shifted + right->order) % PRIME;
    left->tree = hccl_check_mix(left->tree * 3 ^ hccl_check_mix(right->tree));
    left->sum += right->sum;
    left->n += right->n;
}

int hccl_check_prepare_data(hccl_checker_t *k)
{
    size_t powers = 2 * (size_t) k->world.n + 1;
    k->power = malloc(powers * sizeof(uint64_t));
    if (NULL == k->power) {
        return HCCL_ERR_NOMEM;
    }
    k->power[0] = 1;
    for (size_t i = 1; i < powers; i++) {
        k->power[i] = multiply(k->power[i - 1], BASE % PRIME);
    }
    for (int g = 0; g < (k->world.n > k->split ? 2 : 1); g++) {
        int first = 0 == g ? 0 : k->split, end = 0 == g ? k->split : k->world.n;
        k->prefix[g] = calloc((size_t) (end - first) + 1, sizeof(hccl_cell_t));
        if (NULL == k->prefix[g]) {
            return HCCL_ERR_NOMEM;
        }
        for (int i = 0; i < end - first; i++) {
            hccl_cell_t one = hccl_check_contribution((uint64_t) (first + i), 0);
            k->prefix[g][i + 1] = k->prefix[g][i];
            hccl_check_combine(k, &k->prefix[g][i + 1], &one);
        }
    }
    return HCCL_OK;
}

/* ---- cells ------------------------------------------------------------------------------------ */

/* The position of a rank's own block. */
static int own_position(const hccl_checker_t *k, int rank)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    int me = k->world.cases[rank].me;
    for (int i = 0; NULL != plan->order && i < plan->nblocks; i++) {
        if (plan->order[i] == me) {
            return i;
        }
    }
    return me < k->npositions ? me : 0;
}

hccl_cell_t *hccl_check_cells(const hccl_checker_t *k, int rank, const hccl_walker_t *c, int base,
                              int first, int count, int *n)
{
    *n = 0;
    if (0 == count) {
        return NULL;
    }
    if (HCCL_HOLDS_OWN == hccl_check_holds(&k->role[rank], base)) {
        *n = k->rank[rank].own_followed;
        return HCCL_BASE_SEND == base ? c->send : c->recv;
    }
    *n = k->before[first + count] - k->before[first];
    if (HCCL_BASE_SEND == base) {
        return c->send + k->before[first];
    }
    if (HCCL_BASE_RECV == base) {
        return c->recv + k->before[first];
    }
    int area = k->before[k->world.plans[rank]->tmp_blocks];
    return c->tmp + (size_t) (base - HCCL_BASE_TMP) * (size_t) area + k->before[first];
}

/* What a rank's send buffer (or a bcast's root's receive buffer) holds at a position. */
static hccl_cell_t given(const hccl_checker_t *k, int rank, hccl_holds_t holds, int position)
{
    const hccl_case_t *c = &k->world.cases[rank];
    if (hccl_coll_info[c->coll].reduces) {
        return hccl_check_contribution((uint64_t) rank, 0);
    }
    if (HCCL_HOLDS_OWN == holds) {
        return hccl_check_contribution((uint64_t) rank, (uint64_t) c->me);
    }
    int block = hccl_check_block(k, rank, HCCL_BASE_TMP, position);
    return hccl_check_contribution((uint64_t) rank, (uint64_t) block);
}

int hccl_check_allocate(hccl_checker_t *k, int rank)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    const hccl_role_t *role = &k->role[rank];
    hccl_walk_rank_t *w = &k->rank[rank];
    int own = own_position(k, rank);
    int nsend = HCCL_HOLDS_OWN == role->send ? 1 : k->before[role->nsend];
    int nrecv = HCCL_HOLDS_OWN == role->recv ? 1 : k->before[role->nrecv];
    size_t ntmp = (size_t) plan->ntmp * (size_t) k->before[plan->tmp_blocks];
    w->own_position = own;
    w->own_followed = k->tracked == k->npositions ? 1 : k->before[own + 1] - k->before[own];
    for (int i = 0; i < k->ncursors; i++) {
        hccl_walker_t *c = &w->cursor[i];
        c->send = hccl_check_take(k, (size_t) nsend * sizeof(hccl_cell_t));
        c->recv = hccl_check_take(k, (size_t) nrecv * sizeof(hccl_cell_t));
        c->tmp = hccl_check_take(k, ntmp * sizeof(hccl_cell_t));
        c->seen = hccl_check_clock(k, NULL, NULL);
        if (k->failed) {
            return HCCL_ERR_NOMEM;
        }
        if (!k->setup.in_place || HCCL_HOLDS_NONE == role->send || HCCL_HOLDS_NONE == role->recv) {
            continue;
        }
        if (HCCL_HOLDS_OWN == role->send) {
            c->send = c->recv + k->before[own];
        } else if (HCCL_HOLDS_OWN == role->recv) {
            c->recv = c->send + k->before[own];
        } else {
            c->recv = c->send;
        }
    }
    return HCCL_OK;
}

void hccl_check_fill(hccl_checker_t *k, int rank, hccl_walker_t *c)
{
    const hccl_role_t *role = &k->role[rank];
    const hccl_plan_t *plan = k->world.plans[rank];
    if (c->seg >= k->ncursors) { /* used before */
        size_t ntmp = (size_t) plan->ntmp * (size_t) k->before[plan->tmp_blocks];
        int nrecv = HCCL_HOLDS_OWN == role->recv ? 1 : k->before[role->nrecv];
        memset(c->tmp, 0, ntmp * sizeof(hccl_cell_t));
        memset(c->recv, 0, (size_t) nrecv * sizeof(hccl_cell_t));
    }
    if (HCCL_HOLDS_OWN == role->send) {
        if (k->rank[rank].own_followed) {
            *c->send = given(k, rank, role->send, 0);
        }
    } else {
        int n = k->before[role->nsend];
        for (int i = 0; i < n; i++) {
            c->send[i] = given(k, rank, role->send, k->at[i]);
        }
    }
    if (HCCL_COLL_BCAST == plan->coll && role->root) {
        int n = k->before[role->nrecv];
        for (int i = 0; i < n; i++) {
            c->recv[i] = given(k, rank, role->recv, k->at[i]);
        }
    }
}

/* ---- results ---------------------------------------------------------------------------------- */

/* Which block of its sender a neighbour's block is; on a grid the one sent the opposite way, else the
 * k-th to me when it is my k-th from him. -1: none. */
static int neighbour_block(const hccl_checker_t *k, int rank, int position)
{
    const hccl_case_t *c = &k->world.cases[rank];
    const hccl_case_t *from = &k->world.cases[c->sources[position]];
    int nth = 0;
    if (c->cartesian) {
        return position ^ 1;
    }
    for (int i = 0; i < position; i++) {
        nth += c->sources[i] == c->sources[position];
    }
    for (int i = 0; i < from->ndests; i++) {
        if (from->dests[i] == rank && 0 == nth--) {
            return i;
        }
    }
    return -1;
}

/* What a position of a receive buffer must hold, for collectives that move. n 0: nothing. */
static hccl_cell_t expected_move(const hccl_checker_t *k, int rank, int position)
{
    const hccl_case_t *c = &k->world.cases[rank];
    const hccl_role_t *role = &k->role[rank];
    int first = role->far >= 0 ? role->far : role->first;
    int block = hccl_check_block(k, rank, HCCL_BASE_TMP, position);
    switch (c->coll) {
    case HCCL_COLL_BCAST:
        return hccl_check_contribution((uint64_t) k->root, (uint64_t) block);
    case HCCL_COLL_SCATTER:
    case HCCL_COLL_SCATTERV:
        return hccl_check_contribution((uint64_t) k->root, (uint64_t) c->me);
    case HCCL_COLL_ALLTOALL:
    case HCCL_COLL_ALLTOALLV:
    case HCCL_COLL_ALLTOALLW:
        return hccl_check_contribution((uint64_t) (first + block), (uint64_t) c->me);
    case HCCL_COLL_NEIGHBOR_ALLGATHER:
    case HCCL_COLL_NEIGHBOR_ALLGATHERV:
    case HCCL_COLL_NEIGHBOR_ALLTOALL:
    case HCCL_COLL_NEIGHBOR_ALLTOALLV:
    case HCCL_COLL_NEIGHBOR_ALLTOALLW:
        if (c->sources[position] < 0) {
            return (hccl_cell_t){.n = 0};
        }
        block = HCCL_HOLDS_OWN == role->send ? c->sources[position]
                                             : neighbour_block(k, rank, position);
        return hccl_check_contribution((uint64_t) c->sources[position], (uint64_t) block);
    default:
        return hccl_check_contribution((uint64_t) (first + block), (uint64_t) block);
    }
}

static hccl_cell_t expected(const hccl_checker_t *k, int rank, int position)
{
    const hccl_case_t *c = &k->world.cases[rank];
    const hccl_role_t *role = &k->role[rank];
    if (!hccl_coll_info[c->coll].reduces) {
        return expected_move(k, rank, position);
    }
    if (HCCL_COLL_SCAN == c->coll) {
        return k->prefix[0][c->me + 1];
    }
    if (HCCL_COLL_EXSCAN == c->coll) {
        bool kept = 0 == c->me && k->setup.in_place;
        return k->prefix[0][kept ? 1 : c->me];
    }
    int group = role->far >= 0 ? 1 - role->group : role->group;
    int lead = 0 == group ? 0 : k->split;
    return k->prefix[group][k->world.cases[lead].shape->nranks];
}

/* Says what a cell holds that should hold something else. */
static void wrong_cell(hccl_checker_t *k, int rank, const hccl_walker_t *c, int position,
                       const hccl_cell_t *is, const hccl_cell_t *must)
{
    bool reduces = hccl_coll_info[k->world.cases[0].coll].reduces;
    const char *what = is->n == must->n && is->sum == must->sum ? "in another order than rank order"
                       : 0 == is->n                             ? "nothing"
                       : is->n == must->n && reduces ? "as many contributions, but not each once"
                       : reduces                     ? "the wrong number of contributions"
                                                     : "another block";
    int origin = -1, block = -1;
    for (int i = 0; 1 == is->n && !reduces && i < k->world.n && i < 512; i++) {
        for (int j = 0; j <= k->npositions && j < 512; j++) {
            if (hccl_check_contribution((uint64_t) i, (uint64_t) j).sum == is->sum) {
                origin = i;
                block = j;
            }
        }
    }
    if (origin >= 0) {
        hccl_check_fail(k, "rank %d segment %d: position %d ends with block %d of rank %d", rank,
                        c->seg, position, block, origin);
    } else {
        hccl_check_fail(k, "rank %d segment %d: position %d ends with %s (%u for %u)", rank, c->seg,
                        position, what, (unsigned) is->n, (unsigned) must->n);
    }
}

static void check_cell(hccl_checker_t *k, int rank, const hccl_walker_t *c, int number,
                       const hccl_cell_t *is)
{
    const hccl_role_t *role = &k->role[rank];
    bool own = HCCL_HOLDS_OWN == role->recv;
    int position = own ? k->rank[rank].own_position : k->at[number];
    uint64_t units = hccl_check_units(k, rank, c->seg, HCCL_BASE_RECV, position, 1);
    if (0 == units) {
        return;
    }
    hccl_cell_t must = expected(k, rank, position);
    bool ordered = k->world.ordered && hccl_coll_info[k->world.cases[0].coll].reduces;
    if (is->n != must.n || is->sum != must.sum || (ordered && is->order != must.order)) {
        wrong_cell(k, rank, c, position, is, &must);
        return;
    }
    if (HCCL_COLL_ALLREDUCE == k->world.cases[0].coll) {
        uint64_t *tree = &k->tree[role->group][number];
        if (0 == *tree) {
            *tree = is->tree;
        } else if (*tree != is->tree) {
            hccl_check_fail(k,
                            "rank %d segment %d: position %d is combined by another association "
                            "or operand order than elsewhere",
                            rank, c->seg, position);
        }
    }
}

void hccl_check_result(hccl_checker_t *k, int rank, const hccl_walker_t *c)
{
    const hccl_role_t *role = &k->role[rank];
    if (HCCL_HOLDS_NONE == role->recv) {
        return;
    }
    int n = HCCL_HOLDS_OWN == role->recv ? k->rank[rank].own_followed : k->before[role->nrecv];
    for (int i = 0; i < n && !k->failed; i++) {
        check_cell(k, rank, c, i, &c->recv[i]);
    }
}
