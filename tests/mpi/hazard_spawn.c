/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hazard_spawn.c: P43, spawn and merge twice. The spawned processes are this program too: they
 * follow the parents' steps and report to nobody.
 */
#include "hazard.h"

static const char *self; /* how this program was started */

/* Everybody adds up 1..n by rank and gets the blocks of all. */
static void use(struct hz_ctx *hz, MPI_Comm comm, int want_size)
{
    int rank, size, in;
    int sum = -1;
    int all[64];

    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    HZ_CHECK(hz, want_size == size, "%d processes, not %d", size, want_size);
    in = rank + 1;
    MPI_Allreduce(&in, &sum, 1, MPI_INT, MPI_SUM, comm);
    HZ_CHECK(hz, size * (size + 1) / 2 == sum, "%d processes: sum %d", size, sum);
    MPI_Allgather(&in, 1, MPI_INT, all, 1, MPI_INT, comm);
    for (int r = 0; r < size; r++) {
        HZ_CHECK(hz, r + 1 == all[r], "%d processes: block %d is %d", size, r, all[r]);
    }
    hz_every(hz, comm, 30);
}

/* Spawns one process from comm; comm is replaced by the merged communicator. */
static void grow(MPI_Comm *comm)
{
    MPI_Comm inter, merged;

    MPI_Comm_spawn(self, MPI_ARGV_NULL, 1, MPI_INFO_NULL, 0, *comm, &inter, MPI_ERRCODES_IGNORE);
    MPI_Intercomm_merge(inter, 0, &merged);
    MPI_Comm_free(&inter);
    if (MPI_COMM_WORLD != *comm) {
        MPI_Comm_free(comm);
    }
    *comm = merged;
}

/* From `size` processes on up to `last`. */
static void steps(struct hz_ctx *hz, MPI_Comm comm, int size, int last)
{
    use(hz, comm, size);
    while (size < last) {
        grow(&comm);
        size++;
        use(hz, comm, size);
    }
    if (MPI_COMM_WORLD != comm) {
        MPI_Comm_free(&comm);
    }
}

static void p43(struct hz_ctx *hz)
{
    steps(hz, MPI_COMM_WORLD, hz->size, hz->size + 2);
}

/* A spawned process: tells the size it joined at by the size of the merged communicator; two
 * parents started it all. */
static int child(MPI_Comm parent)
{
    struct hz_ctx hz = {.segment = 65536};
    MPI_Comm merged;
    int size;

    MPI_Intercomm_merge(parent, 1, &merged);
    MPI_Comm_free(&parent);
    MPI_Comm_size(merged, &size);
    steps(&hz, merged, size, 4);
    if (hz.failed) {
        printf("not ok P43: a spawned process: %s\n", hz.why);
        fflush(stdout);
    }
    MPI_Finalize();
    return 0;
}

int main(int argc, char **argv)
{
    static const struct hz_test tests[] = {{"P43", 2, p43}, {NULL, 0, NULL}};

    self = argv[0];
    if (1 == argc) {
        MPI_Comm parent;
        MPI_Init(NULL, NULL);
        MPI_Comm_get_parent(&parent);
        if (MPI_COMM_NULL == parent) {
            fprintf(stderr, "%s: start it with -t P43 on 2 ranks\n", argv[0]);
            MPI_Finalize();
            return 2;
        }
        return child(parent);
    }
    return hz_main(argc, argv, MPI_THREAD_SINGLE, tests);
}
