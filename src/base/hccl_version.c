/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The version of this component as one string. See hccl_version.h.
 */
#include "base/hccl_version.h"

#include "hccl_config.h"

const char *hccl_base_version(void)
{
    return HCCL_VERSION " for Open MPI " HCCL_OMPI_VERSION;
}
