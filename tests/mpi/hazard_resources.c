/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_resources.c: P61 to P63, P66 and P67, what communicators and windows leave behind.
 */
#include "hazard.h"

#include <malloc.h>
#include <string.h>
#include <unistd.h>

/* Bytes of this process in memory, and bytes that malloc has given out. */
struct usage {
    long resident;
    long in_use;
};

static struct usage usage_now(void)
{
    struct usage u = {0, 0};
    FILE *file = fopen("/proc/self/statm", "r");
    long pages = 0;

    if (NULL != file && 1 == fscanf(file, "%*d %ld", &pages)) {
        u.resident = pages * sysconf(_SC_PAGESIZE);
    }
    if (NULL != file) {
        fclose(file);
    }
    u.in_use = (long) mallinfo2().uordblks;
    return u;
}

/* Growth that is no growth: the allocator's own rounding and caches. */
/* One closed cell of the widest ring may still wait for a slow peer when the measuring ends: 2 MiB. */
#define SLACK_RESIDENT (5L << 19)
#define SLACK_IN_USE (128L << 10)

/* Runs use(hz, round) `rounds` times and compares the memory after a quarter with that at the
 * end. */
static void flat(struct hz_ctx *hz, long rounds, void (*use)(struct hz_ctx *hz, long round),
                 const char *what)
{
    struct usage start = {0, 0};
    struct usage end;
    long warm = rounds / 4;

    for (long round = 0; round < rounds; round++) {
        if (warm == round) {
            start = usage_now();
        }
        use(hz, round);
    }
    end = usage_now();
    if (0 == hz->rank) {
        printf("# %s: %ld rounds after %ld: %+ld KiB resident, %+ld KiB of malloc\n", what,
               rounds - warm, warm, (end.resident - start.resident) / 1024,
               (end.in_use - start.in_use) / 1024);
        fflush(stdout);
    }
    HZ_CHECK(hz, end.in_use - start.in_use <= SLACK_IN_USE,
             "%s: malloc gave out %ld bytes more after %ld rounds", what, end.in_use - start.in_use,
             rounds - warm);
    HZ_CHECK(hz, end.resident - start.resident <= SLACK_RESIDENT,
             "%s: %ld KiB more resident after %ld rounds", what,
             (end.resident - start.resident) / 1024, rounds - warm);
}

static void one_dup(struct hz_ctx *hz, long round)
{
    MPI_Comm comm;
    int in = (int) (round % 1000) + hz->rank;
    int sum = -1;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm);
    HZ_CHECK(hz, hz->size * (int) (round % 1000) + hz->size * (hz->size - 1) / 2 == sum,
             "round %ld: sum %d", round, sum);
    MPI_Comm_free(&comm);
}

/* Calls that are made again, of which a communicator keeps records. */
static void same_calls(struct hz_ctx *hz, long round)
{
    static int in[300], sum[300];
    MPI_Comm comm;

    MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    for (int call = 0; call < 12; call++) {
        const int n = 1 + call % 3 * 100;
        for (int i = 0; i < n; i++) {
            in[i] = i + (int) (round % 1000) + hz->rank;
        }
        MPI_Allreduce(in, sum, n, MPI_INT, MPI_SUM, comm);
        MPI_Bcast(in, n, MPI_INT, 0, comm);
        HZ_CHECK(hz,
                 hz->size * (n - 1 + (int) (round % 1000)) + hz->size * (hz->size - 1) / 2
                     == sum[n - 1],
                 "round %ld, call %d: sum %d", round, call, sum[n - 1]);
    }
    MPI_Comm_free(&comm);
}

static void many_uses(struct hz_ctx *hz, long round)
{
    MPI_Comm comm;

    if (0 == round % 2) {
        MPI_Comm_dup(MPI_COMM_WORLD, &comm);
    } else {
        MPI_Comm_split(MPI_COMM_WORLD, hz->rank % 2, 0, &comm);
    }
    hz_every(hz, comm, 0 == round % 3 ? 1 : 600);
    MPI_Comm_free(&comm);
}

static void one_window(struct hz_ctx *hz, long round)
{
    static int memory[4];
    MPI_Win window;
    int value = (int) round + hz->rank;
    int next = (hz->rank + 1) % hz->size;
    int want = (int) round + (hz->rank + hz->size - 1) % hz->size;

    MPI_Win_create(memory, sizeof(memory), sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(&value, 1, MPI_INT, next, 1, 1, MPI_INT, window);
    MPI_Win_fence(0, window);
    HZ_CHECK(hz, want == memory[1], "round %ld: put gave %d, not %d", round, memory[1], want);
    MPI_Win_free(&window);
}

static void p62(struct hz_ctx *hz)
{
    flat(hz, 0 < hz->repeat ? hz->repeat : 500, one_dup, "dup, allreduce, free");
}

static void p62_uses(struct hz_ctx *hz)
{
    flat(hz, 0 < hz->repeat ? hz->repeat : 120, many_uses, "dup or split, every collective, free");
}

/* A call that is made again with other datatypes, of as many elements at the same places, is another call: blocks
 * between two ranks are a double or an int, by turns. */
static void p62_types(struct hz_ctx *hz)
{
    enum { WIDTH = sizeof(double), MOST = 8 };
    unsigned char in[MOST * WIDTH], out[MOST * WIDTH];
    int ones[MOST], places[MOST];
    MPI_Datatype types[MOST];

    for (int round = 0; round < 16; round++) {
        for (int r = 0; r < hz->size; r++) {
            ones[r] = 1;
            places[r] = r * WIDTH;
            types[r] = (hz->rank + r + round / 4) % 2 == 0 ? MPI_DOUBLE : MPI_INT;
            memset(in + places[r], 16 * hz->rank + r + 1, WIDTH);
            memset(out + places[r], 255, WIDTH);
        }
        MPI_Alltoallw(in, ones, places, types, out, ones, places, types, MPI_COMM_WORLD);
        for (int r = 0; r < hz->size; r++) {
            for (int i = 0; i < WIDTH; i++) {
                bool moved = MPI_DOUBLE == types[r] || i < (int) sizeof(int);
                int want = moved ? 16 * r + hz->rank + 1 : 255;

                HZ_CHECK(hz, want == out[places[r] + i],
                         "round %d: byte %d from rank %d is %d, not %d", round, i, r,
                         out[places[r] + i], want);
            }
        }
    }
}

static void p62_records(struct hz_ctx *hz)
{
    flat(hz, 0 < hz->repeat ? hz->repeat : 500, same_calls, "dup, the same calls, free");
}

static void p62_windows(struct hz_ctx *hz)
{
    flat(hz, 0 < hz->repeat ? hz->repeat : 200, one_window, "window");
}

/* 20 used communicators stay until MPI_Finalize, as many more go in another order than they
 * came; among them duplicates of duplicates, splits and a grid. */
static void p63(struct hz_ctx *hz)
{
    enum { COMMS = 40 };
    static MPI_Comm comms[COMMS];

    for (int c = 0; c < COMMS; c++) {
        int periodic = 1;
        MPI_Comm from = c < 8 ? MPI_COMM_WORLD : comms[c - 8];
        switch (c % 4) {
        case 0:
            MPI_Comm_split(MPI_COMM_WORLD, hz->rank % 2, hz->rank, &comms[c]);
            break;
        case 1:
            MPI_Cart_create(MPI_COMM_WORLD, 1, &hz->size, &periodic, 0, &comms[c]);
            break;
        default:
            MPI_Comm_dup(from, &comms[c]);
            break;
        }
        hz_every(hz, comms[c], 3);
    }
    for (int c = 0; c < COMMS; c += 4) {
        MPI_Comm_free(&comms[(c * 3 + 1) % COMMS]);
    }
    for (int c = 0; c < COMMS; c += 4) {
        MPI_Comm_free(&comms[COMMS - 2 - c]);
    }
    for (int c = 0; c < COMMS; c++) {
        if (MPI_COMM_NULL != comms[c]) {
            hz_every(hz, comms[c], 3);
        }
    }
}

/* Called by MPI_Finalize, when MPI_COMM_SELF goes: collectives still work, on the world too. */
static int callback(MPI_Comm comm, int key, void *value, void *extra)
{
    static int in[20000], out[20000];
    int size, rank;
    MPI_Comm copy;

    (void) key;
    (void) value;
    (void) extra;
    MPI_Comm_dup(comm, &copy);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int i = 0; i < 20000; i++) {
        in[i] = rank + 1;
    }
    MPI_Allreduce(in, out, 20000, MPI_INT, MPI_SUM, copy);
    bool right = rank + 1 == out[0] && rank + 1 == out[19999];
    MPI_Comm_free(&copy);
    MPI_Allreduce(in, out, 20000, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    right = right && size * (size + 1) / 2 == out[0] && size * (size + 1) / 2 == out[19999];
    if (!right) {
        fprintf(stderr, "hazard P63b: a wrong sum in MPI_Finalize\n");
        abort();
    }
    return MPI_SUCCESS;
}

static void p63_callback(struct hz_ctx *hz)
{
    int key;

    (void) hz;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, callback, &key, NULL);
    MPI_Comm_set_attr(MPI_COMM_SELF, key, NULL);
    MPI_Comm_free_keyval(&key);
}

/* A failed set-up, injected by the runner: the world, duplicates, splits, and another set-up
 * after it work. */
static void p66(struct hz_ctx *hz)
{
    hz_every(hz, MPI_COMM_WORLD, 10);
    for (long round = 0; round < 4; round++) {
        many_uses(hz, round);
    }
    hz_every(hz, MPI_COMM_WORLD, (int) (hz->segment / sizeof(int)) + 1);
}

/* P62b without the measuring, which says nothing under valgrind. */
static void p67(struct hz_ctx *hz)
{
    for (long round = 0; round < (0 < hz->repeat ? hz->repeat : 6); round++) {
        many_uses(hz, round);
    }
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {
        {"P62", 1, p62},           {"P62b", 1, p62_uses},  {"P62c", 2, p62_windows},
        {"P62d", 1, p62_records},  {"P62e", 2, p62_types}, {"P61", 1, p66},
        {"P63", 1, p63},           {"P66", 1, p66},        {"P67", 1, p67},
        {"P63b", 1, p63_callback}, {"P81", 1, p66},        {"P85", 1, p66},
        {NULL, 0, NULL},
    };

    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
