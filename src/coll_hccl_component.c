/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The component structure Open MPI opens.
 */
#include "coll_hccl.h"

#include "hccl_config.h"

static int hccl_component_init_query(bool enable_progress_threads, bool enable_mpi_threads)
{
    (void) enable_progress_threads;
    (void) enable_mpi_threads;
    return OMPI_SUCCESS;
}

const mca_coll_base_component_t mca_coll_hccl_component = {
    .collm_version =
        {
            MCA_COLL_BASE_VERSION_2_0_0,
            .mca_component_name = "hccl",
            MCA_BASE_MAKE_VERSION(component, 0, 1, 0),
        },
    .collm_data = {MCA_BASE_METADATA_PARAM_CHECKPOINT},
    .collm_init_query = hccl_component_init_query,
    .collm_comm_query = hccl_module_query,
};
