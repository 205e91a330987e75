/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover's life: start, runs, end, and the little that all its files use.
 */
#include "plan/check_internal.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Memory of one run: small pieces from a chunk that is kept, large ones of their own (fresh pages
 * that are never touched cost nothing). */
enum { CHUNK_BYTES = 1 << 17, LARGE_BYTES = 1 << 14 };

struct hccl_check_piece {
    struct hccl_check_piece *next;
    size_t used;
    _Alignas(16) char data[];
};

const hccl_cost_model_t hccl_cost_model_default = {
    .alpha_net = 2e-6,
    .beta_net = 1.0 / 12.5e9,
    .alpha_shm = 2e-7,
    .beta_shm = 1.0 / 10e9,
    .gamma = 1.0 / 10e9,
};

void hccl_check_fail(hccl_checker_t *k, const char *format, ...)
{
    if (k->failed) {
        return;
    }
    va_list args;
    va_start(args, format);
    vsnprintf(k->why, HCCL_CHECK_WHY, format, args);
    va_end(args);
    k->failed = true;
}

uint64_t hccl_check_mix(uint64_t x)
{
    x += UINT64_C(0x9e3779b97f4a7c15);
    x = (x ^ (x >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
    x = (x ^ (x >> 27)) * UINT64_C(0x94d049bb133111eb);
    return x ^ (x >> 31);
}

uint64_t hccl_check_random(hccl_checker_t *k)
{
    return hccl_check_mix(k->random++);
}

const char *hccl_check_step_name(int kind)
{
    static const char *const names[] = {"PUBLISH", "COPY", "FETCH", "REDUCE",
                                        "FOLD",    "SEND", "RECV",  "WAIT"};
    return 0 <= kind && kind <= HCCL_STEP_WAIT ? names[kind] : "(no step)";
}

static hccl_check_piece_t *new_piece(hccl_check_piece_t **list, size_t bytes)
{
    hccl_check_piece_t *piece = calloc(1, sizeof(*piece) + bytes);
    if (NULL != piece) {
        piece->next = *list;
        *list = piece;
    }
    return piece;
}

void *hccl_check_take(hccl_checker_t *k, size_t bytes)
{
    bytes = (bytes + 15) / 16 * 16;
    if (bytes > LARGE_BYTES) {
        hccl_check_piece_t *piece = new_piece(&k->large, bytes);
        if (NULL == piece) {
            hccl_check_fail(k, "no memory");
        }
        return NULL == piece ? NULL : piece->data;
    }
    if (NULL == k->current || k->current->used + bytes > CHUNK_BYTES) {
        hccl_check_piece_t *next = NULL == k->current ? k->chunks : k->current->next;
        if (NULL == next) {
            next = calloc(1, sizeof(*next) + CHUNK_BYTES);
            if (NULL == next) {
                hccl_check_fail(k, "no memory");
                return NULL;
            }
            *(NULL == k->current ? &k->chunks : &k->current->next) = next;
        }
        k->current = next;
        next->used = 0;
    }
    void *memory = k->current->data + k->current->used;
    k->current->used += bytes;
    return memset(memory, 0, bytes);
}

static void free_pieces(hccl_check_piece_t **list)
{
    while (NULL != *list) {
        hccl_check_piece_t *piece = *list;
        *list = piece->next;
        free(piece);
    }
}

/* ---- roles ------------------------------------------------------------------------------------ */

static bool is_neighbour(hccl_coll_t coll)
{
    return coll >= HCCL_COLL_NEIGHBOR_ALLGATHER && coll <= HCCL_COLL_NEIGHBOR_ALLTOALLW;
}

static hccl_grid_t grid_of(const hccl_case_t *c)
{
    const hccl_coll_info_t *info = &hccl_coll_info[c->coll];
    if (HCCL_HOLDS_NONE == info->recv) {
        return HCCL_GRID_NONE;
    }
    if (HCCL_HOLDS_VECTOR == info->recv) {
        return HCCL_GRID_VECTOR;
    }
    if (!info->shared_sizes) {
        return HCCL_GRID_PRIVATE;
    }
    if (HCCL_COLL_ALLGATHERV == c->coll) {
        return c->nremote > 0 ? HCCL_GRID_PRIVATE : HCCL_GRID_TABLE;
    }
    return HCCL_COLL_REDUCE_SCATTER == c->coll ? HCCL_GRID_TABLE : HCCL_GRID_EQUAL;
}

/* Positions of a buffer that holds `holds`. */
static int positions_of(const hccl_case_t *c, hccl_holds_t holds, bool sends, int nblocks)
{
    if (HCCL_HOLDS_OWN == holds) {
        return 1;
    }
    if (HCCL_HOLDS_VECTOR == holds) {
        return nblocks;
    }
    if (is_neighbour(c->coll)) {
        return sends ? c->ndests : c->nsources;
    }
    if (hccl_coll_info[c->coll].reduces || 0 == c->nremote) {
        return c->shape->nranks;
    }
    return c->nremote;
}

/* Which buffers a rank has, as MPI says which arguments are significant. */
static void set_role(hccl_checker_t *k, int rank)
{
    const hccl_case_t *c = &k->world.cases[rank];
    const hccl_coll_info_t *info = &hccl_coll_info[c->coll];
    hccl_role_t *role = &k->role[rank];
    bool inter = c->nremote > 0;
    bool idle = inter && info->rooted && HCCL_ROOT_NEAR == c->root;

    role->group = rank < k->split ? 0 : 1;
    role->first = 0 == role->group ? 0 : k->split;
    role->far = !inter ? -1 : 0 == role->group ? k->split : 0;
    role->node =
        c->shape->node_of[c->me] + (0 == role->group ? 0 : k->world.cases[0].shape->nnodes);
    role->root = info->rooted && (inter ? HCCL_ROOT_HERE == c->root : c->me == c->root);
    role->send = info->send;
    role->recv = info->recv;
    if (info->rooted) {
        bool far_root = inter && role->root;
        if (HCCL_COLL_BCAST == c->coll) {
            role->recv = idle ? HCCL_HOLDS_NONE : info->recv;
        } else if (HCCL_HOLDS_OWN == info->recv) { /* scatter */
            role->send = role->root ? info->send : HCCL_HOLDS_NONE;
            role->recv = idle || far_root ? HCCL_HOLDS_NONE : info->recv;
        } else {
            role->send = idle || far_root ? HCCL_HOLDS_NONE : info->send;
            role->recv = role->root ? info->recv : HCCL_HOLDS_NONE;
        }
    }
    int nblocks = k->world.plans[rank]->nblocks;
    role->nsend = HCCL_HOLDS_NONE == role->send ? 0 : positions_of(c, role->send, true, nblocks);
    role->nrecv = HCCL_HOLDS_NONE == role->recv ? 0 : positions_of(c, role->recv, false, nblocks);
}

/* ---- life ------------------------------------------------------------------------------------- */

static int set_up(hccl_checker_t *k)
{
    const hccl_case_t *first = &k->world.cases[0];
    size_t n = (size_t) k->world.n;
    hccl_coll_t coll = first->coll;
    k->grid = grid_of(first);
    k->barrier = HCCL_COLL_BARRIER == coll;
    k->neighbour = is_neighbour(coll);
    k->apart = 0 != k->world.plans[0]->apart;
    k->copies = HCCL_GRID_VECTOR == k->grid && 1 == k->world.plans[0]->nblocks;
    k->fixed = !k->copies
               && (HCCL_GRID_VECTOR == k->grid || HCCL_GRID_TABLE == k->grid
                   || hccl_coll_info[coll].reduces || HCCL_COLL_ALLGATHER == coll);
    k->split = first->shape->nranks;
    k->root = -1;
    k->nodes = first->shape->nnodes;
    if (k->world.n > k->split) {
        k->nodes += k->world.cases[k->split].shape->nnodes;
    }
    for (int i = 0; i < k->world.n; i++) {
        const hccl_plan_t *plan = k->world.plans[i];
        int positions = plan->nblocks > plan->tmp_blocks ? plan->nblocks : plan->tmp_blocks;
        k->npositions = positions > k->npositions ? positions : k->npositions;
    }
    size_t positions = (size_t) k->npositions + 1;
    k->before = calloc(positions, sizeof(*k->before));
    k->at = calloc(positions, sizeof(*k->at));
    k->role = calloc(n, sizeof(*k->role));
    k->pub_step = calloc(n, sizeof(*k->pub_step));
    if (NULL == k->role || NULL == k->pub_step || NULL == k->before || NULL == k->at) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < k->world.n; i++) {
        set_role(k, i);
        k->root = k->role[i].root ? i : k->root;
    }
    return HCCL_OK;
}

int hccl_check_start(const hccl_check_world_t *world, hccl_checker_t **checker, char *why)
{
    hccl_checker_t *k = calloc(1, sizeof(*k));
    if (NULL == k) {
        return HCCL_ERR_NOMEM;
    }
    k->world = *world;
    k->why = why;
    why[0] = '\0';
    int rc = set_up(k);
    if (HCCL_OK == rc) {
        rc = hccl_check_form(k);
    }
    if (HCCL_OK == rc) {
        rc = hccl_check_prepare_data(k);
    }
    if (HCCL_OK == rc && !k->failed) {
        rc = hccl_check_prepare_direct(k);
    }
    if (HCCL_OK == rc && k->failed) {
        rc = HCCL_ERR_INTERNAL;
    }
    if (HCCL_OK != rc) {
        hccl_check_end(k);
        return rc;
    }
    hccl_check_sample(k, k->npositions);
    *checker = k;
    return rc;
}

void hccl_check_sample(hccl_checker_t *k, int positions)
{
    int n = k->npositions;
    bool all = !k->fixed || k->world.n > k->split || positions >= n || positions < 2;
    k->tracked = 0;
    for (int i = 0; i < n; i++) {
        /* evenly spread: position i is followed when it begins a new one of `positions` parts */
        long long part = (long long) i * (positions - 1) / (n - 1 > 0 ? n - 1 : 1);
        long long last = (long long) (i - 1) * (positions - 1) / (n - 1 > 0 ? n - 1 : 1);
        bool follow = all || 0 == i || part != last;
        k->before[i] = k->tracked;
        if (follow) {
            k->at[k->tracked++] = i;
        }
    }
    k->before[n] = k->tracked;
}

int hccl_check_smallest_ring(const hccl_checker_t *k)
{
    return k->smallest_ring;
}

bool hccl_check_has_segments(const hccl_checker_t *k)
{
    bool inter = k->world.n > k->split; /* whose groups have blocks of different sizes */
    return HCCL_GRID_VECTOR == k->grid
           || (!inter && (HCCL_GRID_EQUAL == k->grid || HCCL_GRID_TABLE == k->grid));
}

bool hccl_check_has_in_place(const hccl_checker_t *k)
{
    const hccl_coll_info_t *info = &hccl_coll_info[k->world.cases[0].coll];
    bool copied = HCCL_HOLDS_GRID == info->send && !info->rooted;
    return k->world.n == k->split && HCCL_HOLDS_NONE != info->send && !copied && !k->neighbour;
}

int hccl_check_run(hccl_checker_t *k, const hccl_check_setup_t *setup, hccl_check_report_t *report)
{
    memset(report, 0, sizeof(*report));
    free_pieces(&k->large);
    k->current = NULL;
    k->why = report->why;
    k->failed = false;
    k->setup = *setup;
    k->report = report;
    k->random = setup->seed * UINT64_C(0x2545f4914f6cdd1d);
    if (NULL == k->setup.cost) {
        k->setup.cost = &hccl_cost_model_default;
    }
    hccl_check_walk(k);
    return k->failed ? HCCL_ERR_INTERNAL : HCCL_OK;
}

void hccl_check_end(hccl_checker_t *k)
{
    if (NULL == k) {
        return;
    }
    free_pieces(&k->large);
    free_pieces(&k->chunks);
    for (int i = 0; NULL != k->pub_step && i < k->world.n; i++) {
        free(k->pub_step[i]);
    }
    free(k->pub_step);
    free(k->role);
    free(k->before);
    free(k->at);
    free(k->prefix[0]);
    free(k->prefix[1]);
    free(k->power);
    free(k->readings);
    free(k->reading);
    free(k->half);
    free(k);
}
