/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Alltoallw in its three forms.
 */
#include "entry/entry.h"

static hccl_call_t describe(const void *sbuf, const int *scounts, const int *sdispls,
                            ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                            const int *rdispls, ompi_datatype_t *const *rtypes)
{
    return (hccl_call_t){
        .coll = HCCL_COLL_ALLTOALLW,
        .send = {.buf = sbuf, .counts = scounts, .displs = sdispls, .types = stypes},
        .recv = {.buf = rbuf, .counts = rcounts, .displs = rdispls, .types = rtypes},
    };
}

int hccl_entry_alltoallw(const void *sbuf, const int *scounts, const int *sdispls,
                         ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                         const int *rdispls, ompi_datatype_t *const *rtypes,
                         ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_run(module,
                          describe(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes));
}

int hccl_entry_ialltoallw(const void *sbuf, const int *scounts, const int *sdispls,
                          ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                          const int *rdispls, ompi_datatype_t *const *rtypes,
                          ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_start(
        module, describe(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes), request);
}

int hccl_entry_alltoallw_init(const void *sbuf, const int *scounts, const int *sdispls,
                              ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                              const int *rdispls, ompi_datatype_t *const *rtypes,
                              ompi_communicator_t *comm, hccl_compat_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module)
{
    (void) comm;
    (void) info;
    return hccl_entry_keep(
        module, describe(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes), request);
}
