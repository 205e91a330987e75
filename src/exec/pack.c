/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See pack.h.
 */
#include "exec/pack.h"

#include <string.h>

typedef int (*move_fn_t)(opal_convertor_t *, struct iovec *, uint32_t *, size_t *);

/* Runs a prepared convertor over all of the packed bytes, in pieces that fit its interfaces. */
static int move_all(opal_convertor_t *convertor, char *packed, move_fn_t move)
{
    size_t done = 0;
    size_t total;
    int complete = 0;
    opal_convertor_get_packed_size(convertor, &total);
    while (done < total && 0 == complete) {
        size_t part = total - done < ((size_t) 1 << 30) ? total - done : (size_t) 1 << 30;
        struct iovec iov = {.iov_base = packed + done, .iov_len = part};
        uint32_t pieces = 1;
        size_t moved = part;
        complete = move(convertor, &iov, &pieces, &moved);
        if (complete < 0 || (0 == moved && 0 == complete)) {
            return HCCL_ERR_INTERNAL;
        }
        done += moved;
    }
    return HCCL_OK;
}

int hccl_pack(char *packed, const void *buf, size_t count, ompi_datatype_t *type)
{
    ptrdiff_t offset;
    if (0 == count || 0 == type->super.size) {
        return HCCL_OK;
    }
    if (hccl_is_dense(type, count, &offset)) {
        memcpy(packed, (const char *) buf + offset, count * type->super.size);
        return HCCL_OK;
    }
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    int rc = opal_convertor_copy_and_prepare_for_send(ompi_mpi_local_convertor, &type->super, count,
                                                      buf, 0, &convertor);
    rc = OPAL_SUCCESS == rc ? move_all(&convertor, packed, opal_convertor_pack) : HCCL_ERR_INTERNAL;
    OBJ_DESTRUCT(&convertor);
    return rc;
}

int hccl_unpack(void *buf, size_t count, ompi_datatype_t *type, const char *packed)
{
    ptrdiff_t offset;
    if (0 == count || 0 == type->super.size) {
        return HCCL_OK;
    }
    if (hccl_is_dense(type, count, &offset)) {
        memcpy((char *) buf + offset, packed, count * type->super.size);
        return HCCL_OK;
    }
    opal_convertor_t convertor;
    OBJ_CONSTRUCT(&convertor, opal_convertor_t);
    int rc = opal_convertor_copy_and_prepare_for_recv(ompi_mpi_local_convertor, &type->super, count,
                                                      buf, 0, &convertor);
    /* The convertor does not write what it unpacks from. */
    rc = OPAL_SUCCESS == rc
             ? move_all(&convertor, (char *) (uintptr_t) packed, opal_convertor_unpack)
             : HCCL_ERR_INTERNAL;
    OBJ_DESTRUCT(&convertor);
    return rc;
}
