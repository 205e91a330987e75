/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What is taken for a number, and what for a switch.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/value.h"

static void numbers(void **state)
{
    static const char *const good[] = {"0",  "7",  "16", "007",  "0x1f", "0XfF",
                                       "4k", "4K", "1m", "900M", "1g",   "0x10k"};
    static const char *const bad[] = {"",    " ",   "x",   "16x", "16 ", " 16", "-1",   "+1",
                                      "1e3", "1.5", "4kb", "4kk", "1t",  "0x",  "08",   "k",
                                      "1k ", "1,5", "3;",  "3\n", "on",  "--",  "0xg1", "5-6"};
    (void) state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        if (!hccl_value_is_number(good[i], SIZE_MAX)) {
            fail_msg("'%s' is no number", good[i]);
        }
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        if (hccl_value_is_number(bad[i], SIZE_MAX)) {
            fail_msg("'%s' is a number", bad[i]);
        }
    }
}

/* What does not fit is no number, also where a computer's product of both would be small. */
static void bounds(void **state)
{
    (void) state;
    assert_true(hccl_value_is_number("2147483647", 2147483647));
    assert_false(hccl_value_is_number("2147483648", 2147483647));
    assert_true(hccl_value_is_number("2097151k", 2147483647));
    assert_false(hccl_value_is_number("2097152k", 2147483647));
    assert_true(hccl_value_is_number("1g", 2147483647));
    assert_false(hccl_value_is_number("2g", 2147483647));
    assert_true(hccl_value_is_number("18446744073709551615", SIZE_MAX));
    assert_false(hccl_value_is_number("18446744073709551616", SIZE_MAX));
    assert_false(hccl_value_is_number("99999999999999999999999", SIZE_MAX));
    assert_true(hccl_value_is_number("17179869183g", SIZE_MAX));
    assert_false(hccl_value_is_number("17179869184g", SIZE_MAX));    /* 2^64 */
    assert_false(hccl_value_is_number("17592186044417m", SIZE_MAX)); /* 2^64 + 2^20 */
}

static void switches(void **state)
{
    static const char *const good[] = {"true", "false", "t", "f",       "yes",      "no",
                                       "y",    "n",     "1", "enabled", "disabled", "0"};
    static const char *const bad[] = {"",   "on", "off",  "True", "1x",
                                      "x1", "-1", "yes ", " no",  "2.0"};
    (void) state;
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++) {
        assert_true(hccl_value_is_switch(good[i]));
    }
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        assert_false(hccl_value_is_switch(bad[i]));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(numbers),
        cmocka_unit_test(bounds),
        cmocka_unit_test(switches),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
