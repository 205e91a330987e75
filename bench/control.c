/* SPDX-License-Identifier: BSD-3-Clause
 *
 * See control.h.
 */
#include "control.h"
#include "served.h"

#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void say_hello(struct hccl_bench_bench *b, FILE *out)
{
    size_t size = (size_t) b->world.size;
    double *cpus = malloc(size * sizeof *cpus);

    if (NULL == cpus) {
        MPI_Abort(MPI_COMM_WORLD, 1);
        return;
    }
    for (size_t r = 0; r < size; r++) {
        cpus[r] = (int) r == b->world.rank ? sched_getcpu() : -1;
    }
    hccl_bench_sync_largest(&b->sync, cpus, (int) size);
    if (NULL != out) {
        fprintf(out, "hello %zu", size);
        for (size_t r = 0; r < size; r++) {
            fprintf(out, " %.0f", cpus[r]);
        }
        fputc('\n', out);
        fflush(out);
    }
    free(cpus);
}

/* Who serves it; answered without the other ranks. */
static void tell_served(struct hccl_bench_bench *b, const char *line, FILE *out)
{
    char name[64], served[HCCL_BENCH_SERVED];
    int mode;

    if (NULL == out) {
        return;
    }
    if (2 == sscanf(line, "served %63s %d", name, &mode) && 0 <= mode && mode < HCCL_BENCH_MODES) {
        const struct hccl_bench_collective *c = hccl_bench_collective_find(name);
        bool ring = NULL != c && hccl_bench_is_neighbor(c->layout);
        hccl_bench_served(name, (enum hccl_bench_mode) mode, ring ? b->world.ring : b->world.comm,
                          served);
        fprintf(out, "served %s\n", served);
    } else {
        fprintf(out, "error bad command\n");
    }
    fflush(out);
}

static void serve(struct hccl_bench_bench *b, const char *line, FILE *out)
{
    char name[64];
    int mode;
    size_t bytes;
    struct hccl_bench_result r;
    const struct hccl_bench_collective *c = NULL;

    if (0 == strncmp(line, "served ", 7)) {
        tell_served(b, line, out);
        return;
    }
    if (3 == sscanf(line, "%63s %d %zu", name, &mode, &bytes) && 0 <= mode
        && mode < HCCL_BENCH_MODES) {
        c = hccl_bench_collective_find(name);
    }
    const char *why = "unknown command";
    if (NULL != c) {
        struct hccl_bench_request q =
            hccl_bench_request_of(b->o, c, (enum hccl_bench_mode) mode, bytes);
        why = hccl_bench_window(b, &q, &r);
    }
    if (NULL == out) {
        return;
    }
    if (NULL != why) {
        fprintf(out, "error %s\n", why);
    } else {
        fprintf(out, "result %ld %ld %.6f %.6f %.6f %.6f %.3f %.3f %.0f\n", r.iterations, r.batch,
                r.time.min, r.time.p5, r.time.median, r.time.max, r.flag_before, r.flag_after,
                r.wrong);
    }
    fflush(out);
}

int hccl_bench_control(struct hccl_bench_bench *b, const char *prefix)
{
    char path[PATH_MAX], line[256];
    FILE *in, *out = NULL;

    snprintf(path, sizeof path, "%s.%d", prefix, b->world.rank);
    in = fopen(path, "r");
    if (0 == b->world.rank) {
        snprintf(path, sizeof path, "%s.out", prefix);
        out = fopen(path, "w");
    }
    if (!hccl_bench_sync_all(&b->sync, NULL != in && (0 != b->world.rank || NULL != out))) {
        if (0 == b->world.rank) {
            fprintf(stderr, "hccl_test: --control %s: a rank cannot open its pipe\n", prefix);
        }
        return 1;
    }
    say_hello(b, out);
    while (NULL != fgets(line, sizeof line, in) && 0 != strcmp(line, "quit\n")) {
        serve(b, line, out);
    }
    fclose(in);
    if (NULL != out) {
        fclose(out);
    }
    return 0;
}
