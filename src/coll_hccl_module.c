/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The module of a communicator: which functions it offers, and what the engine must know of the
 * members. Made from cards by look-up only: enable runs inside request callbacks, where nothing
 * may communicate.
 */
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "coll_hccl.h"

static int enable(mca_coll_base_module_t *module, ompi_communicator_t *comm);

static int disable(mca_coll_base_module_t *module, ompi_communicator_t *comm)
{
    /* Called once for every function held: the module goes with its last reference. */
    (void) module;
    (void) comm;
    return OMPI_SUCCESS;
}

static void construct(mca_coll_hccl_module_t *module)
{
    memset(&module->hc, 0, sizeof(module->hc));
}

static void destruct(mca_coll_hccl_module_t *module)
{
    if (NULL != module->hc.shape) {
        if (MPI_COMM_WORLD == module->hc.comm) {
            hccl_rdma_leave();
        }
        hccl_comm_fini(&module->hc);
    }
}

OBJ_CLASS_INSTANCE(mca_coll_hccl_module_t, mca_coll_base_module_t, construct, destruct);

/* Fills the three slots of each collective. Scan and exscan do not exist on inter-communicators,
 * and nobody asks for them there. */
static void fill_slots(mca_coll_base_module_t *m)
{
#define OFFER(ID, name, i_name)                           \
    if (hccl_params.offered[HCCL_COLL_##ID]) {            \
        m->coll_##name = hccl_entry_##name;               \
        m->coll_##i_name = hccl_entry_##i_name;           \
        m->coll_##name##_init = hccl_entry_##name##_init; \
    }
    OFFER(ALLGATHER, allgather, iallgather)
    OFFER(ALLGATHERV, allgatherv, iallgatherv)
    OFFER(ALLREDUCE, allreduce, iallreduce)
    OFFER(ALLTOALL, alltoall, ialltoall)
    OFFER(ALLTOALLV, alltoallv, ialltoallv)
    OFFER(ALLTOALLW, alltoallw, ialltoallw)
    OFFER(BARRIER, barrier, ibarrier)
    OFFER(BCAST, bcast, ibcast)
    OFFER(EXSCAN, exscan, iexscan)
    OFFER(GATHER, gather, igather)
    OFFER(GATHERV, gatherv, igatherv)
    OFFER(REDUCE, reduce, ireduce)
    OFFER(REDUCE_SCATTER, reduce_scatter, ireduce_scatter)
    OFFER(REDUCE_SCATTER_BLOCK, reduce_scatter_block, ireduce_scatter_block)
    OFFER(SCAN, scan, iscan)
    OFFER(SCATTER, scatter, iscatter)
    OFFER(SCATTERV, scatterv, iscatterv)
    OFFER(NEIGHBOR_ALLGATHER, neighbor_allgather, ineighbor_allgather)
    OFFER(NEIGHBOR_ALLGATHERV, neighbor_allgatherv, ineighbor_allgatherv)
    OFFER(NEIGHBOR_ALLTOALL, neighbor_alltoall, ineighbor_alltoall)
    OFFER(NEIGHBOR_ALLTOALLV, neighbor_alltoallv, ineighbor_alltoallv)
    OFFER(NEIGHBOR_ALLTOALLW, neighbor_alltoallw, ineighbor_alltoallw)
#undef OFFER
    m->coll_reduce_local = hccl_entry_reduce_local;
}

/* Packed data is sent as it lies in memory, so all members must agree on what bytes mean. */
static bool same_architecture(ompi_group_t *group)
{
    uint32_t mine = ompi_proc_local()->super.proc_arch;
    int n = ompi_group_size(group);
    for (int i = 0; i < n; i++) {
        if (ompi_group_peer_lookup(group, i)->super.proc_arch != mine) {
            return false;
        }
    }
    return true;
}

/* Whether this rank is the first member that runs the component. */
static bool is_first(ompi_communicator_t *comm)
{
    for (int i = 0; i < ompi_comm_rank(comm); i++) {
        if (NULL != hccl_procs_find(ompi_group_peer_lookup(comm->c_local_group, i))) {
            return false;
        }
    }
    return true;
}

/* Whether all members before this rank run the component. */
static bool all_before_me_run(ompi_communicator_t *comm)
{
    for (int i = 0; i < ompi_comm_rank(comm); i++) {
        if (NULL == hccl_procs_find(ompi_group_peer_lookup(comm->c_local_group, i))) {
            return false;
        }
    }
    return true;
}

/* All members must run this component with the same settings, else they would choose differently
 * and hang. Said once per job, and where jobs with different settings meet. */
static bool same_settings(ompi_group_t *group, ompi_communicator_t *comm)
{
    int n = ompi_group_size(group);
    for (int i = 0; i < n; i++) {
        ompi_proc_t *proc = ompi_group_peer_lookup(group, i);
        const hccl_peer_t *peer = hccl_procs_find(proc);
        if (NULL != peer && peer->settings == hccl_engine.settings_hash) {
            continue;
        }
        bool foreign = proc->super.proc_name.jobid != OMPI_PROC_MY_NAME->jobid;
        if ((foreign || MPI_COMM_WORLD == comm) && is_first(comm)) {
            hccl_log_error("rank %d of communicator %s %s, unlike rank %d. The component does not "
                           "serve this communicator",
                           i, comm->c_name,
                           NULL == peer
                               ? "does not run coll/hccl, or another version of it, or "
                                 "has refused a parameter and says so"
                               : "has other coll_hccl parameters or another topology file; "
                                 "they must be the same on all ranks",
                           ompi_comm_rank(comm));
        }
        return false;
    }
    return true;
}

static bool suits(ompi_group_t *group, ompi_communicator_t *comm)
{
    if (!same_architecture(group)) {
        hccl_log_info("communicator %s spans different architectures: not served", comm->c_name);
        return false;
    }
    return same_settings(group, comm);
}

mca_coll_base_module_t *hccl_module_query(ompi_communicator_t *comm, int *priority)
{
    if (!hccl_component_works) {
        if (MPI_COMM_WORLD == comm && all_before_me_run(comm)) {
            hccl_params_complain_late();
        }
        return NULL;
    }
    if (!suits(comm->c_local_group, comm)
        || (OMPI_COMM_IS_INTER(comm) && !suits(comm->c_remote_group, comm))) {
        return NULL;
    }
    mca_coll_hccl_module_t *module = OBJ_NEW(mca_coll_hccl_module_t);
    if (NULL == module) {
        return NULL;
    }
    module->super.coll_module_enable = enable;
    module->super.coll_module_disable = disable;
    fill_slots(&module->super);
    hccl_mpool_join();
    *priority = hccl_params.priority;
    return &module->super;
}

/* The shape of a group, and whether it is short of processors, from its members' cards. */
static int shape_of(ompi_group_t *group, hccl_shape_t **shape, bool *crowded)
{
    const hccl_peer_t *mine = hccl_procs_find(ompi_proc_local());
    bool here = false;
    int n = ompi_group_size(group);
    const hccl_card_t **cards = malloc((size_t) n * sizeof(*cards));
    if (NULL == cards) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    for (int i = 0; i < n; i++) {
        const hccl_peer_t *peer = hccl_procs_find(ompi_group_peer_lookup(group, i));
        cards[i] = NULL == peer ? NULL : &peer->card;
    }
    int rc = hccl_cards_crowded(cards, n, NULL == mine ? 0 : mine->card.cpus.host, crowded, &here);
    if (HCCL_OK == rc) {
        rc = hccl_shape_from_cards(cards, n, hccl_params_links(), shape);
    }
    free(cards);
    if (here && !hccl_engine.oversubscribed) {
        hccl_engine.oversubscribed = true;
        hccl_log_info("the processes on this host outnumber the processors that they may run on: "
                      "who waits gives up the processor");
    }
    return HCCL_OK == rc ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}

/* The region cards of the members of my node. */
static const hccl_region_card_t **regions_of(ompi_group_t *group, const hccl_shape_t *shape,
                                             int rank)
{
    int node = shape->node_of[rank];
    int first = shape->node_start[node];
    int n = shape->node_start[node + 1] - first;
    const hccl_region_card_t **regions = malloc((size_t) n * sizeof(*regions));
    static const hccl_region_card_t none;
    for (int i = 0; NULL != regions && i < n; i++) {
        ompi_proc_t *proc = ompi_group_peer_lookup(group, shape->node_ranks[first + i]);
        const hccl_peer_t *peer = hccl_procs_find(proc);
        regions[i] = NULL == peer ? &none : &peer->region;
    }
    return regions;
}

static int enable(mca_coll_base_module_t *module, ompi_communicator_t *comm)
{
    mca_coll_hccl_module_t *m = (mca_coll_hccl_module_t *) module;
    ompi_group_t *group = comm->c_local_group;
    hccl_shape_t *shape;
    bool crowded;
    int rc = shape_of(group, &shape, &crowded);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    const hccl_region_card_t **regions = regions_of(group, shape, ompi_comm_rank(comm));
    if (NULL == regions) {
        hccl_shape_free(shape);
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    hccl_ports_show(comm, shape);
    hccl_ports_show_ring(comm, shape);
    hccl_rdma_begin(comm);
    size_t slot_bytes[HCCL_LANES];
    hccl_tuning_apply(comm, slot_bytes);
    hccl_comm_init(&m->hc, comm, shape, crowded, regions, slot_bytes);
    return OMPI_SUCCESS;
}
