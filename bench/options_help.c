/* SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_test -h, see options.h.
 */
#include "options.h"

#include <stdio.h>

static const char usage[] =
    "usage: mpirun [options] hccl_test COLLECTIVE[,COLLECTIVE...]|all [options]\n"
    "       hccl_test COLLECTIVE... --versus \"coll tuned,basic,libnbc,self\" [options]\n"
    "\n"
    "  -b BYTES     smallest size (default 8); K, M and G are powers of 1024\n"
    "  -e BYTES     largest size (default 4M)\n"
    "  -f FACTOR    from one size to the next (default 2; 1.19: quarter octaves)\n"
    "  -i BYTES     step from one size to the next, instead of -f\n"
    "  -n COUNT     timed iterations per size (default: 20000 small to 50 large)\n"
    "  --window MS  at most so many milliseconds of them per size, 1 to 10000, and 20 iterations\n"
    "               at least (default 400; 10 where jobs measure in turn)\n"
    "  -w COUNT     warm-up iterations per size (default 10): with a rotating root, one for\n"
    "               each root at least; 0: none\n"
    "  -d TYPE      datatype (default fp32)\n"
    "  -o OP        operation of the reductions (default sum)\n"
    "  -r RANK|all  root; all (default): another one in each iteration\n"
    "  -c 0|1       check each batch's result, element by element (default 1)\n"
    "  -p           MPI_IN_PLACE\n"
    "  -m MODE,...  blocking (default), nonblocking, persistent\n"
    "  --batch N    iterations timed together (default: enough for 20 us, 1 to 100)\n"
    "  --offset N   start buffers N bytes after a page boundary, 0 to 64 (default 0)\n"
    "  --memory M   malloc (default) or mpi: buffers from MPI_Alloc_mem\n"
    "  --net IF     count the bytes that interface IF of each host carries; the busiest host's\n"
    "               per operation are shown (the start of each batch adds some hundred)\n"
    "  --csv FILE   write one line per size to FILE as well\n"
    "  -h, --help   this text\n"
    "\n"
    "Against another selection, in alternating jobs on the same cores (no mpirun):\n"
    "  --versus S   the other selection: MCA parameters \"NAME VALUE ...\", or mpirun options\n"
    "  --select S   this selection (default \"coll hccl\")\n"
    "  --np N       ranks (default: one per core)\n"
    "  --rounds N   pairs of windows per size, 5 to 1000 (default 7)\n"
    "\n"
    "Times are of the slowest rank, in microseconds per operation, over batches. algbw: bytes of\n"
    "the whole operation per second; busbw: the same times what the collective must move per byte\n"
    "(2(p-1)/p for allreduce, (p-1)/p for those with a block per rank), comparable with a link.\n"
    "Small sizes are timed in batches. Rooted operations rotate the root, scans the rank order, "
    "so\n"
    "that nobody runs ahead; with one root (-r RANK) each iteration is timed alone.\n"
    "Exit code: 0, 1 when a result was wrong, 2 for bad arguments.\n";

void hccl_bench_options_help(void)
{
    fputs(usage, stdout);
    printf("\nCollectives, and what a size means:\n");
    for (const struct hccl_bench_collective *c = hccl_bench_collectives; NULL != c->name; c++) {
        printf("  %-22s %s\n", c->name, c->size_meaning);
    }
    printf("Datatypes:");
    for (const struct hccl_bench_type *t = hccl_bench_types; NULL != t->name; t++) {
        printf(" %s", t->name);
    }
    printf("\nOperations:");
    for (const struct hccl_bench_op *op = hccl_bench_ops; NULL != op->name; op++) {
        printf(" %s", op->name);
    }
    printf("\n");
}
