/* SPDX-License-Identifier: BSD-3-Clause
 *
 * Proof that the fuzz test can fail: preloaded, it spoils every few calls of the one function that
 * HCCL_CORRUPT names. Knows nothing of the tests; run_fuzz.sh --self-test uses it.
 */
#include <mpi.h>

#include <mpi-ext.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define EVERY 5

/* Is this call of `name` one to spoil? */
static bool hit(const char *name)
{
    static int calls;
    const char *chosen = getenv("HCCL_CORRUPT");

    return NULL != chosen && 0 == strcmp(chosen, name) && 0 == ++calls % EVERY;
}

/* Flips a bit of the first byte of content, or of the byte behind the content. */
static void spoil(void *buf, int count, MPI_Datatype type, bool behind)
{
    MPI_Aint lb, textent, elb, extent;
    int size;

    if (NULL == buf || MPI_IN_PLACE == buf || MPI_DATATYPE_NULL == type || 0 >= count) {
        return;
    }
    PMPI_Type_size(type, &size);
    PMPI_Type_get_true_extent(type, &lb, &textent);
    PMPI_Type_get_extent(type, &elb, &extent);
    if (0 < size && behind) {
        ((char *) buf)[lb + textent + (count - 1) * extent] ^= 4;
    } else if (0 < size) {
        ((char *) buf)[lb] ^= 4;
    }
}

static MPI_Op other_op(MPI_Op op)
{
    return MPI_SUM == op ? MPI_MAX : MPI_MAX == op ? MPI_MIN : MPI_BXOR == op ? MPI_BOR : op;
}

/* Data of predefined types with one bit changed, in memory that lives on. */
static const void *spoilt_copy(const void *buf, int count, MPI_Datatype type)
{
    int ni, na, nd, combiner;
    MPI_Aint lb, extent;
    char *copy;

    if (MPI_IN_PLACE == buf || MPI_BOTTOM == buf || 0 >= count) {
        return buf;
    }
    PMPI_Type_get_envelope(type, &ni, &na, &nd, &combiner);
    PMPI_Type_get_extent(type, &lb, &extent);
    copy = MPI_COMBINER_NAMED == combiner ? malloc((size_t) (count * extent)) : NULL;
    if (NULL == copy) {
        return buf;
    }
    memcpy(copy, buf, (size_t) (count * extent));
    copy[0] ^= 1;
    return copy;
}

int MPI_Barrier(MPI_Comm comm)
{
    return hit("barrier") ? MPI_SUCCESS : PMPI_Barrier(comm);
}

int MPI_Bcast(void *buf, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int rc = PMPI_Bcast(buf, count, type, root, comm);

    if (MPI_PROC_NULL != root && hit("bcast")) {
        spoil(buf, count, type, false);
    }
    if (MPI_PROC_NULL != root && hit("bcast_guard")) {
        spoil(buf, count, type, true);
    }
    return rc;
}

int MPI_Allgather(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
                  MPI_Datatype rtype, MPI_Comm comm)
{
    int rc = PMPI_Allgather(sbuf, scount, stype, rbuf, rcount, rtype, comm);

    if (hit("allgather")) {
        spoil(rbuf, rcount, rtype, false);
    }
    if (hit("allgather_send")) {
        spoil((void *) sbuf, scount, stype, false);
    }
    return rc;
}

int MPI_Alltoall(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
                 MPI_Datatype rtype, MPI_Comm comm)
{
    int rc = PMPI_Alltoall(sbuf, scount, stype, rbuf, rcount, rtype, comm);

    if (hit("alltoall")) {
        spoil(rbuf, rcount, rtype, false);
    }
    return rc;
}

int MPI_Reduce(const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op, int root,
               MPI_Comm comm)
{
    return PMPI_Reduce(sbuf, rbuf, count, type, hit("reduce") ? other_op(op) : op, root, comm);
}

int MPI_Allreduce(const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op,
                  MPI_Comm comm)
{
    int rc = PMPI_Allreduce(sbuf, rbuf, count, type, op, comm);

    if (hit("allreduce")) {
        spoil(rbuf, count, type, false);
    }
    return rc;
}

int MPI_Scan(const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op, MPI_Comm comm)
{
    return PMPI_Scan(sbuf, rbuf, count, type, hit("scan") ? other_op(op) : op, comm);
}

int MPI_Iallreduce(const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op,
                   MPI_Comm comm, MPI_Request *req)
{
    return PMPI_Iallreduce(sbuf, rbuf, count, type, hit("iallreduce") ? other_op(op) : op, comm,
                           req);
}

int MPI_Iallgather(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
                   MPI_Datatype rtype, MPI_Comm comm, MPI_Request *req)
{
    return PMPI_Iallgather(hit("iallgather") ? spoilt_copy(sbuf, scount, stype) : sbuf, scount,
                           stype, rbuf, rcount, rtype, comm, req);
}

int MPI_Neighbor_allgather(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
                           MPI_Datatype rtype, MPI_Comm comm)
{
    return PMPI_Neighbor_allgather(hit("neighbor_allgather") ? spoilt_copy(sbuf, scount, stype)
                                                             : sbuf,
                                   scount, stype, rbuf, rcount, rtype, comm);
}

#if defined(OMPI_HAVE_MPI_EXT_PCOLLREQ) && OMPI_MAJOR_VERSION < 5
#define INIT(name) MPIX_##name##_init
#define PINIT(name) PMPIX_##name##_init
#else
#define INIT(name) MPI_##name##_init
#define PINIT(name) PMPI_##name##_init
#endif

int INIT(Allreduce)(const void *sbuf, void *rbuf, int count, MPI_Datatype type, MPI_Op op,
                    MPI_Comm comm, MPI_Info info, MPI_Request *req)
{
    return PINIT(Allreduce)(sbuf, rbuf, count, type, hit("allreduce_init") ? other_op(op) : op,
                            comm, info, req);
}

/* The contents at the call of init served at every start. */
int INIT(Allgather)(const void *sbuf, int scount, MPI_Datatype stype, void *rbuf, int rcount,
                    MPI_Datatype rtype, MPI_Comm comm, MPI_Info info, MPI_Request *req)
{
    return PINIT(Allgather)(hit("allgather_init") ? spoilt_copy(sbuf, scount, stype) : sbuf, scount,
                            stype, rbuf, rcount, rtype, comm, info, req);
}
