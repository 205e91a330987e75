/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See problem.h: making, calling and freeing a problem.
 */
#include "problem_parts.h"

#include <stdlib.h>
#include <string.h>

enum { PAGE = 4096 };

size_t hccl_bench_problem_blocks(const struct hccl_bench_problem *p)
{
    return hccl_bench_is_neighbor(p->q.collective->layout) ? (size_t) p->w.degree
                                                           : (size_t) p->w.size;
}

static void set_buffer_counts(struct hccl_bench_problem *p)
{
    size_t one = p->count, all = p->count * hccl_bench_problem_blocks(p);

    p->send_count = p->recv_count = one;
    switch (p->q.collective->layout) {
    case HCCL_BENCH_NOTHING:
        p->send_count = p->recv_count = 0;
        break;
    case HCCL_BENCH_GATHER:
    case HCCL_BENCH_ALLGATHER:
    case HCCL_BENCH_NEIGHBOR_ALLGATHER:
        p->recv_count = all;
        break;
    case HCCL_BENCH_SCATTER:
        p->send_count = all;
        break;
    case HCCL_BENCH_ALLTOALL:
    case HCCL_BENCH_NEIGHBOR_ALLTOALL:
    case HCCL_BENCH_REDUCE_SCATTER:
        p->send_count = p->recv_count = all;
        break;
    default:
        break;
    }
}

static unsigned char *get_memory(const struct hccl_bench_problem *p, size_t count, void **memory)
{
    size_t bytes = p->q.offset + count * p->q.type->size + HCCL_BENCH_GUARD;

    if (p->q.mpi_memory) {
        if (MPI_SUCCESS != MPI_Alloc_mem((MPI_Aint) bytes, MPI_INFO_NULL, memory)) {
            *memory = NULL;
        }
    } else if (0 != posix_memalign(memory, PAGE, bytes)) {
        *memory = NULL;
    }
    if (NULL == *memory) {
        return NULL;
    }
    memset(*memory, HCCL_BENCH_SPOIL, bytes);
    return (unsigned char *) *memory + p->q.offset;
}

static void free_memory(const struct hccl_bench_problem *p, void *memory)
{
    if (p->q.mpi_memory && NULL != memory) {
        MPI_Free_mem(memory);
    } else {
        free(memory);
    }
}

bool hccl_bench_problem_input_in_place(const struct hccl_bench_problem *p, int slot)
{
    enum hccl_bench_layout layout = p->q.collective->layout;

    if (!p->q.in_place || HCCL_BENCH_SCATTER == layout) {
        return false;
    }
    return !hccl_bench_has_root(layout) || p->calls[slot].root == p->w.rank;
}

int hccl_bench_problem_rank_in_slot(const struct hccl_bench_problem *p, int slot)
{
    return p->calls[slot].comm == p->w.reversed ? p->w.size - 1 - p->w.rank : p->w.rank;
}

static void set_call(struct hccl_bench_problem *p, int slot)
{
    enum hccl_bench_layout layout = p->q.collective->layout;
    struct hccl_bench_call *c = &p->calls[slot];
    size_t n = hccl_bench_problem_blocks(p);
    bool scan = HCCL_BENCH_SCAN == layout || HCCL_BENCH_EXSCAN == layout;

    c->root = !hccl_bench_has_root(layout) ? -1 : p->q.root < 0 ? slot : p->q.root;
    c->comm = hccl_bench_is_neighbor(layout) ? p->w.ring
              : scan && 1 == slot            ? p->w.reversed
                                             : p->w.comm;
    c->type = p->q.type->mpi;
    c->op = p->q.op->mpi;
    c->count = c->send_count = c->recv_count = (int) p->count;
    c->counts = p->numbers;
    c->displs = p->numbers + n;
    c->byte_displs = p->numbers + 2 * n;
    c->address_displs = p->addresses;
    c->types = p->types;
    c->send = p->send;
    c->recv = p->recv;
    if (hccl_bench_problem_input_in_place(p, slot)) {
        c->send = MPI_IN_PLACE;
        c->send_count = 0;
    } else if (p->q.in_place && HCCL_BENCH_SCATTER == layout && c->root == p->w.rank) {
        c->recv = MPI_IN_PLACE;
        c->recv_count = 0;
    }
}

/* The reduction each slot must give at this rank; rank 0 of an exscan is given nothing. */
static void set_wanted(struct hccl_bench_problem *p)
{
    enum hccl_bench_op_kind op = p->q.op->kind;
    size_t last = (size_t) p->w.size - 1, me = (size_t) p->w.rank;

    for (int slot = 0; slot < p->slots; slot++) {
        bool reversed = p->calls[slot].comm == p->w.reversed;
        size_t from = 0, to = last;
        if (HCCL_BENCH_SCAN == p->q.collective->layout) {
            from = reversed ? me : 0;
            to = reversed ? last : me;
        } else if (HCCL_BENCH_EXSCAN == p->q.collective->layout) {
            if (0 == hccl_bench_problem_rank_in_slot(p, slot)) {
                continue;
            }
            from = reversed ? me + 1 : 0;
            to = reversed ? last : me - 1;
        }
        hccl_bench_pattern_make(&p->wanted[slot], p->q.type, op, from, to);
    }
}

static bool get_arrays(struct hccl_bench_problem *p)
{
    size_t n = hccl_bench_problem_blocks(p), slots = (size_t) p->slots;

    p->calls = calloc(slots, sizeof *p->calls);
    p->requests = calloc(slots, sizeof *p->requests);
    p->wanted = calloc(hccl_bench_reduces(p->q.collective->layout) ? slots : 1, sizeof *p->wanted);
    p->numbers = calloc(3 * n, sizeof *p->numbers);
    p->addresses = calloc(n, sizeof *p->addresses);
    p->types = calloc(n, sizeof *p->types);
    if (NULL == p->calls || NULL == p->requests || NULL == p->wanted || NULL == p->numbers
        || NULL == p->addresses || NULL == p->types) {
        return false;
    }
    for (size_t i = 0; i < n; i++) {
        size_t bytes = i * p->count * p->q.type->size;
        p->numbers[i] = (int) p->count;
        p->numbers[n + i] = (int) (i * p->count);
        p->numbers[2 * n + i] = (int) bytes;
        p->addresses[i] = (MPI_Aint) bytes;
        p->types[i] = p->q.type->mpi;
    }
    for (int slot = 0; slot < p->slots; slot++) {
        p->requests[slot] = MPI_REQUEST_NULL;
    }
    return true;
}

struct hccl_bench_problem *hccl_bench_problem_make(const struct hccl_bench_request *q,
                                                   const struct hccl_bench_world *w)
{
    enum hccl_bench_layout layout = q->collective->layout;
    struct hccl_bench_problem *p = calloc(1, sizeof *p);

    if (NULL == p) {
        return NULL;
    }
    p->q = *q;
    p->w = *w;
    p->count = hccl_bench_block_count(q, w->size);
    p->slots = 1;
    if (hccl_bench_has_root(layout) && q->root < 0) {
        p->slots = w->size;
    } else if (HCCL_BENCH_SCAN == layout || HCCL_BENCH_EXSCAN == layout) {
        p->slots = 2;
    }
    set_buffer_counts(p);
    p->send = get_memory(p, p->send_count, &p->send_memory);
    p->recv = get_memory(p, p->recv_count, &p->recv_memory);
    if (NULL == p->send || NULL == p->recv || !get_arrays(p)) {
        hccl_bench_problem_free(p);
        return NULL;
    }
    for (int slot = 0; slot < p->slots; slot++) {
        set_call(p, slot);
    }
    hccl_bench_pattern_make(&p->own, q->type,
                            hccl_bench_reduces(layout) ? q->op->kind : HCCL_BENCH_SUM, 0, 0);
    if (hccl_bench_reduces(layout)) {
        set_wanted(p);
    }
    return p;
}

void hccl_bench_problem_arm(struct hccl_bench_problem *p)
{
    for (int slot = 0; HCCL_BENCH_PERSISTENT == p->q.mode && slot < p->slots; slot++) {
        p->q.collective->call(&p->calls[slot], p->q.mode, &p->requests[slot]);
    }
}

void hccl_bench_problem_free(struct hccl_bench_problem *p)
{
    if (NULL == p) {
        return;
    }
    for (int slot = 0; NULL != p->requests && slot < p->slots; slot++) {
        if (HCCL_BENCH_PERSISTENT == p->q.mode && MPI_REQUEST_NULL != p->requests[slot]) {
            MPI_Request_free(&p->requests[slot]);
        }
    }
    free_memory(p, p->send_memory);
    free_memory(p, p->recv_memory);
    free(p->calls);
    free(p->requests);
    free(p->wanted);
    free(p->numbers);
    free(p->addresses);
    free(p->types);
    free(p);
}

int hccl_bench_problem_slots(const struct hccl_bench_problem *p)
{
    return p->slots;
}

void hccl_bench_problem_call(struct hccl_bench_problem *p, size_t k)
{
    size_t slot = k % (size_t) p->slots;

    switch (p->q.mode) {
    case HCCL_BENCH_BLOCKING:
        p->q.collective->call(&p->calls[slot], p->q.mode, NULL);
        return;
    case HCCL_BENCH_NONBLOCKING:
        p->q.collective->call(&p->calls[slot], p->q.mode, &p->requests[0]);
        MPI_Wait(&p->requests[0], MPI_STATUS_IGNORE);
        return;
    default:
        MPI_Start(&p->requests[slot]);
        MPI_Wait(&p->requests[slot], MPI_STATUS_IGNORE);
        return;
    }
}
