/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Alltoall on one node and flat; alltoallv and alltoallw flat. Those of one node need equal blocks,
 * because a publication is cut by what its reader knows.
 */
#include "algo/parts.h"

/* RECV's block of a peer in my node = what it has for me in its publication. */
static void fetch_mine(hccl_builder_t *b, const hccl_case_t *c, int peer, int pub, int pub_first)
{
    hccl_build_fetch(b, HCCL_BASE_RECV, peer, 1, peer, pub, pub_first, c->me);
}

/* One publication per pair, in rotated order: segments as long as those of one block. My own block is
 * copied while the first peer makes its publication. */
int hccl_algo_alltoall_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks, me = c->me;
    hccl_builder_t *b = hccl_build_start(c, algorithm, n);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int pub = hccl_build_publications(b, n - 1, 1);

    for (int t = 1; t < n; t++) {
        hccl_build_publish(b, pub + t - 1, HCCL_BASE_SEND, (me + t) % n, 1);
        if (1 == t) {
            hccl_part_own(b, c);
        }
        fetch_mine(b, c, (me - t + n) % n, pub + t - 1, me);
    }
    return hccl_build_finish(b, plan);
}

/* All blocks at once: fewest flags. */
int hccl_algo_alltoall_mesh_row(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks, me = c->me;
    hccl_builder_t *b = hccl_build_start(c, algorithm, n);
    const hccl_slices_t row = {n, 0, hccl_map_even(0, 1)};

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int pub = hccl_part_node_publish(b, c, &row, HCCL_BASE_SEND);

    hccl_part_own(b, c);
    for (int peer = 0; peer < n; peer++) {
        if (peer != me) {
            int pub_first;
            const int number = hccl_part_node_pub(&row, pub, peer, me, &pub_first);

            fetch_mine(b, c, peer, number, pub_first);
        }
    }
    return hccl_build_finish(b, plan);
}

/* My exchange with the ranks `ahead` and `behind`. */
static void exchange(hccl_builder_t *b, int ahead, int behind)
{
    hccl_build_send(b, ahead, HCCL_BASE_SEND, ahead, 1);
    hccl_build_recv(b, behind, HCCL_BASE_RECV, behind, 1);
}

static int direct(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, bool at_once)
{
    const int n = c->shape->nranks;
    hccl_builder_t *b = hccl_build_start(c, algorithm, n);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    for (int t = 1; t < n; t++) {
        exchange(b, (c->me + t) % n, (c->me - t + n) % n);
        if (!at_once && 1 == t) {
            hccl_part_own(b, c);
        }
        if (!at_once) {
            hccl_build_wait(b);
        }
    }
    if (at_once || 1 == n) {
        hccl_part_own(b, c);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_alltoall_pairwise(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return direct(c, algorithm, plan, false);
}

int hccl_algo_alltoall_star(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return direct(c, algorithm, plan, true);
}

/* One round of Bruck's exchange: the blocks of `all` that have still `distance` ranks to go move
 * there, packed into `out` and unpacked from `in`. They come in runs of `distance` blocks. */
static void bruck_round(hccl_builder_t *b, int n, int me, int distance, int all, int out, int in)
{
    int packed = 0;

    for (int i = distance; i < n; i += 2 * distance) {
        const int run = i + distance <= n ? distance : n - i;

        hccl_build_copy(b, out, packed, run, all, i);
        packed += run;
    }
    hccl_build_send(b, (me + distance) % n, out, 0, packed);
    hccl_build_recv(b, (me - distance + n) % n, in, 0, packed);
    hccl_build_wait(b);
    packed = 0;
    for (int i = distance; i < n; i += 2 * distance) {
        const int run = i + distance <= n ? distance : n - i;

        hccl_build_copy(b, all, i, run, in, packed);
        packed += run;
    }
}

int hccl_algo_alltoall_bruck(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    const int n = c->shape->nranks, me = c->me;
    hccl_builder_t *b = hccl_build_start(c, algorithm, n);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int all = hccl_build_scratch(b, n); /* block i has i ranks to go, then came i ranks far */
    const int out = hccl_build_scratch(b, n), in = hccl_build_scratch(b, n);

    hccl_part_own(b, c);
    if (1 < n) {
        hccl_build_copy(b, all, 0, n - me, HCCL_BASE_SEND, me);
        if (0 < me) {
            hccl_build_copy(b, all, n - me, me, HCCL_BASE_SEND, 0);
        }
    }
    for (int distance = 1; distance < n; distance *= 2) {
        bruck_round(b, n, me, distance, all, out, in);
    }
    for (int i = 1; i < n; i++) {
        hccl_build_copy(b, HCCL_BASE_RECV, (me - i + n) % n, 1, all, i);
    }
    return hccl_build_finish(b, plan);
}
