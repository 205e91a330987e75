/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * hccl_plan simulate: time, links and levels of one collective. hccl_plan show: its steps on all
 * ranks, round by round.
 */
#include <stdlib.h>
#include <string.h>

#include "plan/dump.h"
#include "plan_options.h"
#include "worlds.h"
#include "select/select.h"

/* ---- simulate ------------------------------------------------------------------------------- */

static const char *const tier_names[HCCL_TIERS] = {"inside L3 caches", "between L3 caches",
                                                   "between NUMA domains", "between packages"};

enum { MOST_LINKS = 16 };

static void print_link(const char *what, int i, int each, const hccl_sim_link_t *out,
                       const hccl_sim_link_t *in)
{
    printf("%s %d", what, i / each);
    if (each > 1) {
        printf(" NIC %d", i % each);
    }
    printf(": out %.0f bytes in %llu messages, in %.0f bytes in %llu messages\n", out[i].bytes,
           (unsigned long long) out[i].messages, in[i].bytes, (unsigned long long) in[i].messages);
}

/* All links that carry something; of many, the busiest. */
static void print_links(const char *what, const hccl_sim_link_t *out, const hccl_sim_link_t *in,
                        int n, int each)
{
    int busiest = 0;
    for (int i = 0; i < n; i++) {
        if (n <= MOST_LINKS && out[i].messages + in[i].messages > 0) {
            print_link(what, i, each, out, in);
        }
        if (out[i].bytes + in[i].bytes > out[busiest].bytes + in[busiest].bytes) {
            busiest = i;
        }
    }
    if (n > MOST_LINKS) {
        printf("the busiest of %d: ", n);
        print_link(what, busiest, each, out, in);
    }
}

static void print_report(const plan_options_t *o, const hccl_shape_t *shape,
                         const hccl_sim_program_t *p, const hccl_sim_report_t *r)
{
    hccl_sim_extent_t extent = hccl_sim_extent(p);
    char text[32];
    printf("%s %s, %s bytes, %d ranks on %d nodes, machine %s\n", o->words[0], o->words[1],
           plan_bytes_text(o->bytes, text), shape->nranks, shape->nnodes, o->machine.name);
    if (extent.ranks < shape->nranks) {
        printf("%d ranks on %d node%s stand for all (%s)\n", extent.ranks, extent.nodes,
               1 == extent.nodes ? "" : "s",
               extent.sampled ? "compared with the plans of 8 other parts"
                              : "compared with all plans");
    }
    print_links("node", r->out, r->in, r->nodes * r->nics, r->nics);
    print_links("leaf switch", r->up, r->down, r->leaves, 1);
    for (int i = 0; i < HCCL_TIERS; i++) {
        if (r->tier[i].messages > 0) {
            printf("%s: %.0f bytes in %llu reads%s\n", tier_names[i], r->tier[i].bytes,
                   (unsigned long long) r->tier[i].messages,
                   extent.ranks < shape->nranks ? " (of those ranks)" : "");
        }
    }
    printf("rounds %d, segments %d, steps %llu, time %.3f us\n", r->rounds, r->nseg,
           (unsigned long long) r->events, r->seconds * 1e6);
}

/* The segment length that the default rules give this algorithm here, 0 where they do not name
 * it. */
static size_t rule_segment(const plan_options_t *o, const hccl_shape_t *shape)
{
    hccl_case_t c = {.coll = o->coll, .shape = shape, .root = o->root};
    hccl_query_t query = {.c = &c, .bytes = o->bytes, .commutative = true};
    hccl_choice_t choice = hccl_select(&query);
    return choice.algorithm == o->algorithm ? choice.segment : 0;
}

static void check_case(const plan_options_t *o, const hccl_shape_t *shape)
{
    hccl_case_t c = {.coll = o->coll, .shape = shape};
    if (o->coll >= HCCL_COLL_NEIGHBOR_ALLGATHER) {
        plan_die("neighbourhood collectives have no topology of their own");
    } else if (o->root >= shape->nranks) {
        plan_die("--root must be below %d", shape->nranks);
    } else if (o->rank >= shape->nranks) {
        plan_die("--rank must be below %d", shape->nranks);
    } else if (!hccl_algo_fits(&hccl_algos[o->algorithm], &c, true)) {
        plan_die("%s %s does not fit this topology", o->words[0], o->words[1]);
    }
}

static bool all_below_switches(const hccl_links_t *links)
{
    bool all = NULL != links && links->nswitches > 0;
    for (int i = 0; all && i < links->nhosts; i++) {
        all = links->below[i] >= 0;
    }
    return all;
}

/* Compiles and runs; the caller frees the program. */
static hccl_sim_program_t *simulate(const plan_options_t *o, const hccl_shape_t *shape,
                                    const hccl_sim_setup_t *setup, hccl_sim_report_t *report)
{
    char why[HCCL_SIM_WHY];
    hccl_sim_program_t *p;
    check_case(o, shape);
    hccl_sim_case_t c = {.algorithm = o->algorithm,
                         .shape = shape,
                         .root = o->root,
                         .leaf = (int) o->machine.leaf,
                         .all_ranks = o->all_ranks};
    if (all_below_switches(o->links)) {
        c.leaf_of = o->links->below;
        c.leaves = o->links->nswitches;
    }
    if (HCCL_OK != hccl_sim_compile(&c, &p, why)
        || HCCL_OK != hccl_sim_run(p, setup, report, why)) {
        plan_die("%s %s cannot be simulated: %s", o->words[0], o->words[1], why);
    }
    return p;
}

int plan_simulate(const plan_options_t *o)
{
    hccl_shape_t *shape = plan_shape_asked(o);
    hccl_sim_report_t report;
    hccl_sim_setup_t setup = {.machine = &o->machine,
                              .bytes = o->bytes,
                              .segment = rule_segment(o, shape),
                              .unit = hccl_sim_unit(o->coll, o->bytes),
                              .nseg = o->segments};
    hccl_sim_program_t *p = simulate(o, shape, &setup, &report);
    print_report(o, shape, p, &report);
    hccl_sim_free(p);
    hccl_shape_free(shape);
    return 0;
}

/* ---- show ----------------------------------------------------------------------------------- */

typedef struct tape {
    hccl_sim_trace_t *at;
    size_t n, room;
} tape_t;

static void record(void *context, const hccl_sim_trace_t *step)
{
    tape_t *tape = context;
    if (tape->n == tape->room) {
        tape->room = 2 * tape->room + 1024;
        tape->at = realloc(tape->at, tape->room * sizeof(*tape->at));
        if (NULL == tape->at) {
            plan_die("no memory");
        }
    }
    tape->at[tape->n++] = *step;
}

/* By round, then time, then rank, then as they were done. */
static int by_round(const void *a, const void *b)
{
    const hccl_sim_trace_t *x = a, *y = b;
    if (x->round != y->round) {
        return x->round - y->round;
    } else if (x->begin < y->begin || x->begin > y->begin) {
        return x->begin < y->begin ? -1 : 1;
    } else if (x->rank != y->rank) {
        return x->rank - y->rank;
    }
    return x->segment != y->segment ? x->segment - y->segment : x->step - y->step;
}

static void print_tape(const plan_options_t *o, const hccl_shape_t *shape, const tape_t *tape)
{
    hccl_plan_t **plans = calloc((size_t) shape->nranks, sizeof(*plans));
    char text[HCCL_DUMP_LINE];
    int round = -1;
    for (int i = 0; NULL != plans && i < shape->nranks; i++) {
        hccl_case_t c = {.coll = o->coll, .shape = shape, .me = i, .dials = world_dials};
        c.root = hccl_coll_info[o->coll].rooted ? o->root : 0;
        if (HCCL_OK != hccl_algos[o->algorithm].build(&c, o->algorithm, &plans[i])) {
            plan_die("no memory");
        }
    }
    for (size_t i = 0; NULL != plans && i < tape->n; i++) {
        const hccl_sim_trace_t *t = &tape->at[i];
        if (o->rank >= 0 && o->rank != t->rank) {
            continue;
        }
        if (t->round != round) {
            round = t->round;
            printf("after %d message%s between nodes:\n", round, 1 == round ? "" : "s");
        }
        hccl_dump_step(plans[t->rank], t->step, text);
        printf("%11.3f us  rank %3d", t->begin * 1e6, t->rank);
        if (1 != o->segments) {
            printf(" seg %2d", t->segment);
        }
        printf("  %3d %s\n", t->step, text);
    }
    for (int i = 0; NULL != plans && i < shape->nranks; i++) {
        free(plans[i]);
    }
    free(plans);
}

int plan_show(const plan_options_t *o)
{
    plan_options_t whole = *o;
    hccl_shape_t *shape = plan_shape_asked(o);
    hccl_sim_report_t report;
    tape_t tape = {0};
    whole.all_ranks = true;
    whole.segments = o->segments > 0 ? o->segments : 1;
    hccl_sim_setup_t setup = {.machine = &o->machine,
                              .bytes = o->bytes,
                              .unit = hccl_sim_unit(o->coll, o->bytes),
                              .nseg = whole.segments,
                              .trace = record,
                              .context = &tape};
    hccl_sim_program_t *p = simulate(&whole, shape, &setup, &report);
    qsort(tape.at, tape.n, sizeof(*tape.at), by_round);
    print_tape(&whole, shape, &tape);
    printf("rounds %d, time %.3f us\n", report.rounds, report.seconds * 1e6);
    free(tape.at);
    hccl_sim_free(p);
    hccl_shape_free(shape);
    return 0;
}
