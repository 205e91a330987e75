/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Between a user's layout and packed bytes, through Open MPI's convertor.
 */
#ifndef HCCL_EXEC_PACK_H
#define HCCL_EXEC_PACK_H

#include "base/codes.h"
#include "compat/ompi.h"

/** Packs count elements at buf into packed (size: count * size of the type). */
HCCL_CHECKED int hccl_pack(char *packed, const void *buf, size_t count, ompi_datatype_t *type);

/** The other way. */
HCCL_CHECKED int hccl_unpack(void *buf, size_t count, ompi_datatype_t *type, const char *packed);

/** Whether count elements are one run of bytes in memory; then they start at buf + *offset. */
static inline bool hccl_is_dense(const ompi_datatype_t *type, size_t count, ptrdiff_t *offset)
{
    *offset = type->super.true_lb;
    return 0 != opal_datatype_is_contiguous_memory_layout(&type->super, count > 1 ? 2 : 1);
}

#endif
