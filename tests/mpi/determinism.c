/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Whether reductions give the same bits: on all ranks, in each mode, in place or not, however late
 * the ranks come, and in each run. Sums and products of random floats and doubles of very different
 * magnitude, which change in their last bits with every other order. Checked besides against sums
 * in higher precision, so that the same wrong bits do not pass.
 *
 *   determinism [-s DELAY_SEED] [-l LONGEST]
 *
 * Rank 0 prints `COLLECTIVE TYPE OP LENGTH CHECKSUM`, the checksum over the results of all ranks:
 * two runs of one shape must print the same. DELAY_SEED decides on delays only. Other lines say what
 * was different; then the exit code is 1.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <mpi.h>
#ifdef OPEN_MPI
#include <mpi-ext.h>
#endif

typedef enum {
    ALLREDUCE,
    REDUCE,
    REDUCE_SCATTER,
    REDUCE_SCATTER_BLOCK,
    SCAN,
    EXSCAN,
    KINDS
} coll_t;
static const char *const coll_names[KINDS] = {
    "allreduce", "reduce", "reduce_scatter", "reduce_scatter_block", "scan", "exscan"};

/* Ways of doing the same. */
typedef enum { BLOCKING, IN_PLACE, NONBLOCKING, PERSISTENT, MODES } fashion_t;
static const char *const mode_names[MODES] = {"blocking", "in place", "nonblocking", "persistent"};

static int rank, size, failures;
static uint64_t delay_state;

static uint64_t next(uint64_t *state)
{
    uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);
    z = (z ^ z >> 30) * UINT64_C(0xbf58476d1ce4e5b9);
    z = (z ^ z >> 27) * UINT64_C(0x94d049bb133111eb);
    return z ^ z >> 31;
}

/* Every third time up to 300 microseconds. */
static void be_late(void)
{
    if (0 == next(&delay_state) % 3) {
        struct timespec pause = {0, (long) (next(&delay_state) % 300000)};
        nanosleep(&pause, NULL);
    }
}

/* One reduction to be repeated. */
typedef struct {
    coll_t coll;
    bool is_double;
    bool product;
    int length; /* elements of the vector; the blocks of REDUCE_SCATTER are uneven parts of it */
    int root;
    int *counts; /* [size] of REDUCE_SCATTER */
    char *in;    /* my vector */
    int out;     /* elements of my result */
    int first;   /* my result's place in the vector */
} problem_t;

static size_t width(const problem_t *p)
{
    return p->is_double ? sizeof(double) : sizeof(float);
}

/* Element i of a rank's vector. Sums: both signs and 2^-20 to 2^20; products: near 1. */
static double element(const problem_t *p, int from, int i)
{
    uint64_t state = (uint64_t) from << 40 ^ (uint64_t) i << 4 ^ (uint64_t) p->length << 20;
    uint64_t bits = next(&state);
    double fraction = (double) (bits >> 11) / 9007199254740992.0;
    double value = p->product ? 0.75 + fraction / 2
                              : (fraction - 0.5) * ldexp(1, (int) (next(&state) % 40) - 20);
    return p->is_double ? value : (double) (float) value;
}

/* How many elements of the vector the result of this rank has, and where. */
static void place_result(problem_t *p)
{
    p->first = 0;
    p->out = p->length;
    for (int i = 0; i < size; i++) {
        int before = (int) ((long) p->length * i * i / (size * size));
        int after = (int) ((long) p->length * (i + 1) * (i + 1) / (size * size));
        p->counts[i] = after - before;
    }
    if (REDUCE_SCATTER == p->coll) {
        for (int i = 0; i < rank; i++) {
            p->first += p->counts[i];
        }
        p->out = p->counts[rank];
    } else if (REDUCE_SCATTER_BLOCK == p->coll) {
        p->length = (p->length + size - 1) / size * size;
        p->out = p->length / size;
        p->first = rank * p->out;
    } else if ((REDUCE == p->coll && rank != p->root) || (EXSCAN == p->coll && 0 == rank)) {
        p->out = 0;
    }
}

static void fill(problem_t *p)
{
    p->in = malloc((size_t) p->length * width(p) + 1);
    if (NULL == p->in) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    for (int i = 0; i < p->length; i++) {
        double value = element(p, rank, i);
        if (p->is_double) {
            ((double *) p->in)[i] = value;
        } else {
            ((float *) p->in)[i] = (float) value;
        }
    }
}

static void start(const problem_t *p, fashion_t mode, const void *in, void *out, MPI_Request *req)
{
    MPI_Datatype type = p->is_double ? MPI_DOUBLE : MPI_FLOAT;
    MPI_Op op = p->product ? MPI_PROD : MPI_SUM;
    MPI_Comm comm = MPI_COMM_WORLD;
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
#define PERSIST(name, lower, ...) MPIX_##name##_init(__VA_ARGS__, MPI_INFO_NULL, req)
#else
#define PERSIST(name, lower, ...) MPI_I##lower(__VA_ARGS__, req)
#endif
#define FORMS(name, lower, ...)            \
    if (NONBLOCKING == mode) {             \
        MPI_I##lower(__VA_ARGS__, req);    \
    } else if (PERSISTENT == mode) {       \
        PERSIST(name, lower, __VA_ARGS__); \
    } else {                               \
        MPI_##name(__VA_ARGS__);           \
    }                                      \
    break
    switch (p->coll) {
    case ALLREDUCE:
        FORMS(Allreduce, allreduce, in, out, p->length, type, op, comm);
    case REDUCE:
        FORMS(Reduce, reduce, in, out, p->length, type, op, p->root, comm);
    case REDUCE_SCATTER:
        FORMS(Reduce_scatter, reduce_scatter, in, out, p->counts, type, op, comm);
    case REDUCE_SCATTER_BLOCK:
        FORMS(Reduce_scatter_block, reduce_scatter_block, in, out, p->length / size, type, op,
              comm);
    case SCAN:
        FORMS(Scan, scan, in, out, p->length, type, op, comm);
    default:
        FORMS(Exscan, exscan, in, out, p->length, type, op, comm);
    }
}

/* Does it once; the result is at the beginning of out, which has room for the whole vector. */
static void perform(const problem_t *p, fashion_t mode, char *out)
{
    MPI_Request req = MPI_REQUEST_NULL;
    const void *in = p->in;
    memset(out, 0xff, (size_t) p->length * width(p));
    if (IN_PLACE == mode) {
        memcpy(out, p->in, (size_t) p->length * width(p));
        if (REDUCE != p->coll || rank == p->root) {
            in = MPI_IN_PLACE;
        }
    }
    be_late();
    start(p, mode, in, out, &req);
#ifdef OMPI_HAVE_MPI_EXT_PCOLLREQ
    if (PERSISTENT == mode) {
        MPI_Start(&req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        /* The second start is what counts. */
        memset(out, 0xff, (size_t) p->length * width(p));
        be_late();
        MPI_Start(&req);
        MPI_Wait(&req, MPI_STATUS_IGNORE);
        MPI_Request_free(&req);
    }
#endif
    MPI_Wait(&req, MPI_STATUS_IGNORE);
}

static void complain(const problem_t *p, const char *what)
{
    failures++;
    printf("rank %d: %s of %d %s, %s: %s\n", rank, coll_names[p->coll], p->length,
           p->is_double ? "doubles" : "floats", p->product ? "product" : "sum", what);
}

/* Against the same in long double, in any order. */
static void check_value(const problem_t *p, const char *out)
{
    long double epsilon = p->is_double ? 2.3e-16L : 1.2e-7L;
    int ranks = SCAN == p->coll ? rank + 1 : EXSCAN == p->coll ? rank : size;
    for (int i = 0; i < p->out; i++) {
        long double want = p->product ? 1 : 0;
        long double magnitude = 0;
        for (int r = 0; r < ranks; r++) {
            double value = element(p, r, p->first + i);
            want = p->product ? want * value : want + value;
            magnitude += fabs(value);
        }
        magnitude = p->product ? fabsl(want) : magnitude;
        long double got = p->is_double ? ((const double *) out)[i] : ((const float *) out)[i];
        if (!(fabsl(got - want) <= epsilon * size * magnitude)) {
            complain(p, "far from the right value");
            return;
        }
    }
}

static uint64_t hash(const void *data, size_t bytes)
{
    const unsigned char *byte = data;
    uint64_t h = UINT64_C(0xcbf29ce484222325);
    for (size_t i = 0; i < bytes; i++) {
        h = (h ^ byte[i]) * UINT64_C(0x100000001b3);
    }
    return h;
}

/* The checksums of all ranks, at rank 0; by point-to-point messages. */
static void report(const problem_t *p, uint64_t mine)
{
    if (0 != rank) {
        MPI_Send(&mine, 1, MPI_UINT64_T, 0, 1, MPI_COMM_WORLD);
        return;
    }
    uint64_t all = mine;
    for (int r = 1; r < size; r++) {
        uint64_t other;
        MPI_Recv(&other, 1, MPI_UINT64_T, r, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        if (ALLREDUCE == p->coll && other != mine) {
            complain(p, "the ranks' results differ");
        }
        all = hash((uint64_t[]){all, other}, 2 * sizeof(all));
    }
    printf("%s %s %s %d %016llx\n", coll_names[p->coll], p->is_double ? "double" : "float",
           p->product ? "prod" : "sum", p->length, (unsigned long long) all);
}

static void solve(problem_t *p)
{
    char why[80];
    p->counts = malloc((size_t) size * sizeof(int));
    if (NULL == p->counts) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    place_result(p);
    fill(p);
    size_t bytes = (size_t) p->length * width(p);
    char *first = malloc(bytes + 1);
    char *again = malloc(bytes + 1);
    if (NULL == first || NULL == again) {
        MPI_Abort(MPI_COMM_WORLD, 3);
    }
    perform(p, BLOCKING, first);
    check_value(p, first);
    for (int i = 0; i < 2 * MODES; i++) {
        fashion_t mode = (fashion_t) (i % MODES);
        perform(p, mode, again);
        if (0 != memcmp(first, again, (size_t) p->out * width(p))) {
            snprintf(why, sizeof(why), "other bits when repeated (%s)", mode_names[mode]);
            complain(p, why);
        }
    }
    report(p, hash(first, (size_t) p->out * width(p)));
    free(first);
    free(again);
    free(p->in);
    free(p->counts);
}

/* The value of an option. */
static long number(char **argv, int i)
{
    char *rest = NULL;
    long value = NULL == argv[i + 1] ? -1 : strtol(argv[i + 1], &rest, 10);
    if (NULL == rest || '\0' != *rest || value < 0 || value > 1 << 28) {
        fprintf(stderr, "usage: determinism [-s DELAY_SEED] [-l LONGEST]\n");
        exit(2);
    }
    return value;
}

int main(int argc, char **argv)
{
    static const int lengths[] = {1, 7, 100, 1500, 7001, 60001, 300007};
    long seed = 1, longest = 60001;
    for (int i = 1; i < argc; i += 2) {
        if (0 == strcmp(argv[i], "-s")) {
            seed = number(argv, i);
        } else if (0 == strcmp(argv[i], "-l")) {
            longest = number(argv, i);
        } else {
            fprintf(stderr, "usage: determinism [-s DELAY_SEED] [-l LONGEST]\n");
            return 2;
        }
    }
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    delay_state = (uint64_t) seed << 32 | (uint64_t) rank;
    for (int coll = 0; coll < KINDS; coll++) {
        for (size_t l = 0; l < sizeof(lengths) / sizeof(lengths[0]); l++) {
            if (lengths[l] > longest) {
                continue;
            }
            for (int form = 0; form < 3; form++) {
                problem_t p = {.coll = (coll_t) coll,
                               .is_double = 1 != form,
                               .product = 2 == form,
                               .length = lengths[l],
                               .root = (int) l % size};
                solve(&p);
            }
        }
    }
    fflush(stdout);
    MPI_Finalize();
    return 0 == failures ? 0 : 1;
}
