/* SPDX-License-Identifier: BSD-3-Clause
 *
 * One collective call in plain words, and its reference: the same result from point-to-point messages only,
 * reductions folded in rank order by functions of this program. ref_run may be called while collectives are
 * pending on the communicator: it uses sends and receives with tags of its own.
 */
#ifndef HCCL_TESTS_MPI_REF_H
#define HCCL_TESTS_MPI_REF_H

#include "types.h"

enum pattern {
    PAT_BARRIER,
    PAT_BCAST,
    PAT_ALLGATHER,
    PAT_GATHER,
    PAT_SCATTER,
    PAT_ALLTOALL,
    PAT_REDUCE,
    PAT_ALLREDUCE,
    PAT_REDSCAT,
    PAT_SCAN,
    PAT_EXSCAN,
    PAT_NALLGATHER,
    PAT_NALLTOALL
};
enum style { FLAT, VEC, TYP };
enum vary { SAME, BY_SRC, BY_DST, BY_PAIR };
enum inplace { INP_NO, INP_ALL, INP_ROOT_S, INP_ROOT_R };

enum coll_id {
#define COLL(low, ...) C_##low,
#include "colls.def"
#undef COLL
    COLL_COUNT
};

struct coll_info {
    const char *name;
    enum pattern pattern;
    enum style style;
    enum vary vary;
    enum inplace inplace;
    bool inter;
};
extern const struct coll_info colls[COLL_COUNT];

bool coll_is_reduction(enum coll_id c);
bool coll_is_rooted(enum coll_id c);
bool coll_is_neighbor(enum coll_id c);

/* A neighbour and how to pair the message with the other end. */
struct edge {
    int peer; /* MPI_PROC_NULL at the border of a grid */
    int slot; /* grid: position of the edge in the sender's list; graph: 0 (messages pair in order) */
    int nth; /* which of the edges between the two, for the size of the block */
};

/* A communicator of the test. */
struct tcomm {
    char name[32];
    MPI_Comm comm; /* MPI_COMM_NULL: this rank has no part in it */
    int rank, size;
    int rsize; /* remote size, 0 on intra-communicators */
    int side;  /* which group of an inter-communicator this rank is in; 0 or 1 */
    bool topo; /* has neighbours */
    int nin, nout;
    struct edge *in, *out;
};

/* One side of a call, as MPI wants it. Pointers belong to the maker of the call. */
struct args {
    void *buf;
    int count;
    MPI_Datatype type;
    int *counts;
    int *displs;
    MPI_Aint *adispls;
    MPI_Datatype *types;
};

struct call {
    enum coll_id coll;
    const struct tcomm *tc;
    MPI_Comm comm;
    int root; /* as passed: MPI_ROOT, MPI_PROC_NULL on inter-communicators */
    struct args s, r;
    /* reductions */
    int count;
    MPI_Datatype type;
    MPI_Op op;
    enum op_id opid;
    const struct layout *lay;
    int total; /* items contributed by each rank; differs from count for reduce_scatter */
    /* barrier: when this rank came and went */
    double entered, left;
};

/* Number of ranks that this rank exchanges data with: the remote group, or its own. */
int call_peers(const struct call *c);
void ref_run(struct call *c);

#endif
