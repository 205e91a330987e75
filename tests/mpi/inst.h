/* SPDX-License-Identifier: BSD-3-Clause
 *
 * An instance: one collective operation of a test case with its buffers, twice - for MPI and for the
 * reference - and the comparison of the two, gaps and guards included. Both drivers (fuzz, matrix) say what
 * they want in a spec; everything a spec leaves open follows from its seed.
 */
#ifndef HCCL_TESTS_MPI_INST_H
#define HCCL_TESTS_MPI_INST_H

#include "comms.h"

enum mode { MODE_BLOCKING, MODE_NONBLOCKING, MODE_PERSISTENT };

/* What all ranks agree on. */
struct spec {
    enum coll_id coll;
    const struct tcomm *tc;
    enum kind_id kind;
    int shape_s, shape_r; /* enum shape, or -1: each rank chooses among those that fit `unit` */
    int unit;             /* basic elements per step of a block's size */
    size_t units;         /* steps per block (a typical value where blocks vary) */
    enum op_id op;
    bool inplace;
    bool bottom; /* ranks may use MPI_BOTTOM and absolute addresses */
    bool sloppy; /* rubbish where an argument is not significant */
    unsigned root;
    uint64_t seed;
};

/* One buffer of an instance. */
struct side {
    bool live; /* there is a buffer on this rank */
    int nblk;
    size_t *basics;           /* basic elements of each block */
    int *counts;              /* items of each block */
    ptrdiff_t *disp;          /* bytes from the origin */
    const struct layout **ly; /* per block; all the same unless the style is TYP */
    size_t len;
    ptrdiff_t lo;       /* first byte of content, relative to the origin */
    char *mem[2];       /* [0] for MPI, [1] for the reference */
    bool lent;          /* mem[0] is from MPI_Alloc_mem */
    char *org[2];       /* the origins in them */
    struct layout **at; /* layouts for MPI_BOTTOM, or NULL */
    int *displs;        /* as passed */
    MPI_Aint *adispls;
    MPI_Datatype *types[2];
};

struct inst {
    struct spec spec;
    int root;
    struct side s, r;
    struct call call[2];
    size_t blocks;  /* length of the per-block arrays of both sides */
    size_t defined; /* basic elements of r that the call defines; the rest is not compared */
    int *shares;    /* items per local rank of a reduce_scatter */
    MPI_Request req;
};

/* False: this rank has no part in it. */
bool inst_build(struct inst *t, const struct spec *spec);
/* Fresh contents for round `round`. */
void inst_fill(struct inst *t, int round);
int inst_issue(struct inst *t, enum mode mode);
/* The user's handles may go as soon as the operation is started (not between rounds of a persistent one). */
void inst_drop_types(struct inst *t);
void inst_reference(struct inst *t);
/* Reports differences through fail(). */
void inst_compare(struct inst *t);
void inst_free(struct inst *t);
/* Prints the blocks of this rank: elements=items x layout @ displacement. */
void inst_dump(const struct inst *t);
void inst_describe(const struct spec *spec, char *text, size_t len);

#endif
