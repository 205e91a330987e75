/* SPDX-License-Identifier: BSD-3-Clause
 *
 * What the differential tests (fuzz, matrix) share besides MPI data: random numbers that every rank draws
 * alike, the line that tells how to repeat a case, the watchdog, and agreement on failures over
 * point-to-point messages. Knows no collective.
 */
#ifndef HCCL_TESTS_MPI_HARNESS_H
#define HCCL_TESTS_MPI_HARNESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* State of a splitmix64 generator. */
struct rng {
    uint64_t s;
};

uint64_t mix64(uint64_t x);
/* A hash of four words, for choices that any rank can recompute for any other. */
uint64_t hash4(uint64_t a, uint64_t b, uint64_t c, uint64_t d);
uint64_t rng_next(struct rng *r);
/* A number in [0, n); n > 0. */
uint64_t rng_below(struct rng *r, uint64_t n);
/* True in `percent` of 100 draws. */
bool rng_chance(struct rng *r, unsigned percent);

/* Things a test may leave out, for libraries with known defects; all false by default. */
extern struct avoid {
    bool zerotypes; /* types without content */
    bool tinygrid;  /* periodic grids whose left and right neighbour are the same */
    bool rubbish;   /* invalid values where an argument is not significant */
    bool wide;      /* integers so large that reductions wrap around, top bits of unsigned ones */
    bool bottom;    /* MPI_BOTTOM */
    bool derived;   /* anything but predefined types */
    bool mixed;     /* different layouts on different ranks and sides */
    bool inter;     /* inter-communicators */
    bool droptypes; /* freeing a datatype that a pending or persistent operation still uses */
    bool multiedge; /* several edges between the same two ranks of a graph */
} avoid;
/* Sets the named member; false when there is none of that name. */
bool avoid_set(const char *name);

double now_seconds(void);
void *xalloc(size_t bytes);

/* Once after MPI_Init: remembers the rank, arms the handlers of fatal signals. */
void harness_init(unsigned watchdog_seconds);
/* What to print when the coming work fails, hangs or crashes; also restarts the watchdog. */
void harness_context(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
const char *harness_get_context(void);
/* No work pending: the watchdog sleeps. */
void harness_idle(void);

/* Reports a failure of this rank in the present context and counts it. */
void fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
/* Failures of this rank so far. */
long failures(void);
/* The largest `value` of all ranks of the job; point-to-point only. */
long agree_max(long value);
/* Ends the job when an MPI call of the test itself returned an error. */
void must(int rc, const char *what);

#endif
