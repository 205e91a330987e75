/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What Open MPI calls. Each collective has a file with three thin wrappers (blocking, nonblocking,
 * persistent) that fill the same call description; nothing is decided here.
 */
#ifndef HCCL_ENTRY_ENTRY_H
#define HCCL_ENTRY_ENTRY_H

#include "exec/drive.h"
#include "exec/repeat.h"

/** The module of one communicator. */
typedef struct mca_coll_hccl_module_t {
    mca_coll_base_module_t super;
    hccl_comm_t hc;
} mca_coll_hccl_module_t;

static inline hccl_comm_t *hccl_entry_comm(mca_coll_base_module_t *module)
{
    return &((mca_coll_hccl_module_t *) module)->hc;
}

/** Runs a call to its end. A macro, for speed: `call`, an expression, is put together in memory only
 *  when there is no record of a call like it. */
#define hccl_entry_run(module, call)                                      \
    __extension__({                                                       \
        hccl_comm_t *hc_ = hccl_entry_comm(module);                       \
        hccl_repeat_t *repeat_ = hccl_repeat_find(hc_, call);             \
        HCCL_LIKELY(NULL != repeat_)                                      \
        ? hccl_repeat_run(hc_, repeat_, (call).send.buf, (call).recv.buf) \
        : hccl_drive_blocking(hc_, call);                                 \
    })

/** Starts it. */
static inline int hccl_entry_start(mca_coll_base_module_t *module, hccl_call_t call,
                                   ompi_request_t **out)
{
    hccl_request_t *request = hccl_drive_request(hccl_entry_comm(module));
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request->x.call = call;
    return hccl_drive_nonblocking(request, out);
}

/** Makes a persistent operation of it. */
static inline int hccl_entry_keep(mca_coll_base_module_t *module, hccl_call_t call,
                                  ompi_request_t **out)
{
    hccl_request_t *request = hccl_drive_request(hccl_entry_comm(module));
    if (NULL == request) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    request->x.call = call;
    return hccl_drive_persistent(request, out);
}

/** The neighbours of this rank, asked once per communicator: when the component is chosen for it,
 *  Open MPI does not know the topology yet. */
HCCL_CHECKED int hccl_entry_neighbors(mca_coll_base_module_t *module);

/* The functions themselves: arguments as MPI has them. */
int hccl_entry_allgather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                         int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                         mca_coll_base_module_t *module);
int hccl_entry_iallgather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                          int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                          ompi_request_t **request, mca_coll_base_module_t *module);
int hccl_entry_allgather_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                              int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                              hccl_compat_info_t *info, ompi_request_t **request,
                              mca_coll_base_module_t *module);

int hccl_entry_allgatherv(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                          const int *rcounts, const int *rdispls, ompi_datatype_t *rtype,
                          ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_iallgatherv(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                           const int *rcounts, const int *rdispls, ompi_datatype_t *rtype,
                           ompi_communicator_t *comm, ompi_request_t **request,
                           mca_coll_base_module_t *module);
int hccl_entry_allgatherv_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                               const int *rcounts, const int *rdispls, ompi_datatype_t *rtype,
                               ompi_communicator_t *comm, hccl_compat_info_t *info,
                               ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_allreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                         ompi_op_t *op, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_iallreduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                          ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module);
int hccl_entry_allreduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                              ompi_op_t *op, ompi_communicator_t *comm, hccl_compat_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_alltoall(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                        int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                        mca_coll_base_module_t *module);
int hccl_entry_ialltoall(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                         int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                         ompi_request_t **request, mca_coll_base_module_t *module);
int hccl_entry_alltoall_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                             int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                             hccl_compat_info_t *info, ompi_request_t **request,
                             mca_coll_base_module_t *module);

int hccl_entry_alltoallv(const void *sbuf, const int *scounts, const int *sdispls,
                         ompi_datatype_t *stype, void *rbuf, const int *rcounts, const int *rdispls,
                         ompi_datatype_t *rtype, ompi_communicator_t *comm,
                         mca_coll_base_module_t *module);
int hccl_entry_ialltoallv(const void *sbuf, const int *scounts, const int *sdispls,
                          ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                          const int *rdispls, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                          ompi_request_t **request, mca_coll_base_module_t *module);
int hccl_entry_alltoallv_init(const void *sbuf, const int *scounts, const int *sdispls,
                              ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                              const int *rdispls, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                              hccl_compat_info_t *info, ompi_request_t **request,
                              mca_coll_base_module_t *module);

int hccl_entry_alltoallw(const void *sbuf, const int *scounts, const int *sdispls,
                         ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                         const int *rdispls, ompi_datatype_t *const *rtypes,
                         ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_ialltoallw(const void *sbuf, const int *scounts, const int *sdispls,
                          ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                          const int *rdispls, ompi_datatype_t *const *rtypes,
                          ompi_communicator_t *comm, ompi_request_t **request,
                          mca_coll_base_module_t *module);
int hccl_entry_alltoallw_init(const void *sbuf, const int *scounts, const int *sdispls,
                              ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                              const int *rdispls, ompi_datatype_t *const *rtypes,
                              ompi_communicator_t *comm, hccl_compat_info_t *info,
                              ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_barrier(ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_ibarrier(ompi_communicator_t *comm, ompi_request_t **request,
                        mca_coll_base_module_t *module);
int hccl_entry_barrier_init(ompi_communicator_t *comm, hccl_compat_info_t *info,
                            ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_bcast(void *buf, int count, ompi_datatype_t *type, int root,
                     ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_ibcast(void *buf, int count, ompi_datatype_t *type, int root,
                      ompi_communicator_t *comm, ompi_request_t **request,
                      mca_coll_base_module_t *module);
int hccl_entry_bcast_init(void *buf, int count, ompi_datatype_t *type, int root,
                          ompi_communicator_t *comm, hccl_compat_info_t *info,
                          ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_exscan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op,
                      ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_iexscan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                       ompi_op_t *op, ompi_communicator_t *comm, ompi_request_t **request,
                       mca_coll_base_module_t *module);
int hccl_entry_exscan_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                           ompi_op_t *op, ompi_communicator_t *comm, hccl_compat_info_t *info,
                           ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_gather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                      ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                      mca_coll_base_module_t *module);
int hccl_entry_igather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                       ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                       ompi_request_t **request, mca_coll_base_module_t *module);
int hccl_entry_gather_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                           int rcount, ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                           hccl_compat_info_t *info, ompi_request_t **request,
                           mca_coll_base_module_t *module);

int hccl_entry_gatherv(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                       const int *rcounts, const int *rdispls, ompi_datatype_t *rtype, int root,
                       ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_igatherv(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                        const int *rcounts, const int *rdispls, ompi_datatype_t *rtype, int root,
                        ompi_communicator_t *comm, ompi_request_t **request,
                        mca_coll_base_module_t *module);
int hccl_entry_gatherv_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                            const int *rcounts, const int *rdispls, ompi_datatype_t *rtype,
                            int root, ompi_communicator_t *comm, hccl_compat_info_t *info,
                            ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_reduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op,
                      int root, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_ireduce(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                       ompi_op_t *op, int root, ompi_communicator_t *comm, ompi_request_t **request,
                       mca_coll_base_module_t *module);
int hccl_entry_reduce_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                           ompi_op_t *op, int root, ompi_communicator_t *comm,
                           hccl_compat_info_t *info, ompi_request_t **request,
                           mca_coll_base_module_t *module);

int hccl_entry_reduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
                              ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                              mca_coll_base_module_t *module);
int hccl_entry_ireduce_scatter(const void *sbuf, void *rbuf, const int *rcounts,
                               ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                               ompi_request_t **request, mca_coll_base_module_t *module);
int hccl_entry_reduce_scatter_init(const void *sbuf, void *rbuf, const int *rcounts,
                                   ompi_datatype_t *type, ompi_op_t *op, ompi_communicator_t *comm,
                                   hccl_compat_info_t *info, ompi_request_t **request,
                                   mca_coll_base_module_t *module);

int hccl_entry_reduce_scatter_block(const void *sbuf, void *rbuf, int rcount, ompi_datatype_t *type,
                                    ompi_op_t *op, ompi_communicator_t *comm,
                                    mca_coll_base_module_t *module);
int hccl_entry_ireduce_scatter_block(const void *sbuf, void *rbuf, int rcount,
                                     ompi_datatype_t *type, ompi_op_t *op,
                                     ompi_communicator_t *comm, ompi_request_t **request,
                                     mca_coll_base_module_t *module);
int hccl_entry_reduce_scatter_block_init(const void *sbuf, void *rbuf, int rcount,
                                         ompi_datatype_t *type, ompi_op_t *op,
                                         ompi_communicator_t *comm, hccl_compat_info_t *info,
                                         ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_scan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op,
                    ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_iscan(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type, ompi_op_t *op,
                     ompi_communicator_t *comm, ompi_request_t **request,
                     mca_coll_base_module_t *module);
int hccl_entry_scan_init(const void *sbuf, void *rbuf, int count, ompi_datatype_t *type,
                         ompi_op_t *op, ompi_communicator_t *comm, hccl_compat_info_t *info,
                         ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_scatter(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf, int rcount,
                       ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                       mca_coll_base_module_t *module);
int hccl_entry_iscatter(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                        int rcount, ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                        ompi_request_t **request, mca_coll_base_module_t *module);
int hccl_entry_scatter_init(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                            int rcount, ompi_datatype_t *rtype, int root, ompi_communicator_t *comm,
                            hccl_compat_info_t *info, ompi_request_t **request,
                            mca_coll_base_module_t *module);

int hccl_entry_scatterv(const void *sbuf, const int *scounts, const int *sdispls,
                        ompi_datatype_t *stype, void *rbuf, int rcount, ompi_datatype_t *rtype,
                        int root, ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_iscatterv(const void *sbuf, const int *scounts, const int *sdispls,
                         ompi_datatype_t *stype, void *rbuf, int rcount, ompi_datatype_t *rtype,
                         int root, ompi_communicator_t *comm, ompi_request_t **request,
                         mca_coll_base_module_t *module);
int hccl_entry_scatterv_init(const void *sbuf, const int *scounts, const int *sdispls,
                             ompi_datatype_t *stype, void *rbuf, int rcount, ompi_datatype_t *rtype,
                             int root, ompi_communicator_t *comm, hccl_compat_info_t *info,
                             ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_neighbor_allgather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                                  int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                                  mca_coll_base_module_t *module);
int hccl_entry_ineighbor_allgather(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                                   int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                                   ompi_request_t **request, mca_coll_base_module_t *module);
int hccl_entry_neighbor_allgather_init(const void *sbuf, int scount, ompi_datatype_t *stype,
                                       void *rbuf, int rcount, ompi_datatype_t *rtype,
                                       ompi_communicator_t *comm, hccl_compat_info_t *info,
                                       ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_neighbor_allgatherv(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                                   const int *rcounts, const int *rdispls, ompi_datatype_t *rtype,
                                   ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_ineighbor_allgatherv(const void *sbuf, int scount, ompi_datatype_t *stype,
                                    void *rbuf, const int *rcounts, const int *rdispls,
                                    ompi_datatype_t *rtype, ompi_communicator_t *comm,
                                    ompi_request_t **request, mca_coll_base_module_t *module);
int hccl_entry_neighbor_allgatherv_init(const void *sbuf, int scount, ompi_datatype_t *stype,
                                        void *rbuf, const int *rcounts, const int *rdispls,
                                        ompi_datatype_t *rtype, ompi_communicator_t *comm,
                                        hccl_compat_info_t *info, ompi_request_t **request,
                                        mca_coll_base_module_t *module);

int hccl_entry_neighbor_alltoall(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                                 int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                                 mca_coll_base_module_t *module);
int hccl_entry_ineighbor_alltoall(const void *sbuf, int scount, ompi_datatype_t *stype, void *rbuf,
                                  int rcount, ompi_datatype_t *rtype, ompi_communicator_t *comm,
                                  ompi_request_t **request, mca_coll_base_module_t *module);
int hccl_entry_neighbor_alltoall_init(const void *sbuf, int scount, ompi_datatype_t *stype,
                                      void *rbuf, int rcount, ompi_datatype_t *rtype,
                                      ompi_communicator_t *comm, hccl_compat_info_t *info,
                                      ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_neighbor_alltoallv(const void *sbuf, const int *scounts, const int *sdispls,
                                  ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                                  const int *rdispls, ompi_datatype_t *rtype,
                                  ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_ineighbor_alltoallv(const void *sbuf, const int *scounts, const int *sdispls,
                                   ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                                   const int *rdispls, ompi_datatype_t *rtype,
                                   ompi_communicator_t *comm, ompi_request_t **request,
                                   mca_coll_base_module_t *module);
int hccl_entry_neighbor_alltoallv_init(const void *sbuf, const int *scounts, const int *sdispls,
                                       ompi_datatype_t *stype, void *rbuf, const int *rcounts,
                                       const int *rdispls, ompi_datatype_t *rtype,
                                       ompi_communicator_t *comm, hccl_compat_info_t *info,
                                       ompi_request_t **request, mca_coll_base_module_t *module);

int hccl_entry_neighbor_alltoallw(const void *sbuf, const int *scounts, const MPI_Aint *sdispls,
                                  ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                                  const MPI_Aint *rdispls, ompi_datatype_t *const *rtypes,
                                  ompi_communicator_t *comm, mca_coll_base_module_t *module);
int hccl_entry_ineighbor_alltoallw(const void *sbuf, const int *scounts, const MPI_Aint *sdispls,
                                   ompi_datatype_t *const *stypes, void *rbuf, const int *rcounts,
                                   const MPI_Aint *rdispls, ompi_datatype_t *const *rtypes,
                                   ompi_communicator_t *comm, ompi_request_t **request,
                                   mca_coll_base_module_t *module);
int hccl_entry_neighbor_alltoallw_init(const void *sbuf, const int *scounts,
                                       const MPI_Aint *sdispls, ompi_datatype_t *const *stypes,
                                       void *rbuf, const int *rcounts, const MPI_Aint *rdispls,
                                       ompi_datatype_t *const *rtypes, ompi_communicator_t *comm,
                                       hccl_compat_info_t *info, ompi_request_t **request,
                                       mca_coll_base_module_t *module);

int hccl_entry_reduce_local(const void *inbuf, void *inoutbuf, int count, ompi_datatype_t *type,
                            ompi_op_t *op, mca_coll_base_module_t *module);

#endif
