/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The command line of hccl_plan, and what its verbs share. Every bad word ends the program with one
 * message and code 2.
 */
#ifndef HCCL_TOOLS_PLAN_OPTIONS_H
#define HCCL_TOOLS_PLAN_OPTIONS_H

#include <stdio.h>

#include "estimate.h"
#include "sim.h"
#include "topo/links.h"

enum { PLAN_MOST = 64 };

typedef struct plan_options {
    const char *verb;
    const char *words[PLAN_MOST]; /* what stands behind it and is no option */
    int nwords;
    int algorithm; /* of COLLECTIVE ALGORITHM, -1: the verb takes none */
    hccl_coll_t coll;
    const char *topology, *remote; /* NULL: not given */
    int root;
    int rank;     /* -1: all */
    int segments; /* 0: as the component cuts */
    size_t bytes;
    size_t sizes[PLAN_MOST];
    int nsizes;
    int nodes[PLAN_MOST], nnodes;
    const char *inside; /* the topology of one node, for --nodes */
    bool all_ranks, forced;
    hccl_machine_t machine;
    hccl_links_t *links;                        /* of a topology file, NULL: none */
    const char *csv, *plot, *algorithms, *keys; /* NULL: not given */
} plan_options_t;

/** Reads everything; verbs that want a topology find it in o->topology. */
void plan_options_read(plan_options_t *o, int argc, char **argv);

/** Prints `hccl_plan: ` and the text, and ends the program with code 2. */
void plan_die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));

/** The shape of a text, or the end. */
hccl_shape_t *plan_shape(const char *text);

/** The shape of the topology that is asked for, with the ring that follows from the topology file; or the
 *  end. */
hccl_shape_t *plan_shape_asked(const plan_options_t *o);

/** A number with k, m or g behind it, or the end. */
size_t plan_size(const char *name, const char *text);

/** The collective of this name, or the end. */
hccl_coll_t plan_collective(const char *name);

/** Bytes for people: 64K. */
const char *plan_bytes_text(size_t bytes, char text[32]);

/* The verbs, each returns the program's exit code. */
int plan_simulate(const plan_options_t *o);
int plan_show(const plan_options_t *o);
int plan_choose(const plan_options_t *o);
int plan_sweep(const plan_options_t *o);
int plan_fit(const plan_options_t *o);

/* plan_plot.c */

/** What one algorithm takes at one point of a sweep. */
typedef struct plan_point {
    hccl_coll_t coll;
    int nodes, ranks, algorithm;
    size_t bytes;
    double seconds; /* 0: not known */
    bool fastest;
} plan_point_t;

/** Draws which algorithm is the fastest over bytes and nodes: PREFIX.gp and, by
 *  gnuplot, PREFIX.svg. False: a file cannot be written. */
bool plan_plot(const plan_options_t *o, const plan_point_t *points, int count);

#endif
