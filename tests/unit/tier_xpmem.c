/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Memory of other processes: which buffers lie in one window, and hosts without XPMEM. What it reads is
 * tested by tests/mpi/run_alloc_mem.sh.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "tier/xpmem.h"

static bool fits(uint64_t address, size_t bytes)
{
    return hccl_xpmem_fits((const char *) (uintptr_t) address, bytes);
}

static void buffers_and_windows(void **state)
{
    const uint64_t gib4 = UINT64_C(4294967296), last = gib4 - 65536;
    (void) state;
    assert_true(fits(0, 0) && fits(0, last) && !fits(0, last + 1));
    assert_true(fits(7 * gib4, last) && !fits(7 * gib4 + 1, last) && fits(7 * gib4 + 1, last - 1));
    assert_true(fits(7 * gib4 + last - 8, 8) && !fits(7 * gib4 + last - 7, 8));
    /* Between the end of a window and the next one, and across both. */
    assert_false(fits(7 * gib4 + last + 1, 1) || fits(8 * gib4 - 1, 1) || fits(8 * gib4 - 1, 2));
    assert_true(fits(8 * gib4, 2));
    assert_false(fits(0, SIZE_MAX) || fits(gib4, SIZE_MAX) || fits(last, SIZE_MAX));
    /* The last page below the end of user space of x86-64 is out, a stack below it is in. */
    assert_false(fits(UINT64_C(0x7ffffffff000) - 8, 8));
    assert_true(fits(UINT64_C(0x7ffc12345678), 1 << 20));
}

static void hosts_without(void **state)
{
    hccl_xpmem_card_t card = {.segment = 5, .probe = 6, .proof = 7};
    const hccl_xpmem_card_t none = {.segment = 0};
    const char *why = NULL;
    (void) state;
    if (HCCL_OK == hccl_xpmem_offer(9, &card, &why)) {
        /* This host has it: its own memory is seen as a peer's would be. */
        hccl_xpmem_peer_t *peer = hccl_xpmem_open(&card);
        assert_non_null(peer);
        hccl_xpmem_close(peer);
    } else {
        assert_non_null(why);
        assert_memory_equal(&card, &none, sizeof(card));
        assert_null(hccl_xpmem_open(&card));
    }
    hccl_xpmem_withdraw();
    hccl_xpmem_withdraw();
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(buffers_and_windows),
                                       cmocka_unit_test(hosts_without)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
