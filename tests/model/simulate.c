/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator against the prover, for every algorithm: both count the same bytes and messages on
 * every node's link and the same rounds. And against itself: one part that stands for all takes
 * exactly the time that the simulation of all ranks finds.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/estimate.h"
#include "../../tools/worlds.h"

static const char *const shapes[] = {"node:1 core:4",           "node:6",
                                     "node:8 core:1",           "node:2 core:2",
                                     "node:4 numa:2 core:2",    "node:3 core:(1,2,3)",
                                     "node:5 core:2",           "node:8 core:4",
                                     "node:4 rank:2 map:cyclic"};

enum { BYTES = 96020, SHORT_BYTES = 20, UNIT = 4 };

static int passed, failed;

static void verdict(bool good, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void verdict(bool good, const char *format, ...)
{
    va_list args;
    if (good) {
        passed++;
        return;
    }
    failed++;
    va_start(args, format);
    printf("not ok simulate: ");
    vprintf(format, args);
    printf("\n");
    va_end(args);
}

/* What the prover counts against what the simulator counts. */
static void compare_counts(const hccl_algo_t *algo, const char *text, const hccl_shape_t *shape,
                           size_t bytes, hccl_sim_program_t *p, const hccl_check_report_t *check)
{
    hccl_machine_t m;
    hccl_sim_report_t sim;
    char why[HCCL_SIM_WHY];
    hccl_machine_default(&m);
    m.nics = 1;
    hccl_sim_setup_t setup = {.machine = &m, .bytes = bytes, .unit = UNIT, .nseg = 1};
    const char *coll = hccl_coll_info[algo->coll].name;
    if (HCCL_OK != hccl_sim_run(p, &setup, &sim, why)) {
        verdict(false, "%s %s on %s: %s", coll, algo->name, text, why);
        return;
    }
    verdict(sim.rounds == check->rounds, "%s %s on %s: %d rounds, the prover says %d", coll,
            algo->name, text, sim.rounds, check->rounds);
    for (int v = 0; v < shape->nnodes; v++) {
        verdict(sim.out[v].messages == check->node_messages[v]
                    && fabs(sim.out[v].bytes - (double) check->node_out[v]) < 0.5
                    && fabs(sim.in[v].bytes - (double) check->node_in[v]) < 0.5,
                "%s %s on %s: node %d sends %.0f bytes in %llu messages and gets %.0f; the prover "
                "says %llu, %llu, %llu",
                coll, algo->name, text, v, sim.out[v].bytes,
                (unsigned long long) sim.out[v].messages, sim.in[v].bytes,
                (unsigned long long) check->node_out[v],
                (unsigned long long) check->node_messages[v],
                (unsigned long long) check->node_in[v]);
    }
}

static void against_prover(int algorithm, const char *text, const hccl_shape_t *shape, size_t bytes)
{
    const hccl_algo_t *algo = &hccl_algos[algorithm];
    hccl_sim_case_t c = {.algorithm = algorithm, .shape = shape, .all_ranks = true};
    char why[HCCL_CHECK_WHY];
    world_t w;
    hccl_checker_t *k;
    hccl_check_report_t report;
    hccl_sim_program_t *p;
    /* the prover counts units: elements of a vector, bytes of a block */
    bool vector = HCCL_HOLDS_VECTOR == hccl_coll_info[algo->coll].recv;
    size_t unit = vector ? UNIT : 1;
    if (!world_make(&w, algorithm, shape, NULL, 0, NULL, why)
        || HCCL_OK != hccl_check_start(&w.check, &k, why)
        || HCCL_OK != hccl_sim_compile(&c, &p, why)) {
        verdict(false, "%s %s on %s: %s", hccl_coll_info[algo->coll].name, algo->name, text, why);
        exit(1);
    }
    hccl_check_setup_t setup = {.nseg = 1, .slots = 8, .units = bytes / unit, .unit_bytes = 1};
    if (0 != w.plans[0]->apart) {
        hccl_machine_t m;
        hccl_machine_default(&m);
        setup.parcel = (size_t) hccl_sim_parcel(w.plans[0]->box, &m);
    }
    if (HCCL_OK != hccl_check_run(k, &setup, &report)) {
        verdict(false, "%s: %s", algo->name, report.why);
    } else {
        for (int v = 0; v < shape->nnodes; v++) {
            report.node_out[v] *= unit;
            report.node_in[v] *= unit;
        }
        compare_counts(algo, text, shape, bytes, p, &report);
    }
    hccl_sim_free(p);
    hccl_check_end(k);
    world_free(&w);
}

/* All ranks and, where there is one, the part that stands for them. */
static int against_all(int algorithm, const char *text, const hccl_shape_t *shape, int leaf)
{
    const hccl_algo_t *algo = &hccl_algos[algorithm];
    char why[HCCL_SIM_WHY];
    double seconds[2];
    hccl_sim_extent_t extent = {0};
    hccl_machine_t m;
    hccl_machine_default(&m);
    m.leaf = leaf;
    m.oversubscribed = 2;
    for (int i = 0; i < 2; i++) {
        hccl_sim_case_t c = {
            .algorithm = algorithm, .shape = shape, .leaf = leaf, .all_ranks = 0 == i};
        hccl_sim_setup_t setup = {.machine = &m, .bytes = 20 * BYTES};
        hccl_sim_program_t *p;
        hccl_sim_report_t report;
        if (HCCL_OK != hccl_sim_compile(&c, &p, why)) {
            verdict(false, "%s on %s: %s", algo->name, text, why);
            return 0;
        }
        extent = hccl_sim_extent(p);
        if (HCCL_OK != hccl_sim_run(p, &setup, &report, why)) {
            verdict(false, "%s on %s: %s", algo->name, text, why);
        }
        seconds[i] = report.seconds;
        hccl_sim_free(p);
    }
    verdict(fabs(seconds[0] - seconds[1]) <= 1e-9 * seconds[0],
            "%s %s on %s, %d nodes to a switch: all ranks take %.12g s, %d of them %.12g s",
            hccl_coll_info[algo->coll].name, algo->name, text, leaf, seconds[0], extent.ranks,
            seconds[1]);
    return extent.ranks < shape->nranks;
}

/* Extrapolated over nodes (keep) or segments (work) and simulated as a whole. */
static void extrapolated(hccl_coll_t coll, const char *name, int nodes, size_t bytes,
                         size_t segment, uint64_t keep, uint64_t work, double within)
{
    hccl_machine_t m;
    char why[HCCL_SIM_WHY];
    hccl_estimate_t e[2];
    hccl_machine_default(&m);
    for (int i = 0; i < 2; i++) {
        hccl_estimate_case_t c = {.algorithm = hccl_algo_find(coll, name),
                                  .machine = &m,
                                  .inside = "core:2",
                                  .nodes = nodes,
                                  .segments = &segment,
                                  .nsegments = 1,
                                  .keep = 0 == i ? keep : 0,
                                  .work = 0 == i ? work : 0};
        if (HCCL_OK != hccl_estimate(&c, &bytes, 1, &e[i], why)) {
            verdict(false, "%s %s on %d nodes: %s", hccl_coll_info[coll].name, name, nodes, why);
            return;
        }
    }
    verdict(HCCL_ESTIMATE_LINE == e[0].how && HCCL_ESTIMATE_LINE != e[1].how
                && fabs(e[0].seconds - e[1].seconds) <= within * e[1].seconds,
            "%s %s on %d nodes: %.9g s by extrapolation (%s), %.9g s simulated (%s)",
            hccl_coll_info[coll].name, name, nodes, e[0].seconds, hccl_estimate_names[e[0].how],
            e[1].seconds, hccl_estimate_names[e[1].how]);
}

int main(void)
{
    int reduced = 0;
    for (size_t i = 0; i < sizeof(shapes) / sizeof(shapes[0]); i++) {
        char why[256];
        hccl_shape_t *shape;
        if (HCCL_OK != hccl_shape_from_text(shapes[i], -1, &shape, why, sizeof(why))) {
            printf("not ok simulate: %s\n", why);
            return 1;
        }
        for (int a = 0; a < hccl_algo_count; a++) {
            hccl_case_t c = {.coll = hccl_algos[a].coll, .shape = shape};
            if (c.coll >= HCCL_COLL_NEIGHBOR_ALLGATHER
                || !hccl_algo_fits(&hccl_algos[a], &c, true)) {
                continue;
            }
            against_prover(a, shapes[i], shape, BYTES);
            against_prover(a, shapes[i], shape, SHORT_BYTES);
            reduced += against_all(a, shapes[i], shape, 0);
            if (0 == shape->nnodes % 2 && shape->nnodes > 2) {
                reduced += against_all(a, shapes[i], shape, 2);
            }
        }
        hccl_shape_free(shape);
    }
    extrapolated(HCCL_COLL_BCAST, "scatter_ring", 32, 1 << 20, 0, 10000, 0, 0.05);
    extrapolated(HCCL_COLL_BCAST, "hier_scatter_ring", 64, 65536, 0, 10000, 0, 0.05);
    extrapolated(HCCL_COLL_GATHER, "star", 64, 4096, 0, 200, 0, 0.05);
    extrapolated(HCCL_COLL_BCAST, "chain", 16, 16 << 20, 131072, 0, 3000, 0.01);
    extrapolated(HCCL_COLL_BCAST, "hier_chain", 16, 16 << 20, 32768, 0, 10000, 0.02);
    extrapolated(HCCL_COLL_ALLREDUCE, "hier_ring", 16, 64 << 20, 0, 0, 20000, 0.02);
    verdict(reduced > 100, "only %d programs were reduced", reduced);
    printf("%s simulate: %d comparisons, %d programs reduced\n", 0 == failed ? "ok" : "not ok",
           passed + failed, reduced);
    return 0 == failed ? 0 : 1;
}
