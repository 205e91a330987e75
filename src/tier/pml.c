/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See pml.h.
 */
#include "tier/pml.h"

int hccl_pml_send(ompi_communicator_t *comm, int rank, int tag, const void *data, size_t bytes,
                  ompi_request_t **request)
{
    return MCA_PML_CALL(isend(data, bytes, &ompi_mpi_byte.dt, rank, tag, MCA_PML_BASE_SEND_STANDARD,
                              comm, request));
}

int hccl_pml_receive(ompi_communicator_t *comm, int rank, int tag, void *data, size_t bytes,
                     ompi_request_t **request)
{
    return MCA_PML_CALL(irecv(data, bytes, &ompi_mpi_byte.dt, rank, tag, comm, request));
}

void hccl_pml_cancel(ompi_request_t *request)
{
    (void) ompi_request_cancel(
        request); /* it cannot be if it is matched, and ends by itself then */
}
