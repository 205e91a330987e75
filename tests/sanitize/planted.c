/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Faults that run_sanitize.sh must find, in functions named like ours: planted leak|overflow|shift|
 * uninitialized. Knows nothing else.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static volatile int zero;

__attribute__((noinline)) static void hccl_planted_leak(void)
{
    char *volatile lost = malloc(123);
    lost = NULL;
    (void) lost;
}

__attribute__((noinline)) static void hccl_planted_overflow(void)
{
    char *volatile memory = malloc(10);
    if (NULL != memory) {
        memory[10 + zero] = 1;
    }
    free(memory);
}

__attribute__((noinline)) static void hccl_planted_shift(void)
{
    volatile int result = 1 << (40 + zero);
    (void) result;
}

__attribute__((noinline)) static void hccl_planted_uninitialized(void)
{
    volatile int *memory = malloc(16);
    if (NULL != memory && 7 == memory[zero]) {
        printf("seven\n");
    }
    free((void *) memory);
}

int main(int argc, char **argv)
{
    const char *what = 2 == argc ? argv[1] : "";
    if (0 == strcmp(what, "leak")) {
        hccl_planted_leak();
    } else if (0 == strcmp(what, "overflow")) {
        hccl_planted_overflow();
    } else if (0 == strcmp(what, "shift")) {
        hccl_planted_shift();
    } else if (0 == strcmp(what, "uninitialized")) {
        hccl_planted_uninitialized();
    } else {
        fprintf(stderr, "usage: planted leak|overflow|shift|uninitialized\n");
        return 2;
    }
    return 0;
}
