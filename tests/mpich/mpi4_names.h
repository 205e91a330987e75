/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Names that MPICH's test programs use and Open MPI 4.1 spells differently; build.sh puts it before
 * every source of the suite with -include, so that the suite's own text stays as fetched.
 *
 * It knows MPI's names only, nothing of this component. Nobody else may include it.
 */
#ifndef HCCL_TESTS_MPICH_MPI4_NAMES_H
#define HCCL_TESTS_MPICH_MPI4_NAMES_H

#include <mpi.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>

/* The suite's datatype library builds types by both MPI-1 names, whose later spelling takes the
 * same arguments; mpi.h turns the old ones into a compile error. */
#undef MPI_Type_hvector
#undef MPI_Type_hindexed
#define MPI_Type_hvector MPI_Type_create_hvector
#define MPI_Type_hindexed MPI_Type_create_hindexed

/* Persistent collectives became standard in MPI 4.0; Open MPI 4.1 has them as an extension. */
#if MPI_VERSION < 4 && defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define MPI_Allgather_init MPIX_Allgather_init
#define MPI_Allgatherv_init MPIX_Allgatherv_init
#define MPI_Allreduce_init MPIX_Allreduce_init
#define MPI_Alltoall_init MPIX_Alltoall_init
#define MPI_Alltoallv_init MPIX_Alltoallv_init
#define MPI_Alltoallw_init MPIX_Alltoallw_init
#define MPI_Barrier_init MPIX_Barrier_init
#define MPI_Bcast_init MPIX_Bcast_init
#define MPI_Exscan_init MPIX_Exscan_init
#define MPI_Gather_init MPIX_Gather_init
#define MPI_Gatherv_init MPIX_Gatherv_init
#define MPI_Neighbor_allgather_init MPIX_Neighbor_allgather_init
#define MPI_Neighbor_allgatherv_init MPIX_Neighbor_allgatherv_init
#define MPI_Neighbor_alltoall_init MPIX_Neighbor_alltoall_init
#define MPI_Neighbor_alltoallv_init MPIX_Neighbor_alltoallv_init
#define MPI_Neighbor_alltoallw_init MPIX_Neighbor_alltoallw_init
#define MPI_Reduce_init MPIX_Reduce_init
#define MPI_Reduce_scatter_init MPIX_Reduce_scatter_init
#define MPI_Reduce_scatter_block_init MPIX_Reduce_scatter_block_init
#define MPI_Scan_init MPIX_Scan_init
#define MPI_Scatter_init MPIX_Scatter_init
#define MPI_Scatterv_init MPIX_Scatterv_init
#endif
#endif

#endif
