/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Tells which component serves each collective of a communicator: the library that the function in
 * Open MPI's table lies in. Rank 0 prints `COMMUNICATOR COLLECTIVE COMPONENT` for MPI_COMM_WORLD,
 * MPI_COMM_SELF and an inter-communicator, in all forms of each collective, and calls a few of them,
 * so that a table that is there but does not work shows too. Looks into Open MPI's structures.
 *
 * With HCCL_TEST_LIBRARY_VERSION set, its text is what Open MPI says about its version. With
 * HCCL_TEST_OTHER_ARCH set, Open MPI believes that rank 1 has another architecture (HAZARDS P46), and
 * a duplicate made then stands for MPI_COMM_WORLD.
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ompi_config.h"
#include "mpi.h"
#include "ompi/communicator/communicator.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/proc/proc.h"

/* Takes the place of the library's own, for the component too. */
int MPI_Get_library_version(char *version, int *len)
{
    const char *text = getenv("HCCL_TEST_LIBRARY_VERSION");
    if (NULL == text) {
        return PMPI_Get_library_version(version, len);
    }
    *len = snprintf(version, MPI_MAX_LIBRARY_VERSION_STRING, "%s", text);
    return MPI_SUCCESS;
}

/* The name between mca_coll_ and .so. */
static void tell(const char *comm, const char *name, void *function)
{
    Dl_info info;
    char component[64] = "?";
    if (NULL == function) {
        strcpy(component, "none");
    } else if (0 != dladdr(function, &info) && NULL != info.dli_fname) {
        const char *at = strstr(info.dli_fname, "mca_coll_");
        (void) sscanf(NULL == at ? "mca_coll_libmpi" : at, "mca_coll_%63[a-z]", component);
    }
    printf("%s %s %s\n", comm, name, component);
}

static void tell_all(const char *name, MPI_Comm comm)
{
    const mca_coll_base_comm_coll_t *c = comm->c_coll;
#define TELL(function) tell(name, #function, (void *) c->coll_##function);
#define FORMS(plain) \
    TELL(plain)      \
    TELL(i##plain)   \
    TELL(plain##_init)
    FORMS(allgather)
    FORMS(allgatherv)
    FORMS(allreduce)
    FORMS(alltoall)
    FORMS(alltoallv)
    FORMS(alltoallw)
    FORMS(barrier)
    FORMS(bcast)
    FORMS(gather)
    FORMS(gatherv)
    FORMS(reduce)
    FORMS(reduce_scatter)
    FORMS(reduce_scatter_block)
    FORMS(scatter)
    FORMS(scatterv)
    TELL(reduce_local)
    if (OMPI_COMM_IS_INTER(comm)) {
        return;
    }
    FORMS(exscan)
    FORMS(scan)
    FORMS(neighbor_allgather)
    FORMS(neighbor_allgatherv)
    FORMS(neighbor_alltoall)
    FORMS(neighbor_alltoallv)
    FORMS(neighbor_alltoallw)
}

/* 0 when the results are right. */
static int use(MPI_Comm comm, int rank, int size)
{
    int sum = -1, root = size - 1, from_root = rank + 7;
    MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(&from_root, 1, MPI_INT, root, comm);
    MPI_Barrier(comm);
    return sum == size * (size - 1) / 2 && from_root == root + 7 ? 0 : 1;
}

int main(int argc, char **argv)
{
    int rank, size;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    int wrong = use(MPI_COMM_WORLD, rank, size);
    MPI_Comm world, half, inter;
    if (NULL != getenv("HCCL_TEST_OTHER_ARCH")) {
        ompi_group_peer_lookup(MPI_COMM_WORLD->c_local_group, 1)->super.proc_arch ^= 1;
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &world);
    wrong += use(world, rank, size);
    MPI_Comm_split(MPI_COMM_WORLD, 0 == rank, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, 0 == rank ? 1 : 0, 1, &inter);
    if (0 == rank) {
        tell_all("world", world);
        tell_all("self", MPI_COMM_SELF);
        tell_all("inter", inter);
    }
    MPI_Comm_free(&inter);
    MPI_Comm_free(&half);
    MPI_Comm_free(&world);
    MPI_Finalize();
    if (0 != wrong) {
        printf("served: rank %d has a wrong result\n", rank);
    }
    return wrong;
}
