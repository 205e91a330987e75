/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Neighbor_alltoallw in its three forms.
 */
#include "entry/entry.h"

static hccl_call_t describe(const void *sbuf, const int *scounts, const MPI_Aint *sdispls,
                            ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                            const MPI_Aint *rdispls, ompi_datatype_t *const *rtypes)
{
    return (hccl_call_t){
        .coll = HCCL_COLL_NEIGHBOR_ALLTOALLW,
        .send = {.buf = sbuf, .counts = scounts, .adispls = sdispls, .types = stypes},
        .recv = {.buf = rbuf, .counts = rcounts, .adispls = rdispls, .types = rtypes},
    };
}

int hccl_entry_neighbor_alltoallw(const void *sbuf, const int *scounts, const MPI_Aint *sdispls,
                                  ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                                  const MPI_Aint *rdispls, ompi_datatype_t *const *rtypes,
                                  ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void) comm;
    int rc = hccl_entry_neighbors(module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return hccl_entry_run(module,
                          describe(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes));
}

int hccl_entry_ineighbor_alltoallw(const void *sbuf, const int *scounts, const MPI_Aint *sdispls,
                                   ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                                   const MPI_Aint *rdispls, ompi_datatype_t *const *rtypes,
                                   ompi_communicator_t *comm, ompi_request_t **request,
                                   mca_coll_base_module_t *module)
{
    (void) comm;
    int rc = hccl_entry_neighbors(module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return hccl_entry_start(
        module, describe(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes), request);
}

int hccl_entry_neighbor_alltoallw_init(const void *sbuf, const int *scounts,
                                       const MPI_Aint *sdispls, ompi_datatype_t *const *stypes,
                                       void *rbuf, const int *rcounts, const MPI_Aint *rdispls,
                                       ompi_datatype_t *const *rtypes, ompi_communicator_t *comm,
                                       hccl_compat_info_t *info, ompi_request_t **request,
                                       mca_coll_base_module_t *module)
{
    (void) comm;
    (void) info;
    int rc = hccl_entry_neighbors(module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return hccl_entry_keep(
        module, describe(sbuf, scounts, sdispls, stypes, rbuf, rcounts, rdispls, rtypes), request);
}
