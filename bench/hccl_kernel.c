/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_kernel: how near the reduction kernels are to this machine's copy speed.
 *
 * For working sets that fit the first, second and third cache and one that fits none, the bytes a
 * kernel moves per time, (sources + 1) times the length of the vector, are divided by those of memcpy
 * on a working set of the same size, 2 times its length. 1.00 is the copy bound. memcpy and kernels
 * take turns in short windows; each figure is the median over the rounds. Below that, nanoseconds
 * per call for short vectors. Every kernel's result is checked once per size against elements
 * computed one by one.
 *
 * Uses the kernels of the core as the component does; needs no MPI.
 */
#include <getopt.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "kernel/fold.h"
#include "stats.h"

#define MOST_SOURCES 16
#define MOST_ROUNDS 100
#define WINDOW_NS 2e6
#define MOST_SHORT 16

static const char *const op_names[HCCL_OP_COUNT] = {
    "sum", "prod", "max", "min", "land", "lor", "lxor", "band", "bor", "bxor", "maxloc", "minloc"};
static const char *const num_names[HCCL_NUM_COUNT] = {"int8",           "uint8",
                                                      "int16",          "uint16",
                                                      "int32",          "uint32",
                                                      "int64",          "uint64",
                                                      "float",          "double",
                                                      "long_double",    "float_complex",
                                                      "double_complex", "long_double_complex",
                                                      "short_int",      "2int",
                                                      "long_int",       "float_int",
                                                      "double_int",     "long_double_int",
                                                      "2float",         "2double"};

static const int source_counts[] = {2, 3, 4, 5, 6, 7, 8, 12, 16};
#define SOURCE_COUNTS ((int) (sizeof(source_counts) / sizeof(source_counts[0])))

static char *memory;
static size_t memory_bytes;
static int rounds = 7;

/* The processor's figures, at most 32 MiB: virtual machines report the caches of the whole host. */
static size_t cache_bytes(int level)
{
    static const int names[] = {_SC_LEVEL1_DCACHE_SIZE, _SC_LEVEL2_CACHE_SIZE,
                                _SC_LEVEL3_CACHE_SIZE};
    static const size_t usual[] = {32 << 10, 1 << 20, 32 << 20};
    long bytes = sysconf(names[level - 1]);
    return bytes <= 0 || (size_t) bytes > usual[2] ? usual[level - 1] : (size_t) bytes;
}

static double now_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return 1e9 * (double) t.tv_sec + (double) t.tv_nsec;
}

/* What is timed: a kernel, or memcpy when there is none. */
struct job {
    hccl_fold_fn_t kernel;
    void *dst;
    const void *src[MOST_SOURCES];
    int nsrc;
    size_t bytes;
};

static void call(const struct job *job)
{
    if (NULL == job->kernel) {
        memcpy(job->dst, job->src[0], job->bytes);
        __asm__ volatile("" ::: "memory");
    } else {
        job->kernel(job->dst, job->src, job->nsrc, job->bytes);
    }
}

/* Nanoseconds per call over one window. */
static double window(const struct job *job, size_t calls)
{
    call(job);
    double start = now_ns();
    for (size_t i = 0; i < calls; i++) {
        call(job);
    }
    return (now_ns() - start) / (double) calls;
}

static size_t calls_per_window(const struct job *job)
{
    double each = window(job, 1);
    size_t calls = (size_t) (WINDOW_NS / (each > 5 ? each : 5));
    return calls > 3 ? calls : 3;
}

/* Arrays one after the other, each on a page of its own plus a different cache line, so that they
 * do not all fall into the same sets of a cache. */
static size_t stride(size_t bytes)
{
    return (bytes + 4095) / 4096 * 4096 + 4096 + 192;
}

static size_t arrays(int nsrc, size_t bytes)
{
    return (size_t) (nsrc + 1) * stride(bytes);
}

static void place(struct job *job, hccl_fold_fn_t kernel, int nsrc, size_t bytes)
{
    job->kernel = kernel;
    job->nsrc = nsrc;
    job->bytes = bytes;
    job->dst = memory;
    for (int i = 0; i < nsrc; i++) {
        job->src[i] = memory + (size_t) (i + 1) * stride(bytes);
    }
}

/* Small whole numbers in every type: sums and products of 16 of them change nothing in speed.
 * Before each case, because results of the one before lie where its sources will be: products of
 * products would soon be infinite or no numbers, which some kernels treat at length. */
static void fill(hccl_num_t num, size_t bytes)
{
    size_t width = hccl_kernel_bytes(num);
    char *end = memory + bytes;
    char element[64] = {0};
    for (size_t i = 0; (char *) memory + (i + 1) * width <= end; i++) {
        int v = (int) ((uint32_t) i * 2654435761u >> 29);
        switch (num) {
        case HCCL_NUM_FLOAT:
        case HCCL_NUM_FLOAT_COMPLEX:
        case HCCL_NUM_FLOAT_INT32:
        case HCCL_NUM_FLOAT_FLOAT:
            ((float *) element)[0] = (float) v;
            break;
        case HCCL_NUM_DOUBLE:
        case HCCL_NUM_DOUBLE_COMPLEX:
        case HCCL_NUM_DOUBLE_INT32:
        case HCCL_NUM_DOUBLE_DOUBLE:
            ((double *) element)[0] = (double) v;
            break;
        case HCCL_NUM_LONG_DOUBLE:
        case HCCL_NUM_LONG_DOUBLE_COMPLEX:
        case HCCL_NUM_LONG_DOUBLE_INT32:
            ((long double *) element)[0] = (long double) v;
            break;
        default:
            element[0] = (char) v;
            break;
        }
        memcpy(memory + i * width, element, width);
    }
}

/* Is the first number of an element one? Always, for integers. */
static bool is_number(hccl_num_t num, const char *element)
{
    float f;
    double d;
    long double l;

    switch (num) {
    case HCCL_NUM_FLOAT:
    case HCCL_NUM_FLOAT_COMPLEX:
        memcpy(&f, element, sizeof f);
        return isfinite(f);
    case HCCL_NUM_DOUBLE:
    case HCCL_NUM_DOUBLE_COMPLEX:
        memcpy(&d, element, sizeof d);
        return isfinite(d);
    case HCCL_NUM_LONG_DOUBLE:
    case HCCL_NUM_LONG_DOUBLE_COMPLEX:
        memcpy(&l, element, sizeof l);
        return isfinite(l);
    default:
        return true;
    }
}

/* A call must give what calls of single elements give, and of these small numbers always numbers. */
static bool correct(const struct job *job, hccl_num_t num)
{
    size_t width = hccl_kernel_bytes(num);
    char one[64];
    job->kernel(job->dst, job->src, job->nsrc, job->bytes);
    size_t step = job->bytes / width > 4096 ? 61 * width : width;
    for (size_t at = 0; at < job->bytes; at += step) {
        const void *src[MOST_SOURCES];
        for (int j = 0; j < job->nsrc; j++) {
            src[j] = (const char *) job->src[j] + at;
        }
        job->kernel(one, src, job->nsrc, width);
        if (0 != memcmp(one, (const char *) job->dst + at, width) || !is_number(num, one)) {
            return false;
        }
    }
    return true;
}

static bool long_vectors(hccl_fold_fn_t kernel, hccl_num_t num, const char *where,
                         size_t working_set)
{
    size_t width = hccl_kernel_bytes(num);
    struct job copy;
    place(&copy, NULL, 1, working_set / 2 / 64 * 64);
    size_t copies = calls_per_window(&copy);
    printf("%-7s %8zu KiB ", where, working_set >> 10);
    bool right = true;
    double rate = 0;
    for (int c = 0; c < SOURCE_COUNTS; c++) {
        int nsrc = source_counts[c];
        struct job job;
        place(&job, kernel, nsrc, working_set / (size_t) (nsrc + 1) / (64 * width) * (64 * width));
        fill(num, arrays(nsrc, job.bytes));
        right = correct(&job, num) && right;
        size_t calls = calls_per_window(&job);
        double ratio[MOST_ROUNDS], rates[MOST_ROUNDS];
        for (int r = 0; r < rounds; r++) {
            double copied = 2 * (double) copy.bytes / window(&copy, copies);
            double folded = (double) (nsrc + 1) * (double) job.bytes / window(&job, calls);
            ratio[r] = folded / copied;
            rates[r] = copied;
        }
        rate = hccl_bench_stats_of(rates, rounds).median;
        printf(" %5.2f", hccl_bench_stats_of(ratio, rounds).median);
        fflush(stdout);
    }
    printf("  %6.1f%s\n", rate, right ? "" : "  WRONG");
    return right;
}

static void short_vectors(hccl_fold_fn_t kernel, hccl_num_t num)
{
    size_t width = hccl_kernel_bytes(num);
    for (size_t count = 1; count <= MOST_SHORT; count *= 2) {
        printf("%5zu elements, ns  ", count);
        for (int c = 0; c < SOURCE_COUNTS; c++) {
            struct job job;
            place(&job, kernel, source_counts[c], count * width);
            fill(num, arrays(source_counts[c], count * width));
            double ns[MOST_ROUNDS];
            for (int r = 0; r < rounds; r++) {
                ns[r] = window(&job, 20000);
            }
            printf(" %5.1f", hccl_bench_stats_of(ns, rounds).median);
        }
        printf("\n");
    }
}

static bool measure(const hccl_kernel_set_t *set, hccl_op_kind_t op, hccl_num_t num)
{
    hccl_fold_fn_t kernel = hccl_kernel_set_fold(set, op, num);
    if (NULL == kernel) {
        return true;
    }
    printf("\n%s of %s, %s: bytes moved per time relative to memcpy\n%-21s", op_names[op],
           num_names[num], hccl_kernel_set_name(set), "working set, sources:");
    for (int c = 0; c < SOURCE_COUNTS; c++) {
        printf(" %5d", source_counts[c]);
    }
    printf("  memcpy GB/s\n");
    bool right = long_vectors(kernel, num, "L1", cache_bytes(1) / 2);
    right = long_vectors(kernel, num, "L2", cache_bytes(2) / 2) && right;
    right = long_vectors(kernel, num, "L3", cache_bytes(3) / 4) && right;
    right = long_vectors(kernel, num, "memory", memory_bytes - (MOST_SOURCES + 2) * 8192) && right;
    short_vectors(kernel, num);
    return right;
}

static int find(const char *what, const char *name, const char *const *names, int n)
{
    for (int i = 0; i < n; i++) {
        if (0 == strcmp(name, names[i])) {
            return i;
        }
    }
    fprintf(stderr, "hccl_kernel: unknown %s %s; known are:", what, name);
    for (int i = 0; i < n; i++) {
        fprintf(stderr, " %s", names[i]);
    }
    fprintf(stderr, "\n");
    exit(2);
}

static void usage(FILE *to)
{
    fprintf(to,
            "usage: hccl_kernel [--op OP|all] [--type TYPE|all] [--set SET] [--rounds N]\n"
            "  --op      an op, default sum\n"
            "  --type    a type of element, default float\n"
            "  --set     instruction set, default the best one of this processor\n"
            "  --rounds  1 to %d, default %d\n",
            MOST_ROUNDS, rounds);
}

static const hccl_kernel_set_t *find_set(const char *name)
{
    const char *names[8];
    int n = 0;
    while (n < 8 && NULL != hccl_kernel_set(n)) {
        names[n] = hccl_kernel_set_name(hccl_kernel_set(n));
        n++;
    }
    return hccl_kernel_set(NULL == name ? 0 : find("set", name, names, n));
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"op", required_argument, NULL, 'o'},  {"type", required_argument, NULL, 't'},
        {"set", required_argument, NULL, 's'}, {"rounds", required_argument, NULL, 'r'},
        {"help", no_argument, NULL, 'h'},      {NULL, 0, NULL, 0}};
    int op = HCCL_OP_SUM, num = HCCL_NUM_FLOAT;
    const char *set_name = NULL;
    for (int c; - 1 != (c = getopt_long(argc, argv, "h", options, NULL));) {
        char *end;
        switch (c) {
        case 'o':
            op = 0 == strcmp(optarg, "all") ? -1 : find("op", optarg, op_names, HCCL_OP_COUNT);
            break;
        case 't':
            num = 0 == strcmp(optarg, "all") ? -1 : find("type", optarg, num_names, HCCL_NUM_COUNT);
            break;
        case 's':
            set_name = optarg;
            break;
        case 'r':
            rounds = (int) strtol(optarg, &end, 10);
            if ('\0' != *end || rounds < 1 || rounds > MOST_ROUNDS) {
                fprintf(stderr, "hccl_kernel: --rounds %s: 1 to %d\n", optarg, MOST_ROUNDS);
                return 2;
            }
            break;
        case 'h':
            usage(stdout);
            return 0;
        default:
            usage(stderr);
            return 2;
        }
    }
    if (optind < argc) {
        fprintf(stderr, "hccl_kernel: unexpected argument %s\n", argv[optind]);
        return 2;
    }
    const hccl_kernel_set_t *set = find_set(set_name);
    memory_bytes = 4 * cache_bytes(3);
    memory = aligned_alloc(4096, memory_bytes);
    if (NULL == memory) {
        fprintf(stderr, "hccl_kernel: no memory for %zu MiB\n", memory_bytes >> 20);
        return 1;
    }
    bool right = true;
    for (int n = num < 0 ? 0 : num; n <= (num < 0 ? HCCL_NUM_COUNT - 1 : num); n++) {
        for (int o = op < 0 ? 0 : op; o <= (op < 0 ? HCCL_OP_COUNT - 1 : op); o++) {
            right = measure(set, (hccl_op_kind_t) o, (hccl_num_t) n) && right;
        }
    }
    free(memory);
    return right ? 0 : 1;
}
