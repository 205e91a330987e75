/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The heap: its blocks never overlap and are where they may be, free neighbours join again, memory
 * goes back to the system, and peers see it and nothing else.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <pthread.h>

#include <cmocka.h>

#include "forked.h"
#include "tier/heap.h"

#define KIB ((size_t) 1 << 10)
#define MIB ((size_t) 1 << 20)
#define NONCE UINT64_C(0x1234567812345678)

static hccl_heap_card_t create(size_t size)
{
    const char *why = NULL;
    hccl_heap_card_t card;
    CHECK(HCCL_OK == hccl_heap_create(size, NONCE, &card, &why));
    return card;
}

/* Bytes of memory that the heap's file takes. */
static size_t resident(const hccl_heap_card_t *card)
{
    struct stat st;
    CHECK(0 == fstat(card->fd, &st));
    return (size_t) st.st_blocks * 512;
}

static void life_and_limits(int rank)
{
    const char *why = NULL;
    size_t size = 1;
    hccl_heap_card_t card = {.size = 1};
    (void) rank;
    CHECK(NULL == hccl_heap_take(100, 8) && NULL == hccl_heap_range(&size) && 0 == size);
    CHECK(!hccl_heap_give(&size));
    hccl_heap_destroy();
    CHECK(HCCL_ERR_ARG == hccl_heap_create(1000, NONCE, &card, &why) && 0 == card.size
          && NULL != why);
    card = create(5 * MIB);
    CHECK(4 * MIB == card.size && 0 == (uintptr_t) hccl_heap_range(&size) % (2 * MIB));
    CHECK(4 * MIB == size);
    /* The whole, then nothing, then the whole again. */
    char *all = hccl_heap_take(4 * MIB, 8);
    CHECK(all == hccl_heap_range(&size) && NULL == hccl_heap_take(1, 8));
    CHECK(!hccl_heap_give(all + HCCL_HEAP_GRANULE) && !hccl_heap_give(all + 1));
    CHECK(hccl_heap_give(all) && !hccl_heap_give(all));
    CHECK(NULL == hccl_heap_take(4 * MIB + 1, 8) && NULL == hccl_heap_take(SIZE_MAX, 8));
    CHECK(NULL == hccl_heap_take(1, 4 * MIB));
    CHECK(0 == (uintptr_t) hccl_heap_take(1, 2 * MIB) % (2 * MIB));
    /* What is in use stays usable. */
    char *block = hccl_heap_take(100, 64);
    hccl_heap_destroy();
    memset(block, 1, 100);
    /* It may be given back; nothing happens. */
    CHECK(hccl_heap_give(block) && !hccl_heap_give(&size));
    memset(block, 2, 100);
    struct rlimit limit = {.rlim_cur = MIB, .rlim_max = MIB};
    CHECK(0 == setrlimit(RLIMIT_FSIZE, &limit));
    CHECK(HCCL_ERR_SYS == hccl_heap_create(2 * MIB, NONCE, &card, &why));
    CHECK(NULL != strstr(why, "ulimit -f") && 0 == card.size);
}

typedef struct block {
    char *at;
    size_t bytes;
    unsigned char mark;
} block_t;

static void check_block(const block_t *b)
{
    for (size_t i = 0; i < b->bytes; i += 4093) {
        CHECK(b->mark == (unsigned char) b->at[i]);
    }
    CHECK(b->mark == (unsigned char) b->at[b->bytes - 1]);
}

/* Random blocks, each full of its own mark: none may meet another one. */
static void random_blocks(uint64_t seed, int rounds)
{
    enum { BLOCKS = 60 };
    block_t blocks[BLOCKS] = {{NULL, 0, 0}};
    for (int i = 0; i < rounds; i++) {
        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407u;
        block_t *b = &blocks[(seed >> 33) % BLOCKS];
        if (NULL != b->at) {
            check_block(b);
            CHECK(hccl_heap_give(b->at));
            b->at = NULL;
            continue;
        }
        b->bytes = 1 + (seed >> 40) % (0 == (seed >> 30) % 8 ? 3 * MIB : 50 * KIB);
        size_t align = (size_t) 8 << (seed >> 20) % 12;
        b->at = hccl_heap_take(b->bytes, align);
        b->mark = (unsigned char) (seed >> 50);
        if (NULL != b->at) {
            CHECK(0 == (uintptr_t) b->at % align);
            memset(b->at, b->mark, b->bytes);
        }
    }
    for (int i = 0; i < BLOCKS; i++) {
        if (NULL != blocks[i].at) {
            check_block(&blocks[i]);
            CHECK(hccl_heap_give(blocks[i].at));
        }
    }
}

static void blocks_apart_and_joined(int rank)
{
    (void) rank;
    create(32 * MIB);
    random_blocks(1, 20000);
    /* All have joined again. */
    CHECK(NULL != hccl_heap_take(32 * MIB, 8));
}

static void *one_thread(void *seed)
{
    random_blocks((uint64_t) (uintptr_t) seed, 3000);
    return NULL;
}

static void blocks_of_threads(int rank)
{
    pthread_t threads[4];
    (void) rank;
    create(256 * MIB);
    for (size_t i = 0; i < 4; i++) {
        CHECK(0 == pthread_create(&threads[i], NULL, one_thread, (void *) (i + 1)));
    }
    for (size_t i = 0; i < 4; i++) {
        CHECK(0 == pthread_join(threads[i], NULL));
    }
    CHECK(NULL != hccl_heap_take(256 * MIB, 8));
}

static void memory_goes_back(int rank)
{
    (void) rank;
    hccl_heap_card_t card = create((size_t) 4096 * MIB);
    size_t before = resident(&card);
    CHECK(before <= 64 * KIB);
    for (int i = 0; i < 40; i++) {
        char *large = hccl_heap_take(20 * MIB, 8);
        memset(large, 1, 20 * MIB);
        CHECK(resident(&card) >= 20 * MIB);
        CHECK(hccl_heap_give(large));
        CHECK(resident(&card) == before);
    }
    /* Small ones stay, for the next one who takes: always the same. */
    for (int i = 0; i < 10000; i++) {
        char *small = hccl_heap_take(100 * KIB, 8);
        memset(small, 1, 100 * KIB);
        CHECK(hccl_heap_give(small));
    }
    CHECK(resident(&card) <= before + 256 * KIB);
}

enum { AT, BYTES = 300000 };

static void peers_see_it(int rank)
{
    const char *why = NULL;
    hccl_heap_card_t heap;
    char *peer = NULL, *again = NULL;
    hccl_region_head_t *head;
    CHECK(HCCL_OK == hccl_region_create(16 * MIB, &forked->cards[rank], &why));
    if (0 == rank) {
        CHECK(HCCL_OK == hccl_heap_create(64 * MIB, forked->cards[0].nonce, &heap, &why));
        hccl_region_announce_heap(&heap);
    }
    forked_barrier();
    if (0 == rank) {
        size_t size;
        char *block = hccl_heap_take(BYTES, 8);
        memset(block, 77, BYTES);
        atomic_store(&forked->words[AT], 1 + (uint64_t) (block - hccl_heap_range(&size)));
        /* This one has no heap, and that is no error. */
        CHECK(HCCL_OK == hccl_region_map(&forked->cards[1], &head));
        CHECK(HCCL_OK == hccl_region_map_heap(&forked->cards[1], &peer) && NULL == peer);
        forked_barrier();
        CHECK(hccl_heap_give(block));
    } else {
        CHECK(HCCL_ERR_SYS == hccl_region_map_heap(&forked->cards[0], &peer));
        CHECK(HCCL_OK == hccl_region_map(&forked->cards[0], &head));
        CHECK(HCCL_OK == hccl_region_map_heap(&forked->cards[0], &peer));
        CHECK(HCCL_OK == hccl_region_map_heap(&forked->cards[0], &again) && again == peer);
        while (0 == atomic_load(&forked->words[AT])) {
            sched_yield();
        }
        const char *block = peer + atomic_load(&forked->words[AT]) - 1;
        CHECK(77 == block[0] && 77 == block[BYTES - 1]);
        /* Another process's, or another file's, is not taken for it. */
        heap = head->heap;
        CHECK(NULL == hccl_heap_map(forked->cards[0].pid, &heap, forked->cards[0].nonce + 1));
        heap.size /= 2;
        CHECK(NULL == hccl_heap_map(forked->cards[0].pid, &heap, forked->cards[0].nonce));
        heap = head->heap;
        heap.fd = forked->cards[0].fd;
        CHECK(NULL == hccl_heap_map(forked->cards[0].pid, &heap, forked->cards[0].nonce));
        forked_barrier();
    }
    forked_barrier();
    hccl_heap_destroy();
}

#define TEST(name, ranks)                         \
    static void test_##name(void **state)         \
    {                                             \
        (void) state;                             \
        assert_true(forked_run((ranks), (name))); \
    }
TEST(life_and_limits, 1)
TEST(blocks_apart_and_joined, 1)
TEST(blocks_of_threads, 1)
TEST(memory_goes_back, 1)
TEST(peers_see_it, 2)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_life_and_limits),   cmocka_unit_test(test_blocks_apart_and_joined),
        cmocka_unit_test(test_blocks_of_threads), cmocka_unit_test(test_memory_goes_back),
        cmocka_unit_test(test_peers_see_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
