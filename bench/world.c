/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The communicators of problem.h.
 */
#include "problem.h"

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
