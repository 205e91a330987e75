/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The reduction kernels of every instruction set that this processor has: every op on every kind of
 * element, against kernel_reference.h.
 */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "kernel_reference.h"

#define MOST_SOURCES 20
#define MOST_BYTES ((size_t) 1 << 20)
#define MARGIN 64 /* bytes around the result that must not change; also the largest shift */

/* Every so many-th case: where an emulated processor runs them. */
static int stride = 1;

static uint64_t seed = 1;

static uint64_t random64(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed * UINT64_C(0x2545f4914f6cdd1d);
}

/* Numbers for which the order of additions shows in the last bit, and all the special ones. */
static double random_float(void)
{
    uint64_t r = random64();
    switch (r % 32) {
    case 0:
        return 0.0;
    case 1:
        return -0.0;
    case 2:
        return 0 == (r >> 8) % 4 ? (double) INFINITY : 1.0;
    case 3:
        return 0 == (r >> 8) % 4 ? -(double) INFINITY : 1.0;
    case 4:
        return 0 == (r >> 8) % 4 ? (double) NAN : -1.0;
    case 5:
        return 1e-40; /* denormal as a float */
    default:
        return ((double) (int64_t) (r >> 8) / 9007199254740992.0 - 3.0) * (r & 64 ? 1.0 : 1e5);
    }
}

/* Values of which many are equal, for ties. */
static double random_value(void)
{
    uint64_t r = random64();
    return 0 == r % 8 ? random_float() : (double) (r >> 8 & 3);
}

static void store_float(char *at, size_t bytes, double value)
{
    if (sizeof(float) == bytes) {
        float f = (float) value;
        memcpy(at, &f, sizeof(f));
    } else if (sizeof(double) == bytes) {
        memcpy(at, &value, sizeof(value));
    } else {
        long double l = (long double) value;
        memset(at, 0xa5, bytes);
        memcpy(at, &l, significant(bytes));
    }
}

static void fill(hccl_num_t num, char *at, size_t count)
{
    size_t value = elements[num].value_bytes, rest = elements[num].bytes - value;
    for (size_t i = 0; i < count; i++, at += elements[num].bytes) {
        uint64_t r = random64();
        /* Zeros often, for the logical ops. */
        uint64_t integer = 0 == r % 3 ? 0 : r >> 2;
        uint64_t small = (r >> 10 & 3) - 2;
        if (is_integer(num)) {
            memcpy(at, &integer, value);
        } else if (num < NUMBERS_END) {
            store_float(at, value, random_float());
            if (rest > 0) {
                store_float(at + value, rest, random_float());
            }
        } else if (num <= HCCL_NUM_INT64_INT32) {
            memcpy(at, &small, value);
            memcpy(at + value, &r, rest);
        } else {
            store_float(at, value, random_value());
            if (num >= HCCL_NUM_FLOAT_FLOAT) {
                store_float(at + value, rest, (double) (r >> 20 & 7));
            } else {
                memcpy(at + value, &r, rest);
            }
        }
    }
}

static char
    *memory[MOST_SOURCES + 1]; /* sources and result: each ends at a page that is not there */
static char *original;         /* what was where the result goes */
static char *want;

#define ARRAY_BYTES (MOST_BYTES + 4096)

static int allocate(void **state)
{
    (void) state;
    size_t page = (size_t) sysconf(_SC_PAGESIZE);
    for (int i = 0; i <= MOST_SOURCES; i++) {
        size_t bytes = (ARRAY_BYTES + page - 1) / page * page;
        char *at =
            mmap(NULL, bytes + page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (MAP_FAILED == at || 0 != mprotect(at + bytes, page, PROT_NONE)) {
            return -1;
        }
        memory[i] = at + bytes - ARRAY_BYTES;
    }
    original = malloc(MOST_BYTES);
    want = malloc(MOST_BYTES);
    return NULL == original || NULL == want ? -1 : 0;
}

static int release(void **state)
{
    (void) state;
    free(original);
    free(want);
    return 0;
}

/* Where array i begins: after some bytes of its own, or so that it ends where memory ends. */
static char *place(int i, size_t shift, bool at_end, size_t bytes)
{
    return at_end ? memory[i] + ARRAY_BYTES - bytes
                  : memory[i] + MARGIN + shift * (size_t) (i + 1) % MARGIN;
}

/* One call of each set's kernel. alias: the source that is also the result, -1 for none. */
static void check(hccl_op_kind_t op, hccl_num_t num, int nsrc, size_t count, int alias,
                  size_t shift, bool at_end)
{
    size_t bytes = count * elements[num].bytes;
    const char *src[MOST_SOURCES];
    for (int j = 0; j < nsrc; j++) {
        char *at = place(j, shift, at_end, bytes);
        fill(num, at, count);
        src[j] = at;
    }
    char *result =
        alias >= 0 ? place(alias, shift, at_end, bytes) : place(MOST_SOURCES, shift, at_end, bytes);
    reference_fold(op, num, want, src, nsrc, count);
    memcpy(original, result, bytes);
    size_t behind = at_end ? 0 : MARGIN;
    const hccl_kernel_set_t *set;
    for (int s = 0; NULL != (set = hccl_kernel_set(s)); s++) {
        memcpy(result, original, bytes);
        memset(result - MARGIN, 0x5a, MARGIN);
        memset(result + bytes, 0x5a, behind);
        hccl_kernel_set_fold(set, op, num)(result, (const void *const *) src, nsrc, bytes);
        for (size_t i = 0; i < count; i++) {
            if (!same_element(num, result + i * elements[num].bytes,
                              want + i * elements[num].bytes)) {
                fail_msg("%s of %s (%s): %d sources, %zu elements, alias %d, shift %zu: element "
                         "%zu differs",
                         op_names[op], elements[num].name, hccl_kernel_set_name(set), nsrc, count,
                         alias, shift, i);
            }
        }
        for (size_t i = 0; i < MARGIN; i++) {
            assert_int_equal(0x5a, (result - MARGIN)[i]);
            assert_true(i >= behind || 0x5a == result[bytes + i]);
        }
    }
}

static void every_case(hccl_op_kind_t op, hccl_num_t num)
{
    size_t width = elements[num].bytes, portion = 8192 / width, step = (size_t) stride;
    for (int nsrc = 2; nsrc <= 10; nsrc += stride) {
        /* All lengths up to several registers, at changing places. */
        for (size_t count = (size_t) (nsrc / stride % stride); count <= 70; count += step) {
            int alias = (int) (count % 3 == 0 ? count / 3 % (size_t) nsrc : MOST_SOURCES);
            check(op, num, nsrc, count, alias < nsrc ? alias : -1, count * 7 + (size_t) nsrc,
                  1 == count % 2);
        }
        /* Lengths around where another loop begins, at least as long as what aligns the result. */
        const size_t lengths[] = {(255 + width) / width, 1024 / width + 1, portion - 1,
                                  portion + 3};
        for (int k = 0; k < 4; k++) {
            check(op, num, nsrc, lengths[k], -1, (size_t) (k * nsrc), false);
            check(op, num, nsrc, lengths[k], (k + nsrc) % nsrc, (size_t) (7 * k + nsrc), true);
        }
    }
    for (size_t shift = 0; shift < MARGIN; shift += step) {
        check(op, num, 2, 1500 / width, shift % 2 == 0 ? -1 : 0, shift, false);
        check(op, num, 3, 700 / width, shift % 2 == 0 ? -1 : 2, shift, false);
    }
    /* Several groups of sources, the result being one of a late group. */
    check(op, num, 15, 3000 / width, 14, 1, false);
    check(op, num, 16, 3000 / width, 9, 0, false);
    if (1 == stride) {
        check(op, num, 17, 20000 / width, 16, 9, false);
        check(op, num, MOST_SOURCES, 40000 / width, -1, 4, true);
        check(op, num, 3, MOST_BYTES / width, 1, 0, false);
    } else {
        check(op, num, 10, 9000 / width, 9, 4, true);
    }
}

static void numbers(int first, int last)
{
    for (int num = first; num <= last; num++) {
        for (int op = 0; op < HCCL_OP_COUNT; op++) {
            if (is_defined((hccl_op_kind_t) op, (hccl_num_t) num)) {
                every_case((hccl_op_kind_t) op, (hccl_num_t) num);
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

static void real_numbers(void **state)
{
    (void) state;
    numbers(HCCL_NUM_FLOAT, HCCL_NUM_LONG_DOUBLE);
}

static void complex_numbers(void **state)
{
    (void) state;
    numbers(HCCL_NUM_FLOAT_COMPLEX, HCCL_NUM_LONG_DOUBLE_COMPLEX);
}

static void pairs(void **state)
{
    (void) state;
    numbers(NUMBERS_END, HCCL_NUM_COUNT - 1);
}

static void table_is_complete(void **state)
{
    (void) state;
    const hccl_kernel_set_t *set;
    for (int s = 0; NULL != (set = hccl_kernel_set(s)); s++) {
        print_message("instruction set: %s\n", hccl_kernel_set_name(set));
        for (int num = 0; num < HCCL_NUM_COUNT; num++) {
            for (int op = 0; op < HCCL_OP_COUNT; op++) {
                hccl_fold_fn_t kernel =
                    hccl_kernel_set_fold(set, (hccl_op_kind_t) op, (hccl_num_t) num);
                assert_int_equal(is_defined((hccl_op_kind_t) op, (hccl_num_t) num), NULL != kernel);
            }
        }
    }
    for (int num = 0; num < HCCL_NUM_COUNT; num++) {
        assert_int_equal(elements[num].bytes, hccl_kernel_bytes((hccl_num_t) num));
    }
    assert_ptr_equal(hccl_kernel_fold(HCCL_OP_SUM, HCCL_NUM_FLOAT),
                     hccl_kernel_set_fold(hccl_kernel_set(0), HCCL_OP_SUM, HCCL_NUM_FLOAT));
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
    hccl_kernel_fold(HCCL_OP_SUM, HCCL_NUM_FLOAT)(&left, src, 3, sizeof(left));
    hccl_kernel_fold(HCCL_OP_SUM, HCCL_NUM_FLOAT)(&right, other, 3, sizeof(right));
    assert_true(1.0f == left);
    assert_true(0.0f == right);
}

/* Known by hand: infinity times (1 + i) is infinite, though the formula gives NaN in both parts. */
static void infinite_products(void **state)
{
    (void) state;
    float a[16], b[16], r[16];
    for (int i = 0; i < 16; i++) {
        a[i] = 0 == i % 2 ? INFINITY : NAN;
        b[i] = 1.0f;
    }
    const void *src[] = {a, b};
    const hccl_kernel_set_t *set;
    for (int s = 0; NULL != (set = hccl_kernel_set(s)); s++) {
        hccl_kernel_set_fold(set, HCCL_OP_PROD, HCCL_NUM_FLOAT_COMPLEX)(r, src, 2, sizeof(r));
        for (int i = 0; i < 16; i += 2) {
            assert_true(isinf(r[i]) || isinf(r[i + 1]));
        }
    }
}

/* kernel_fold [STRIDE] */
int main(int argc, char **argv)
{
    if (argc > 1) {
        stride = (int) strtol(argv[1], NULL, 10);
        stride = stride < 1 ? 1 : stride;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(table_is_complete), cmocka_unit_test(data_tells_orders_apart),
        cmocka_unit_test(infinite_products), cmocka_unit_test(small_integers),
        cmocka_unit_test(large_integers),    cmocka_unit_test(real_numbers),
        cmocka_unit_test(complex_numbers),   cmocka_unit_test(pairs),
    };
    return cmocka_run_group_tests(tests, allocate, release);
}
