/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The scratch pool: alignment, reuse without an allocation, bounds, several threads at once.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/pool.h"

/* Allocations of the pool since the start. The linker puts these in place of the C library's
 * functions for the pool's object. */
static _Atomic int allocations, frees;

void *__real_aligned_alloc(size_t alignment, size_t bytes);
void *__wrap_aligned_alloc(size_t alignment, size_t bytes);
void __real_free(void *memory);
void __wrap_free(void *memory);

void *__wrap_aligned_alloc(size_t alignment, size_t bytes)
{
    void *memory = __real_aligned_alloc(alignment, bytes);
    atomic_fetch_add(&allocations, NULL == memory ? 0 : 1);
    return memory;
}

void __wrap_free(void *memory)
{
    atomic_fetch_add(&frees, NULL == memory ? 0 : 1);
    __real_free(memory);
}

static void aligned_and_usable(void **state)
{
    (void) state;
    static const size_t sizes[] = {0,    1,     63,    64,      1023,          1024,
                                   1025, 65536, 99999, 1 << 20, (1 << 20) + 1, (64 << 20) + 1};
    for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        char *memory = hccl_pool_take(sizes[i]);
        assert_non_null(memory);
        assert_int_equal(0, (uintptr_t) memory % 64);
        memset(memory, 0xa5, sizes[i]);
        hccl_pool_give(memory);
    }
    hccl_pool_give(NULL);
    hccl_pool_drain();
    assert_int_equal(allocations, frees);
}

static void impossible_size(void **state)
{
    (void) state;
    assert_null(hccl_pool_take(SIZE_MAX));
    assert_null(hccl_pool_take(SIZE_MAX - 100));
    assert_null(hccl_pool_take(SIZE_MAX / 2));
}

static void second_time_costs_nothing(void **state)
{
    (void) state;
    static const size_t sizes[] = {100, 5000, 5001, 70000, 1 << 20};
    void *memory[5];
    int before = 0;
    hccl_pool_drain();
    for (int round = 0; round < 50; round++) {
        for (int i = 0; i < 5; i++) {
            memory[i] = hccl_pool_take(sizes[i]);
            assert_non_null(memory[i]);
            for (int j = 0; j < i; j++) {
                assert_ptr_not_equal(memory[j], memory[i]);
            }
        }
        for (int i = 0; i < 5; i++) {
            hccl_pool_give(memory[i]);
        }
        if (0 == round) {
            before = allocations;
        }
    }
    assert_int_equal(before, allocations);
}

/* What is kept is bounded: the rest goes back to the system. */
static void keeps_a_bounded_amount(void **state)
{
    (void) state;
    enum { BLOCKS = 20, BYTES = 8 << 20 };
    void *memory[BLOCKS];
    hccl_pool_drain();
    int frees_before = frees;
    for (int i = 0; i < BLOCKS; i++) {
        memory[i] = hccl_pool_take(BYTES);
        assert_non_null(memory[i]);
    }
    for (int i = 0; i < BLOCKS; i++) {
        hccl_pool_give(memory[i]);
    }
    assert_int_equal(BLOCKS - 8, frees - frees_before); /* 64 MiB stay */
    hccl_pool_drain();
    assert_int_equal(BLOCKS, frees - frees_before);
    assert_int_equal(allocations, frees);
}

static void *worker(void *arg)
{
    uint64_t seed = (uint64_t) (uintptr_t) arg;
    unsigned char *held[8] = {NULL};
    size_t sizes[8] = {0};
    for (int i = 0; i < 40000; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        int at = (int) (seed >> 33) % 8;
        if (NULL != held[at]) {
            /* Nobody else has written here. */
            unsigned char mark = (unsigned char) (uintptr_t) arg;
            if (held[at][0] != mark || held[at][sizes[at] - 1] != mark) {
                return (void *) "another thread has the same block";
            }
        }
        hccl_pool_give(held[at]);
        sizes[at] = 1 + (size_t) (seed >> 40) % 4000;
        held[at] = hccl_pool_take(sizes[at]);
        if (NULL == held[at]) {
            return (void *) "no memory";
        }
        held[at][0] = held[at][sizes[at] - 1] = (unsigned char) (uintptr_t) arg;
    }
    for (int i = 0; i < 8; i++) {
        hccl_pool_give(held[i]);
    }
    return NULL;
}

static void threads(void **state)
{
    (void) state;
    pthread_t ids[4];
    for (uintptr_t i = 0; i < 4; i++) {
        assert_int_equal(0, pthread_create(&ids[i], NULL, worker, (void *) (i + 1)));
    }
    for (int i = 0; i < 4; i++) {
        void *complaint = NULL;
        assert_int_equal(0, pthread_join(ids[i], &complaint));
        assert_null(complaint);
    }
    hccl_pool_drain();
    assert_int_equal(allocations, frees);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(aligned_and_usable),
        cmocka_unit_test(impossible_size),
        cmocka_unit_test(second_time_costs_nothing),
        cmocka_unit_test(keeps_a_bounded_amount),
        cmocka_unit_test(threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
