/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * As much of cmocka as unit/kernel_fold.c needs, for a processor that the library is not installed for.
 * A failed assertion ends the program. Used by run_aarch64.sh alone.
 */
#ifndef HCCL_TESTS_AARCH64_CMOCKA_H
#define HCCL_TESTS_AARCH64_CMOCKA_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(f)  \
    {                        \
        .name = #f, .run = f \
    }
#define fail_msg(...)                       \
    do {                                    \
        fprintf(stderr, __VA_ARGS__);       \
        fprintf(stderr, "\n# test ends\n"); \
        exit(1);                            \
    } while (0)
#define assert_true(condition)                                               \
    do {                                                                     \
        if (!(condition)) {                                                  \
            fail_msg("%s:%d: not true: %s", __FILE__, __LINE__, #condition); \
        }                                                                    \
    } while (0)
#define assert_int_equal(a, b) assert_true((intmax_t) (a) == (intmax_t) (b))
#define assert_ptr_equal(a, b) assert_true((a) == (b))
#define print_message(...) printf(__VA_ARGS__)

#define cmocka_run_group_tests(tests, set_up, tear_down) \
    run_group(tests, sizeof(tests) / sizeof((tests)[0]), set_up, tear_down)

static inline int run_group(const struct CMUnitTest *tests, size_t n, int (*set_up)(void **),
                            int (*tear_down)(void **))
{
    void *state = NULL;

    if (0 != set_up(&state)) {
        return 1;
    }
    for (size_t i = 0; i < n; i++) {
        tests[i].run(&state);
        printf("passed %s\n", tests[i].name);
        fflush(stdout);
    }
    return tear_down(&state);
}

#endif
