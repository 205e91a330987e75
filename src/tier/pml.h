/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages over Open MPI's point-to-point layer, as packed bytes. The network tier that always works.
 * Called through tier.h alone.
 */
#ifndef HCCL_TIER_PML_H
#define HCCL_TIER_PML_H

#include "base/codes.h"
#include "compat/ompi.h"

/** Each returns an Open MPI error code. */
HCCL_CHECKED int hccl_pml_send(ompi_communicator_t *comm, int rank, int tag, const void *data,
                               size_t bytes, ompi_request_t **request);
HCCL_CHECKED int hccl_pml_receive(ompi_communicator_t *comm, int rank, int tag, void *data,
                                  size_t bytes, ompi_request_t **request);

/** A message that is being received, and that nobody will send, ends. */
void hccl_pml_cancel(ompi_request_t *request);

/** Whether the message has ended; then the request is freed. */
HCCL_CHECKED static inline bool hccl_pml_test(ompi_request_t **request, int *error)
{
    if (!REQUEST_COMPLETE(*request)) {
        return false;
    }
    opal_atomic_rmb(); /* completion, before the status and the data */
    *error = (*request)->req_status.MPI_ERROR;
    ompi_request_free(request);
    return true;
}

#endif
