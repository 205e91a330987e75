/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Which collectives, datatypes and operations there are, and how each collective is called in its
 * three modes. Refuses to know buffers' contents, sizes and time. Everybody in bench/ may call it.
 */
#ifndef HCCL_BENCH_COLLECTIVES_H
#define HCCL_BENCH_COLLECTIVES_H

#include <mpi.h>
#include <stdbool.h>
#include <stddef.h>

enum hccl_bench_mode { HCCL_BENCH_BLOCKING, HCCL_BENCH_NONBLOCKING, HCCL_BENCH_PERSISTENT };
enum { HCCL_BENCH_MODES = 3 };

/* What goes in and what must come out; the v- and w-forms share their plain form's. */
enum hccl_bench_layout {
    HCCL_BENCH_NOTHING,
    HCCL_BENCH_BCAST,
    HCCL_BENCH_REDUCE,
    HCCL_BENCH_ALLREDUCE,
    HCCL_BENCH_SCAN,
    HCCL_BENCH_EXSCAN,
    HCCL_BENCH_GATHER,
    HCCL_BENCH_ALLGATHER,
    HCCL_BENCH_SCATTER,
    HCCL_BENCH_ALLTOALL,
    HCCL_BENCH_REDUCE_SCATTER,
    HCCL_BENCH_NEIGHBOR_ALLGATHER,
    HCCL_BENCH_NEIGHBOR_ALLTOALL
};

/* One call, ready to be made. Pointers are borrowed; they live as long as the problem. */
struct hccl_bench_call {
    const void *send;                         /* or MPI_IN_PLACE */
    void *recv;                               /* or MPI_IN_PLACE (scatter's root) */
    int count;                                /* elements of one block */
    int send_count;                           /* count, or 0 where send is MPI_IN_PLACE */
    int recv_count;                           /* count, or 0 where recv is MPI_IN_PLACE */
    const int *counts, *displs, *byte_displs; /* one entry per rank or neighbour */
    const MPI_Aint *address_displs;
    const MPI_Datatype *types;
    MPI_Datatype type;
    MPI_Op op;
    int root; /* -1 where there is none */
    MPI_Comm comm;
};

struct hccl_bench_collective {
    const char *name;         /* as on the command line */
    const char *size_meaning; /* what -b, -e and the column "bytes" count */
    enum hccl_bench_layout layout;
    /* Blocking: request is untouched. Nonblocking: request is started. Persistent: request is
     * created, inactive. Returns MPI's code. */
    int (*call)(const struct hccl_bench_call *c, enum hccl_bench_mode mode, MPI_Request *request);
};

enum hccl_bench_number { HCCL_BENCH_SIGNED, HCCL_BENCH_UNSIGNED, HCCL_BENCH_FLOAT };

struct hccl_bench_type {
    const char *name;
    size_t size;
    enum hccl_bench_number number;
    MPI_Datatype mpi;
};

enum hccl_bench_op_kind { HCCL_BENCH_SUM, HCCL_BENCH_PROD, HCCL_BENCH_MIN, HCCL_BENCH_MAX };

struct hccl_bench_op {
    const char *name;
    enum hccl_bench_op_kind kind;
    MPI_Op mpi;
};

/* Tables, each ended by an entry with a NULL name. */
extern const struct hccl_bench_collective hccl_bench_collectives[];
extern const struct hccl_bench_type hccl_bench_types[];
extern const struct hccl_bench_op hccl_bench_ops[];
extern const char *const hccl_bench_mode_names[HCCL_BENCH_MODES];

const struct hccl_bench_collective *hccl_bench_collective_find(const char *name);
const struct hccl_bench_type *hccl_bench_type_find(const char *name);
const struct hccl_bench_op *hccl_bench_op_find(const char *name);

bool hccl_bench_has_root(enum hccl_bench_layout layout);
bool hccl_bench_has_in_place(enum hccl_bench_layout layout);
bool hccl_bench_reduces(enum hccl_bench_layout layout);
bool hccl_bench_is_neighbor(enum hccl_bench_layout layout);
bool hccl_bench_has_persistent(void);

#endif
