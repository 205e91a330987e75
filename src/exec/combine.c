/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See combine.h.
 */
#include "exec/combine.h"

#include <string.h>

#include "base/log.h"
#include "base/pool.h"
#include "exec/pack.h"

/* Packed elements are unpacked in portions of about this many bytes of memory layout. */
#define BOUNCE_BYTES ((size_t) 16384)

static int kind_of_op(const ompi_op_t *op)
{
    switch (op->o_f_to_c_index) {
    case OMPI_OP_BASE_FORTRAN_SUM:
        return HCCL_OP_SUM;
    case OMPI_OP_BASE_FORTRAN_PROD:
        return HCCL_OP_PROD;
    case OMPI_OP_BASE_FORTRAN_MAX:
        return HCCL_OP_MAX;
    case OMPI_OP_BASE_FORTRAN_MIN:
        return HCCL_OP_MIN;
    case OMPI_OP_BASE_FORTRAN_LAND:
        return HCCL_OP_LAND;
    case OMPI_OP_BASE_FORTRAN_LOR:
        return HCCL_OP_LOR;
    case OMPI_OP_BASE_FORTRAN_LXOR:
        return HCCL_OP_LXOR;
    case OMPI_OP_BASE_FORTRAN_BAND:
        return HCCL_OP_BAND;
    case OMPI_OP_BASE_FORTRAN_BOR:
        return HCCL_OP_BOR;
    case OMPI_OP_BASE_FORTRAN_BXOR:
        return HCCL_OP_BXOR;
    case OMPI_OP_BASE_FORTRAN_MAXLOC:
        return HCCL_OP_MAXLOC;
    case OMPI_OP_BASE_FORTRAN_MINLOC:
        return HCCL_OP_MINLOC;
    default:
        return -1;
    }
}

static int integer_of(size_t bytes, bool is_signed)
{
    switch (bytes) {
    case 1:
        return is_signed ? HCCL_NUM_INT8 : HCCL_NUM_UINT8;
    case 2:
        return is_signed ? HCCL_NUM_INT16 : HCCL_NUM_UINT16;
    case 4:
        return is_signed ? HCCL_NUM_INT32 : HCCL_NUM_UINT32;
    case 8:
        return is_signed ? HCCL_NUM_INT64 : HCCL_NUM_UINT64;
    default:
        return -1;
    }
}

static int floating_of(size_t bytes)
{
    return sizeof(float) == bytes ? HCCL_NUM_FLOAT : sizeof(double) == bytes ? HCCL_NUM_DOUBLE : -1;
}

/* The elements that a predefined type of one number consists of, -1 when no kernel knows them:
 * Open MPI computes a 16-byte REAL in long double, whatever the Fortran compiler means by it. */
static int number_of(const ompi_datatype_t *type, bool logical)
{
    size_t bytes = type->super.size;
    switch (ompi_op_ddt_map[type->id]) {
    case OMPI_OP_BASE_TYPE_INT8_T:
    case OMPI_OP_BASE_TYPE_INT16_T:
    case OMPI_OP_BASE_TYPE_INT32_T:
    case OMPI_OP_BASE_TYPE_INT64_T:
    case OMPI_OP_BASE_TYPE_LONG:
    case OMPI_OP_BASE_TYPE_INTEGER:
    case OMPI_OP_BASE_TYPE_INTEGER1:
    case OMPI_OP_BASE_TYPE_INTEGER2:
    case OMPI_OP_BASE_TYPE_INTEGER4:
    case OMPI_OP_BASE_TYPE_INTEGER8:
        return integer_of(bytes, true);
    case OMPI_OP_BASE_TYPE_UINT8_T:
    case OMPI_OP_BASE_TYPE_UINT16_T:
    case OMPI_OP_BASE_TYPE_UINT32_T:
    case OMPI_OP_BASE_TYPE_UINT64_T:
    case OMPI_OP_BASE_TYPE_UNSIGNED_LONG:
    case OMPI_OP_BASE_TYPE_BYTE:
        /* Open MPI's table takes MPI_OFFSET for unsigned; MPI says that it is signed. */
        return integer_of(bytes, &ompi_mpi_offset.dt == type);
    case OMPI_OP_BASE_TYPE_BOOL:
    case OMPI_OP_BASE_TYPE_LOGICAL:
        /* What is not 0 is true, and true results are 1: as in Open MPI's functions. */
        return logical ? integer_of(bytes, false) : -1;
    case OMPI_OP_BASE_TYPE_FLOAT:
    case OMPI_OP_BASE_TYPE_DOUBLE:
    case OMPI_OP_BASE_TYPE_REAL:
    case OMPI_OP_BASE_TYPE_REAL4:
    case OMPI_OP_BASE_TYPE_REAL8:
    case OMPI_OP_BASE_TYPE_DOUBLE_PRECISION:
        return floating_of(bytes);
    case OMPI_OP_BASE_TYPE_LONG_DOUBLE:
        return HCCL_NUM_LONG_DOUBLE;
    case OMPI_OP_BASE_TYPE_C_FLOAT_COMPLEX:
        return HCCL_NUM_FLOAT_COMPLEX;
    case OMPI_OP_BASE_TYPE_C_DOUBLE_COMPLEX:
        return HCCL_NUM_DOUBLE_COMPLEX;
    case OMPI_OP_BASE_TYPE_C_LONG_DOUBLE_COMPLEX:
        return HCCL_NUM_LONG_DOUBLE_COMPLEX;
    default:
        return -1;
    }
}

/* The same for a predefined type of a value and an index. */
static int pair_of(const ompi_datatype_t *type)
{
    switch (ompi_op_ddt_map[type->id]) {
    case OMPI_OP_BASE_TYPE_2INT:
    case OMPI_OP_BASE_TYPE_2INTEGER:
        return HCCL_NUM_INT32_INT32;
    case OMPI_OP_BASE_TYPE_SHORT_INT:
        return HCCL_NUM_INT16_INT32;
    case OMPI_OP_BASE_TYPE_LONG_INT:
        return sizeof(int32_t) == sizeof(long) ? HCCL_NUM_INT32_INT32 : HCCL_NUM_INT64_INT32;
    case OMPI_OP_BASE_TYPE_FLOAT_INT:
        return HCCL_NUM_FLOAT_INT32;
    case OMPI_OP_BASE_TYPE_DOUBLE_INT:
        return HCCL_NUM_DOUBLE_INT32;
    case OMPI_OP_BASE_TYPE_LONG_DOUBLE_INT:
        return HCCL_NUM_LONG_DOUBLE_INT32;
    case OMPI_OP_BASE_TYPE_2REAL:
    case OMPI_OP_BASE_TYPE_2DOUBLE_PRECISION:
        return 2 * sizeof(float) == type->super.size ? HCCL_NUM_FLOAT_FLOAT
                                                     : HCCL_NUM_DOUBLE_DOUBLE;
    default:
        return -1;
    }
}

/* The kernel for packed elements of type, NULL when there is none. */
static hccl_fold_fn_t kernel_for(const ompi_op_t *op, ompi_datatype_t *type)
{
    int kind = kind_of_op(op);
    const ompi_datatype_t *basic = ompi_datatype_is_predefined(type)
                                       ? type
                                       : ompi_datatype_get_single_predefined_type_from_args(type);
    if (kind < 0 || NULL == basic) {
        return NULL;
    }
    bool loc = HCCL_OP_MAXLOC == kind || HCCL_OP_MINLOC == kind;
    bool logical = HCCL_OP_LAND == kind || HCCL_OP_LOR == kind || HCCL_OP_LXOR == kind;
    int number = loc ? pair_of(basic) : number_of(basic, logical);
    if (number < 0 || basic->super.size != hccl_kernel_bytes((hccl_num_t) number)) {
        return NULL;
    }
    return hccl_kernel_fold((hccl_op_kind_t) kind, (hccl_num_t) number);
}

void hccl_combine_init(hccl_combine_t *combine, ompi_op_t *op, ompi_datatype_t *type)
{
    combine->kernel = NULL;
    combine->op = op;
    combine->type = type;
    combine->unit = type->super.size;
    combine->dense =
        0 != opal_datatype_is_contiguous_memory_layout(&type->super, 2) && 0 == type->super.true_lb;
    if (ompi_op_is_intrinsic(op)) {
        combine->kernel = kernel_for(op, type);
    }
}

/* acc = acc op src for units elements by the op's own function, which computes in op inout ->
 * inout: so a copy of the right operand is taken and becomes the result. All dense. */
static void fold_one(const hccl_combine_t *combine, char *acc, char *right, size_t units)
{
    ompi_op_reduce(combine->op, acc, right, units, combine->type);
}

static char *take_memory(size_t bytes)
{
    char *memory = hccl_pool_take(bytes);
    if (NULL == memory) {
        hccl_log_fatal("no memory, %zu bytes, to combine the values of ranks with an op", bytes);
    }
    return memory;
}

/* Two buffers that take turns: the accumulated left operand, and the right one. */
static void fold_dense(const hccl_combine_t *combine, char *dst, const char *const *src, int nsrc,
                       size_t units)
{
    size_t portion = BOUNCE_BYTES / combine->unit > 0 ? BOUNCE_BYTES / combine->unit : 1;
    /* Both start on a cache line, whatever alignment the function's type asks for. */
    size_t half = (portion * combine->unit + 63) / 64 * 64;
    char *both = take_memory(2 * half);
    for (size_t at = 0; at < units; at += portion) {
        size_t n = units - at < portion ? units - at : portion;
        size_t bytes = n * combine->unit;
        char *acc = both;
        char *next = both + half;
        memcpy(acc, src[0] + at * combine->unit, bytes);
        for (int i = 1; i < nsrc; i++) {
            memcpy(next, src[i] + at * combine->unit, bytes);
            fold_one(combine, acc, next, n);
            char *swap = acc;
            acc = next;
            next = swap;
        }
        memcpy(dst + at * combine->unit, acc, bytes);
    }
    hccl_pool_give(both);
}

/* The same for a type with gaps: the function sees elements in the user's layout. */
static int fold_gapped(const hccl_combine_t *combine, char *dst, const char *const *src, int nsrc,
                       size_t units)
{
    ptrdiff_t extent = combine->type->super.ub - combine->type->super.lb;
    size_t portion = extent > 0 ? BOUNCE_BYTES / (size_t) extent : 0;
    /* Elements that follow one another downwards, or in one place, come one at a time: Open MPI knows the
     * span of several only where they ascend. */
    portion = portion > 0 ? portion : 1;
    ptrdiff_t gap;
    size_t span = (size_t) opal_datatype_span(&combine->type->super, portion, &gap);
    span = (span + 63) / 64 * 64 + 64;
    char *both = take_memory(2 * span);
    /* The function may look at the gaps too: let them hold something defined. */
    memset(both, 0, 2 * span);
    /* The first byte lies at origin + gap; the origins keep the alignment of a cache line. */
    ptrdiff_t back = gap - ((gap % 64) + 64) % 64;
    char *acc = both - back;
    char *next = both + span - back;
    int rc = HCCL_OK;
    for (size_t at = 0; at < units && HCCL_OK == rc; at += portion) {
        size_t n = units - at < portion ? units - at : portion;
        rc = hccl_unpack(acc, n, combine->type, src[0] + at * combine->unit);
        for (int i = 1; i < nsrc && HCCL_OK == rc; i++) {
            rc = hccl_unpack(next, n, combine->type, src[i] + at * combine->unit);
            fold_one(combine, acc, next, n);
            char *swap = acc;
            acc = next;
            next = swap;
        }
        if (HCCL_OK == rc) {
            rc = hccl_pack(dst + at * combine->unit, acc, n, combine->type);
        }
    }
    hccl_pool_give(both);
    return rc;
}

int hccl_combine_fold(const hccl_combine_t *combine, char *dst, const char *const *src, int nsrc,
                      size_t units)
{
    if (0 == units) {
        return HCCL_OK;
    }
    if (NULL != combine->kernel) {
        combine->kernel(dst, (const void *const *) src, nsrc, units * combine->unit);
        return HCCL_OK;
    }
    if (combine->dense) {
        fold_dense(combine, dst, src, nsrc, units);
        return HCCL_OK;
    }
    return fold_gapped(combine, dst, src, nsrc, units);
}
