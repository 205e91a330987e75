/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Gather in its three forms.
 */
#include "entry/entry.h"

static hccl_call_t describe(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                            int rcount, ompi_datatype_t *rtype, int root)
{
    return (hccl_call_t){
        .coll = HCCL_COLL_GATHER,
        .root = root,
        .send = {.buf = sbuf, .count = (size_t) scount, .type = stype},
        .recv = {.buf = rbuf, .count = (size_t) rcount, .type = rtype},
    };
}

int hccl_entry_gather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                      ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                      mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_run(module, describe(sbuf, scount, stype, rbuf, rcount, rtype, root));
}

int hccl_entry_igather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                       ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                       ompi_request_t **request, mca_coll_base_module_t *module)
{
    (void) comm;
    return hccl_entry_start(module, describe(sbuf, scount, stype, rbuf, rcount, rtype, root),
                            request);
}

int hccl_entry_gather_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                           int rcount, ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                           hccl_compat_info_t *info, ompi_request_t **request,
                           mca_coll_base_module_t *module)
{
    (void) comm;
    (void) info;
    return hccl_entry_keep(module, describe(sbuf, scount, stype, rbuf, rcount, rtype, root),
                           request);
}
