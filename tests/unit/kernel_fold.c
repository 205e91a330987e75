/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reduction kernels as the component has them: the loader picks the best version for this
 * processor. The other versions: kernel_fold_avx2.c, kernel_fold_base.c.
 */
#include "kernel_fold_cases.h"

int main(void)
{
    return run_cases();
}
