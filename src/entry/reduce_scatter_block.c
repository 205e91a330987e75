/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Reduce_scatter_block in its three forms.
 */
#include "entry/entry.h"

static hccl_call_t describe(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *type,
                            ompi_op_t *op)
{
    return (hccl_call_t){
        .coll = HCCL_COLL_REDUCE_SCATTER_BLOCK,
        .op = op,
        .send = {.buf = sbuf, .count = (size_t) rcount, .type = type},
        .recv = {.buf = rbuf, .count = (size_t) rcount, .type = type},
    };
}

int hccl_entry_reduce_scatter_block(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *type,
                                    ompi_op_t *op, ompi_communicator_t *comm,
                                    mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_run(module, describe(sbuf, rbuf, rcount, type, op));
}

int hccl_entry_ireduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
                                     ompi_datatype_t *type, ompi_op_t *op,
                                     ompi_communicator_t *comm, ompi_request_t **request,
                                     mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_start(module, describe(sbuf, rbuf, rcount, type, op), request);
}

int hccl_entry_reduce_scatter_block_init(const void *sbuf, void *rbuf, int rcount,
                                         ompi_datatype_t *type, ompi_op_t *op,
                                         ompi_communicator_t *comm, hccl_compat_info_t *info,
                                         ompi_request_t **request, mca_coll_base_module_t *module)
{
    (void) comm;
    (void) info;
    return hccl_entry_keep(module, describe(sbuf, rbuf, rcount, type, op), request);
}
