/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Reduce_scatter in its three forms.
 */
#include "entry/entry.h"

static hccl_call_t describe(int rank, const void *sbuf, void *rbuf, const int *rcounts,
                            ompi_datatype_t *type, ompi_op_t *op)
{
    return (hccl_call_t){
        .coll = HCCL_COLL_REDUCE_SCATTER,
        .op = op,
        .send = {.buf = sbuf, .counts = rcounts, .type = type},
        .recv = {.buf = rbuf, .count = (size_t) rcounts[rank], .type = type},
    };
}

int hccl_entry_reduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
                              ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                              mca_coll_base_module_t *module)
{
    return hccl_entry_run(module, describe(ompi_comm_rank(comm), sbuf, rbuf, rcounts, type, op));
}

int hccl_entry_ireduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
                               ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                               ompi_request_t **request, mca_coll_base_module_t *module)
{
    return hccl_entry_start(module, describe(ompi_comm_rank(comm), sbuf, rbuf, rcounts, type, op),
                            request);
}

int hccl_entry_reduce_scatter_init(const void *sbuf, void *rbuf, const int *rcounts,
                                   ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                                   hccl_compat_info_t *info, ompi_request_t **request,
                                   mca_coll_base_module_t *module)
{
    (void) info;
    return hccl_entry_keep(module, describe(ompi_comm_rank(comm), sbuf, rbuf, rcounts, type, op),
                           request);
}
