/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Regions: creation and its failures, mapping by a peer, the directory, and the rule that a cell's
 * memory is used again only when nobody reads it any more.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <pthread.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>

#include <cmocka.h>

#include "forked.h"

#define MIB ((uint64_t) 1 << 20)

static int open_files(void)
{
    int n = 0;
    DIR *dir = opendir("/proc/self/fd");
    CHECK(NULL != dir);
    while (NULL != readdir(dir)) {
        n++;
    }
    closedir(dir);
    return n;
}

/* Finds a cell that must be there, in the region of a rank as this process maps it. */
static hccl_cell_ref_t find(int rank, uint64_t key)
{
    hccl_region_head_t *base = NULL;
    hccl_cell_ref_t ref;
    CHECK(HCCL_OK == hccl_region_map(&forked->cards[rank], &base));
    CHECK(HCCL_OK == hccl_region_find(base, key, &ref));
    return ref;
}

static hccl_cell_ref_t take(uint64_t key, size_t bytes)
{
    hccl_cell_ref_t ref;
    CHECK(HCCL_OK == hccl_region_take(key, bytes, &ref));
    CHECK(key == ref.key && 0 == ref.generation % 2);
    return ref;
}

static bool all_zero(const hccl_cell_t *cell, size_t bytes)
{
    const char *at = (const char *) cell;
    for (size_t i = 0; i < bytes; i++) {
        if (0 != at[i]) {
            return false;
        }
    }
    return true;
}

/* --- Creation ----------------------------------------------------------------------------------- */

static void create_and_destroy(int rank)
{
    const char *why = NULL;
    hccl_region_card_t card;
    hccl_cell_ref_t ref;
    int before = open_files();
    (void) rank;
    hccl_region_destroy();
    CHECK(HCCL_ERR_NOMEM == hccl_region_take(5, 4096, &ref));
    CHECK(HCCL_ERR_ARG == hccl_region_create(4096, &card, &why) && NULL != why && 0 == card.size);
    for (int i = 0; i < 3; i++) {
        CHECK(HCCL_OK == hccl_region_create(16 * MIB, &card, &why));
        CHECK(card.pid == getpid() && card.size == 16 * MIB && 0 != card.nonce);
        size_t bytes = 1;
        char *cells = hccl_region_cells(&bytes);
        CHECK(0 == bytes);
        hccl_cell_ref_t mine = take(5, 100000);
        CHECK(cells == (char *) mine.cell && cells == hccl_region_cells(&bytes));
        CHECK(bytes >= 100000 && bytes < 100000 + 4096);
        hccl_region_destroy();
        CHECK(NULL == hccl_region_cells(&bytes) && 0 == bytes);
        CHECK(open_files() == before);
    }
}

static void limit_of_file_size(int rank)
{
    const char *why = NULL;
    hccl_region_card_t card = {.size = 1};
    struct rlimit limit = {.rlim_cur = 4 * MIB, .rlim_max = 4 * MIB};
    (void) rank;
    CHECK(0 == setrlimit(RLIMIT_FSIZE, &limit));
    /* The kernel would send SIGXFSZ; the exit code tells that it did not. */
    CHECK(HCCL_ERR_SYS == hccl_region_create(16 * MIB, &card, &why));
    CHECK(NULL != strstr(why, "ulimit -f") && 0 == card.size);
    CHECK(HCCL_OK == hccl_region_create(4 * MIB, &card, &why));
}

static void limit_of_address_space(int rank)
{
    const char *why = NULL;
    hccl_region_card_t card = {.size = 1};
    struct rlimit limit = {.rlim_cur = 1 << 28, .rlim_max = 1 << 28};
    (void) rank;
#if defined(__SANITIZE_ADDRESS__)
    (void) limit;
    (void) card;
    (void) why; /* the sanitizer's own tables do not fit the limit */
#else
    int before = open_files();
    CHECK(0 == setrlimit(RLIMIT_AS, &limit));
    CHECK(HCCL_ERR_SYS == hccl_region_create(1 << 30, &card, &why) && NULL != why
          && 0 == card.size);
    CHECK(open_files() == before);
#endif
}

/* --- Mapping -------------------------------------------------------------------------------------- */

static void map_by_peers(int rank)
{
    hccl_region_head_t *base = NULL;
    hccl_region_head_t *again = NULL;
    forked_regions(rank, 16 * MIB);
    hccl_cell_ref_t mine = take(7, 10000);
    memset((void *) mine.cell, 'a' + rank, 10000);
    forked_barrier();
    for (int peer = 0; peer < forked->size; peer++) {
        const char *seen = (const char *) find(peer, 7).cell;
        CHECK('a' + peer == seen[0] && 'a' + peer == seen[9999]);
    }
    hccl_region_card_t card = forked->cards[1 - rank];
    int before = open_files();
    CHECK(HCCL_OK == hccl_region_map(&card, &base) && HCCL_OK == hccl_region_map(&card, &again));
    CHECK(base == again && open_files() == before);
    /* Not what was announced. */
    card.nonce++;
    CHECK(HCCL_ERR_SYS == hccl_region_map(&card, &base));
    card.size += 4096;
    CHECK(HCCL_ERR_SYS == hccl_region_map(&card, &base));
    card.size = 0;
    CHECK(HCCL_ERR_SYS == hccl_region_map(&card, &base));
    card.size = 16 * MIB;
    card.fd = 1000;
    CHECK(HCCL_ERR_SYS == hccl_region_map(&card, &base));
    CHECK(open_files() == before);
    forked_barrier();
}

/* --- The directory -------------------------------------------------------------------------------- */

static void key_not_there(int rank)
{
    hccl_region_head_t *base = NULL;
    hccl_cell_ref_t ref;
    forked_regions(rank, 16 * MIB);
    CHECK(HCCL_OK == hccl_region_map(&forked->cards[0], &base));
    CHECK(HCCL_ERR_INTERNAL == hccl_region_find(base, 9, &ref));
    hccl_cell_ref_t mine = take(9, 1);
    CHECK(HCCL_OK == hccl_region_find(base, 9, &ref));
    CHECK(HCCL_ERR_INTERNAL == hccl_region_find(base, 10, &ref));
    hccl_region_drop(&mine, 1);
    CHECK(HCCL_ERR_INTERNAL == hccl_region_find(base, 9, &ref));
}

/* A lane closed and made again under the same key: peers that come late to the first find the
 * first, those of the second the second. */
static void youngest_of_a_key(int rank)
{
    forked_regions(rank, 16 * MIB);
    hccl_cell_ref_t peer = take(1000, 4096); /* stands for a peer that has read nothing yet */
    hccl_cell_ref_t first = take(9, 4096);
    CHECK(find(0, 9).generation == first.generation);
    hccl_region_close(&first, 4096, &peer, 1, 5);
    hccl_cell_ref_t found = find(0, 9);
    CHECK(found.generation == first.generation);
    hccl_cell_ref_t second = take(9, 4096);
    CHECK(second.cell != first.cell && second.generation > first.generation);
    found = find(0, 9);
    CHECK(found.generation == second.generation);
    hccl_region_close(&second, 4096, &peer, 1, 5);
    CHECK(find(0, 9).generation == second.generation);
}

static void full_directory(int rank)
{
    hccl_cell_ref_t ref;
    hccl_cell_ref_t last;
    forked_regions(rank, 96 * MIB);
    for (uint64_t i = 0; i < HCCL_DIR_ENTRIES; i++) {
        last = take(1000 + 977 * i, 1);
    }
    CHECK(HCCL_ERR_NOMEM == hccl_region_take(3, 1, &ref));
    CHECK(find(0, 1000).key == 1000 && find(0, last.key).cell != NULL);
    hccl_region_drop(&last, 1);
    ref = take(3, 1);
    CHECK(find(0, 3).generation == ref.generation);
}

/* Keys that never come again, as those of persistent operations: look-ups must stay short. */
static void directory_stays_clean(int rank)
{
    hccl_region_head_t *base = NULL;
    forked_regions(rank, 16 * MIB);
    hccl_cell_ref_t stays = take(2, 1);
    for (uint64_t i = 0; i < 5 * HCCL_DIR_ENTRIES; i++) {
        hccl_cell_ref_t some = take(1000 + i, 1);
        hccl_region_drop(&some, 1);
    }
    CHECK(HCCL_OK == hccl_region_map(&forked->cards[0], &base));
    size_t used = 0;
    for (size_t i = 0; i < HCCL_DIR_ENTRIES; i++) {
        used += HCCL_KEY_EMPTY != atomic_load(&base->directory[i].key) ? 1 : 0;
    }
    CHECK(used <= 2);
    CHECK(find(0, 2).generation == stays.generation);
}

/* --- Memory --------------------------------------------------------------------------------------- */

static void no_room(int rank)
{
    hccl_cell_ref_t cells[32];
    hccl_cell_ref_t ref;
    int n = 0;
    forked_regions(rank, 16 * MIB);
    while (n < 32 && HCCL_OK == hccl_region_take((uint64_t) n + 2, MIB, &cells[n])) {
        n++;
    }
    CHECK(15 == n); /* the head takes the rest */
    CHECK(HCCL_ERR_NOMEM == hccl_region_take(100, MIB, &ref));
    CHECK(HCCL_OK == hccl_region_take(101, 4096, &ref));
    memset((void *) cells[3].cell, 1, MIB);
    hccl_region_drop(&cells[3], MIB);
    ref = take(100, MIB);
    CHECK(ref.cell == cells[3].cell && all_zero(ref.cell, MIB));
}

/* Answers of the system when memory is reserved: 0 as it does, else this error, every so often. */
static struct {
    int error;
    unsigned every;
    unsigned calls;
} system_says;

/* In place of the C library's. */
int posix_fallocate(int fd, off_t offset, off_t length)
{
    if (0 != system_says.error && 0 == ++system_says.calls % system_says.every) {
        return system_says.error;
    }
    return 0 == fallocate(fd, 0, offset, length) ? 0 : errno;
}

/* A profiler's signals interrupt system calls: that is no lack of memory. */
static void signals(int rank)
{
    system_says.error = EINTR;
    system_says.every = 2;
    forked_regions(rank, 64 * MIB);
    memset((void *) take(2, 8 * MIB).cell, 1, 8 * MIB);
    CHECK(system_says.calls >= 2 * 8 * MIB / 262144);
}

static void no_memory(int rank)
{
    hccl_cell_ref_t ref;
    hccl_region_card_t card;
    const char *why = NULL;
    system_says.error = ENOSPC;
    system_says.every = 1;
    CHECK(HCCL_ERR_SYS == hccl_region_create(16 * MIB, &card, &why));
    system_says.error = 0;
    forked_regions(rank, 16 * MIB);
    take(2, 4096);
    system_says.error = ENOSPC;
    for (system_says.every = 1; system_says.every <= 3; system_says.every++) {
        system_says.calls = 0;
        CHECK(HCCL_ERR_NOMEM == hccl_region_take(3, 2 * 262144, &ref));
    }
    system_says.error = 0;
    CHECK(all_zero(take(3, 2 * 262144).cell, 2 * 262144));
}

/* --- Closing --------------------------------------------------------------------------------------- */

/* Rank 0 closes; the others have read everything, or closed too, one after the other. */
static void reuse_when_all_have_read(int rank)
{
    enum { LAST = 40, BYTES = 8192 };
    forked_regions(rank, 16 * MIB);
    hccl_cell_ref_t mine = take(9, BYTES);
    forked_barrier();
    if (0 == rank) {
        hccl_cell_ref_t peers[3] = {find(1, 9), find(2, 9), find(3, 9)};
        memset((void *) mine.cell, 1, BYTES);
        hccl_region_close(&mine, BYTES, peers, 3, LAST);
        CHECK(take(50, BYTES).cell != mine.cell);
        forked_barrier(); /* rank 1 acknowledges all */
        forked_barrier();
        CHECK(take(51, BYTES).cell != mine.cell);
        forked_barrier(); /* rank 2 acknowledges all but one */
        forked_barrier();
        CHECK(take(52, BYTES).cell != mine.cell);
        forked_barrier(); /* rank 2 closes, and waits for rank 0 with its own cell */
        forked_barrier();
        CHECK(take(53, BYTES).cell != mine.cell);
        CHECK(all_zero(mine.cell, BYTES) == false && find(0, 9).cell != NULL);
        forked_barrier(); /* rank 3 closes and uses the entry and the memory again */
        forked_barrier();
        CHECK(take(54, BYTES).cell == mine.cell);
        return;
    }
    forked_barrier();
    if (1 == rank) {
        atomic_store(&mine.cell->ack, LAST);
    }
    forked_barrier();
    forked_barrier();
    if (2 == rank) {
        atomic_store(&mine.cell->ack, LAST - 1);
    }
    forked_barrier();
    forked_barrier();
    if (2 == rank) {
        hccl_cell_ref_t peer = find(0, 9);
        hccl_region_close(&mine, BYTES, &peer, 1, LAST);
    }
    forked_barrier();
    forked_barrier();
    if (3 == rank) {
        hccl_region_close(&mine, BYTES, NULL, 0, LAST);
        hccl_cell_ref_t again = take(9, BYTES);
        CHECK(again.entry == mine.entry && again.cell == mine.cell);
    }
    forked_barrier();
}

/* --- A look-up while the owner works on the directory ------------------------------------------------ */

static struct {
    _Atomic uint64_t round;   /* reader: look the key up while this does not change */
    _Atomic uint64_t done;    /* last round that the reader has ended */
    _Atomic uint64_t want;    /* generation of the cell that it must find */
    hccl_region_head_t *base; /* as a peer sees it */
} look;

enum { ROUNDS = 40000, OLD = 9 };

static void *look_up(void *unused)
{
    (void) unused;
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        while (round > atomic_load(&look.round)) {
            sched_yield();
        }
        uint64_t want = atomic_load(&look.want);
        for (int i = 0; i < 30; i++) {
            hccl_cell_ref_t ref;
            CHECK(HCCL_OK == hccl_region_find(look.base, OLD, &ref));
            CHECK(want == ref.generation);
        }
        atomic_store(&look.done, round);
    }
    return NULL;
}

/* Each round: two entries of the key, the older one closed and read by all. While a peer looks the
 * younger one up, the older one's entry goes to another key of the same place in the table. */
static void look_up_during_reuse(int rank)
{
    pthread_t reader;
    uint64_t other = 1000;
    forked_regions(rank, 16 * MIB);
    CHECK(HCCL_OK == hccl_region_map(&forked->cards[0], &look.base));
    hccl_cell_ref_t old = take(OLD, 1);
    hccl_dir_entry_t *place = old.entry;
    hccl_region_drop(&old, 1);
    for (;; other++) {
        hccl_cell_ref_t some = take(other, 1);
        hccl_region_drop(&some, 1);
        if (some.entry == place) {
            break;
        }
    }
    CHECK(0 == pthread_create(&reader, NULL, look_up, NULL));
    for (uint64_t round = 1; round <= ROUNDS; round++) {
        old = take(OLD, 1);
        hccl_cell_ref_t young = take(OLD, 1);
        CHECK(place == old.entry && place != young.entry);
        atomic_store(&look.want, young.generation);
        atomic_store(&look.round, round);
        while (round > atomic_load(&look.done)) {
            hccl_region_close(&old, 1, NULL, 0, 1);
            old = take(other, 1);
            CHECK(place == old.entry);
        }
        hccl_region_drop(&old, 1);
        hccl_region_drop(&young, 1);
    }
    CHECK(0 == pthread_join(reader, NULL));
}

/* --- The list ------------------------------------------------------------------------------------- */

#define RANKS_TEST(name, size, body)         \
    static void name(void **state)           \
    {                                        \
        (void) state;                        \
        assert_true(forked_run(size, body)); \
    }

RANKS_TEST(creates_and_destroys, 1, create_and_destroy)
RANKS_TEST(respects_limit_of_file_size, 1, limit_of_file_size)
RANKS_TEST(respects_limit_of_address_space, 1, limit_of_address_space)
RANKS_TEST(peers_map_what_was_announced, 2, map_by_peers)
RANKS_TEST(unknown_key_is_an_error, 1, key_not_there)
RANKS_TEST(youngest_cell_of_a_key_is_found, 1, youngest_of_a_key)
RANKS_TEST(full_directory_is_an_error, 1, full_directory)
RANKS_TEST(removed_entries_do_not_pile_up, 1, directory_stays_clean)
RANKS_TEST(full_region_is_an_error, 1, no_room)
RANKS_TEST(signals_are_no_errors, 1, signals)
RANKS_TEST(lack_of_memory_is_an_error, 1, no_memory)
RANKS_TEST(memory_is_reused_when_all_have_read, 4, reuse_when_all_have_read)
RANKS_TEST(look_ups_see_no_half_entries, 1, look_up_during_reuse)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(creates_and_destroys),
        cmocka_unit_test(respects_limit_of_file_size),
        cmocka_unit_test(respects_limit_of_address_space),
        cmocka_unit_test(peers_map_what_was_announced),
        cmocka_unit_test(unknown_key_is_an_error),
        cmocka_unit_test(youngest_cell_of_a_key_is_found),
        cmocka_unit_test(full_directory_is_an_error),
        cmocka_unit_test(removed_entries_do_not_pile_up),
        cmocka_unit_test(full_region_is_an_error),
        cmocka_unit_test(signals_are_no_errors),
        cmocka_unit_test(lack_of_memory_is_an_error),
        cmocka_unit_test(memory_is_reused_when_all_have_read),
        cmocka_unit_test(look_ups_see_no_half_entries),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
