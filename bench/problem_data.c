/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See problem.h: what goes into the buffers and what must come out.
 */
#include "problem_parts.h"

#include <stdio.h>
#include <string.h>

/* This rank's input of iteration k: where it lies, and in `s` what it is; NULL: it has none. A
 * broadcast hands on the same numbers whoever is root, so that a root that was not given them in the
 * iteration before passes on the damage. */
static unsigned char *input(const struct hccl_bench_problem *p, size_t k,
                            struct hccl_bench_stretch *s)
{
    enum hccl_bench_layout layout = p->q.collective->layout;
    int slot = (int) (k % (size_t) p->slots);
    bool root = p->calls[slot].root == p->w.rank;

    *s = (struct hccl_bench_stretch){.pattern = &p->own,
                                     .rank = (size_t) p->w.rank,
                                     .count = p->send_count,
                                     .salt = p->salt,
                                     .touch = k};
    if (HCCL_BENCH_BCAST == layout) {
        s->rank = 0;
        return root ? p->recv : NULL;
    }
    if (HCCL_BENCH_SCATTER == layout && !root) {
        return NULL;
    }
    if (!hccl_bench_problem_input_in_place(p, slot)) {
        return p->send;
    }
    if (HCCL_BENCH_GATHER == layout || HCCL_BENCH_ALLGATHER == layout) {
        return p->recv + (size_t) p->w.rank * p->count * p->q.type->size;
    }
    return p->recv;
}

void hccl_bench_problem_prepare(struct hccl_bench_problem *p, size_t salt, size_t k)
{
    struct hccl_bench_stretch s;
    unsigned char *at;

    p->salt = salt;
    memset(p->recv, HCCL_BENCH_SPOIL, p->recv_count * p->q.type->size);
    at = input(p, k, &s);
    if (NULL != at && at != p->send) {
        hccl_bench_pattern_fill(at, &s);
    }
    s = (struct hccl_bench_stretch){.pattern = &p->own,
                                    .rank = (size_t) p->w.rank,
                                    .count = p->send_count,
                                    .salt = salt,
                                    .touch = k};
    if (HCCL_BENCH_BCAST != p->q.collective->layout) {
        hccl_bench_pattern_fill(p->send, &s);
    }
}

void hccl_bench_problem_dirty(struct hccl_bench_problem *p, size_t k)
{
    struct hccl_bench_stretch s;
    unsigned char *at = input(p, k, &s);

    if (NULL == at) {
        return;
    }
    if (hccl_bench_problem_input_in_place(p, (int) (k % (size_t) p->slots))) {
        hccl_bench_pattern_fill(at, &s);
    } else {
        hccl_bench_pattern_touch(at, &s);
    }
}

/* What block b of the receive buffer must hold after iteration k. */
static struct hccl_bench_stretch outcome(const struct hccl_bench_problem *p, size_t k, size_t b)
{
    enum hccl_bench_layout layout = p->q.collective->layout;
    size_t slot = k % (size_t) p->slots, me = (size_t) p->w.rank;
    struct hccl_bench_stretch s = {
        .pattern = &p->own, .rank = b, .count = p->count, .salt = p->salt, .touch = k};

    if (hccl_bench_reduces(layout)) {
        s.pattern = &p->wanted[slot];
        s.rank = 0;
        s.first = HCCL_BENCH_REDUCE_SCATTER == layout ? me * p->count : 0;
    } else if (HCCL_BENCH_SCATTER == layout) {
        s.rank = (size_t) p->calls[slot].root;
        s.first = me * p->count;
    } else if (HCCL_BENCH_ALLTOALL == layout) {
        s.first = me * p->count;
    } else if (hccl_bench_is_neighbor(layout)) {
        /* I am my left neighbour's right one, its second, and my right neighbour's first. */
        s.rank = (size_t) p->w.neighbors[b];
        s.first =
            HCCL_BENCH_NEIGHBOR_ALLTOALL == layout && 2 == p->w.degree ? (1 - b) * p->count : 0;
    }
    return s;
}

/* How many blocks the receive buffer has that this rank may look at after iteration k. */
static size_t outcome_blocks(const struct hccl_bench_problem *p, size_t k)
{
    enum hccl_bench_layout layout = p->q.collective->layout;
    int slot = (int) (k % (size_t) p->slots);
    bool root = p->calls[slot].root == p->w.rank;

    switch (layout) {
    case HCCL_BENCH_NOTHING:
        return 0;
    case HCCL_BENCH_REDUCE:
        return root ? 1 : 0;
    case HCCL_BENCH_GATHER:
        return root ? hccl_bench_problem_blocks(p) : 0;
    case HCCL_BENCH_SCATTER:
        return root && p->q.in_place ? 0 : 1;
    case HCCL_BENCH_EXSCAN:
        return 0 == hccl_bench_problem_rank_in_slot(p, slot) ? 0 : 1;
    case HCCL_BENCH_ALLGATHER:
    case HCCL_BENCH_ALLTOALL:
    case HCCL_BENCH_NEIGHBOR_ALLGATHER:
    case HCCL_BENCH_NEIGHBOR_ALLTOALL:
        return hccl_bench_problem_blocks(p);
    default:
        return 1;
    }
}

static void tell(struct hccl_bench_problem *p, size_t element, const char *what)
{
    if (!p->told) {
        fprintf(stderr,
                "hccl_test: %s of %zu bytes: rank %d: element %zu of the receive buffer %s\n",
                p->q.collective->name, hccl_bench_actual_bytes(&p->q, p->w.size), p->w.rank,
                element, what);
    }
    p->told = true;
}

size_t hccl_bench_problem_check(struct hccl_bench_problem *p, size_t k)
{
    size_t wrong = 0, where = 0, n = outcome_blocks(p, k), size = p->q.type->size;
    const unsigned char *guard = p->recv + p->recv_count * size;

    for (size_t b = 0; b < n; b++) {
        struct hccl_bench_stretch s = outcome(p, k, b);
        size_t bad = hccl_bench_pattern_check(p->recv + b * p->count * size, &s, &where);
        if (0 < bad) {
            tell(p, b * p->count + where, "is wrong");
        }
        wrong += bad;
    }
    for (size_t i = 0; i < HCCL_BENCH_GUARD; i++) {
        if (HCCL_BENCH_SPOIL != guard[i]) {
            tell(p, p->recv_count, "lies past its end and was written");
            return wrong + 1;
        }
    }
    return wrong;
}
