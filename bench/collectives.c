/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The tables of collectives.h; the MPI calls are expanded from collectives.def.
 */
#include "collectives.h"

#include <string.h>

#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

/* Open MPI 4.1 has persistent collectives as an extension, MPI 4.0 as MPI_*_init. */
#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSISTENT(Name, ...) MPIX_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#elif 4 <= MPI_VERSION
#define PERSISTENT(Name, ...) MPI_##Name##_init(__VA_ARGS__, MPI_INFO_NULL, request)
#else
#define NO_PERSISTENT 1
#define PERSISTENT(Name, ...) MPI_ERR_UNSUPPORTED_OPERATION
#endif

#define COLLECTIVE(Name, name, layout, meaning, ...)                                   \
    static int call_##name(const struct hccl_bench_call *c, enum hccl_bench_mode mode, \
                           MPI_Request *request)                                       \
    {                                                                                  \
        if (HCCL_BENCH_BLOCKING == mode) {                                             \
            return MPI_##Name(__VA_ARGS__);                                            \
        }                                                                              \
        return HCCL_BENCH_NONBLOCKING == mode ? MPI_I##name(__VA_ARGS__, request)      \
                                              : PERSISTENT(Name, __VA_ARGS__);         \
    }
#include "collectives.def"
#undef COLLECTIVE

const struct hccl_bench_collective hccl_bench_collectives[] = {
#define COLLECTIVE(Name, name, layout, meaning, ...) \
    {#name, meaning, HCCL_BENCH_##layout, call_##name},
#include "collectives.def"
#undef COLLECTIVE
    {NULL, NULL, HCCL_BENCH_NOTHING, NULL}};

const struct hccl_bench_type hccl_bench_types[] = {{"int8", 1, HCCL_BENCH_SIGNED, MPI_INT8_T},
                                                   {"uint8", 1, HCCL_BENCH_UNSIGNED, MPI_UINT8_T},
                                                   {"int16", 2, HCCL_BENCH_SIGNED, MPI_INT16_T},
                                                   {"uint16", 2, HCCL_BENCH_UNSIGNED, MPI_UINT16_T},
                                                   {"int32", 4, HCCL_BENCH_SIGNED, MPI_INT32_T},
                                                   {"uint32", 4, HCCL_BENCH_UNSIGNED, MPI_UINT32_T},
                                                   {"int64", 8, HCCL_BENCH_SIGNED, MPI_INT64_T},
                                                   {"uint64", 8, HCCL_BENCH_UNSIGNED, MPI_UINT64_T},
                                                   {"fp32", 4, HCCL_BENCH_FLOAT, MPI_FLOAT},
                                                   {"fp64", 8, HCCL_BENCH_FLOAT, MPI_DOUBLE},
                                                   {NULL, 0, HCCL_BENCH_SIGNED, MPI_DATATYPE_NULL}};

const struct hccl_bench_op hccl_bench_ops[] = {{"sum", HCCL_BENCH_SUM, MPI_SUM},
                                               {"prod", HCCL_BENCH_PROD, MPI_PROD},
                                               {"min", HCCL_BENCH_MIN, MPI_MIN},
                                               {"max", HCCL_BENCH_MAX, MPI_MAX},
                                               {NULL, HCCL_BENCH_SUM, MPI_OP_NULL}};

const char *const hccl_bench_mode_names[HCCL_BENCH_MODES] = {"blocking", "nonblocking",
                                                             "persistent"};

const struct hccl_bench_collective *hccl_bench_collective_find(const char *name)
{
    for (const struct hccl_bench_collective *c = hccl_bench_collectives; NULL != c->name; c++) {
        if (0 == strcmp(name, c->name)) {
            return c;
        }
    }
    return NULL;
}

const struct hccl_bench_type *hccl_bench_type_find(const char *name)
{
    for (const struct hccl_bench_type *t = hccl_bench_types; NULL != t->name; t++) {
        if (0 == strcmp(name, t->name)) {
            return t;
        }
    }
    return NULL;
}

const struct hccl_bench_op *hccl_bench_op_find(const char *name)
{
    for (const struct hccl_bench_op *o = hccl_bench_ops; NULL != o->name; o++) {
        if (0 == strcmp(name, o->name)) {
            return o;
        }
    }
    return NULL;
}

bool hccl_bench_has_root(enum hccl_bench_layout layout)
{
    return HCCL_BENCH_BCAST == layout || HCCL_BENCH_REDUCE == layout || HCCL_BENCH_GATHER == layout
           || HCCL_BENCH_SCATTER == layout;
}

bool hccl_bench_is_neighbor(enum hccl_bench_layout layout)
{
    return HCCL_BENCH_NEIGHBOR_ALLGATHER == layout || HCCL_BENCH_NEIGHBOR_ALLTOALL == layout;
}

bool hccl_bench_has_in_place(enum hccl_bench_layout layout)
{
    return HCCL_BENCH_NOTHING != layout && HCCL_BENCH_BCAST != layout
           && !hccl_bench_is_neighbor(layout);
}

bool hccl_bench_reduces(enum hccl_bench_layout layout)
{
    return HCCL_BENCH_REDUCE == layout || HCCL_BENCH_ALLREDUCE == layout
           || HCCL_BENCH_SCAN == layout || HCCL_BENCH_EXSCAN == layout
           || HCCL_BENCH_REDUCE_SCATTER == layout;
}

bool hccl_bench_has_persistent(void)
{
#ifdef NO_PERSISTENT
    return false;
#else
    return true;
#endif
}
