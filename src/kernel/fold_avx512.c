/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels for AVX-512 with its byte, word, doubleword and length extensions. A compiler that
 * does not know the pragma makes an empty set.
 */
#if defined(__x86_64__) && !defined(__AVX512BW__) && !defined(__clang__)
#pragma GCC target("avx512f,avx512bw,avx512dq,avx512vl")
#endif
#if defined(__AVX512BW__) && defined(__AVX512DQ__) && defined(__AVX512VL__)
#define FOLD_WIDTH 64
#define FOLD_SET hccl_fold_avx512
#define FOLD_NAME "avx512"
#include "kernel/fold_vector.h"
#else
#include "kernel/fold_set.h"
const hccl_kernel_set_t hccl_fold_avx512 = {.name = "avx512", .table = NULL};
#endif
