/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_threads.c: P52 and P56, collectives under MPI_THREAD_MULTIPLE: threads on communicators of
 * their own, and two threads that complete the requests of one communicator.
 */
#include "hazard.h"

#include <pthread.h>
#include <sched.h>

enum { THREADS = 4, P56_REQUESTS = 64 };

/* What one thread works on and found; lives until the thread is joined. */
struct worker {
    pthread_t thread;
    struct hz_ctx hz; /* own copy: threads do not share their findings */
    int number;
    long rounds;
    MPI_Comm comm;         /* P52 */
    MPI_Request *requests; /* P56: every second one, from `number` on, is this thread's */
};

static void *p52_thread(void *argument)
{
    struct worker *w = argument;

    for (long round = 0; round < w->rounds; round++) {
        size_t count = 0 == round % 50 ? 5000 : 3;
        int *in = malloc(count * sizeof(int));
        int *out = malloc(count * sizeof(int));
        MPI_Request request;
        int done = 0;
        hz_fill_ints(in, w->hz.rank, 0, count);
        in[0] = (int) round + w->number;
        MPI_Iallreduce(in, out, (int) count, MPI_INT, MPI_SUM, w->comm, &request);
        while (!done) {
            MPI_Test(&request, &done, MPI_STATUS_IGNORE);
            if (!done) {
                sched_yield();
            }
        }
        HZ_CHECK(&w->hz, w->hz.size * ((int) round + w->number) == out[0],
                 "thread %d, round %ld: sum %d", w->number, round, out[0]);
        for (size_t i = 1; i < count; i++) {
            HZ_CHECK(&w->hz, hz_sum(w->hz.size, i) == out[i], "thread %d, round %ld: sum %zu is %d",
                     w->number, round, i, out[i]);
        }
        free(in);
        free(out);
    }
    return NULL;
}

static void start(struct hz_ctx *hz, struct worker *w, int number, void *(*run)(void *) )
{
    w->hz = *hz;
    w->number = number;
    if (0 != pthread_create(&w->thread, NULL, run, w)) {
        fprintf(stderr, "hazard_threads: no thread\n");
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
}

static void join(struct hz_ctx *hz, struct worker *w)
{
    pthread_join(w->thread, NULL);
    HZ_CHECK(hz, !w->hz.failed, "%s", w->hz.why);
}

static void p52(struct hz_ctx *hz)
{
    struct worker workers[THREADS] = {0};

    for (int t = 0; t < THREADS; t++) {
        MPI_Comm_dup(MPI_COMM_WORLD, &workers[t].comm);
    }
    for (int t = 0; t < THREADS; t++) {
        workers[t].rounds = 0 < hz->repeat ? hz->repeat : 1000;
        start(hz, &workers[t], t, p52_thread);
    }
    for (int t = 0; t < THREADS; t++) {
        join(hz, &workers[t]);
        MPI_Comm_free(&workers[t].comm);
    }
}

/* Tests its own requests in turn until all are complete. */
static void *p56_thread(void *argument)
{
    struct worker *w = argument;
    int open = P56_REQUESTS / 2;

    while (0 < open) {
        open = 0;
        for (int i = w->number; i < P56_REQUESTS; i += 2) {
            int done = 0;
            MPI_Test(&w->requests[i], &done, MPI_STATUS_IGNORE);
            open += !done;
        }
        sched_yield();
    }
    return NULL;
}

static void p56(struct hz_ctx *hz)
{
    enum { COUNT = 2000 };
    MPI_Request requests[P56_REQUESTS];
    struct hz_buf in = hz_buf_new(COUNT * sizeof(int));
    struct hz_buf out[P56_REQUESTS];

    hz_fill_ints(hz_ints(&in), hz->rank, 0, COUNT);
    for (int i = 0; i < P56_REQUESTS; i++) {
        out[i] = hz_buf_new(COUNT * sizeof(int));
    }
    for (int round = 0; round < 10; round++) {
        struct worker workers[2] = {0};
        for (int i = 0; i < P56_REQUESTS; i++) {
            int count = 0 == i % 3 ? COUNT : 1;
            memset(out[i].data, HZ_FILLER, out[i].size);
            MPI_Iallreduce(in.data, out[i].data, count, MPI_INT, MPI_SUM, MPI_COMM_WORLD,
                           &requests[i]);
        }
        for (int t = 0; t < 2; t++) {
            workers[t].requests = requests;
            start(hz, &workers[t], t, p56_thread);
        }
        for (int t = 0; t < 2; t++) {
            join(hz, &workers[t]);
        }
        for (int i = 0; i < P56_REQUESTS; i++) {
            hz_check_sums(hz, hz_ints(&out[i]), hz->size, 0 == i % 3 ? COUNT : 1, "iallreduce");
        }
    }
    for (int i = 0; i < P56_REQUESTS; i++) {
        hz_buf_end(hz, &out[i], "result");
    }
    hz_buf_end(hz, &in, "input");
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {{"P52", 2, p52}, {"P56", 2, p56}, {NULL, 0, NULL}};

    return hz_main(argc, argv, MPI_THREAD_MULTIPLE, tests);
}
