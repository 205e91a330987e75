/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_test: times and checks MPI's collectives; a plain MPI program that knows no component.
 *
 * One table per collective and mode. `hccl_test -h` says what the flags mean; `--versus` hands over
 * to hccl_versus, which runs this program twice and lets the two jobs measure in turn.
 */
#include "control.h"
#include "measure.h"
#include "net.h"
#include "options.h"
#include "report.h"

#include <errno.h>
#include <limits.h>
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WRONG_RESULT = 1, BAD_ARGUMENTS = 2 };

/* A fresh page costs more than a small collective: what malloc got once it keeps, in this program
 * and in the MPI library below it, whichever component is measured. */
static void keep_pages(void)
{
    mallopt(M_MMAP_THRESHOLD, 4 * 1024 * 1024 * (int) sizeof(long));
    mallopt(M_TRIM_THRESHOLD, INT_MAX);
}

static bool under_launcher(void)
{
    return NULL != getenv("OMPI_COMM_WORLD_SIZE") || NULL != getenv("PMI_RANK")
           || NULL != getenv("PMIX_RANK");
}

/* "coll tuned,self btl vader,self" -> "--mca coll tuned,self --mca btl vader,self"; anything that
 * begins with a dash is mpirun's own options already. */
static void launcher_options(char *to, size_t room, const char *selection)
{
    char copy[1024], *rest = NULL;

    if ('-' == selection[0]) {
        snprintf(to, room, "%s", selection);
        return;
    }
    snprintf(copy, sizeof copy, "%s", selection);
    to[0] = '\0';
    char *name = strtok_r(copy, " ", &rest);
    while (NULL != name) {
        char *value = strtok_r(NULL, " ", &rest);
        size_t used = strlen(to);
        snprintf(to + used, room - used, "--mca %s %s ", name, NULL == value ? "" : value);
        name = strtok_r(NULL, " ", &rest);
    }
}

/* Replaces this program by hccl_versus, which lies beside it; returns only on failure. */
static int become_versus(const struct hccl_bench_options *o, int argc, char **argv)
{
    char path[PATH_MAX], mine[1100], theirs[1100];
    char **words = calloc((size_t) argc + 16, sizeof *words);
    int n = 0;
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - sizeof "hccl_versus");

    if (length < 0 || NULL == words) {
        perror("hccl_test: --versus");
        return WRONG_RESULT;
    }
    path[length] = '\0';
    strcpy(strrchr(path, '/') + 1, "hccl_versus");
    launcher_options(mine, sizeof mine, o->select);
    launcher_options(theirs, sizeof theirs, o->versus);
    const char *own[] = {path, "-A", mine, "-B", theirs};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++) {
        words[n++] = (char *) own[i];
    }
    words[n++] = "--";
    for (int i = 1; i < argc; i++) {
        words[n++] = argv[i];
    }
    execv(path, words);
    fprintf(stderr, "hccl_test: --versus: %s: %s\n", path, strerror(errno));
    free(words);
    return WRONG_RESULT;
}

/* One collective in one mode over all sizes; the exit code so far. */
static int run(struct hccl_bench_bench *b, const struct hccl_bench_collective *c,
               enum hccl_bench_mode mode, FILE *csv)
{
    bool first = 0 == b->world.rank, more = true;
    size_t bytes = hccl_bench_options_first(b->o, c), last = SIZE_MAX;
    int code = 0;

    if (first) {
        hccl_bench_report_head(b->o, c, mode, b->world.size);
    }
    for (; more; bytes = hccl_bench_options_next(b->o, c, bytes, &more)) {
        struct hccl_bench_request q = hccl_bench_request_of(b->o, c, mode, bytes);
        struct hccl_bench_result result;
        size_t actual = hccl_bench_actual_bytes(&q, b->world.size);
        if (actual == last) {
            continue;
        }
        last = actual;
        const char *why = hccl_bench_window(b, &q, &result);
        if (NULL != why) {
            if (first) {
                fprintf(stderr, "hccl_test: %s of %zu bytes over %d ranks: %s; lower -e\n", c->name,
                        bytes, b->world.size, why);
            }
            return BAD_ARGUMENTS;
        }
        code = 0 < result.wrong ? WRONG_RESULT : code;
        if (first) {
            hccl_bench_report_row(b->o, &result, b->world.size);
            if (NULL != csv) {
                hccl_bench_report_csv_row(csv, &result, b->world.size);
            }
        }
    }
    return code;
}

static int run_all(struct hccl_bench_bench *b, FILE *csv)
{
    int code = 0;
    double flag = hccl_bench_sync_flag_latency(&b->sync);

    if (0 == b->world.rank && 0 < flag) {
        printf("# flag latency between ranks 0 and 1: %.0f ns\n", flag);
    }
    for (int i = 0; i < b->o->listed; i++) {
        for (int mode = 0; mode < HCCL_BENCH_MODES; mode++) {
            if (b->o->modes[mode]) {
                int new = run(b, b->o->list[i], (enum hccl_bench_mode) mode, csv);
                if (BAD_ARGUMENTS == new) {
                    return new;
                }
                code = 0 == code ? new : code;
            }
        }
    }
    flag = hccl_bench_sync_flag_latency(&b->sync);
    if (0 == b->world.rank && 0 < flag) {
        printf("# flag latency at the end: %.0f ns\n", flag);
    }
    return code;
}

/* Whether --net, if it is given, names an interface at every rank; rank 0 says so if not. */
static bool has_interface(struct hccl_bench_bench *b)
{
    double out, in;
    bool here = NULL == b->o->net || hccl_bench_net_read(b->o->net, &out, &in);

    if (hccl_bench_sync_all(&b->sync, here)) {
        return true;
    }
    if (0 == b->world.rank) {
        fprintf(stderr,
                "hccl_test: --net %s: accepted are interfaces that every host has "
                "(ls /sys/class/net)\n",
                b->o->net);
    }
    return false;
}

/* Opens the CSV at rank 0 and measures; the exit code, the same at all ranks. */
static int measure(const struct hccl_bench_options *o)
{
    struct hccl_bench_bench b;
    FILE *csv = NULL;
    bool fine = true;
    int code;

    hccl_bench_open(&b, o);
    if (NULL != o->csv && NULL == o->control && 0 == b.world.rank) {
        csv = fopen(o->csv, "w");
        fine = NULL != csv;
        if (fine) {
            hccl_bench_report_csv_head(csv);
        } else {
            fprintf(stderr, "hccl_test: --csv %s: %s; give a file that can be written\n", o->csv,
                    strerror(errno));
        }
    }
    fine = has_interface(&b) && fine;
    if (!hccl_bench_sync_all(&b.sync, fine)) {
        code = BAD_ARGUMENTS;
    } else if (NULL != o->control) {
        code = hccl_bench_control(&b, o->control);
    } else {
        code = run_all(&b, csv);
    }
    if (NULL != csv) {
        fclose(csv);
    }
    hccl_bench_close(&b);
    return code;
}

int main(int argc, char **argv)
{
    struct hccl_bench_options o;
    bool fine = hccl_bench_options_parse(&o, argc, argv);
    int rank, ranks, code = 0;

    keep_pages();
    if (fine && !o.help && NULL != o.versus && NULL == o.control) {
        if (!under_launcher()) {
            return become_versus(&o, argc, argv);
        }
        snprintf(o.message, sizeof o.message,
                 "--versus starts its own jobs: run hccl_test without mpirun");
        fine = false;
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (!fine || (!o.help && !hccl_bench_options_fit(&o, ranks))) {
        if (0 == rank) {
            fprintf(stderr, "hccl_test: %s\n", o.message);
        }
        code = BAD_ARGUMENTS;
    } else if (o.help) {
        if (0 == rank) {
            hccl_bench_options_help();
        }
    } else {
        code = measure(&o);
    }
    MPI_Finalize();
    return code;
}
