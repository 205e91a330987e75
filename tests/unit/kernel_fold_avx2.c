/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reduction kernels as processors with AVX2 but without AVX-512 run them.
 */
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define HCCL_KERNEL_ONE_VERSION
#pragma GCC push_options
#pragma GCC target("avx2")
#include "../../src/kernel/fold.c"
#pragma GCC pop_options
#define HAVE_VERSION __builtin_cpu_supports("avx2")
#else
#define HAVE_VERSION 0
#endif

#include "kernel_fold_cases.h"

static void not_here(void **state)
{
    (void) state;
    skip();
}

int main(void)
{
    const struct CMUnitTest none[] = {cmocka_unit_test(not_here)};
    return HAVE_VERSION ? run_cases() : cmocka_run_group_tests(none, NULL, NULL);
}
