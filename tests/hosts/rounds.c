/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * rounds.c: how many messages follow one another between hosts in a short collective, by the clock.
 *
 * On a bed whose every message takes D milliseconds from host to host (bed.sh --delay D), however
 * many are on their way, an operation takes D for each message on its longest chain; what the ranks
 * do themselves is short beside it. So the least of some times, divided by D, is the number of
 * rounds. Nothing here knows how the component does it: it is plain MPI.
 *
 *   rounds D REPEATS
 *
 * allreduce, bcast and barrier on communicators of the first hosts, 2 up to all, with the first rank
 * of each, with the first two, and with one or two in turns. Ranks are in the order of hosts. Rank 0
 * prints for each
 *   rounds,OPERATION,BYTES,ROOT,HOSTS,RANKS,ROUNDS,LIMIT,MILLISECONDS
 * RANKS: of each host, or 1+ where they differ. LIMIT: the fewest rounds in which L + 1 times as many
 * hosts can know something after each, L: ranks of the smallest. And first `ruler,MESSAGES,ROUNDS`
 * for chains of point-to-point messages, which show whether the clock counts rightly at all.
 * REPEATS: how often to try where there seem to be more rounds than LIMIT.
 *
 * Exit code 1: a result was wrong; 2: bad arguments. Called by run_rounds.sh.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_START = 1, TAG_TIMES, TAG_CHAIN, TAG_OVER };
enum { MOST_REPEATS = 100, MOST_HOSTS = 64, WORDS = 256 };

/* The job, constant after the start. */
static int my_rank, ranks, hosts, my_host, my_local;
static int first_of[MOST_HOSTS]; /* each host's first rank */
static double delay;             /* seconds */
static int repeats;
static bool wrong;

typedef enum { ALLREDUCE, BCAST, BARRIER, CHAIN } kind_t;

static const char *const kinds[] = {"allreduce", "bcast", "barrier"};

typedef struct test {
    kind_t kind;
    int bytes, root;
    int messages; /* of a chain */
    MPI_Comm comm;
} test_t;

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + (double) t.tv_nsec * 1e-9;
}

/* The hosts are on one machine, so their clocks are one. */
static void sleep_until(double when)
{
    struct timespec t = {.tv_sec = (time_t) when};

    t.tv_nsec = (long) ((when - (double) t.tv_sec) * 1e9);
    while (0 != clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL)) {
    }
}

/* One message from host to host, as many as the chain has. */
static void chain(int messages)
{
    int token = 0;

    if (0 == my_local && 0 < my_host && my_host <= messages) {
        MPI_Recv(&token, 1, MPI_INT, first_of[my_host - 1], TAG_CHAIN, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    }
    if (0 == my_local && my_host < messages) {
        MPI_Send(&token, 1, MPI_INT, first_of[my_host + 1], TAG_CHAIN, MPI_COMM_WORLD);
    }
}

static void once(const test_t *t)
{
    int in[WORDS], out[WORDS], size, me, words = t->bytes / (int) sizeof(int);

    MPI_Comm_size(t->comm, &size);
    MPI_Comm_rank(t->comm, &me);
    for (int i = 0; i < words; i++) {
        in[i] = me + i;
        out[i] = me == t->root ? i : -1;
    }
    if (CHAIN == t->kind) {
        chain(t->messages);
    } else if (BARRIER == t->kind) {
        MPI_Barrier(t->comm);
    } else if (BCAST == t->kind) {
        MPI_Bcast(out, words, MPI_INT, t->root, t->comm);
    } else {
        MPI_Allreduce(in, out, words, MPI_INT, MPI_SUM, t->comm);
    }
    for (int i = 0; i < words; i++) {
        wrong = wrong || out[i] != (BCAST == t->kind ? i : size * (size - 1) / 2 + size * i);
    }
}

/* Rank 0 says when the others begin; 0: there is nothing more to time. */
static double agree_on_start(const test_t *t, bool more)
{
    double start = more ? now() + 2 * delay : 0;
    int members, me;

    MPI_Comm_size(t->comm, &members);
    MPI_Comm_rank(t->comm, &me);
    for (int rank = 1; 0 == me && rank < members; rank++) {
        MPI_Send(&start, 1, MPI_DOUBLE, rank, TAG_START, t->comm);
    }
    if (0 != me) {
        MPI_Recv(&start, 1, MPI_DOUBLE, 0, TAG_START, t->comm, MPI_STATUS_IGNORE);
    }
    return start;
}

/* Rank 0 gets the longest of all ranks' times. */
static double longest(const test_t *t, double mine)
{
    int members, me;
    double most = mine;

    MPI_Comm_size(t->comm, &members);
    MPI_Comm_rank(t->comm, &me);
    for (int rank = 1; 0 == me && rank < members; rank++) {
        double other;

        MPI_Recv(&other, 1, MPI_DOUBLE, rank, TAG_TIMES, t->comm, MPI_STATUS_IGNORE);
        most = other > most ? other : most;
    }
    if (0 != me) {
        MPI_Send(&mine, 1, MPI_DOUBLE, 0, TAG_TIMES, t->comm);
    }
    return most;
}

/* The least time, on rank 0. Once more as long as it has too many rounds, up to `repeats` times: a
 * machine that is busy elsewhere makes times longer, never shorter. */
static double least_time(const test_t *t, int limit)
{
    double least = 0, start;

    once(t); /* opens connections */
    for (int i = 0;; i++) {
        start = agree_on_start(t, i < repeats && (0 == i || least >= (limit + 1) * delay));
        if (0 == start) {
            return least;
        }
        sleep_until(start);
        once(t);
        const double seconds = longest(t, now() - start);
        least = 0 == i || seconds < least ? seconds : least;
    }
}

/* The least d with (per_host + 1)^d >= over. */
static int fewest_rounds(int over, int per_host)
{
    int d = 0;

    for (int reach = 1; reach < over; reach *= per_host + 1) {
        d++;
    }
    return d;
}

static void print_test(const test_t *t, int over, int least, const char *per_host)
{
    const int limit = fewest_rounds(over, least);
    const double seconds = least_time(t, limit);

    if (0 == my_rank) {
        printf("rounds,%s,%d,%d,%d,%s,%d,%d,%.1f\n", kinds[t->kind], t->bytes, t->root, over,
               per_host, (int) (seconds / delay), limit, seconds * 1e3);
        fflush(stdout);
    }
}

/* The members' work: bcast from the first and the last rank. */
static void time_all(MPI_Comm comm, int over, int least, const char *per_host)
{
    int members;

    MPI_Comm_size(comm, &members);
    const test_t tests[] = {{.kind = ALLREDUCE, .bytes = 8, .comm = comm},
                            {.kind = ALLREDUCE, .bytes = 1024, .comm = comm},
                            {.kind = BCAST, .bytes = 8, .root = members - 1, .comm = comm},
                            {.kind = BCAST, .bytes = 1024, .comm = comm},
                            {.kind = BARRIER, .comm = comm}};
    for (size_t i = 0; i < sizeof(tests) / sizeof(tests[0]); i++) {
        print_test(&tests[i], over, least, per_host);
    }
}

/* Everybody else must not poll meanwhile: two processors have all ranks. */
static void wait_asleep(void)
{
    int there = 0;

    while (0 == there) {
        const struct timespec nap = {.tv_nsec = 2000000};

        nanosleep(&nap, NULL);
        MPI_Iprobe(0, TAG_OVER, MPI_COMM_WORLD, &there, MPI_STATUS_IGNORE);
    }
    MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_OVER, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
}

/* The communicator of the ranks with member; the others sleep until its work is done. */
static void with_members(bool member, int over, int least, const char *per_host)
{
    MPI_Comm comm;
    int is_in = member, in[MOST_HOSTS * 2];

    MPI_Gather(&is_in, 1, MPI_INT, in, 1, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, member ? 0 : MPI_UNDEFINED, my_rank, &comm);
    if (!member) {
        wait_asleep();
        return;
    }
    time_all(comm, over, least, per_host);
    MPI_Comm_free(&comm);
    for (int rank = 0; 0 == my_rank && rank < ranks; rank++) {
        if (!in[rank]) {
            MPI_Send(NULL, 0, MPI_BYTE, rank, TAG_OVER, MPI_COMM_WORLD);
        }
    }
}

/* Hosts in the order of their ranks. */
static void find_hosts(void)
{
    static char names[MOST_HOSTS * 2][MPI_MAX_PROCESSOR_NAME];
    char mine[MPI_MAX_PROCESSOR_NAME] = "";
    int length;

    MPI_Get_processor_name(mine, &length);
    MPI_Allgather(mine, sizeof(mine), MPI_CHAR, names, sizeof(mine), MPI_CHAR, MPI_COMM_WORLD);
    hosts = -1;
    for (int rank = 0; rank < ranks; rank++) {
        if (0 == rank || 0 != strcmp(names[rank], names[rank - 1])) {
            first_of[++hosts] = rank;
        }
        if (rank == my_rank) {
            my_host = hosts;
            my_local = rank - first_of[hosts];
        }
    }
    hosts++;
}

static void check_ruler(void)
{
    for (int messages = 1; messages < hosts && messages <= 4; messages++) {
        const test_t t = {.kind = CHAIN, .comm = MPI_COMM_WORLD, .messages = messages};
        const double seconds = least_time(&t, messages);

        if (0 == my_rank) {
            printf("ruler,%d,%d\n", messages, (int) (seconds / delay));
            fflush(stdout);
        }
    }
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    delay = 3 == argc ? atof(argv[1]) / 1e3 : 0;
    repeats = 3 == argc ? atoi(argv[2]) : 0;
    if (0 >= delay || 1 > repeats || MOST_REPEATS < repeats || MOST_HOSTS * 2 < ranks) {
        fprintf(stderr, "usage: rounds MILLISECONDS REPEATS (1 to %d), on up to %d ranks\n",
                MOST_REPEATS, MOST_HOSTS * 2);
        MPI_Abort(MPI_COMM_WORLD, 2);
    }
    find_hosts();
    check_ruler();
    for (int over = 2; over <= hosts; over++) {
        bool in = my_host < over;

        with_members(in && 0 == my_local, over, 1, "1");
        with_members(in && 2 > my_local, over, 2, "2");
        with_members(in && my_local < 1 + my_host % 2, over, 1, "1+");
    }
    MPI_Finalize();
    return wrong ? 1 : 0;
}
