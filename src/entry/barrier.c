/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Barrier in its three forms.
 */
#include "entry/entry.h"

static hccl_call_t describe(void)
{
    return (hccl_call_t){.coll = HCCL_COLL_BARRIER};
}

int hccl_entry_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_run(module, describe());
}

int hccl_entry_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                        mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_start(module, describe(), request);
}

int hccl_entry_barrier_init(ompi_communicator_t *comm, hccl_compat_info_t *info,
                            ompi_request_t **request, mca_coll_base_module_t *module)
{
    (void) comm;
    (void) info;
    return hccl_entry_keep(module, describe(), request);
}
