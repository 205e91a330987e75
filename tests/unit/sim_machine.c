/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Machine descriptions: what is read, what is refused and with which words.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "../../tools/machine.h"

/* Reads a file with this text. */
static int read_text(const char *text, hccl_machine_t *m, char *why)
{
    char path[] = "/tmp/hccl_machine.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal((ssize_t) strlen(text), write(fd, text, strlen(text)));
    close(fd);
    hccl_machine_default(m);
    int rc = hccl_machine_read(path, m, why);
    unlink(path);
    return rc;
}

static void values_and_units(void **state)
{
    (void) state;
    hccl_machine_t m;
    char why[HCCL_MACHINE_WHY];
    assert_int_equal(HCCL_OK, read_text("# all of it\n"
                                        "name = two words # not this\n"
                                        "topology = node:4 core:2\n\n"
                                        "  l3.alpha=50ns\n"
                                        "node.alpha = 1.5 us\n"
                                        "network.alpha = 0\n"
                                        "network.bandwidth = 100Gbit/s\n"
                                        "copy.bandwidth = 3 GB/s\n"
                                        "network.eager = 64k\n"
                                        "switch.oversubscription = 2.5\n"
                                        "network.nics = 2",
                                        &m, why));
    assert_string_equal("two words", m.name);
    assert_string_equal("node:4 core:2", m.topology);
    assert_float_equal(m.tier[HCCL_TIER_L3].alpha, 50e-9, 1e-18);
    assert_float_equal(m.tier[HCCL_TIER_NODE].alpha, 1.5e-6, 1e-15);
    assert_float_equal(m.alpha, 0, 0);
    assert_float_equal(m.bandwidth, 12.5e9, 1);
    assert_float_equal(m.copy, 3e9, 1);
    assert_float_equal(m.eager, 65536, 0);
    assert_float_equal(m.oversubscribed, 2.5, 0);
    assert_float_equal(m.nics, 2, 0);
}

static void faults(void **state)
{
    (void) state;
    static const struct {
        const char *text, *says;
    } cases[] = {
        {"l3.alpha = 50", ":1: l3.alpha takes a time in ns, us, ms or s"},
        {"\nl3.alpha = fast", ":2: l3.alpha takes a time in ns, us, ms or s, as 1.5us, not 'fast'"},
        {"l3.alpha = 50GB/s", "not '50GB/s'"},
        {"l3.alpha = -1us", "l3.alpha must be between 0 and 1"},
        {"network.bandwidth = 0GB/s", "network.bandwidth must be between 1 and"},
        {"network.bandwidth = nanGB/s", "network.bandwidth takes a speed"},
        {"network.bandwidth = 1e999GB/s", "network.bandwidth takes a speed"},
        {"network.nics = 1.5", "network.nics takes a whole number, not '1.5'"},
        {"network.nics = 0", "network.nics must be between 1 and 64"},
        {"network.eager = 64kB", "network.eager takes a number of bytes"},
        {"speed = 3", "no such key 'speed'; there are name topology"},
        {"hello", ":1: 'hello' is no `key = value`"},
        {"l3.alpha =", "l3.alpha takes a time"},
        {"l3.alpha = 1us\nl3.alpha = 2us", ":2: l3.alpha is there twice"},
    };
    hccl_machine_t m;
    char why[HCCL_MACHINE_WHY];
    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        assert_int_equal(HCCL_ERR_ARG, read_text(cases[i].text, &m, why));
        if (NULL == strstr(why, cases[i].says)) {
            fail_msg("'%s' was answered with '%s', not with '%s'", cases[i].text, why,
                     cases[i].says);
        }
    }
    char longer[2000];
    memset(longer, 'x', sizeof(longer) - 1);
    longer[sizeof(longer) - 1] = '\0';
    assert_int_equal(HCCL_ERR_ARG, read_text(longer, &m, why));
    assert_non_null(strstr(why, "longer than"));
    assert_int_equal(HCCL_ERR_ARG, hccl_machine_read("/nonexistent/machine", &m, why));
    assert_non_null(strstr(why, "/nonexistent/machine: No such file"));
}

static void printed_and_read_again(void **state)
{
    (void) state;
    hccl_machine_t m, again;
    char why[HCCL_MACHINE_WHY], *text = NULL;
    size_t size = 0;
    hccl_machine_default(&m);
    strcpy(m.topology, "node:3 core:2");
    m.alpha = 1.234567e-5;
    m.bandwidth = 11.75e6;
    m.eager = 65537;
    m.leaf = 16;
    FILE *file = open_memstream(&text, &size);
    assert_non_null(file);
    hccl_machine_print(file, &m);
    fclose(file);
    assert_int_equal(HCCL_OK, read_text(text, &again, why));
    assert_string_equal(m.topology, again.topology);
    assert_float_equal(m.alpha, again.alpha, 1e-13);
    assert_float_equal(m.bandwidth, again.bandwidth, 1e-2);
    assert_float_equal(m.eager, again.eager, 0);
    assert_float_equal(m.leaf, again.leaf, 0);
    assert_float_equal(m.tier[HCCL_TIER_L3].alpha, again.tier[HCCL_TIER_L3].alpha, 1e-15);
    free(text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_and_units),
        cmocka_unit_test(faults),
        cmocka_unit_test(printed_and_read_again),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
