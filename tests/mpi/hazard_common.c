/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_common.c: the frame that hazard.h describes. Reports go point to point, never through a
 * collective, because collectives are what is tested.
 */
#include "hazard.h"

#include <stdarg.h>
#include <time.h>
#include <unistd.h>

#define GUARD ((size_t) 256)
#define GUARD_BYTE 0x5c
#define TAG_REPORT 31007

const char *const hz_mode_name[HZ_MODES] = {"blocking", "nonblocking", "persistent"};

void hz_fail(struct hz_ctx *hz, const char *format, ...)
{
    va_list list;

    if (hz->failed) {
        return;
    }
    hz->failed = true;
    va_start(list, format);
    vsnprintf(hz->why, sizeof(hz->why), format, list);
    va_end(list);
}

void hz_skip(struct hz_ctx *hz, const char *format, ...)
{
    va_list list;

    hz->skipped = true;
    va_start(list, format);
    vsnprintf(hz->why, sizeof(hz->why), format, list);
    va_end(list);
}

struct hz_buf hz_buf_new(size_t size)
{
    struct hz_buf buf;

    buf.size = size;
    buf.base = aligned_alloc(64, (size + 2 * GUARD + 63) / 64 * 64);
    if (NULL == buf.base) {
        fprintf(stderr, "hazard: no memory for %zu bytes\n", size);
        MPI_Abort(MPI_COMM_WORLD, 1);
        abort();
    }
    buf.data = buf.base + GUARD;
    memset(buf.base, GUARD_BYTE, GUARD);
    memset(buf.data, HZ_FILLER, size);
    memset(buf.data + size, GUARD_BYTE, GUARD);
    return buf;
}

void hz_buf_check(struct hz_ctx *hz, const struct hz_buf *buf, const char *what)
{
    for (size_t i = 0; i < GUARD; i++) {
        HZ_CHECK(hz, GUARD_BYTE == buf->base[i], "%s: byte %zu before the buffer written", what,
                 GUARD - i);
        HZ_CHECK(hz, GUARD_BYTE == buf->data[buf->size + i],
                 "%s: byte %zu behind the buffer written", what, i);
    }
}

void hz_buf_end(struct hz_ctx *hz, struct hz_buf *buf, const char *what)
{
    hz_buf_check(hz, buf, what);
    free(buf->base);
    buf->base = NULL;
    buf->data = NULL;
}

void hz_fill_ints(int *out, int rank, size_t first, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        out[i] = hz_value(rank, first + i);
    }
}

int hz_sum(int size, size_t i)
{
    int sum = 0;

    for (int r = 0; r < size; r++) {
        sum += hz_value(r, i);
    }
    return sum;
}

void hz_check_ints(struct hz_ctx *hz, const int *got, int rank, size_t first, size_t count,
                   const char *what)
{
    for (size_t i = 0; i < count && !hz->failed; i++) {
        int want = hz_value(rank, first + i);
        HZ_CHECK(hz, want == got[i], "%s: element %zu of rank %d is %d, not %d", what, first + i,
                 rank, got[i], want);
    }
}

void hz_check_sums(struct hz_ctx *hz, const int *got, int size, size_t count, const char *what)
{
    for (size_t i = 0; i < count && !hz->failed; i++) {
        int want = hz_sum(size, i);
        HZ_CHECK(hz, want == got[i], "%s: sum %zu is %d, not %d", what, i, got[i], want);
    }
}

size_t hz_sizes(const struct hz_ctx *hz, size_t *counts)
{
    size_t per_segment = hz->segment / sizeof(int);

    counts[0] = 1;
    counts[1] = 37;
    counts[2] = per_segment;
    counts[3] = 3 * per_segment;
    return HZ_SIZES;
}

MPI_Datatype hz_ints_type(int count)
{
    MPI_Datatype type;

    MPI_Type_contiguous(count, MPI_INT, &type);
    MPI_Type_commit(&type);
    return type;
}

MPI_Comm hz_first_ranks(const struct hz_ctx *hz, int size)
{
    MPI_Comm comm;

    MPI_Comm_split(MPI_COMM_WORLD, hz->rank < size ? 0 : MPI_UNDEFINED, hz->rank, &comm);
    return comm;
}

MPI_Comm hz_inter(const struct hz_ctx *hz, int low, MPI_Comm *local)
{
    MPI_Comm inter;
    bool is_low = hz->rank < low;

    MPI_Comm_split(MPI_COMM_WORLD, is_low ? 0 : 1, hz->rank, local);
    MPI_Intercomm_create(*local, 0, MPI_COMM_WORLD, is_low ? low : 0, 77, &inter);
    return inter;
}

void hz_sleep_us(long us)
{
    struct timespec t = {us / 1000000, us % 1000000 * 1000};

    nanosleep(&t, NULL);
}

uint32_t hz_random(uint32_t *state)
{
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

void hz_barrier(enum hz_mode mode, MPI_Comm comm)
{
    MPI_Request request = MPI_REQUEST_NULL;

    if (HZ_BLOCKING == mode) {
        MPI_Barrier(comm);
        return;
    }
    if (HZ_NONBLOCKING == mode) {
        MPI_Ibarrier(comm, &request);
    } else {
        MPIX_Barrier_init(comm, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    }
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (HZ_PERSISTENT == mode) {
        MPI_Request_free(&request);
    }
}

/* Is id one of the comma-separated names? */
static bool listed(const char *names, const char *id)
{
    size_t length = strlen(id);

    for (const char *at = names; NULL != at; at = strchr(at, ',')) {
        at += (',' == *at);
        if (0 == strncmp(at, id, length) && (',' == at[length] || '\0' == at[length])) {
            return true;
        }
    }
    return false;
}

/* Rank 0 collects what every rank found and prints one line. Returns whether the test failed. */
static bool report(const struct hz_ctx *hz, const char *id, const char *label)
{
    struct hz_ctx other;
    struct hz_ctx first = *hz;
    int first_rank = 0;

    if (0 != hz->rank) {
        MPI_Send(hz, (int) sizeof(*hz), MPI_BYTE, 0, TAG_REPORT, MPI_COMM_WORLD);
        return hz->failed;
    }
    for (int r = 1; r < hz->size; r++) {
        MPI_Recv(&other, (int) sizeof(other), MPI_BYTE, r, TAG_REPORT, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
        if (other.failed && !first.failed) {
            first = other;
            first_rank = r;
        }
    }
    if (first.failed) {
        printf("not ok %s%s: rank %d: %s\n", id, label, first_rank, first.why);
    } else if (first.skipped) {
        printf("skip %s%s: %s\n", id, label, first.why);
    } else {
        printf("ok %s%s\n", id, label);
    }
    fflush(stdout);
    return first.failed;
}

static int usage(const char *program, const char *bad)
{
    fprintf(stderr,
            "%s: bad argument '%s'\n"
            "usage: %s [-t P01,P02] [-n REPETITIONS] [-g SEGMENT_BYTES] [-l LABEL]\n",
            program, bad, program);
    return 2;
}

int hz_main(int argc, char **argv, int thread_level, const struct hz_test *tests)
{
    struct hz_ctx frame = {.segment = 65536};
    const char *names = NULL;
    const char *label = "";
    bool failed = false;
    int provided;

    for (int i = 1; i < argc; i += 2) {
        char *end = NULL;
        if (i + 1 >= argc) {
            return usage(argv[0], argv[i]);
        }
        if (0 == strcmp(argv[i], "-t")) {
            names = argv[i + 1];
        } else if (0 == strcmp(argv[i], "-l")) {
            label = argv[i + 1];
        } else if (0 == strcmp(argv[i], "-n")) {
            frame.repeat = strtol(argv[i + 1], &end, 10);
        } else if (0 == strcmp(argv[i], "-g")) {
            frame.segment = strtoul(argv[i + 1], &end, 10);
        } else {
            return usage(argv[0], argv[i]);
        }
        if (NULL != end && ('\0' != *end || end == argv[i + 1])) {
            return usage(argv[0], argv[i + 1]);
        }
    }
    MPI_Init_thread(NULL, NULL, thread_level, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &frame.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &frame.size);
    for (; NULL != tests->id; tests++) {
        struct hz_ctx hz = frame;
        if (NULL != names && !listed(names, tests->id)) {
            continue;
        }
        if (0 == frame.rank) {
            printf("# run %s%s\n", tests->id, label);
            fflush(stdout);
        }
        if (provided < thread_level) {
            hz_skip(&hz, "this MPI gives thread level %d, not %d", provided, thread_level);
        } else if (frame.size < tests->min_ranks) {
            hz_skip(&hz, "needs %d ranks, has %d", tests->min_ranks, frame.size);
        } else {
            tests->run(&hz);
        }
        failed = report(&hz, tests->id, label) || failed;
    }
    MPI_Finalize();
    return failed ? 1 : 0;
}
