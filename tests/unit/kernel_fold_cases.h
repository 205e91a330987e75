/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The tests of the reduction kernels: every op on every kind of number against a loop that knows
 * nothing of blocks, instruction sets or several sources at once. Included by the programs that
 * run them on one build of the kernels each.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/fold.h"

#define MOST_SOURCES 9
#define MOST_COUNT 100000
#define GUARD 64 /* bytes around the result that must not change */

static const size_t num_bytes[HCCL_NUM_COUNT] = {1, 1, 2, 2, 4, 4, 8, 8, 4, 8};
static const char *const num_names[HCCL_NUM_COUNT] = {
    "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float", "double"};

static uint64_t seed = 1;

static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

static bool is_float(hccl_num_t num)
{
    return HCCL_NUM_FLOAT == num || HCCL_NUM_DOUBLE == num;
}

static double float_op(hccl_op_kind_t op, double a, double b, bool single)
{
    switch (op) {
    case HCCL_OP_SUM:
        return single ? (double) ((float) a + (float) b) : a + b;
    case HCCL_OP_PROD:
        return single ? (double) ((float) a * (float) b) : a * b;
    case HCCL_OP_MAX:
        return a > b ? a : b;
    default:
        return a < b ? a : b;
    }
}

static int64_t integer_op(hccl_op_kind_t op, int64_t a, int64_t b, bool is_signed)
{
    bool less = is_signed ? a < b : (uint64_t) a < (uint64_t) b;
    switch (op) {
    case HCCL_OP_SUM:
        return (int64_t) ((uint64_t) a + (uint64_t) b);
    case HCCL_OP_PROD:
        return (int64_t) ((uint64_t) a * (uint64_t) b);
    case HCCL_OP_MAX:
        return less ? b : a;
    case HCCL_OP_MIN:
        return less ? a : b;
    case HCCL_OP_LAND:
        return 0 != a && 0 != b ? 1 : 0;
    case HCCL_OP_LOR:
        return 0 != a || 0 != b ? 1 : 0;
    case HCCL_OP_LXOR:
        return (0 != a) + (0 != b) == 1 ? 1 : 0;
    case HCCL_OP_BAND:
        return a & b;
    case HCCL_OP_BOR:
        return a | b;
    default:
        return a ^ b;
    }
}

/* An integer of any width, extended to 64 bits by its sign if it has one. */
static int64_t load(hccl_num_t num, const char *at)
{
    int shift = 64 - 8 * (int) num_bytes[num];
    uint64_t raw = 0;
    memcpy(&raw, at, num_bytes[num]); /* little endian, as all machines these tests run on */
    raw <<= shift;
    return 0 == num % 2 ? (int64_t) raw >> shift : (int64_t) (raw >> shift);
}

static void expected(hccl_op_kind_t op, hccl_num_t num, char *result, const char *const *src,
                     int nsrc, size_t count)
{
    size_t width = num_bytes[num];
    for (size_t i = 0; i < count; i++) {
        if (HCCL_NUM_FLOAT == num) {
            float acc, next;
            memcpy(&acc, src[0] + i * width, width);
            for (int j = 1; j < nsrc; j++) {
                memcpy(&next, src[j] + i * width, width);
                acc = (float) float_op(op, acc, next, true);
            }
            memcpy(result + i * width, &acc, width);
        } else if (HCCL_NUM_DOUBLE == num) {
            double acc, next;
            memcpy(&acc, src[0] + i * width, width);
            for (int j = 1; j < nsrc; j++) {
                memcpy(&next, src[j] + i * width, width);
                acc = float_op(op, acc, next, false);
            }
            memcpy(result + i * width, &acc, width);
        } else {
            char step[8];
            memcpy(step, src[0] + i * width, width);
            for (int j = 1; j < nsrc; j++) {
                int64_t r =
                    integer_op(op, load(num, step), load(num, src[j] + i * width), 0 == num % 2);
                memcpy(step, &r, width);
            }
            memcpy(result + i * width, step, width);
        }
    }
}

/* Numbers for which the order of additions shows in the last bit, and all the special ones. */
static double random_float(void)
{
    uint64_t r = random64();
    switch (r % 64) {
    case 0:
        return 0.0;
    case 1:
        return -0.0;
    case 2:
        return (double) INFINITY;
    case 3:
        return -(double) INFINITY;
    case 4:
        return 1e-40; /* denormal as a float */
    default:
        return ((double) (int64_t) (r >> 8) / 9007199254740992.0 - 3.0) * (r & 64 ? 1.0 : 1e5);
    }
}

static void fill(hccl_num_t num, char *at, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t r = random64();
        if (HCCL_NUM_FLOAT == num) {
            float f = (float) random_float();
            memcpy(at + i * sizeof(f), &f, sizeof(f));
        } else if (HCCL_NUM_DOUBLE == num) {
            double d = random_float();
            memcpy(at + i * sizeof(d), &d, sizeof(d));
        } else {
            /* Zeros often, for the logical ops. */
            uint64_t v = 0 == r % 3 ? 0 : r >> 2;
            memcpy(at + i * num_bytes[num], &v, num_bytes[num]);
        }
    }
}

static char *memory[MOST_SOURCES + 2]; /* sources, result, expected result */

static int allocate(void **state)
{
    (void) state;
    for (int i = 0; i < MOST_SOURCES + 2; i++) {
        memory[i] = malloc(MOST_COUNT * 8 + 4 * GUARD);
        if (NULL == memory[i]) {
            return -1;
        }
    }
    return 0;
}

static int release(void **state)
{
    (void) state;
    for (int i = 0; i < MOST_SOURCES + 2; i++) {
        free(memory[i]);
    }
    return 0;
}

/* One call: alias is the source that is also the result, -1 for none; shift: misalignment. */
static void check(hccl_op_kind_t op, hccl_num_t num, int nsrc, size_t count, int alias,
                  size_t shift)
{
    size_t bytes = count * num_bytes[num];
    const char *src[MOST_SOURCES];
    for (int j = 0; j < nsrc; j++) {
        /* Each source is shifted differently. */
        char *at = memory[j] + GUARD + (shift * (size_t) (j + 1)) % GUARD;
        fill(num, at, count);
        src[j] = at;
    }
    char *result = alias >= 0 ? memory[alias] + (src[alias] - memory[alias])
                              : memory[MOST_SOURCES] + GUARD + shift;
    char *want = memory[MOST_SOURCES + 1];
    expected(op, num, want, src, nsrc, count);
    memset(result - GUARD / 2, 0x5a, GUARD / 2);
    memset(result + bytes, 0x5a, GUARD / 2);
    hccl_kernel_fold(op, num)(result, (const void *const *) src, nsrc, count);
    if (0 != memcmp(result, want, bytes)) {
        size_t i = 0;
        while (result[i] == want[i]) {
            i++;
        }
        fail_msg("op %d on %s: %d sources, %zu elements, alias %d, shift %zu: element %zu differs",
                 (int) op, num_names[num], nsrc, count, alias, shift, i / num_bytes[num]);
    }
    for (size_t i = 0; i < GUARD / 2; i++) {
        assert_int_equal(0x5a, (result - GUARD / 2)[i]);
        assert_int_equal(0x5a, result[bytes + i]);
    }
}

static void every_length(hccl_op_kind_t op, hccl_num_t num)
{
    size_t block = 8192 / num_bytes[num];
    const size_t lengths[] = {0, 1, 7, 8, 63, 64, 65, block - 1, block, block + 1};
    for (int nsrc = 2; nsrc <= MOST_SOURCES; nsrc++) {
        for (size_t k = 0; k < sizeof(lengths) / sizeof(lengths[0]); k++) {
            check(op, num, nsrc, lengths[k], -1, 0);
            check(op, num, nsrc, lengths[k], -1, 1);
        }
        for (int alias = 0; alias < nsrc; alias++) {
            check(op, num, nsrc, 65, alias, 3);
            check(op, num, nsrc, block + 1, alias, alias % 2 == 0 ? 0 : num_bytes[num]);
        }
    }
    check(op, num, 2, MOST_COUNT, 0, 0);
    check(op, num, 3, MOST_COUNT, -1, 5);
    check(op, num, 5, MOST_COUNT, 1, 0);
}

static void numbers(hccl_num_t first, hccl_num_t last)
{
    for (int num = (int) first; num <= (int) last; num++) {
        for (int op = 0; op < HCCL_OP_COUNT; op++) {
            if (!is_float((hccl_num_t) num) || op <= HCCL_OP_MIN) {
                every_length((hccl_op_kind_t) op, (hccl_num_t) num);
            }
        }
    }
}

static void small_integers(void **state)
{
    (void) state;
    numbers(HCCL_NUM_INT8, HCCL_NUM_UINT16);
}

static void large_integers(void **state)
{
    (void) state;
    numbers(HCCL_NUM_INT32, HCCL_NUM_UINT64);
}

static void floating_point(void **state)
{
    (void) state;
    numbers(HCCL_NUM_FLOAT, HCCL_NUM_DOUBLE);
}

static void table_is_complete(void **state)
{
    (void) state;
    for (int num = 0; num < HCCL_NUM_COUNT; num++) {
        for (int op = 0; op < HCCL_OP_COUNT; op++) {
            bool want = !is_float((hccl_num_t) num) || op <= HCCL_OP_MIN;
            assert_int_equal(want, NULL != hccl_kernel_fold((hccl_op_kind_t) op, (hccl_num_t) num));
        }
    }
}

/* Sums of floats depend on the association: sums in another order give other bits here, so the
 * comparisons above can tell. */
static void data_tells_orders_apart(void **state)
{
    (void) state;
    const float a = 1e8f, b = -1e8f, c = 1.0f;
    const void *src[] = {&a, &b, &c};
    const void *other[] = {&b, &c, &a};
    float left, right;
    hccl_kernel_fold(HCCL_OP_SUM, HCCL_NUM_FLOAT)(&left, src, 3, 1);
    hccl_kernel_fold(HCCL_OP_SUM, HCCL_NUM_FLOAT)(&right, other, 3, 1);
    assert_true(1.0f == left);
    assert_true(0.0f == right);
}

static int run_cases(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_complete), cmocka_unit_test(data_tells_orders_apart),
        cmocka_unit_test(small_integers),    cmocka_unit_test(large_integers),
        cmocka_unit_test(floating_point),
    };
    return cmocka_run_group_tests(tests, allocate, release);
}
