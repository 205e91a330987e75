/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Bcast in its three forms.
 */
#include "entry/entry.h"

static hccl_call_t describe(void *buf, int count, ompi_datatype_t *type, int root)
{
    return (hccl_call_t){
        .coll = HCCL_COLL_BCAST,
        .root = root,
        .recv = {.buf = buf, .count = (size_t) count, .type = type},
    };
}

int hccl_entry_bcast(void *buf, int count, ompi_datatype_t *type, int root,
                     ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_run(module, describe(buf, count, type, root));
}

int hccl_entry_ibcast(void *buf, int count, ompi_datatype_t *type, int root,
                      ompi_communicator_t *comm, ompi_request_t **request,
                      mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_start(module, describe(buf, count, type, root), request);
}

int hccl_entry_bcast_init(void *buf, int count, ompi_datatype_t *type, int root,
                          ompi_communicator_t *comm, hccl_compat_info_t *info,
                          ompi_request_t **request, mca_coll_base_module_t *module)
{
    (void) comm;
    (void) info;
    return hccl_entry_keep(module, describe(buf, count, type, root), request);
}
