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
#include "opal/mca/hwloc/base/base.h"
#include "opal/mca/mpool/base/base.h"
#include "opal/mca/pmix/pmix.h"
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

#endif
