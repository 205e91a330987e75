/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reduction kernels for processors without vector extensions beyond the base of their family.
 */
#define HCCL_KERNEL_ONE_VERSION
#include "../../src/kernel/fold.c"

#include "kernel_fold_cases.h"

int main(void)
{
    return run_cases();
}
