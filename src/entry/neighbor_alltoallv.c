/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Neighbor_alltoallv in its three forms.
 */
#include "entry/entry.h"

static hccl_call_t describe(const void *sbuf, const int *scounts, const int *sdispls,
                            ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                            const int *rdispls, ompi_datatype_t *rtype)
{
    return (hccl_call_t){
        .coll = HCCL_COLL_NEIGHBOR_ALLTOALLV,
        .send = {.buf = sbuf, .counts = scounts, .displs = sdispls, .type = stype},
        .recv = {.buf = rbuf, .counts = rcounts, .displs = rdispls, .type = rtype},
    };
}

int hccl_entry_neighbor_alltoallv(const void *sbuf, const int *scounts, const int *sdispls,
                                  ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                                  const int *rdispls, ompi_datatype_t *rtype,
                                  ompi_communicator_t *comm, mca_coll_base_module_t *module)
{
    (void) comm;
    int rc = hccl_entry_neighbors(module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return hccl_entry_run(module,
                          describe(sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype));
}

int hccl_entry_ineighbor_alltoallv(const void *sbuf, const int *scounts, const int *sdispls,
                                   ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                                   const int *rdispls, ompi_datatype_t *rtype,
                                   ompi_communicator_t *comm, ompi_request_t **request,
                                   mca_coll_base_module_t *module)
{
    (void) comm;
    int rc = hccl_entry_neighbors(module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return hccl_entry_start(
        module, describe(sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype), request);
}

int hccl_entry_neighbor_alltoallv_init(const void *sbuf, const int *scounts, const int *sdispls,
                                       ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                                       const int *rdispls, ompi_datatype_t *rtype,
                                       ompi_communicator_t *comm, hccl_compat_info_t *info,
                                       ompi_request_t **request, mca_coll_base_module_t *module)
{
    (void) comm;
    (void) info;
    int rc = hccl_entry_neighbors(module);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    return hccl_entry_keep(
        module, describe(sbuf, scounts, sdispls, stype, rbuf, rcounts, rdispls, rtype), request);
}
