/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What Open MPI sees of the component. Knows the coll interface, nothing of plans or tiers.
 */
#ifndef COLL_HCCL_H
#define COLL_HCCL_H

#include "ompi_config.h"

#include "mpi.h"
#include "ompi/mca/coll/coll.h"

/* The one exported symbol; Open MPI finds it by name. */
OMPI_MODULE_DECLSPEC extern const mca_coll_base_component_t mca_coll_hccl_component;

/* Called on every process when a communicator is made; NULL: not for this communicator. */
mca_coll_base_module_t *hccl_module_query(struct ompi_communicator_t *comm, int *priority);

#endif
