/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See estimate.h.
 */
#include "estimate.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Of one simulation: steps kept (24 bytes each), and steps and changes of rates done (up to 1
 * us). */
#define KEEP_STEPS ((uint64_t) 1500000)
#define WORK_STEPS ((uint64_t) 1500000)

/* Pipelining is for plans of few steps per rank; others have pieces enough. */
enum { PIPELINE_STEPS = 64 };

/* Of a pipeline that is too long: as many segments, and half of them, are simulated. */
enum { LEAST_SEGMENTS = 12 };

const char *const hccl_estimate_names[] = {"none", "all", "part", "sample", "line"};

static double busiest(const hccl_sim_report_t *r)
{
    double most = 0;
    for (int i = 0; i < r->nodes * r->nics; i++) {
        most = r->out[i].bytes > most ? r->out[i].bytes : most;
    }
    return most;
}

/* Another value of what grows by a straight line: at x, given those at x1 < x2. Never less than
 * the last one known. */
static double line(double x, double x1, double y1, double x2, double y2)
{
    double slope = (y2 - y1) / (x2 - x1);
    return slope > 0 ? y2 + slope * (x - x2) : y2;
}

static uint64_t work_of(const hccl_estimate_case_t *c)
{
    return c->work > 0 ? c->work : WORK_STEPS;
}

/* So many of the pipeline's segments, all of them of full length. */
static int run_segments(const hccl_estimate_case_t *c, hccl_sim_program_t *p,
                        const hccl_sim_setup_t *whole, size_t part, int n, hccl_sim_report_t *r,
                        char *why)
{
    hccl_sim_setup_t setup = *whole;
    setup.bytes = part * (size_t) n;
    setup.nseg = n;
    setup.work = 8 * work_of(c);
    return hccl_sim_run(p, &setup, r, why);
}

/* A pipeline by its beginning: once it is full, each segment adds the same time. */
static int run_long(const hccl_estimate_case_t *c, hccl_sim_program_t *p,
                    const hccl_sim_setup_t *setup, int nseg, hccl_estimate_t *e, char *why)
{
    hccl_sim_report_t r;
    uint64_t steps = hccl_sim_extent(p).steps;
    int many = (int) (work_of(c) / (steps + 1));
    size_t unit = setup->unit > 0 ? setup->unit : 1;
    size_t part = (setup->bytes + (size_t) nseg - 1) / (size_t) nseg / unit * unit;
    if (many < LEAST_SEGMENTS) {
        snprintf(why, HCCL_SIM_WHY, "%d segments of %llu steps", nseg, (unsigned long long) steps);
        return HCCL_ERR_NOTSUP;
    }
    int rc = run_segments(c, p, setup, part, many / 2, &r, why);
    double half = r.seconds, out = busiest(&r);
    if (HCCL_OK == rc) {
        rc = run_segments(c, p, setup, part, many, &r, why);
    }
    if (HCCL_OK == rc) {
        e->seconds = line(nseg, many / 2, half, many, r.seconds);
        e->out = line(nseg, many / 2, out, many, busiest(&r));
        e->rounds = r.rounds;
        e->how = HCCL_ESTIMATE_LINE;
    }
    return rc;
}

/* One size, one segment length. */
static int run_one(const hccl_estimate_case_t *c, hccl_sim_program_t *p, size_t bytes,
                   size_t segment, hccl_estimate_t *e, char *why)
{
    hccl_sim_report_t r;
    hccl_sim_extent_t extent = hccl_sim_extent(p);
    hccl_sim_setup_t setup = {.machine = c->machine,
                              .bytes = bytes,
                              .segment = segment,
                              .unit = hccl_sim_unit(hccl_algos[c->algorithm].coll, bytes),
                              .work = 2 * work_of(c)};
    int nseg;
    int rc = hccl_sim_segments(p, &setup, &nseg);
    e->how = HCCL_ESTIMATE_NONE;
    if (HCCL_OK == rc && extent.steps * (uint64_t) nseg > work_of(c) && nseg > 1) {
        rc = run_long(c, p, &setup, nseg, e, why);
    } else if (HCCL_OK == rc) {
        rc = hccl_sim_run(p, &setup, &r, why);
        if (HCCL_OK == rc) {
            *e =
                (hccl_estimate_t){.seconds = r.seconds,
                                  .rounds = r.rounds,
                                  .out = busiest(&r),
                                  .how = extent.sampled ? HCCL_ESTIMATE_SAMPLE
                                         : extent.ranks < extent.machine_ranks ? HCCL_ESTIMATE_PART
                                                                               : HCCL_ESTIMATE_ALL};
        }
    }
    e->segment = segment;
    return HCCL_ERR_NOTSUP == rc ? HCCL_OK : rc;
}

static int run_sizes(const hccl_estimate_case_t *c, hccl_sim_program_t *p, const size_t *sizes,
                     int nsizes, hccl_estimate_t *out, char *why)
{
    hccl_sim_extent_t extent = hccl_sim_extent(p);
    bool is_short = extent.steps <= (uint64_t) PIPELINE_STEPS * (uint64_t) extent.ranks;
    for (int i = 0; i < nsizes; i++) {
        for (int j = 0; j < (is_short ? c->nsegments : 1); j++) {
            hccl_estimate_t e;
            if (j > 0 && (0 == sizes[i] || c->segments[j] >= sizes[i])) {
                continue; /* it cuts nothing */
            }
            int rc = run_one(c, p, sizes[i], c->segments[j], &e, why);
            if (HCCL_OK != rc) {
                return rc;
            }
            bool better = HCCL_ESTIMATE_NONE == out[i].how || e.seconds < out[i].seconds;
            if (HCCL_ESTIMATE_NONE != e.how && better) {
                out[i] = e;
            }
        }
    }
    return HCCL_OK;
}

static hccl_shape_t *shape_of(const hccl_estimate_case_t *c, int nodes, char *why)
{
    char text[HCCL_MACHINE_TEXT];
    hccl_shape_t *shape;
    int n = NULL == c->inside ? snprintf(text, sizeof(text), "%s", c->whole)
                              : snprintf(text, sizeof(text), "node:%d %s", nodes, c->inside);
    if (n >= (int) sizeof(text)) {
        snprintf(why, HCCL_SIM_WHY, "the topology has more than %zu characters", sizeof(text) - 1);
        return NULL;
    }
    return HCCL_OK == hccl_shape_from_text(text, -1, &shape, why, HCCL_SIM_WHY) ? shape : NULL;
}

/* All sizes on so many nodes, without extrapolation over them. */
static int on_nodes(const hccl_estimate_case_t *c, int nodes, const size_t *sizes, int nsizes,
                    hccl_estimate_t *out, bool *too_large, char *why)
{
    hccl_sim_program_t *p;
    memset(out, 0, (size_t) nsizes * sizeof(*out));
    *too_large = false;
    hccl_shape_t *shape = shape_of(c, nodes, why);
    if (NULL == shape) {
        return HCCL_ERR_ARG;
    }
    hccl_case_t fit = {.coll = hccl_algos[c->algorithm].coll, .shape = shape};
    if (!hccl_algo_fits(&hccl_algos[c->algorithm], &fit, true)) {
        hccl_shape_free(shape);
        snprintf(why, HCCL_SIM_WHY, "the algorithm does not fit the topology");
        return HCCL_ERR_NOTSUP;
    }
    hccl_sim_case_t s = {.algorithm = c->algorithm,
                         .shape = shape,
                         .root = c->root,
                         .leaf = (int) c->machine->leaf,
                         .budget = c->keep > 0 ? c->keep : KEEP_STEPS};
    int rc = hccl_sim_compile(&s, &p, why);
    if (HCCL_ERR_NOTSUP == rc) {
        *too_large = true;
        rc = HCCL_OK;
    } else if (HCCL_OK == rc) {
        rc = run_sizes(c, p, sizes, nsizes, out, why);
        hccl_sim_free(p);
    }
    hccl_shape_free(shape);
    return rc;
}

static bool complete(const hccl_estimate_t *e, int n)
{
    for (int i = 0; i < n; i++) {
        if (HCCL_ESTIMATE_NONE == e[i].how) {
            return false;
        }
    }
    return true;
}

/* What is missing in `out`, from half and a quarter of the nodes, or from still fewer. */
static int from_fewer(const hccl_estimate_case_t *c, const size_t *sizes, int nsizes,
                      hccl_estimate_t *out, char *why)
{
    hccl_estimate_t *two = calloc(2 * (size_t) nsizes, sizeof(*two));
    int leaf = c->machine->leaf > 0 ? (int) c->machine->leaf : 1, rc = HCCL_OK;
    if (NULL == two) {
        return HCCL_ERR_NOMEM;
    }
    hccl_estimate_t *half = two, *all = two + nsizes;
    for (int nodes = c->nodes / 2; nodes / 2 >= leaf && nodes >= 4 && HCCL_OK == rc; nodes /= 2) {
        bool large;
        rc = on_nodes(c, nodes, sizes, nsizes, all, &large, why);
        if (HCCL_OK != rc || large) {
            continue;
        }
        rc = on_nodes(c, nodes / 2, sizes, nsizes, half, &large, why);
        for (int i = 0; HCCL_OK == rc && i < nsizes; i++) {
            if (HCCL_ESTIMATE_NONE != out[i].how || HCCL_ESTIMATE_NONE == all[i].how
                || HCCL_ESTIMATE_NONE == half[i].how) {
                continue;
            }
            out[i] = all[i];
            out[i].how = HCCL_ESTIMATE_LINE;
            out[i].seconds = line(c->nodes, nodes / 2, half[i].seconds, nodes, all[i].seconds);
            out[i].out = line(c->nodes, nodes / 2, half[i].out, nodes, all[i].out);
            out[i].rounds = (int) line(c->nodes, nodes / 2, half[i].rounds, nodes, all[i].rounds);
        }
        if (complete(out, nsizes)) {
            break;
        }
    }
    free(two);
    return rc;
}

int hccl_estimate(const hccl_estimate_case_t *c, const size_t *sizes, int nsizes,
                  hccl_estimate_t *out, char *why)
{
    bool large;
    int rc = on_nodes(c, c->nodes, sizes, nsizes, out, &large, why);
    if (HCCL_OK == rc && NULL != c->inside && !complete(out, nsizes)) {
        rc = from_fewer(c, sizes, nsizes, out, why);
        rc = HCCL_ERR_NOTSUP == rc ? HCCL_OK : rc; /* it does not fit fewer nodes */
    }
    return rc;
}
