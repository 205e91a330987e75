/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What crosses slow links when rings follow a topology file: eight hosts below two leaf switches, hosts
 * of even number below one, of odd number below the other. Counts what each node sends to each other
 * one, by the plans of all ranks, with and without the file.
 *
 * Worked out by hand. A ring over all nodes carries the same on each of its H = 8 links: in the order
 * of ranks every link crosses between the switches, along the file two do. In a chain from the root it
 * is one, and seven. NHR sends 1, 2, 4 nodes' blocks over distances 4, 2, 1, NB over 1, 2, 4.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "topo/links.h"
#include "../../tools/worlds.h"

enum { H = 8 };

static const char file_text[] = "host a b c d e f g h\nswitch a c e g\nswitch b d f h\n"
                                "within latency_us=5 bandwidth_mbs=10000\n"
                                "across latency_us=9 bandwidth_mbs=2500\n";

/* Bytes between the switches, in thousandths of the vector, or of one rank's block. */
static const struct {
    hccl_coll_t coll;
    const char *algorithm;
    const char *topology;
    int without, with;
} cases[] = {
    /* 2 (H - 1) / H n on each link of the ring: 1750 */
    {HCCL_COLL_ALLREDUCE, "hier_ring", "node:8 rank:2", 8 * 1750, 2 * 1750},
    {HCCL_COLL_ALLREDUCE, "hier_ring", "node:8 rank:3 map:cyclic", 8 * 1750, 2 * 1750},
    {HCCL_COLL_ALLREDUCE, "hier_multi_ring", "node:8 rank:4", 8 * 1750, 2 * 1750},
    {HCCL_COLL_ALLREDUCE, "hier_pipeline", "node:8 rank:2", 8 * 1750, 2 * 1750},
    {HCCL_COLL_ALLREDUCE, "hier_ahc", "node:8 rank:(1,2,1,2,1,2,1,2)", 8 * 1750, 2 * 1750},
    /* (H - 1) nodes' blocks of two ranks */
    {HCCL_COLL_ALLGATHER, "hier_ring", "node:8 rank:2", 8 * 14000, 2 * 14000},
    {HCCL_COLL_ALLGATHER, "hier_ring", "node:8 numa:2 rank:4", 8 * 56000, 2 * 56000},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_ring", "node:8 rank:2", 8 * 14000, 2 * 14000},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_pipeline", "node:8 rank:2", 8 * 14000, 2 * 14000},
    /* distance 4: 8 nodes cross; 2: 4 of 8; 1: 2 of 8. Alternating, distance 1 alone: all 8 */
    {HCCL_COLL_ALLGATHER, "hier_nhr", "node:8 rank:2", 2000 * 8 * 4,
     2000 * (8 * 1 + 4 * 2 + 2 * 4)},
    /* alternating is the best there is: distance 1 alone crosses. So it must be with the file */
    {HCCL_COLL_ALLGATHER, "hier_nb", "node:8 rank:2", 2000 * 8, 2000 * 8},
    {HCCL_COLL_REDUCE_SCATTER_BLOCK, "hier_nb", "node:8 rank:2", 2000 * 8, 2000 * 8},
    /* a chain from the root, where the ring begins */
    {HCCL_COLL_BCAST, "hier_chain", "node:8 rank:2", 7 * 1000, 1000},
    {HCCL_COLL_REDUCE, "hier_line", "node:8 rank:2", 7 * 1000, 1000},
    /* the root sends an eighth straight to each of four nodes across; then a ring of 7/8 n, but for the
     * link to the root: 7 of them cross, or one */
    {HCCL_COLL_BCAST, "hier_scatter_ring", "node:8 rank:2", 500 + 7 * 875, 500 + 875},
};

static int shape_with(const hccl_links_t *links, const char *text, hccl_shape_t **shape, char *why)
{
    static const int host[H] = {0, 1, 2, 3, 4, 5, 6, 7};
    int rc = hccl_shape_from_text(text, -1, shape, why, HCCL_CHECK_WHY);

    if (HCCL_OK == rc && NULL != links) {
        rc = hccl_links_order(links, host, *shape);
    }
    return rc;
}

/* Positions that each node sends to each other one. */
static void count(const world_t *w, const hccl_shape_t *shape, uint64_t sent[H][H])
{
    memset(sent, 0, sizeof(uint64_t) * H * H);
    for (int rank = 0; rank < w->check.n; rank++) {
        for (int i = 0; i < w->plans[rank]->nsteps; i++) {
            const hccl_step_t *s = &w->plans[rank]->steps[i];

            if (HCCL_STEP_SEND == s->kind) {
                sent[shape->node_of[rank]][shape->node_of[s->peer]] += (uint64_t) s->count;
            }
        }
    }
}

/* Thousandths that cross; in *out the most that a node sends, in *all what all send. */
static int measure(size_t at, const hccl_links_t *links, uint64_t *cross, uint64_t *out,
                   uint64_t *all, char *why)
{
    uint64_t sent[H][H];
    hccl_shape_t *shape = NULL;
    hccl_check_setup_t setup = {.nseg = 2, .slots = 8, .unit_bytes = 1};
    hccl_check_report_t report;
    hccl_checker_t *k = NULL;
    world_t w;
    const int algorithm = hccl_algo_find(cases[at].coll, cases[at].algorithm);
    int rc = shape_with(links, cases[at].topology, &shape, why);

    /* the root: where the ring begins */
    const int root = HCCL_OK == rc ? shape->node_ranks[shape->node_start[shape->ring[0]]] : 0;
    if (HCCL_OK != rc || 0 > algorithm
        || !world_make(&w, algorithm, shape, NULL, root, NULL, why)) {
        return HCCL_ERR_ARG;
    }
    const bool grid =
        HCCL_COLL_ALLGATHER == cases[at].coll || HCCL_COLL_REDUCE_SCATTER_BLOCK == cases[at].coll;
    const uint64_t blocks = grid ? 1 : (uint64_t) w.plans[0]->nblocks;
    count(&w, shape, sent);
    *cross = *out = *all = 0;
    for (int a = 0; a < H; a++) {
        uint64_t sum = 0;
        for (int b = 0; b < H; b++) {
            *cross += a % 2 == b % 2 ? 0 : 1000 * sent[a][b];
            sum += 1000 * sent[a][b];
        }
        *out = sum > *out ? sum : *out;
        *all += sum;
    }
    *cross /= blocks;
    *out /= blocks;
    *all /= blocks;
    rc = hccl_check_start(&w.check, &k, why);
    if (HCCL_OK == rc) {
        rc = hccl_check_run(k, &setup, &report);
        if (HCCL_OK != rc) {
            memcpy(why, report.why, HCCL_CHECK_WHY);
        }
    }
    hccl_check_end(k);
    world_free(&w);
    hccl_shape_free(shape);
    return rc;
}

static bool check(size_t at, const hccl_links_t *links, char *why)
{
    uint64_t cross[2], out[2], all[2];

    if (HCCL_OK != measure(at, NULL, &cross[0], &out[0], &all[0], why)
        || HCCL_OK != measure(at, links, &cross[1], &out[1], &all[1], why)) {
        return false;
    }
    printf("#   %s %s: %.3f, with the file %.3f\n", cases[at].algorithm, cases[at].topology,
           (double) cross[0] / 1000, (double) cross[1] / 1000);
    if (cross[0] != (uint64_t) cases[at].without || cross[1] != (uint64_t) cases[at].with) {
        snprintf(why, HCCL_CHECK_WHY, "%llu and %llu thousandths cross, not %d and %d",
                 (unsigned long long) cross[0], (unsigned long long) cross[1], cases[at].without,
                 cases[at].with);
        return false;
    }
    if (out[0] != out[1] || all[0] != all[1]) {
        snprintf(why, HCCL_CHECK_WHY, "nodes send at most %llu thousandths, with the file %llu",
                 (unsigned long long) out[0], (unsigned long long) out[1]);
        return false;
    }
    return true;
}

static hccl_links_t *read_file(void)
{
    char path[] = "/tmp/hccl_links.XXXXXX", why[HCCL_LINKS_WHY] = "no file";
    hccl_links_t *links = NULL;
    const int fd = mkstemp(path);

    if (0 > fd || (ssize_t) strlen(file_text) != write(fd, file_text, strlen(file_text))
        || HCCL_OK != hccl_links_read(path, &links, why)) {
        printf("not ok links: %s\n", why);
        links = NULL;
    }
    if (0 <= fd) {
        close(fd);
        unlink(path);
    }
    return links;
}

int main(void)
{
    hccl_links_t *links = read_file();
    int failed = NULL == links;

    for (size_t i = 0; NULL != links && i < sizeof(cases) / sizeof(cases[0]); i++) {
        char why[HCCL_CHECK_WHY] = "it cannot be built";
        const char *coll = hccl_coll_info[cases[i].coll].name;

        if (check(i, links, why)) {
            printf("ok links/%s/%s/%zu\n", coll, cases[i].algorithm, i);
        } else {
            printf("not ok links/%s/%s/%zu: %s: %s\n", coll, cases[i].algorithm, i,
                   cases[i].topology, why);
            failed++;
        }
    }
    hccl_links_free(links);
    return 0 == failed ? 0 : 1;
}
