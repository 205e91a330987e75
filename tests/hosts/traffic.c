/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * traffic.c: runs collectives, checks every element they deliver and tells how many payload bytes
 * one operation moved over each host's data link.
 *
 * It is plain MPI and knows no component. Besides the operations it only sends point-to-point
 * messages, so nothing it says about bytes depends on the code under test. Called by run_hosts.sh
 * under bed.sh, which defines what a data link is; without --counters it runs under any mpirun.
 *
 *   traffic [--counters|--messages] [--kill RANK] OPERATIONS BYTES ITERATIONS ROOTS
 *
 * OPERATIONS  names separated by commas, or all
 * BYTES       numbers separated by commas, multiples of 4: what one count argument describes, so
 *             the vector of bcast, reduce and allreduce, but one rank's block elsewhere
 * ITERATIONS  0 makes a job that does all but the operations (a baseline for bed.sh --counters)
 * ROOTS       ranks separated by commas, or all; operations without a root take the first only
 * --counters  CSV on rank 0: op,bytes,root,host,ranks,has_root,out_bytes,in_bytes: what one
 *             operation moved (one more goes before, which opens connections); and
 *             resent,host,segments where TCP sent again what was not lost: then measure again
 * --messages  the same line, but the last two numbers are the messages that the host's ranks sent to
 *             other hosts, and 0
 * --kill      this rank gets SIGKILL 500 ms after it has begun, wherever it then is, and says
 *             killing,MILLISECONDS since the epoch
 *
 * Per case rank 0 prints `case,op,bytes,root` before and `result,op,bytes,root,ok|wrong` after; a
 * rank that finds something wrong says what. Exit code 1 if anything was, 2 for bad arguments.
 */
#include "messages.h"
#include "operations.h"

#include <mpi.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { TAG_SYNC = 1, TAG_REPORT = 2 };

/* The job, constant after the start. */
static int my_rank, ranks;
static long iterations;
static bool with_counters, with_messages; /* one of them at most */

static _Noreturn void fail(const char *what, const char *which)
{
    fprintf(stderr, "traffic: %s '%s'\n", what, which);
    MPI_Abort(MPI_COMM_WORLD, 2);
    exit(2);
}

/* A barrier of point-to-point messages: returns when all ranks have called it. */
static void sync_all(void)
{
    for (int rank = 1; 0 == my_rank && rank < ranks; rank++) {
        MPI_Recv(NULL, 0, MPI_BYTE, rank, TAG_SYNC, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    if (0 != my_rank) {
        MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_SYNC, MPI_COMM_WORLD);
        MPI_Recv(NULL, 0, MPI_BYTE, 0, TAG_SYNC, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
    for (int rank = 1; 0 == my_rank && rank < ranks; rank++) {
        MPI_Send(NULL, 0, MPI_BYTE, rank, TAG_SYNC, MPI_COMM_WORLD);
    }
}

/* Payload that has left and entered this host over its data link; with_messages, the messages that
 * this rank has sent to other hosts, and 0. */
struct traffic {
    int64_t out, in;
    int64_t resent; /* TCP segments sent again by this host: 0, or the bytes say too much */
};

static int64_t read_counter(const char *name)
{
    const char *interface = getenv("HCCL_BED_DATA_IF");
    char path[256];
    int64_t number = 0;
    FILE *file;

    if (NULL == interface) {
        fail("--counters works under bed.sh only, which sets", "HCCL_BED_DATA_IF");
    }
    snprintf(path, sizeof path, "/sys/class/net/%s/statistics/%s", interface, name);
    file = fopen(path, "r");
    if (NULL == file || 1 != fscanf(file, "%" SCNd64, &number)) {
        fail("cannot read", path);
    }
    fclose(file);
    return number;
}

static int64_t read_resent(void)
{
    FILE *file = fopen("/proc/net/snmp", "r");
    char line[1024];
    int64_t number = -1;

    while (NULL != file && 0 > number && NULL != fgets(line, sizeof line, file)) {
        /* The line with the names comes first and does not begin with a number. */
        if (1
            != sscanf(line, "Tcp: %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %*d %" SCNd64, &number)) {
            number = -1;
        }
    }
    if (0 > number) {
        fail("cannot read", "/proc/net/snmp");
    }
    fclose(file);
    return number;
}

/* A moment at which no rank has an operation open; 66 are the headers of one TCP packet. */
static struct traffic quiet_reading(void)
{
    struct traffic reading = {0};

    sync_all();
    if (with_messages) {
        reading.out = messages_so_far().away;
        sync_all();
        return reading;
    }
    reading.out = read_counter("tx_bytes") - 66 * read_counter("tx_packets");
    reading.in = read_counter("rx_bytes") - 66 * read_counter("rx_packets");
    reading.resent = read_resent();
    sync_all();
    return reading;
}

/* What every rank tells rank 0 of a case. */
struct report {
    char host[MPI_MAX_PROCESSOR_NAME];
    struct traffic per_operation;
    double entered, left; /* of the last barrier */
    bool right;
};

static void print_hosts(const struct run *run, const struct report *reports)
{
    for (int rank = 0; rank < ranks; rank++) {
        int first = ranks, on_host = 0;
        int64_t sent = 0;

        for (int other = 0; other < ranks; other++) {
            if (0 == strcmp(reports[rank].host, reports[other].host)) {
                first = other < first ? other : first;
                on_host++;
                sent += reports[other].per_operation.out;
            }
        }
        if (first == rank) {
            const bool has_root = 0 == strcmp(reports[rank].host, reports[run->root].host);

            printf("%s,%zu,%d,%s,%d,%d,%" PRId64 ",%" PRId64 "\n", run->op->name,
                   run->words * sizeof(uint32_t), run->root, reports[rank].host, on_host, has_root,
                   with_messages ? sent : reports[rank].per_operation.out,
                   reports[rank].per_operation.in);
            if (0 < reports[rank].per_operation.resent) {
                printf("resent,%s,%" PRId64 "\n", reports[rank].host,
                       reports[rank].per_operation.resent);
            }
        }
    }
}

/* Nobody may leave a barrier before everybody has entered it. */
static bool barrier_held(const struct report *reports)
{
    for (int early = 0; early < ranks; early++) {
        for (int late = 0; late < ranks; late++) {
            if (reports[early].left < reports[late].entered) {
                printf("wrong barrier: rank %d left %.0f us before rank %d entered\n", early,
                       (reports[late].entered - reports[early].left) * 1e6, late);
                return false;
            }
        }
    }
    return true;
}

static bool counts(void)
{
    return (with_counters || with_messages) && 0 < iterations;
}

/* Rank 0 learns how the case went on all ranks and prints it. */
static bool conclude(const struct run *run, const struct report *mine)
{
    struct report *all;
    bool right = mine->right;

    if (0 != my_rank) {
        MPI_Send(mine, (int) sizeof *mine, MPI_BYTE, 0, TAG_REPORT, MPI_COMM_WORLD);
        return right;
    }
    all = calloc((size_t) ranks, sizeof *all);
    if (NULL == all) {
        fail("no memory for", "reports");
    }
    all[0] = *mine;
    for (int rank = 1; rank < ranks; rank++) {
        MPI_Recv(&all[rank], (int) sizeof *all, MPI_BYTE, rank, TAG_REPORT, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        right = right && all[rank].right;
    }
    if (NOBODY == run->op->sender) {
        right = barrier_held(all) && right;
    }
    if (counts()) {
        print_hosts(run, all);
    }
    printf("result,%s,%zu,%d,%s\n", run->op->name, run->words * sizeof(uint32_t), run->root,
           right ? "ok" : "wrong");
    fflush(stdout);
    free(all);
    return right;
}

static bool repeat(struct run *run, long times)
{
    bool right = true;

    for (long i = 0; i < times; i++) {
        right = operation_once(run) && right;
    }
    return right;
}

static bool run_case(const struct operation *op, size_t bytes, int root)
{
    static uint32_t seed;
    struct run run = {.op = op, .words = bytes / sizeof(uint32_t), .root = root};
    struct report report = {.right = true};
    struct traffic before = {0}, between = {0}, after = {0};
    int length;

    if (0 == my_rank) {
        printf("case,%s,%zu,%d\n", op->name, bytes, root);
        fflush(stdout);
    }
    run.rank = my_rank;
    run.ranks = ranks;
    run.seed = seed += UINT32_C(1000003);
    if (!operation_prepare(&run)) {
        fail("no memory for", op->name);
    }
    if (counts()) {
        report.right = repeat(&run, 1);
        before = quiet_reading();
        between = quiet_reading();
    }
    report.right = repeat(&run, iterations) && report.right;
    if (counts()) {
        after = quiet_reading();
        /* What a reading itself sends is the difference of the first two. */
        report.per_operation.out = (after.out - 2 * between.out + before.out) / iterations;
        report.per_operation.in = (after.in - 2 * between.in + before.in) / iterations;
        report.per_operation.resent = after.resent - before.resent;
    }
    operation_release(&run);
    report.entered = run.entered;
    report.left = run.left;
    MPI_Get_processor_name(report.host, &length);
    return conclude(&run, &report);
}

static bool run_roots(const struct operation *op, size_t bytes, const char *roots)
{
    const bool all = 0 == strcmp("all", roots);
    bool right = true;

    for (int root = 0; all && root < ranks && (op->rooted || 0 == root); root++) {
        right = run_case(op, bytes, root) && right;
    }
    while (!all && 0 != *roots) {
        char *end;
        const long root = strtol(roots, &end, 10);

        if (end == roots || (0 != *end && ',' != *end) || 0 > root || root >= ranks) {
            fail("no such root:", roots);
        }
        right = run_case(op, bytes, (int) root) && right;
        if (!op->rooted) {
            break;
        }
        roots = end + (',' == *end);
    }
    return right;
}

static bool run_sizes(const struct operation *op, const char *sizes, const char *roots)
{
    bool right = true;

    while (0 != *sizes) {
        char *end;
        const unsigned long long bytes = strtoull(sizes, &end, 10);

        if (end == sizes || (0 != *end && ',' != *end) || 0 != bytes % sizeof(uint32_t)
            || 0 == bytes || bytes > (1U << 30)) {
            fail("bytes must be multiples of 4, separated by commas, not", sizes);
        }
        right = run_roots(op, (size_t) bytes, roots) && right;
        if (NOBODY == op->sender) {
            break;
        }
        sizes = end + (',' == *end);
    }
    return right;
}

static bool run_operations(const char *names, const char *sizes, const char *roots)
{
    const struct operation *op;
    const bool all = 0 == strcmp("all", names);
    bool right = true;

    for (int i = 0; all && NULL != (op = operation_number(i)); i++) {
        right = run_sizes(op, sizes, roots) && right;
    }
    while (!all && 0 != *names) {
        const size_t length = strcspn(names, ",");

        op = operation_find(names, length);
        if (NULL == op) {
            fail("no such operation:", names);
        }
        right = run_sizes(op, sizes, roots) && right;
        names += length + (',' == names[length]);
    }
    return right;
}

/* The signal comes from a timer, so that it finds the rank in the middle of whatever it does. */
static void kill_me_soon(void)
{
    const long delay_ms = 500;
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec when = {.it_value = {.tv_nsec = delay_ms * 1000000}};
    struct timespec time;
    timer_t timer;

    clock_gettime(CLOCK_REALTIME, &time);
    printf("killing,%lld\n",
           (long long) time.tv_sec * 1000 + time.tv_nsec / 1000000 + (long long) delay_ms);
    fflush(stdout);
    if (0 != timer_create(CLOCK_MONOTONIC, &event, &timer)
        || 0 != timer_settime(timer, 0, &when, NULL)) {
        fail("cannot make", "a timer");
    }
}

int main(int argc, char **argv)
{
    int killed = -1, first = 1;
    bool right;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &my_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (; first < argc && 0 == strncmp("--", argv[first], 2); first++) {
        if (0 == strcmp("--counters", argv[first])) {
            with_counters = true;
        } else if (0 == strcmp("--messages", argv[first])) {
            messages_open();
            with_messages = true;
        } else if (0 == strcmp("--kill", argv[first]) && first + 1 < argc) {
            killed = atoi(argv[++first]);
        } else {
            fail("unknown option", argv[first]);
        }
    }
    if (4 != argc - first || (with_counters && with_messages)) {
        fail("usage: traffic [--counters|--messages] [--kill RANK] OPERATIONS BYTES ITERATIONS "
             "ROOTS, not",
             argv[argc - 1]);
    }
    iterations = atol(argv[first + 2]);
    if (0 > iterations || 1000000 < iterations) {
        fail("iterations must be from 0 to 1000000, not", argv[first + 2]);
    }
    if (killed == my_rank) {
        kill_me_soon();
    }
    right = run_operations(argv[first], argv[first + 1], argv[first + 3]);
    MPI_Finalize();
    return right ? 0 : 1;
}
