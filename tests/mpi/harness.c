/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Random numbers, failure reports, watchdog and agreement for the differential tests. See harness.h.
 */
#include "harness.h"

#include <mpi.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

/* Failures printed by one rank; the rest is only counted. */
#define MAX_PRINTED 12
#define AGREE_TAG 29001

struct avoid avoid;

static char context[1024];
static unsigned watchdog;
static int world_rank;
static long failed;

uint64_t mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15u;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

uint64_t hash4(uint64_t a, uint64_t b, uint64_t c, uint64_t d)
{
    return mix64(mix64(mix64(mix64(a) ^ b) ^ c) ^ d);
}

uint64_t rng_next(struct rng *r)
{
    r->s += 0x9e3779b97f4a7c15u;
    return mix64(r->s);
}

uint64_t rng_below(struct rng *r, uint64_t n)
{
    return (rng_next(r) >> 11) % n;
}

bool rng_chance(struct rng *r, unsigned percent)
{
    return rng_below(r, 100) < percent;
}

bool avoid_set(const char *name)
{
    struct {
        const char *name;
        bool *member;
    } all[] = {{"zerotypes", &avoid.zerotypes}, {"tinygrid", &avoid.tinygrid},
               {"rubbish", &avoid.rubbish},     {"wide", &avoid.wide},
               {"bottom", &avoid.bottom},       {"derived", &avoid.derived},
               {"mixed", &avoid.mixed},         {"multiedge", &avoid.multiedge},
               {"inter", &avoid.inter},         {"droptypes", &avoid.droptypes}};

    for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
        if (0 == strcmp(all[i].name, name)) {
            *all[i].member = true;
            return true;
        }
    }
    return false;
}

double now_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

void *xalloc(size_t bytes)
{
    void *p = malloc(0 == bytes ? 1 : bytes);

    if (NULL == p) {
        fprintf(stderr, "out of memory (%zu bytes)\n", bytes);
        abort();
    }
    return p;
}

/* Only async-signal-safe calls: the process may hang or have crashed anywhere. */
static void on_signal(int sig)
{
    const char *what = SIGALRM == sig ? "# HANG in: " : "# CRASH in: ";
    ssize_t ignored;

    ignored = write(STDOUT_FILENO, what, strlen(what));
    ignored = write(STDOUT_FILENO, context, strlen(context));
    ignored = write(STDOUT_FILENO, "\n", 1);
    (void) ignored;
    signal(sig, SIG_DFL);
    if (SIGALRM == sig) {
        _exit(3);
    }
    raise(sig);
}

void harness_init(unsigned watchdog_seconds)
{
    static const int fatal[] = {SIGALRM, SIGSEGV, SIGBUS, SIGFPE, SIGABRT};

    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    watchdog = watchdog_seconds;
    for (size_t i = 0; i < sizeof(fatal) / sizeof(fatal[0]); i++) {
        signal(fatal[i], on_signal);
    }
}

void harness_context(const char *fmt, ...)
{
    va_list ap;
    int at = snprintf(context, sizeof(context), "[rank %d] ", world_rank);

    va_start(ap, fmt);
    vsnprintf(context + at, sizeof(context) - (size_t) at, fmt, ap);
    va_end(ap);
    alarm(watchdog);
}

const char *harness_get_context(void)
{
    return context;
}

void harness_idle(void)
{
    alarm(0);
}

void fail(const char *fmt, ...)
{
    char text[512];
    va_list ap;

    failed++;
    if (failed > MAX_PRINTED) {
        return;
    }
    va_start(ap, fmt);
    vsnprintf(text, sizeof(text), fmt, ap);
    va_end(ap);
    printf("# FAILURE %s: %s\n", context, text);
    fflush(stdout);
}

long failures(void)
{
    return failed;
}

long agree_max(long value)
{
    int size;
    long other;

    MPI_Comm_size(MPI_COMM_WORLD, &size);
    if (0 != world_rank) {
        MPI_Send(&value, 1, MPI_LONG, 0, AGREE_TAG, MPI_COMM_WORLD);
        MPI_Recv(&value, 1, MPI_LONG, 0, AGREE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        return value;
    }
    for (int i = 1; i < size; i++) {
        MPI_Recv(&other, 1, MPI_LONG, i, AGREE_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        value = other > value ? other : value;
    }
    for (int i = 1; i < size; i++) {
        MPI_Send(&value, 1, MPI_LONG, i, AGREE_TAG, MPI_COMM_WORLD);
    }
    return value;
}

void must(int rc, const char *what)
{
    char text[MPI_MAX_ERROR_STRING];
    int len = 0;

    if (MPI_SUCCESS == rc) {
        return;
    }
    MPI_Error_string(rc, text, &len);
    fail("%s returned %s", what, text);
    MPI_Abort(MPI_COMM_WORLD, 1);
}
