/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the default rules choose, on one host more, one fewer, or with one rank fewer on one host: no
 * shape falls out of the line of its neighbours, in bytes on the busiest link and in simulated time. And
 * even shapes send the least bytes possible.
 *
 * The line. The least bytes b(H) of the busiest link are known for H hosts, so the shape's ratio of
 * time to b(H) must be at most 1.15 of the mean of those of H - 1 and H + 1 hosts. With one
 * rank fewer on one host, ranks and data are between those of two even shapes, so neither bytes nor
 * time may be more than 1.15 of the larger of the two.
 *
 * Two machines: nodes with 10 Gbit/s, where the network is the limit, and with 100 Gbit/s, where it is
 * as fast as a core copies, so the time depends on how evenly the ranks of a node share the work inside it.
 *
 * With HCCL_CHECK_LONG=1 every L from 1 to 8, else 1, 2, 4. A part of that: "trend COLLECTIVE", or
 * COLLECTIVE/KIB, or COLLECTIVE/KIB/L.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "select/select.h"
#include "../../tools/sim.h"
#include "../../tools/worlds.h"

enum { HOSTS = 17, RANKS = 8 };

#define LIMIT 1.15

/* Of the least bytes, from this size on: a short reduce is combined in pieces on all nodes, which takes less
 * time than n on its way through them, and the root's node receives up to 2 n. Vectors are cut into
 * blocks of whole elements. */
#define LEAST 1.02
#define LEAST_FROM ((size_t) 256 << 10)

typedef struct figures {
    double seconds, bytes;
    const char *algorithm;
} figures_t;

/* Of one even shape, and of the one with a rank fewer on the last host. */
typedef struct cell {
    figures_t even, fewer;
} cell_t;

static const hccl_coll_t collectives[] = {
    HCCL_COLL_ALLREDUCE,
    HCCL_COLL_BCAST,
    HCCL_COLL_REDUCE,
    HCCL_COLL_ALLGATHER,
    HCCL_COLL_REDUCE_SCATTER_BLOCK,
    HCCL_COLL_ALLTOALL,
    HCCL_COLL_GATHER,
    HCCL_COLL_SCATTER,
};

static const size_t sizes[] = {64 << 10, 1 << 20, 16 << 20};

static int failed;

/* The part that is checked. */
typedef struct part {
    char coll[32]; /* "": all collectives */
    size_t kib;    /* 0: all sizes */
    int ranks;     /* of a host, L; 0: all of the list */
} part_t;

static part_t part;

/* Where the worst was seen. */
typedef struct worst {
    double ratio;
    char where[160];
} worst_t;

static void look(worst_t *w, double ratio, int h, int l, const char *what, const figures_t *here,
                 const figures_t *before, const figures_t *after)
{
    if (ratio > w->ratio) {
        w->ratio = ratio;
        snprintf(w->where, sizeof(w->where), "%s of %d x %d by %s, beside %s and %s", what, h, l,
                 here->algorithm, before->algorithm, after->algorithm);
    }
}

static void verdict(const worst_t *w, double limit, const char *check, const char *machine,
                    hccl_coll_t coll, size_t bytes)
{
    const char *name = hccl_coll_info[coll].name;

    printf("%s trend/%s/%s of %zu KiB, %s: ", w->ratio <= limit ? "ok" : "not ok", check, name,
           bytes >> 10, machine);
    printf("%.2f of the line: %s\n", w->ratio, w->where);
    failed += w->ratio > limit;
}

/* "node:H core:(L,...,L,last)" */
static void describe(char *text, size_t size, int h, int l, int last)
{
    size_t at = (size_t) snprintf(text, size, "node:%d core:(", h);

    for (int v = 0; v + 1 < h; v++) {
        at += (size_t) snprintf(text + at, size - at, "%d,", l);
    }
    snprintf(text + at, size - at, "%d)", last);
}

/* Bytes that a call of the collective is told: of the vector, or of a block. */
static size_t argument(hccl_coll_t coll, size_t bytes)
{
    return HCCL_HOLDS_VECTOR == hccl_coll_info[coll].recv ? bytes : bytes / 16;
}

static figures_t simulate(const hccl_machine_t *machine, hccl_coll_t coll, int h, int l, int last,
                          size_t bytes)
{
    char text[128], why[HCCL_SIM_WHY];
    hccl_sim_program_t *p;
    hccl_sim_report_t r;
    figures_t f = {0};

    describe(text, sizeof(text), h, l, last);
    hccl_shape_t *shape = world_shape(text);
    const hccl_case_t c = {.coll = coll, .shape = shape};
    const hccl_query_t query = {.c = &c, .bytes = bytes, .commutative = true};
    const hccl_choice_t choice = hccl_select(&query);
    const hccl_sim_case_t what = {.algorithm = choice.algorithm, .shape = shape};
    const hccl_sim_setup_t setup = {.machine = machine,
                                    .bytes = bytes,
                                    .segment = choice.segment,
                                    .unit = hccl_sim_unit(coll, bytes)};

    if (HCCL_OK != hccl_sim_compile(&what, &p, why)
        || HCCL_OK != hccl_sim_run(p, &setup, &r, why)) {
        fprintf(stderr, "%s: %s\n", text, why);
        exit(2);
    }
    f = (figures_t){.seconds = r.seconds, .algorithm = hccl_algos[choice.algorithm].name};
    for (int i = 0; i < r.nodes * r.nics; i++) {
        f.bytes = fmax(f.bytes, fmax(r.out[i].bytes, r.in[i].bytes));
    }
    hccl_sim_free(p);
    hccl_shape_free(shape);
    return f;
}

/* The least bytes out of or into the busiest host, of vectors or blocks of one byte. */
static double least(hccl_coll_t coll, int h, int l)
{
    switch (coll) {
    case HCCL_COLL_ALLREDUCE:
        return 2.0 * (h - 1) / h;
    case HCCL_COLL_BCAST:
    case HCCL_COLL_REDUCE:
        return 1;
    case HCCL_COLL_ALLTOALL:
        return (double) l * l * (h - 1);
    default:
        return (double) l * (h - 1);
    }
}

/* One host fewer and one more. */
static void check_hosts(const cell_t *cell, hccl_coll_t coll, int l, worst_t *w)
{
    for (int h = 3; h < HOSTS; h++) {
        const figures_t *f[3] = {&cell[h - 1].even, &cell[h].even, &cell[h + 1].even};
        double time[3], bytes[3];

        for (int i = 0; i < 3; i++) {
            time[i] = f[i]->seconds / least(coll, h - 1 + i, l);
            bytes[i] = f[i]->bytes / least(coll, h - 1 + i, l);
        }
        look(w, 2 * time[1] / (time[0] + time[2]), h, l, "time", f[1], f[0], f[2]);
        look(w, 2 * bytes[1] / (bytes[0] + bytes[2]), h, l, "bytes", f[1], f[0], f[2]);
    }
}

/* Against the least bytes themselves: growth in a straight line is no proof of few. */
static void check_least(const cell_t *cell, hccl_coll_t coll, size_t each, int l, worst_t *w)
{
    for (int h = 2; h <= HOSTS; h++) {
        const figures_t *f = &cell[h].even;

        look(w, f->bytes / (least(coll, h, l) * (double) each), h, l, "bytes", f, f, f);
    }
}

/* One rank fewer on the last host. `less`: all hosts have one fewer. */
static void check_fewer(const cell_t *cell, const cell_t *less, int l, worst_t *w)
{
    for (int h = 2; h <= HOSTS; h++) {
        const figures_t *f = &cell[h].fewer;
        const double time = fmax(cell[h].even.seconds, less[h].even.seconds);
        const double bytes = fmax(cell[h].even.bytes, less[h].even.bytes);

        if (0 < f->seconds) {
            look(w, f->seconds / time, h, l, "time", f, &cell[h].even, &less[h].even);
            look(w, f->bytes / bytes, h, l, "bytes", f, &cell[h].even, &less[h].even);
        }
    }
}

static bool is_long(void)
{
    const char *all = getenv("HCCL_CHECK_LONG");

    return NULL != all && 0 == strcmp("1", all);
}

static bool is_wanted(int l)
{
    return 0 < part.ranks ? l == part.ranks : 1 == l || 2 == l || 4 == l || is_long();
}

/* Simulating uneven shapes takes most of the time: all ranks, not one host for all. */
static bool is_fewer_wanted(int h)
{
    return h <= 5 || 8 == h || 11 == h || 16 == h || is_long();
}

static void check(hccl_coll_t coll, const hccl_machine_t *machine, bool fast, size_t bytes)
{
    static cell_t cells[RANKS + 1][HOSTS + 1];
    worst_t hosts = {0}, fewer = {0}, bytes_sent = {0};

    memset(cells, 0, sizeof(cells));
    for (int l = 1; l <= RANKS; l++) {
        const bool wanted = is_wanted(l), needed = wanted || (l < RANKS && is_wanted(l + 1));

        for (int h = 2; h <= HOSTS && needed; h++) {
            cell_t *cell = &cells[l][h];
            const size_t each = argument(coll, bytes);

            cell->even = simulate(machine, coll, h, l, l, each);
            if (wanted && 1 < l && is_fewer_wanted(h)) {
                cell->fewer = simulate(machine, coll, h, l, l - 1, each);
            }
        }
        if (wanted) {
            check_hosts(cells[l], coll, l, &hosts);
            check_least(cells[l], coll, argument(coll, bytes), l, &bytes_sent);
        }
        if (wanted && 1 < l) {
            check_fewer(cells[l], cells[l - 1], l, &fewer);
        }
    }
    if (fast && bytes >= LEAST_FROM) {
        verdict(&bytes_sent, LEAST, "the least bytes", machine->name, coll, bytes);
    }
    verdict(&hosts, LIMIT, "one host more or fewer", machine->name, coll, bytes);
    verdict(&fewer, LIMIT, "one rank fewer", machine->name, coll, bytes);
}

static bool is_part(hccl_coll_t coll, size_t bytes)
{
    return ('\0' == part.coll[0] || 0 == strcmp(part.coll, hccl_coll_info[coll].name))
           && (0 == part.kib || bytes >> 10 == part.kib);
}

/* Whether the text names something that is checked. */
static bool find_part(const char *text)
{
    int end = 0;
    const int n =
        sscanf(text, "%31[a-z_]%n/%zu%n/%d%n", part.coll, &end, &part.kib, &end, &part.ranks, &end);

    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            if (is_part(collectives[i], sizes[s])) {
                return '\0' == text[end] && (n < 2 || 0 < part.kib)
                       && (n < 3 || (0 < part.ranks && part.ranks <= RANKS));
            }
        }
    }
    return false;
}

int main(int argc, char **argv)
{
    hccl_machine_t fast, slow;
    char why[HCCL_MACHINE_WHY];

    if (argc > 2 || (2 == argc && !find_part(argv[1]))) {
        fprintf(stderr,
                "usage: trend [COLLECTIVE[/KIB[/L]]], allreduce, bcast, reduce, allgather, "
                "reduce_scatter_block, alltoall, gather or scatter, 64, 1024 or 16384, 1 to %d\n",
                RANKS);
        return 2;
    }
    hccl_machine_default(&fast);
    snprintf(fast.name, sizeof(fast.name), "100 Gbit/s");
    slow = fast;
    snprintf(slow.name, sizeof(slow.name), "10 Gbit/s");
    if (HCCL_OK != hccl_machine_set(&slow, "network.bandwidth", "1.25GB/s", why)) {
        fprintf(stderr, "%s\n", why);
        return 2;
    }
    for (size_t i = 0; i < sizeof(collectives) / sizeof(collectives[0]); i++) {
        for (size_t s = 0; s < sizeof(sizes) / sizeof(sizes[0]); s++) {
            if (is_part(collectives[i], sizes[s])) {
                check(collectives[i], &fast, true, sizes[s]);
                check(collectives[i], &slow, false, sizes[s]);
            }
        }
    }
    return 0 == failed ? 0 : 1;
}
