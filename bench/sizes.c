/* SPDX-License-Identifier: BSD-3-Clause
 *
 * The arithmetic of sizes of problem.h, without MPI calls: hccl_versus needs it too.
 */
#include "problem.h"

#include <limits.h>

size_t hccl_bench_block_count(const struct hccl_bench_request *q, int size)
{
    size_t parts = HCCL_BENCH_REDUCE_SCATTER == q->collective->layout ? (size_t) size : 1;
    size_t count = q->bytes / q->type->size / parts;

    return 0 == count && 0 < q->bytes ? 1 : count;
}

size_t hccl_bench_actual_bytes(const struct hccl_bench_request *q, int size)
{
    size_t parts = HCCL_BENCH_REDUCE_SCATTER == q->collective->layout ? (size_t) size : 1;

    return hccl_bench_block_count(q, size) * parts * q->type->size;
}

const char *hccl_bench_too_large(const struct hccl_bench_request *q, int size)
{
    size_t count = hccl_bench_block_count(q, size);

    if (INT_MAX < count) {
        return "more than 2147483647 elements in one block";
    }
    if (HCCL_BENCH_NOTHING != q->collective->layout && INT_MAX / (size_t) size < count) {
        return "the displacements of all ranks' blocks exceed 2147483647 elements";
    }
    if (HCCL_BENCH_ALLTOALL == q->collective->layout
        && INT_MAX / (size_t) size / q->type->size < count) {
        return "the displacements of all ranks' blocks exceed 2147483647 bytes";
    }
    return NULL;
}
