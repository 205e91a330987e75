/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels for AVX2. A compiler that does not know the pragma makes an empty set.
 */
#if defined(__x86_64__) && !defined(__AVX2__) && !defined(__clang__)
#pragma GCC target("avx2")
#endif
#if defined(__AVX2__)
#define FOLD_WIDTH 32
#define FOLD_SET hccl_fold_avx2
#define FOLD_NAME "avx2"
#include "kernel/fold_vector.h"
#else
#include "kernel/fold_set.h"
const hccl_kernel_set_t hccl_fold_avx2 = {.name = "avx2", .table = NULL};
#endif
