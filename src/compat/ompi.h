/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Open MPI's internal headers, and the only place that knows how its versions differ. Everything
 * that touches Open MPI includes this file and no header of Open MPI itself.
 */
#ifndef HCCL_COMPAT_OMPI_H
#define HCCL_COMPAT_OMPI_H

#include "ompi_config.h"

#include <mpi.h>

#include "ompi/communicator/communicator.h"
#include "ompi/datatype/ompi_datatype.h"
#include "ompi/errhandler/errcode-internal.h"
#include "ompi/mca/coll/base/base.h"
#include "ompi/mca/coll/base/coll_base_functions.h"
#include "ompi/mca/coll/base/coll_base_util.h"
#include "ompi/mca/coll/coll.h"
#include "ompi/mca/pml/pml.h"
#include "ompi/mca/topo/base/base.h"
#include "ompi/op/op.h"
#include "ompi/proc/proc.h"
#include "ompi/request/request.h"
#include "opal/datatype/opal_convertor.h"
#include "opal/mca/base/mca_base_vari.h"
#include "opal/mca/hwloc/base/base.h"
#include "opal/mca/memory/base/base.h"
#include "opal/mca/mpool/base/base.h"
#include "opal/mca/pmix/pmix.h"
#include "opal/memoryhooks/memory.h"
#include "opal/runtime/opal_progress.h"
#include "opal/threads/threads.h"

/** The info object of persistent collectives. */
typedef struct ompi_info_t hccl_compat_info_t;

/** A number that the members of a live communicator share, and no other live communicator of any
 *  member has. */
static inline uint64_t hccl_compat_comm_number(const ompi_communicator_t *comm)
{
    return comm->c_contextid;
}

/** Lets references keep an inter-communicator alive. 4.1 marks one whose number is below that of the
 *  communicator it was made of, and keeps a reference more, for MPI_Finalize; MPI_Comm_free then drops
 *  references until the marked communicator is gone, those of operations under way too. Takes the mark
 *  and its reference off. For who knows that the user has not freed it yet. */
static inline void hccl_compat_keep_comm(ompi_communicator_t *comm)
{
    if (OMPI_COMM_IS_EXTRA_RETAIN(comm)) {
        comm->c_flags &= ~(uint32_t) OMPI_COMM_EXTRA_RETAIN;
        OBJ_RELEASE(comm);
    }
}

/** The text of a parameter's value where that comes from a file, NULL: it does not. index: of the parameter. */
static inline const char *hccl_compat_text_in_file(int index)
{
    const mca_base_var_t *var = NULL;
    if (index < 0 || OPAL_SUCCESS != mca_base_var_get(index, &var)
        || (MCA_BASE_VAR_SOURCE_FILE != var->mbv_source
            && MCA_BASE_VAR_SOURCE_OVERRIDE != var->mbv_source)
        || NULL == var->mbv_file_value) {
        return NULL;
    }
    return ((const mca_base_var_file_value_t *) var->mbv_file_value)->mbvfv_value;
}

/** Lets `told` be called before memory of the process goes (munmap and the like), in the thread that does
 *  it. False: Open MPI cannot see that here. The names are Open MPI's, and they stay open with it. */
static inline bool hccl_compat_watch_memory(opal_mem_hooks_callback_fn_t *told)
{
    const int all = OPAL_MEMORY_FREE_SUPPORT | OPAL_MEMORY_MUNMAP_SUPPORT;
    return OPAL_SUCCESS == mca_base_framework_open(&opal_memory_base_framework, 0)
           && all == (all & opal_mem_hooks_support_level())
           && OPAL_SUCCESS == opal_mem_hooks_register_release(told, NULL);
}

static inline void hccl_compat_unwatch_memory(opal_mem_hooks_callback_fn_t *told)
{
    (void) opal_mem_hooks_unregister_release(told);
    (void) mca_base_framework_close(&opal_memory_base_framework);
}

#endif
