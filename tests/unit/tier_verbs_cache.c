/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The cache of registrations: what is found again, what never is, and how much stays.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

#include "fake_verbs.h"
#include "tier/verbs_cache.h"

enum { PAGE = 4096, PAGES = 64 };

static hccl_verbs_cache_t cache;
static struct ibv_context context;
static struct ibv_pd pd = {.context = &context};
static char *memory;

static void begin(size_t most, bool keeps)
{
    fake_reset(1);
    memory = mmap(NULL, (size_t) PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS,
                  -1, 0);
    assert_ptr_not_equal(MAP_FAILED, memory);
    hccl_verbs_cache_init(&cache, &fake_verbs, &pd, most, keeps);
}

static void end(void)
{
    hccl_verbs_cache_fini(&cache);
    assert_int_equal(0, fake.regions);
    assert_int_equal(0, fake.locked);
    munmap(memory, (size_t) PAGES * PAGE);
}

/* Takes and gives back; returns whether it had to be registered. */
static bool is_new(size_t offset, size_t bytes)
{
    uint64_t made = cache.made;
    hccl_verbs_reg_t *reg = hccl_verbs_cache_get(&cache, memory + offset, bytes, true);
    assert_non_null(reg);
    assert_true((char *) reg->mr->addr <= memory + offset);
    assert_true((char *) reg->mr->addr + reg->mr->length >= memory + offset + bytes);
    hccl_verbs_cache_put(&cache, reg);
    return made != cache.made;
}

static void found_again(void **state)
{
    (void) state;
    begin((size_t) PAGES * PAGE, true);
    assert_true(is_new(100, 3 * PAGE));
    assert_false(is_new(100, 3 * PAGE));
    assert_false(is_new(0, 1)); /* whole pages */
    assert_false(is_new(4 * PAGE - 1, 1));
    assert_true(is_new(4 * PAGE - 1, 2));
    assert_false(is_new(4 * PAGE, 1));
    assert_int_equal(2, fake.regions);
    end();
}

/* Offered for good: found again, never let go, and not counted among users' memory. */
static void fixed(void **state)
{
    (void) state;
    begin(3 * (size_t) PAGE, true);
    assert_true(hccl_verbs_cache_fix(&cache, memory, 8 * PAGE));
    assert_int_equal(1, fake.regions);
    assert_int_equal(8 * PAGE, fake.locked);
    assert_int_equal(0, cache.bytes);
    assert_false(is_new(0, 8 * PAGE));
    assert_false(is_new(3 * PAGE + 5, PAGE));
    /* Users' memory comes and goes beside it. */
    for (int i = 8; i < PAGES; i += 2) {
        assert_true(is_new((size_t) i * PAGE, 2 * PAGE));
        assert_true(fake.locked <= 11 * PAGE);
    }
    /* A message across its end needs another one. */
    assert_true(is_new(7 * PAGE, 2 * PAGE));
    assert_false(is_new(PAGE, PAGE));
    /* More of it later; and where no more can be locked, the old one stays. */
    assert_true(hccl_verbs_cache_fix(&cache, memory + 8 * PAGE, 4 * PAGE));
    assert_false(is_new(8 * PAGE, 4 * PAGE));
    fake.lock_limit = 14 * PAGE;
    assert_false(hccl_verbs_cache_fix(&cache, memory + 12 * PAGE, 8 * PAGE));
    assert_false(is_new(0, 8 * PAGE));
    end();
    /* Where nothing of users' memory is kept, it is. */
    begin((size_t) PAGES * PAGE, false);
    assert_true(hccl_verbs_cache_fix(&cache, memory, 8 * PAGE));
    assert_false(is_new(0, PAGE));
    assert_false(is_new(0, PAGE));
    end();
}

static void gone(void **state)
{
    (void) state;
    begin((size_t) PAGES * PAGE, true);
    assert_true(is_new(4 * PAGE, 2 * PAGE));
    /* Its neighbours are not it. */
    hccl_verbs_cache_forget(&cache, memory, 4 * PAGE);
    hccl_verbs_cache_forget(&cache, memory + 6 * PAGE, PAGE);
    assert_false(is_new(4 * PAGE, 2 * PAGE));
    /* The last byte of it is. */
    hccl_verbs_cache_forget(&cache, memory + 6 * PAGE - 1, 1);
    assert_true(is_new(4 * PAGE, 2 * PAGE));
    assert_int_equal(1, fake.regions);
    hccl_verbs_cache_forget(&cache, memory, 4 * PAGE + 1);
    assert_true(is_new(4 * PAGE, 2 * PAGE));
    /* While a message is under way: it is not for the next one. */
    hccl_verbs_reg_t *reg = hccl_verbs_cache_get(&cache, memory + 4 * PAGE, 1, true);
    hccl_verbs_cache_forget(&cache, memory + 5 * PAGE, PAGE);
    hccl_verbs_reg_t *other = hccl_verbs_cache_get(&cache, memory + 4 * PAGE, 1, true);
    assert_ptr_not_equal(reg, other);
    assert_int_equal(2, fake.regions);
    hccl_verbs_cache_put(&cache, reg);
    assert_int_equal(1, fake.regions);
    hccl_verbs_cache_put(&cache, other);
    end();
}

static void nobody_tells(void **state)
{
    (void) state;
    begin((size_t) PAGES * PAGE, false);
    assert_true(is_new(0, PAGE));
    assert_int_equal(0, fake.regions);
    assert_true(is_new(0, PAGE));
    end();
}

static void no_more_than(void **state)
{
    (void) state;
    begin((size_t) 4 * PAGE, true);
    for (size_t i = 0; i < 8; i++) {
        assert_true(is_new(i * PAGE, PAGE));
        assert_true(fake.locked <= 4 * PAGE);
    }
    /* The oldest went. */
    assert_false(is_new(5 * PAGE, PAGE));
    assert_true(is_new(3 * PAGE, PAGE));
    assert_true(is_new(4 * PAGE, PAGE));
    assert_false(is_new(5 * PAGE, PAGE));
    /* More than may stay is registered, but does not stay. */
    assert_true(is_new(16 * PAGE, 8 * PAGE));
    assert_true(fake.locked <= 4 * PAGE);
    end();
}

static void no_room(void **state)
{
    hccl_verbs_reg_t *reg[PAGES];
    (void) state;
    begin((size_t) 1 << 40, true);
    assert_true(is_new(0, PAGE));
    fake.lock_limit = 2 * PAGE;
    /* Idle ones make way. */
    assert_true(is_new(PAGE, 2 * PAGE));
    assert_int_equal(1, fake.regions);
    reg[0] = hccl_verbs_cache_get(&cache, memory + PAGE, 1, true);
    assert_null(hccl_verbs_cache_get(&cache, memory + 8 * PAGE, 1, true));
    hccl_verbs_cache_put(&cache, reg[0]);
    fake.lock_limit = 0;
    end();
}

/* More registrations than there are places. */
static void no_place(void **state)
{
    (void) state;
    begin((size_t) 1 << 40, true);
    char *many = mmap(NULL, (size_t) 2 * HCCL_VERBS_REGISTRATIONS * PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < 2 * HCCL_VERBS_REGISTRATIONS; i++) {
        hccl_verbs_reg_t *reg = hccl_verbs_cache_get(&cache, many + i * PAGE, PAGE, true);
        assert_non_null(reg);
        hccl_verbs_cache_put(&cache, reg);
        assert_true(fake.regions <= HCCL_VERBS_REGISTRATIONS);
    }
    munmap(many, (size_t) 2 * HCCL_VERBS_REGISTRATIONS * PAGE);
    end();
}

/* All places are taken but one, which had to make way for bytes: it serves. */
static void last_place(void **state)
{
    hccl_verbs_reg_t *reg[HCCL_VERBS_REGISTRATIONS];
    (void) state;
    begin((size_t) HCCL_VERBS_REGISTRATIONS * PAGE, true);
    char *many = mmap(NULL, (size_t) 2 * HCCL_VERBS_REGISTRATIONS * PAGE, PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    for (size_t i = 0; i < HCCL_VERBS_REGISTRATIONS; i++) {
        reg[i] = hccl_verbs_cache_get(&cache, many + i * PAGE, PAGE, true);
        assert_non_null(reg[i]);
    }
    hccl_verbs_cache_put(&cache, reg[7]);
    reg[7] = hccl_verbs_cache_get(&cache, many + 300 * (size_t) PAGE, 2 * PAGE, true);
    assert_non_null(reg[7]);
    for (size_t i = 0; i < HCCL_VERBS_REGISTRATIONS; i++) {
        hccl_verbs_cache_put(&cache, reg[i]);
    }
    munmap(many, (size_t) 2 * HCCL_VERBS_REGISTRATIONS * PAGE);
    end();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(found_again),  cmocka_unit_test(fixed),        cmocka_unit_test(gone),
        cmocka_unit_test(nobody_tells), cmocka_unit_test(no_more_than), cmocka_unit_test(no_room),
        cmocka_unit_test(no_place),     cmocka_unit_test(last_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
