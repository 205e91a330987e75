/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Copies to and from lines of other cores: for every length, at many alignments, the bytes that were
 * there arrive, and none beside them changes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kernel/copy.h"

#define MOST ((size_t) 40000)
#define MARGIN ((size_t) 192) /* on either side of the copy; also the largest shift, twice */

static unsigned char from[MOST + 2 * MARGIN], to[MOST + 2 * MARGIN];

static unsigned char value(size_t i, unsigned salt)
{
    return (unsigned char) ((i * UINT64_C(2654435761) + salt * 40503U) >> 11);
}

/* One copy of n bytes, from and to places so many bytes behind the margin. */
static void check(hccl_copy_fn_t copy, size_t n, size_t from_at, size_t to_at)
{
    const size_t begin = MARGIN / 2 + to_at;
    memset(to, 0xa5, sizeof(to));
    for (size_t i = 0; i < n; i++) {
        from[MARGIN / 2 + from_at + i] = value(i, (unsigned) n);
    }
    assert_ptr_equal(copy(to + begin, from + MARGIN / 2 + from_at, n), to + begin);
    for (size_t i = 0; i < begin; i++) {
        assert_int_equal(to[i], 0xa5);
    }
    for (size_t i = 0; i < n; i++) {
        assert_int_equal(to[begin + i], value(i, (unsigned) n));
    }
    for (size_t i = begin + n; i < begin + n + MARGIN / 2; i++) {
        assert_int_equal(to[i], 0xa5);
    }
}

/* Lengths around each multiple of half a line, up to where nothing new can begin. */
static size_t next(size_t n)
{
    return n < 300 || n % 32 < 2 || 31 == n % 32 ? n + 1 : n / 32 * 32 + 31;
}

static void lengths(void **state)
{
    (void) state;
    for (size_t n = 1; n < 9000; n = next(n)) {
        size_t shift = n * 7 % 64;
        check(hccl_copy_give(n), n, shift, 0);
        check(hccl_copy_take(n, n), n, 0, shift);
        check(hccl_copy_take(n, 2 * MOST), n, shift, 63 - shift);
        check(hccl_copy_own(n), n, 0, shift);
    }
}

static void alignments(void **state)
{
    static const size_t some[] = {192,  193,  513,  577,  1000, 2048,  2049,
                                  2113, 3000, 3584, 3585, 4096, 32768, 32769};
    (void) state;
    for (size_t i = 0; i < sizeof(some) / sizeof(some[0]); i++) {
        for (size_t shift = 0; shift<64; shift += some[i]> 4096 ? 13 : 1) {
            check(hccl_copy_give(some[i]), some[i], shift, 64 - shift);
            check(hccl_copy_take(some[i], some[i]), some[i], 64 - shift, shift);
        }
    }
}

/* Before anybody has asked what the processor has. */
static void unchosen(void **state)
{
    (void) state;
    for (size_t n = 1; n < 5000; n += 100) {
        assert_true(memcpy == hccl_copy_give(n) && memcpy == hccl_copy_take(n, n)
                    && memcpy == hccl_copy_own(n));
    }
    hccl_copy_choose();
}

/* Less than a line behind the same place of another page. */
static void collisions(void **state)
{
    (void) state;
    for (size_t at = 0; at < 3 * 4096; at++) {
        for (size_t ahead = 0; ahead < 2 * 4096; ahead += ahead % 4096 < 130 ? 1 : 61) {
            bool collides = 0 != ahead % 4096 && ahead % 4096 < 64;
            const void *source = (const void *) (uintptr_t) (8 * 4096 + at);
            assert_true(
                collides
                == hccl_copy_collides((const void *) (uintptr_t) (8 * 4096 + at + ahead), source));
            assert_true(
                collides
                == hccl_copy_collides((const void *) (uintptr_t) (4096 + at + ahead), source));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(unchosen), cmocka_unit_test(lengths),
                                       cmocka_unit_test(alignments), cmocka_unit_test(collisions)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
