/* SPDX-License-Identifier: BSD-3-Clause
 *
 * A preload library for tests: MPI calls whose results are wrong, so that a test can see that
 * hccl_test notices. HCCL_TEST_CORRUPT=NAME spoils one byte of the last element that the last rank
 * of the communicator receives in each MPI_Name; without it every call passes unchanged.
 * HCCL_TEST_DIE=BYTES ends the last rank in the first MPI_Allreduce of so many bytes, and more.
 * Knows: allgather, allreduce, alltoall, bcast.
 */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

/* Flips a low bit of the first byte of the last of `count` elements. */
static void spoil(const char *name, void *buffer, int count, MPI_Datatype type, MPI_Comm comm)
{
    const char *wanted = getenv("HCCL_TEST_CORRUPT");
    int rank, size, bytes;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    PMPI_Type_size(type, &bytes);
    if (NULL == wanted || 0 != strcmp(wanted, name) || rank != size - 1 || count < 1) {
        return;
    }
    ((unsigned char *) buffer)[(size_t) (count - 1) * (size_t) bytes] ^= 1;
}

static void die(int count, MPI_Datatype type, MPI_Comm comm)
{
    const char *wanted = getenv("HCCL_TEST_DIE");
    int rank, size, bytes;

    PMPI_Comm_rank(comm, &rank);
    PMPI_Comm_size(comm, &size);
    PMPI_Type_size(type, &bytes);
    if (NULL != wanted && rank == size - 1 && strtol(wanted, NULL, 10) <= (long) count * bytes) {
        _exit(7);
    }
}

static int ranks_of(MPI_Comm comm)
{
    int size;

    PMPI_Comm_size(comm, &size);
    return size;
}

EXPORT int MPI_Allreduce(const void *send, void *recv, int count, MPI_Datatype type, MPI_Op op,
                         MPI_Comm comm)
{
    die(count, type, comm);
    int code = PMPI_Allreduce(send, recv, count, type, op, comm);

    spoil("allreduce", recv, count, type, comm);
    return code;
}

EXPORT int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    int code = PMPI_Bcast(buffer, count, type, root, comm);

    spoil("bcast", buffer, count, type, comm);
    return code;
}

EXPORT int MPI_Allgather(const void *send, int send_count, MPI_Datatype send_type, void *recv,
                         int count, MPI_Datatype type, MPI_Comm comm)
{
    int code = PMPI_Allgather(send, send_count, send_type, recv, count, type, comm);

    spoil("allgather", recv, count * ranks_of(comm), type, comm);
    return code;
}

EXPORT int MPI_Alltoall(const void *send, int send_count, MPI_Datatype send_type, void *recv,
                        int count, MPI_Datatype type, MPI_Comm comm)
{
    int code = PMPI_Alltoall(send, send_count, send_type, recv, count, type, comm);

    spoil("alltoall", recv, count * ranks_of(comm), type, comm);
    return code;
}
