/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * MPI_Reduce_local: no communicator, no plan.
 */
#include "entry/entry.h"

int hccl_entry_reduce_local(const void *inbuf, void *inoutbuf, int count, ompi_datatype_t *type,
                            ompi_op_t *op, mca_coll_base_module_t *module)
{
    (void) module;
    hccl_combine_t combine;
    hccl_combine_init(&combine, op, type);
    if (NULL == combine.kernel || !combine.dense) {
        /* Open MPI's function reads the first buffer only. */
        ompi_op_reduce(op, (void *) (uintptr_t) inbuf, inoutbuf, (size_t) count, type);
        return OMPI_SUCCESS;
    }
    const char *sources[] = {inbuf, inoutbuf};
    int rc = hccl_combine_fold(&combine, inoutbuf, sources, 2, (size_t) count);
    return HCCL_OK == rc ? OMPI_SUCCESS : OMPI_ERR_OUT_OF_RESOURCE;
}
