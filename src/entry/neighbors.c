/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The neighbours of a communicator with a topology, in the order in which MPI numbers the blocks of
 * the neighbourhood collectives.
 */
#include <stdlib.h>

#include "entry/entry.h"

/* A Cartesian grid: for each dimension the neighbour below, then the one above. */
static int cartesian(ompi_communicator_t *comm, int ndims, int *ranks)
{
    mca_topo_base_module_t *topo = comm->c_topo;
    for (int dim = 0; dim < ndims; dim++) {
        int rc = topo->topo.cart.cart_shift(comm, dim, 1, &ranks[2 * dim], &ranks[2 * dim + 1]);
        if (OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return OMPI_SUCCESS;
}

static int ask(ompi_communicator_t *comm, int nsources, int *sources, int ndests, int *dests)
{
    mca_topo_base_module_t *topo = comm->c_topo;
    int rc;
    if (OMPI_COMM_IS_CART(comm)) {
        rc = cartesian(comm, nsources / 2, sources);
    } else if (OMPI_COMM_IS_GRAPH(comm)) {
        rc = topo->topo.graph.graph_neighbors(comm, ompi_comm_rank(comm), nsources, sources);
    } else {
        return topo->topo.dist_graph.dist_graph_neighbors(comm, nsources, sources, MPI_UNWEIGHTED,
                                                          ndests, dests, MPI_UNWEIGHTED);
    }
    for (int i = 0; i < nsources; i++) {
        dests[i] = sources[i];
    }
    return rc;
}

int hccl_entry_neighbors(mca_coll_base_module_t *module)
{
    hccl_comm_t *hc = hccl_entry_comm(module);
    int nsources, ndests;
    if (NULL != hc->sources) {
        return OMPI_SUCCESS;
    }
    if (!OMPI_COMM_IS_TOPO(hc->comm)) {
        return MPI_ERR_TOPOLOGY;
    }
    int rc = mca_topo_base_neighbor_count(hc->comm, &nsources, &ndests);
    if (OMPI_SUCCESS != rc) {
        return rc;
    }
    int *both = malloc(((size_t) nsources + (size_t) ndests + 1) * sizeof(int));
    if (NULL == both) {
        return OMPI_ERR_OUT_OF_RESOURCE;
    }
    rc = ask(hc->comm, nsources, both, ndests, both + nsources);
    if (OMPI_SUCCESS != rc) {
        free(both);
        return rc;
    }
    hc->sources = both;
    hc->dests = both + nsources;
    hc->nsources = nsources;
    hc->ndests = ndests;
    hc->cartesian = OMPI_COMM_IS_CART(hc->comm);
    return OMPI_SUCCESS;
}
