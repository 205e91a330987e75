/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard.h: the frame of the hazard programs, tests of known defects of other collective libraries
 * (ids P01..P86 of the project's hazard list; HAZARDS.list says which program covers which).
 *
 * Knows nothing of the component: plain MPI, so that the programs also run with any other
 * collective library. Included by tests/mpi/hazard_*.c only.
 */
#ifndef HCCL_TESTS_MPI_HAZARD_H
#define HCCL_TESTS_MPI_HAZARD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpi.h>
#include <mpi-ext.h>

/* One running test, the same on every rank save for what it found. Lives for one test. */
struct hz_ctx {
    int rank;       /* in MPI_COMM_WORLD */
    int size;       /* of MPI_COMM_WORLD */
    long repeat;    /* -n: repetitions, 0 when not given */
    size_t segment; /* -g: bytes of one pipeline segment, 64 KiB when not given */
    bool failed;    /* on this rank */
    bool skipped;   /* on this rank; all ranks must skip alike */
    char why[200];  /* of the first failure, or of the skip, on this rank */
};

struct hz_test {
    const char *id; /* as in the hazard list, "P01"; a variant adds a letter, "P27b" */
    int min_ranks;  /* skipped on fewer */
    void (*run)(struct hz_ctx *hz);
};

/* Runs the tests that the command line names (-t P01,P02; default all) and reports each from
 * rank 0. tests ends with a NULL id. Returns the exit code of the process. */
int hz_main(int argc, char **argv, int thread_level, const struct hz_test *tests);

/* Notes the first failure of this rank; the test goes on, because the other ranks expect it to. */
void hz_fail(struct hz_ctx *hz, const char *format, ...) __attribute__((format(printf, 2, 3)));
void hz_skip(struct hz_ctx *hz, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define HZ_CHECK(hz, condition, ...)    \
    do {                                \
        if (!(condition)) {             \
            hz_fail((hz), __VA_ARGS__); \
        }                               \
    } while (0)

/* Memory with guard words on both sides and a known filling. */
struct hz_buf {
    unsigned char *base; /* what malloc gave */
    unsigned char *data; /* size bytes for the test, aligned to 64 */
    size_t size;
};

#define HZ_FILLER 0xa5

struct hz_buf hz_buf_new(size_t size);
/* Fails when a byte outside data changed. */
void hz_buf_check(struct hz_ctx *hz, const struct hz_buf *buf, const char *what);
/* hz_buf_check, then free. */
void hz_buf_end(struct hz_ctx *hz, struct hz_buf *buf, const char *what);

static inline int *hz_ints(const struct hz_buf *buf)
{
    return (int *) (void *) buf->data;
}

/* The value that rank puts at position i: small enough that 64 of them add up in an int. */
static inline int hz_value(int rank, size_t i)
{
    return (int) (((size_t) rank * 40503u + i * 7919u + 17u) % 1000003u);
}

void hz_fill_ints(int *out, int rank, size_t first, size_t count);
/* out[i] of the sum over ranks 0..size-1. */
int hz_sum(int size, size_t i);
void hz_check_ints(struct hz_ctx *hz, const int *got, int rank, size_t first, size_t count,
                   const char *what);
void hz_check_sums(struct hz_ctx *hz, const int *got, int size, size_t count, const char *what);

/* Counts of ints that make less than one, one and three segments: at most HZ_SIZES. */
#define HZ_SIZES 4
size_t hz_sizes(const struct hz_ctx *hz, size_t *counts);

/* A committed type of count ints. */
MPI_Datatype hz_ints_type(int count);

/* The first `size` ranks of the world; MPI_COMM_NULL on the others. */
MPI_Comm hz_first_ranks(const struct hz_ctx *hz, int size);

/* The group of the first `low` ranks and the group of the others, joined. */
MPI_Comm hz_inter(const struct hz_ctx *hz, int low, MPI_Comm *local);

void hz_sleep_us(long us);
/* A small generator, so that a failure can be repeated. */
uint32_t hz_random(uint32_t *state);

/* How a collective is called. */
enum hz_mode { HZ_BLOCKING, HZ_NONBLOCKING, HZ_PERSISTENT, HZ_MODES };
extern const char *const hz_mode_name[HZ_MODES];

#ifndef OMPI_HAVE_MPI_EXT_PCOLLREQ
#error "the persistent collectives of Open MPI 4.1 (mpi-ext.h) are needed"
#endif

/* HZ_CALL(mode, Gather, gather, (args...), comm): one call in the given mode, completed. */
#define HZ_UNPACK(...) __VA_ARGS__
#define HZ_CALL(mode, Name, name, arguments, comm)                                     \
    do {                                                                               \
        MPI_Request hz_request = MPI_REQUEST_NULL;                                     \
        if (HZ_BLOCKING == (mode)) {                                                   \
            MPI_##Name(HZ_UNPACK arguments, comm);                                     \
        } else if (HZ_NONBLOCKING == (mode)) {                                         \
            MPI_I##name(HZ_UNPACK arguments, comm, &hz_request);                       \
            MPI_Wait(&hz_request, MPI_STATUS_IGNORE);                                  \
        } else {                                                                       \
            MPIX_##Name##_init(HZ_UNPACK arguments, comm, MPI_INFO_NULL, &hz_request); \
            MPI_Start(&hz_request);                                                    \
            MPI_Wait(&hz_request, MPI_STATUS_IGNORE);                                  \
            MPI_Request_free(&hz_request);                                             \
        }                                                                              \
    } while (0)

/* The same for the barrier, which has no arguments before the communicator. */
void hz_barrier(enum hz_mode mode, MPI_Comm comm);

/* hazard_every.c: every collective that MPI defines for an intracommunicator, `count` ints a
 * block (0 too), in all three modes, every root, each result checked. */
void hz_every(struct hz_ctx *hz, MPI_Comm comm, int count);

#endif
