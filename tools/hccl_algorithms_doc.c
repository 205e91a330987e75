/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Prints docs/algorithms.md from algorithms.def and sources.def. `make algorithms-doc` writes the
 * file; the lint layer compares.
 */
#include <stdio.h>
#include <string.h>

#include "algo/algo.h"

static const char head[] =
    "# Algorithms\n\n"
    "Written by `make algorithms-doc` from `src/algo/algorithms.def` and `src/algo/sources.def`.\n"
    "Change those, not this. `coll_hccl_COLLECTIVE_algorithm` chooses one (see\n"
    "[parameters.md](parameters.md)); without it, `src/select/rules.def` does.\n\n"
    "Names mean the same everywhere: `mesh` and `slices` are for one node and its shared memory,\n"
    "`tier_X` for one node with packages, NUMA domains or L3 caches, `hier_X` is shared memory "
    "inside\n"
    "the nodes and X between them, `inter` is for inter-communicators; all others are flat:\n"
    "point-to-point messages only.\n\n"
    "*Rounds* are messages that wait for one another, on the longest way; for one node: "
    "publications\n"
    "in shared memory that do. *Bytes* are what the busiest node sends or receives (`hier_X`), or "
    "the\n"
    "busiest rank (flat), or what one rank reads of others (one node). In both,\n\n"
    "| | |\n|---|---|\n"
    "| n | bytes of the vector, or of the blocks of all ranks together |\n"
    "| m | bytes of the block of one rank |\n"
    "| p | ranks |\n"
    "| H | nodes |\n"
    "| L | ranks of the smallest node |\n"
    "| lg | logarithm to base 2, rounded up |\n"
    "| P | the largest power of two not above H, in flat algorithms not above p |\n"
    "| d | levels of groups inside the node |\n\n"
    "*Ops*: which reductions it may serve: all, those that commute, or all where the ranks of "
    "every\n"
    "node are consecutive (`tier_X`: of every group). All of it is proven by `tests/model` for "
    "every\n"
    "algorithm on some 600 topologies; `hccl_plan cost` counts it on any.\n";

static void print_where(unsigned fits)
{
    if (0 != (fits & HCCL_FITS_INTER)) {
        fputs("inter-communicators", stdout);
    } else if (0 != (fits & HCCL_FITS_INNER_GROUPS)) {
        fputs("one divided node", stdout);
    } else if (0 != (fits & HCCL_FITS_ONE_NODE_ONLY)) {
        fputs("one node", stdout);
    } else {
        fputs(0 != (fits & HCCL_FITS_SHARED_MEMORY) ? "nodes with several ranks" : "any", stdout);
    }
}

static const char *ops_of(const hccl_algo_t *algo)
{
    if (!hccl_coll_info[algo->coll].reduces || 0 != (algo->fits & HCCL_FITS_ORDERED)) {
        return "all";
    }
    return 0 != (algo->fits & HCCL_FITS_ORDERED_IF_CONTIGUOUS) ? "all if consecutive" : "commuting";
}

static void print_collective(hccl_coll_t coll)
{
    const bool reduces = hccl_coll_info[coll].reduces;
    printf("\n## %s\n\n| algorithm | how | where |%s rounds | bytes | source "
           "|\n|---|---|---|%s---|---|"
           "---|\n",
           hccl_coll_info[coll].name, reduces ? " ops |" : "", reduces ? "---|" : "");
    for (int i = 0; i < hccl_algo_count; i++) {
        const hccl_algo_t *algo = &hccl_algos[i];
        if (coll == algo->coll) {
            printf("| `%s` | %s | ", algo->name, algo->about);
            print_where(algo->fits);
            printf(" | %s%s%s | %s | %s |\n", reduces ? ops_of(algo) : "", reduces ? " | " : "",
                   algo->rounds, algo->bytes, algo->source);
        }
    }
}

int main(int argc, char **argv)
{
    (void) argv;
    if (argc > 1) {
        fputs("usage: hccl_algorithms_doc   (prints docs/algorithms.md)\n", stderr);
        return 2;
    }
    fputs(head, stdout);
    for (int coll = 0; coll < HCCL_COLL_COUNT; coll++) {
        print_collective((hccl_coll_t) coll);
    }
    fputs("\n## Sources\n\n", stdout);
    for (int i = 0; i < hccl_source_count; i++) {
        printf("- **%s**: %s.\n", hccl_sources[i].key, hccl_sources[i].text);
    }
    return 0 != ferror(stdout) || 0 != fflush(stdout) ? 1 : 0;
}
