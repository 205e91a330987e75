/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See measure.h.
 *
 * A batch is as many operations as take 20 us, so that reading the clock (25 ns) and the skew of
 * the start (a flag latency) stay below some percent. All ranks start a batch at the same moment
 * and each reads the clock at its own end; the largest of these times, taken after the loop, is the
 * batch's time. It closes the batch as a token passed by the last rank would, at no cost: the root
 * of a broadcast is never timed without its receivers. With a single root the root could still run
 * ahead of them within a batch, so there each operation is a batch of its own.
 *
 * Dirtying the input is part of the time in batches of several operations (one store per cache
 * line; the whole input where an operation in place overwrites it), and outside it in batches of
 * one. Filling and checking are always outside. Above 32 KiB each operation is a batch of its own,
 * since dirtying would count for more than the clock.
 */
#include "measure.h"
#include "net.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double BATCH_SECONDS = 20e-6, SHORT_SECONDS = 1e-4;
enum {
    TRIAL = 3,
    LONG_TRIAL = 50,
    LARGEST_BATCH = 100,
    FEWEST = 20,
    WINDOW_MS = 400,
    TURN_MS = 10,
    LARGEST_TOGETHER = 32768
};

void hccl_bench_open(struct hccl_bench_bench *b, const struct hccl_bench_options *o)
{
    memset(b, 0, sizeof *b);
    b->o = o;
    hccl_bench_sync_open(&b->sync);
    hccl_bench_world_open(&b->world, MPI_COMM_WORLD);
}

void hccl_bench_close(struct hccl_bench_bench *b)
{
    hccl_bench_problem_free(b->problem);
    hccl_bench_world_close(&b->world);
    hccl_bench_sync_close(&b->sync);
}

struct hccl_bench_request hccl_bench_request_of(const struct hccl_bench_options *o,
                                                const struct hccl_bench_collective *collective,
                                                enum hccl_bench_mode mode, size_t bytes)
{
    return (struct hccl_bench_request){.collective = collective,
                                       .mode = mode,
                                       .type = o->type,
                                       .op = o->op,
                                       .bytes = bytes,
                                       .root = o->root,
                                       .in_place = o->in_place,
                                       .mpi_memory = o->mpi_memory,
                                       .offset = o->offset};
}

static const char *set_problem(struct hccl_bench_bench *b, const struct hccl_bench_request *q)
{
    const char *why = hccl_bench_too_large(q, b->world.size);

    if (NULL != why) {
        return why;
    }
    if (NULL != b->problem && b->request.collective == q->collective && b->request.mode == q->mode
        && b->request.bytes == q->bytes) {
        return NULL;
    }
    hccl_bench_problem_free(b->problem);
    b->problem = hccl_bench_problem_make(q, &b->world);
    if (!hccl_bench_sync_all(&b->sync, NULL != b->problem)) {
        hccl_bench_problem_free(b->problem);
        b->problem = NULL;
        return "a rank has no memory for the buffers";
    }
    b->request = *q;
    hccl_bench_problem_arm(b->problem);
    return NULL;
}

/* Runs iterations *k to *k + n - 1; returns this rank's seconds for one of them. */
static double run_batch(struct hccl_bench_bench *b, size_t salt, size_t *k, long n)
{
    hccl_bench_problem_prepare(b->problem, salt, *k);
    double start = hccl_bench_sync_start(&b->sync);
    hccl_bench_problem_call(b->problem, *k);
    for (long i = 1; i < n; i++) {
        ++*k;
        hccl_bench_problem_dirty(b->problem, *k);
        hccl_bench_problem_call(b->problem, *k);
    }
    ++*k;
    return (hccl_bench_now() - start) / (double) n;
}

/* Iterations that fit the size when the user gives none. */
static long usual_iterations(size_t bytes)
{
    return bytes <= 8192 ? 20000 : bytes <= 65536 ? 2000 : bytes <= 1048576 ? 200 : 50;
}

static void choose_lengths(struct hccl_bench_bench *b, const struct hccl_bench_request *q,
                           double seconds, long *iterations, long *batch)
{
    const struct hccl_bench_options *o = b->o;
    double lengths[2];

    *iterations = o->iterations;
    if (0 == *iterations) {
        long window = 0 < o->window ? o->window : NULL != o->control ? TURN_MS : WINDOW_MS;
        double fit = floor(1e-3 * (double) window / seconds);
        long usual = usual_iterations(q->bytes);
        *iterations = fit < FEWEST ? FEWEST : fit < (double) usual ? (long) fit : usual;
    }
    double together = LARGEST_TOGETHER < q->bytes ? 1 : ceil(BATCH_SECONDS / seconds);
    *batch = together < LARGEST_BATCH ? (long) together : LARGEST_BATCH;
    if (*batch > *iterations / FEWEST) {
        *batch = *iterations < FEWEST ? 1 : *iterations / FEWEST;
    }
    if (0 < o->batch) {
        *batch = o->batch < *iterations ? o->batch : *iterations;
    } else if (hccl_bench_has_root(q->collective->layout) && 0 <= q->root) {
        *batch = 1;
    }
    lengths[0] = (double) *iterations;
    lengths[1] = (double) *batch;
    hccl_bench_sync_share(&b->sync, lengths, 2);
    *iterations = (long) lengths[0];
    *batch = (long) lengths[1];
}

/* At least one call per slot, so that every connection stands before the clock runs; none where the
 * user wants none: a smaller size has opened them, and one operation may take a minute. */
static double warm_up(struct hccl_bench_bench *b, size_t *k)
{
    long slots = hccl_bench_problem_slots(b->problem);
    double seconds;

    if (0 < b->o->warmup) {
        run_batch(b, 1, k, slots < b->o->warmup ? b->o->warmup : slots);
    }
    if (0 < b->o->iterations && 0 < b->o->batch) {
        return 1; /* nothing is left to be chosen by duration */
    }
    seconds = run_batch(b, 2, k, TRIAL);
    hccl_bench_sync_share(&b->sync, &seconds, 1);
    if (seconds < SHORT_SECONDS) {
        seconds = run_batch(b, 2, k, LONG_TRIAL);
    }
    return 1e-9 < seconds ? seconds : 1e-9;
}

const char *hccl_bench_window(struct hccl_bench_bench *b, const struct hccl_bench_request *q,
                              struct hccl_bench_result *result)
{
    const char *why = set_problem(b, q);
    size_t k = 0;
    double wrong = 0;

    if (NULL != why) {
        return why;
    }
    memset(result, 0, sizeof *result);
    result->request = *q;
    result->count = hccl_bench_block_count(q, b->world.size);
    result->bytes = hccl_bench_actual_bytes(q, b->world.size);
    choose_lengths(b, q, warm_up(b, &k), &result->iterations, &result->batch);
    long batches = result->iterations / result->batch;
    double *samples = malloc((size_t) batches * sizeof *samples);
    if (!hccl_bench_sync_all(&b->sync, NULL != samples)) {
        free(samples);
        return "a rank has no memory for the samples";
    }
    result->iterations = batches * result->batch;
    result->flag_before = hccl_bench_sync_flag_latency(&b->sync);
    double net[2] = {0, 0}, net_before[2] = {0, 0};
    if (NULL != b->o->net) {
        hccl_bench_sync_start(&b->sync);
        hccl_bench_net_read(b->o->net, &net_before[0], &net_before[1]);
    }
    for (long i = 0; i < batches; i++) {
        samples[i] = 1e6 * run_batch(b, (size_t) i + 3, &k, result->batch);
        if (b->o->check) {
            wrong += (double) hccl_bench_problem_check(b->problem, k - 1);
        }
    }
    if (NULL != b->o->net) {
        hccl_bench_sync_start(&b->sync);
        hccl_bench_net_read(b->o->net, &net[0], &net[1]);
        net[0] = (net[0] - net_before[0]) / (double) result->iterations;
        net[1] = (net[1] - net_before[1]) / (double) result->iterations;
        hccl_bench_sync_largest(&b->sync, net, 2);
        result->net_out = net[0];
        result->net_in = net[1];
    }
    result->flag_after = hccl_bench_sync_flag_latency(&b->sync);
    hccl_bench_sync_largest(&b->sync, &wrong, 1);
    hccl_bench_sync_share(&b->sync, &wrong, 1);
    result->wrong = wrong;
    hccl_bench_sync_largest(&b->sync, samples, (int) batches);
    result->time = hccl_bench_stats_of(samples, (int) batches);
    free(samples);
    return NULL;
}
