/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Calls one collective again and again, checks what it delivers, and tells what the ranks sent through
 * Open MPI's point-to-point layer meanwhile: nothing, where all goes by RDMA.
 *
 *   wire allreduce|bcast BYTES CALLS
 *
 * BYTES is a multiple of 4. Two calls go before, which make connections. Each rank prints
 * "wire RANK MESSAGES BYTES". Exit code 1: something was wrong. It stands in front of the layer, as
 * tests/hosts/messages.c does, and knows nothing of the component.
 */
#include "ompi_config.h"

#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/mca/pml/pml.h"

static mca_pml_base_module_send_fn_t real_send;
static mca_pml_base_module_isend_fn_t real_isend;
static long messages, payload;

static void count(size_t elements, struct ompi_datatype_t *type)
{
    size_t size;
    ompi_datatype_type_size(type, &size);
    messages++;
    payload += (long) (elements * size);
}

static int counting_send(const void *buffer, size_t elements, struct ompi_datatype_t *type, int to,
                         int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t *comm)
{
    count(elements, type);
    return real_send(buffer, elements, type, to, tag, mode, comm);
}

static int counting_isend(const void *buffer, size_t elements, struct ompi_datatype_t *type, int to,
                          int tag, mca_pml_base_send_mode_t mode, ompi_communicator_t *comm,
                          ompi_request_t **request)
{
    count(elements, type);
    return real_isend(buffer, elements, type, to, tag, mode, comm, request);
}

/* One call; true when all its elements are right. Values stay exact: sums of small integers. */
static bool call(bool reduces, int32_t *from, int32_t *to, int n, int round, int rank, int ranks)
{
    const int others = reduces ? ranks * (ranks - 1) / 2 : 0;
    const int factor = reduces ? ranks : 1;
    for (int i = 0; i < n; i++) {
        from[i] = i % 1000 + round + (reduces ? rank : 0);
        to[i] = reduces || 0 != rank ? -1 : from[i];
    }
    if (reduces) {
        MPI_Allreduce(from, to, n, MPI_INT32_T, MPI_SUM, MPI_COMM_WORLD);
    } else {
        MPI_Bcast(to, n, MPI_INT32_T, 0, MPI_COMM_WORLD);
    }
    for (int i = 0; i < n; i++) {
        if (factor * (i % 1000 + round) + others != to[i]) {
            printf("wire: rank %d, call %d, element %d: %d\n", rank, round, i, (int) to[i]);
            return false;
        }
    }
    return true;
}

int main(int argc, char **argv)
{
    int rank, ranks;
    bool right = true;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    const int n = 4 == argc ? atoi(argv[2]) / 4 : 0, calls = 4 == argc ? atoi(argv[3]) : 0;
    if (0 >= n || 0 > calls
        || (0 != strcmp("allreduce", argv[1]) && 0 != strcmp("bcast", argv[1]))) {
        fprintf(stderr, "usage: wire allreduce|bcast BYTES CALLS\n");
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    const bool reduces = 0 == strcmp("allreduce", argv[1]);
    int32_t *from = malloc((size_t) n * sizeof(*from)), *to = malloc((size_t) n * sizeof(*to));
    if (NULL == from || NULL == to) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    for (int round = -2; right && round < calls; round++) {
        if (0 == round) {
            real_send = mca_pml.pml_send;
            real_isend = mca_pml.pml_isend;
            mca_pml.pml_send = counting_send;
            mca_pml.pml_isend = counting_isend;
        }
        right = call(reduces, from, to, n, round, rank, ranks);
    }
    printf("wire %d %ld %ld\n", rank, messages, payload);
    free(from);
    free(to);
    fflush(stdout);
    if (!right) {
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
    return 0;
}
