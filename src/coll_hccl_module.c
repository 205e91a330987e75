/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The answer to "do you serve this communicator?".
 */
#include "coll_hccl.h"

mca_coll_base_module_t *hccl_module_query(struct ompi_communicator_t *comm, int *priority)
{
    (void) comm;
    (void) priority;
    return NULL;
}
