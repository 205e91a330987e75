/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The communicators of problem.h and the arithmetic of sizes.
 */
#include "problem.h"

#include <limits.h>

/* Distinct neighbours only: with double edges MPI leaves open which block goes where. */
void hccl_bench_world_open(struct hccl_bench_world *w, MPI_Comm comm)
{
    const int weights[2] = {1, 1};

    w->comm = comm;
    MPI_Comm_rank(comm, &w->rank);
    MPI_Comm_size(comm, &w->size);
    MPI_Comm_split(comm, 0, w->size - w->rank, &w->reversed);
    w->neighbors[0] = (w->rank + w->size - 1) % w->size;
    w->neighbors[1] = (w->rank + 1) % w->size;
    w->degree = 3 <= w->size ? 2 : 1;
    MPI_Dist_graph_create_adjacent(comm, w->degree, w->neighbors, weights, w->degree, w->neighbors,
                                   weights, MPI_INFO_NULL, 0, &w->ring);
}

void hccl_bench_world_close(struct hccl_bench_world *w)
{
    MPI_Comm_free(&w->reversed);
    MPI_Comm_free(&w->ring);
}

size_t hccl_bench_block_count(const struct hccl_bench_request *q, int size)
{
    size_t parts = HCCL_BENCH_REDUCE_SCATTER == q->collective->layout ? (size_t) size : 1;
    size_t count = q->bytes / q->type->size / parts;

    return 0 == count && 0 < q->bytes ? 1 : count;
}

size_t hccl_bench_actual_bytes(const struct hccl_bench_request *q, int size)
{
    size_t parts = HCCL_BENCH_REDUCE_SCATTER == q->collective->layout ? (size_t) size : 1;

    return hccl_bench_block_count(q, size) * parts * q->type->size;
}

const char *hccl_bench_too_large(const struct hccl_bench_request *q, int size)
{
    size_t count = hccl_bench_block_count(q, size);

    if (INT_MAX < count) {
        return "more than 2147483647 elements in one block";
    }
    if (HCCL_BENCH_NOTHING != q->collective->layout && INT_MAX / (size_t) size < count) {
        return "the displacements of all ranks' blocks exceed 2147483647 elements";
    }
    if (HCCL_BENCH_ALLTOALL == q->collective->layout
        && INT_MAX / (size_t) size / q->type->size < count) {
        return "the displacements of all ranks' blocks exceed 2147483647 bytes";
    }
    return NULL;
}
