/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The kernels for the instructions that every processor of the family has: SSE2, NEON, or none,
 * where the compiler takes vectors apart.
 */
#define FOLD_WIDTH 16
#define FOLD_SET hccl_fold_base
#define FOLD_NAME "base"
#include "kernel/fold_vector.h"
