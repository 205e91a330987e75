/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Reduce in its three forms.
 */
#include "entry/entry.h"

static hccl_call_t describe(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                            ompi_op_t *op, int root)
{
    return (hccl_call_t){
        .coll = HCCL_COLL_REDUCE,
        .root = root,
        .op = op,
        .send = {.buf = sbuf, .count = (size_t) count, .type = type},
        .recv = {.buf = rbuf, .count = (size_t) count, .type = type},
    };
}

int hccl_entry_reduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op,
                      int root, ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_run(module, describe(sbuf, rbuf, count, type, op, root));
}

int hccl_entry_ireduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                       ompi_op_t *op, int root, ompi_communicator_t *comm, ompi_request_t **request,
                       mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_start(module, describe(sbuf, rbuf, count, type, op, root), request);
}

int hccl_entry_reduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                           ompi_op_t *op, int root, ompi_communicator_t *comm,
                           hccl_compat_info_t *info, ompi_request_t **request,
                           mca_coll_base_module_t *module)
{
    (void) comm;
    (void) info;
    return hccl_entry_keep(module, describe(sbuf, rbuf, count, type, op, root), request);
}
