/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Which kernels this processor runs. See fold.h and fold_set.h.
 */
#include "kernel/fold.h"

#include <complex.h>
#include <stdbool.h>
#include <stdint.h>
#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#endif

#include "kernel/fold_set.h"

/* Bytes of partial results between passes: a multiple of every element that has a vector kernel. */
#define PORTION ((size_t) 8192)

static const size_t bytes_of[HCCL_NUM_COUNT] = {
    [HCCL_NUM_INT8] = sizeof(int8_t),
    [HCCL_NUM_UINT8] = sizeof(uint8_t),
    [HCCL_NUM_INT16] = sizeof(int16_t),
    [HCCL_NUM_UINT16] = sizeof(uint16_t),
    [HCCL_NUM_INT32] = sizeof(int32_t),
    [HCCL_NUM_UINT32] = sizeof(uint32_t),
    [HCCL_NUM_INT64] = sizeof(int64_t),
    [HCCL_NUM_UINT64] = sizeof(uint64_t),
    [HCCL_NUM_FLOAT] = sizeof(float),
    [HCCL_NUM_DOUBLE] = sizeof(double),
    [HCCL_NUM_LONG_DOUBLE] = sizeof(long double),
    [HCCL_NUM_FLOAT_COMPLEX] = sizeof(float _Complex),
    [HCCL_NUM_DOUBLE_COMPLEX] = sizeof(double _Complex),
    [HCCL_NUM_LONG_DOUBLE_COMPLEX] = sizeof(long double _Complex),
    [HCCL_NUM_INT16_INT32] = sizeof(int16_t) + sizeof(int32_t),
    [HCCL_NUM_INT32_INT32] = sizeof(int32_t) + sizeof(int32_t),
    [HCCL_NUM_INT64_INT32] = sizeof(int64_t) + sizeof(int32_t),
    [HCCL_NUM_FLOAT_INT32] = sizeof(float) + sizeof(int32_t),
    [HCCL_NUM_DOUBLE_INT32] = sizeof(double) + sizeof(int32_t),
    [HCCL_NUM_LONG_DOUBLE_INT32] = sizeof(long double) + sizeof(int32_t),
    [HCCL_NUM_FLOAT_FLOAT] = 2 * sizeof(float),
    [HCCL_NUM_DOUBLE_DOUBLE] = 2 * sizeof(double),
};

/* Best first. The last one is always there. */
static const hccl_kernel_set_t *const sets[] = {&hccl_fold_avx512, &hccl_fold_avx2, &hccl_fold_sve,
                                                &hccl_fold_base};
#define SETS ((int) (sizeof(sets) / sizeof(sets[0])))

static bool has(const hccl_kernel_set_t *set)
{
    if (NULL == set->table) {
        return false;
    }
#if defined(__x86_64__)
    if (&hccl_fold_avx512 == set) {
        return __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq")
               && __builtin_cpu_supports("avx512vl");
    }
    if (&hccl_fold_avx2 == set) {
        return __builtin_cpu_supports("avx2");
    }
#elif defined(__aarch64__)
    if (&hccl_fold_sve == set) {
        return 0 != (getauxval(AT_HWCAP) & HWCAP_SVE);
    }
#endif
    return true;
}

const hccl_kernel_set_t *hccl_kernel_set(int i)
{
    for (int s = 0; s < SETS; s++) {
        if (has(sets[s]) && 0 == i--) {
            return sets[s];
        }
    }
    return NULL;
}

/* Portion by portion, so that partial results stay in the first-level cache, and dst is written when
 * all sources of the portion have been read: it may be one of them. */
void hccl_fold_groups(hccl_fold_fn_t kernel, void *dst, const void *const *src, int nsrc,
                      size_t bytes)
{
    char partial[PORTION] __attribute__((aligned(64)));
    for (size_t at = 0; at < bytes; at += PORTION) {
        size_t n = bytes - at < PORTION ? bytes - at : PORTION;
        const void *group[HCCL_FOLD_GROUP];
        int members = 0;
        for (int j = 0; j < nsrc; j++) {
            group[members++] = (const char *) src[j] + at;
            if (nsrc - 1 == j) {
                kernel((char *) dst + at, group, members, n);
            } else if (HCCL_FOLD_GROUP == members) {
                kernel(partial, group, members, n);
                group[0] = partial;
                members = 1;
            }
        }
    }
}

const char *hccl_kernel_set_name(const hccl_kernel_set_t *set)
{
    return set->name;
}

hccl_fold_fn_t hccl_kernel_set_fold(const hccl_kernel_set_t *set, hccl_op_kind_t op, hccl_num_t num)
{
    hccl_fold_fn_t kernel = (*set->table)[num][op];
    if (NULL == kernel && NULL != set->rest) {
        kernel = (*set->rest->table)[num][op];
    }
    return NULL != kernel ? kernel : (*hccl_fold_scalar.table)[num][op];
}

hccl_fold_fn_t hccl_kernel_fold(hccl_op_kind_t op, hccl_num_t num)
{
    return hccl_kernel_set_fold(hccl_kernel_set(0), op, num);
}

size_t hccl_kernel_bytes(hccl_num_t num)
{
    return bytes_of[num];
}
