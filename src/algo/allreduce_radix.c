/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Allreduce of short vectors between nodes that have several ranks: recursive multiplying in which
 * the ranks of a node talk to different nodes at the same time, so that r nodes meet in one round
 * instead of two. Any number of nodes in the fewest rounds: ceil(log(H) / log(L + 1)). Flat, every rank
 * counts as a node, and may send several messages in a round: ceil(log2 p) with one, where recursive doubling takes two more if p is no power of two.
 *
 * The lower bound on rounds: Bar-Noy, Kipnis, Schieber, "An optimal algorithm for computing census
 * functions in message-passing systems", Parallel Processing Letters 3 (1993). Their algorithm
 * combines in another order on every node; here all nodes follow one tree of intervals, so that all
 * hold the same bits. Several ranks of a node at once: Huang et al., "Accelerating MPI
 * collectives with Process-in-Process-based multi-object techniques", arXiv 2305.10612 (2023).
 */
#include "algo/tiers.h"

/* The nodes are divided into `parts` intervals of almost equal size, these again, and so on down to
 * single nodes: one round for each level, the innermost first. */
typedef struct {
    int first, size; /* the nodes divided here */
    int parts;
    int mine; /* the part that my node is in */
} level_t;

enum { MAX_LEVELS = 32 };

typedef struct {
    hccl_builder_t *b;
    const hccl_case_t *c;
    hccl_node_t here;
    int nodes, ports;          /* how many; ranks of each that talk at the same time */
    bool flat;                 /* every rank is a node */
    level_t level[MAX_LEVELS]; /* the outermost first */
    int levels;
    int active; /* ranks of my node that exchange messages, or need what those have received */
    int tmp;    /* scratch: what I have received; flat: as many areas as messages of a round */
} radix_t;

static int part_first(const level_t *l, int part)
{
    const int rest = l->size % l->parts; /* the first parts have one node more */

    return l->first + part * (l->size / l->parts) + (part < rest ? part : rest);
}

static int part_size(const level_t *l, int part)
{
    return part_first(l, part + 1) - part_first(l, part);
}

static void find_levels(radix_t *x)
{
    int first = 0, size = x->nodes;
    int left = hccl_part_rounds(size, x->ports);

    x->levels = 0;
    x->active = 1;
    for (; 1 < size; left--) {
        level_t *l = &x->level[x->levels++];

        *l = (level_t){.first = first, .size = size, .parts = hccl_part_radix(size, left)};
        while (l->mine + 1 < l->parts && part_first(l, l->mine + 1) <= x->here.node) {
            l->mine++;
        }
        first = part_first(l, l->mine);
        size = part_size(l, l->mine);
        x->active = x->active < l->parts - 1 ? l->parts - 1 : x->active;
    }
}

/* The messages of rank i (flat: message i) in a round: to the part i + 1 ahead, from the part i + 1 behind. Node
 * number k of a part talks to the nodes of that number. Where a part is longer by one, its last node
 * hears of a shorter part from one of the nodes there, each longer part from another one. */
static void talk(const radix_t *x, const level_t *l, int mine, int i)
{
    const hccl_team_t rail = x->flat          ? hccl_team_all(x->c)
                             : 1 == x->active ? hccl_team_leaders(x->c, -1)
                                              : hccl_team_rail(x->c, x->here.me);
    const int far = i + 1;
    const int ahead = (l->mine + far) % l->parts, behind = (l->mine - far + l->parts) % l->parts;
    const int own = part_size(l, l->mine), size = part_size(l, behind);
    const int number = x->here.node - part_first(l, l->mine);
    const int from = number < size ? number : l->mine % size;

    if (number < part_size(l, ahead)) {
        hccl_build_send(x->b, hccl_team_rank(&rail, part_first(l, ahead) + number), mine, 0, 1);
    }
    if (own < part_size(l, ahead) && number == ahead % own) {
        hccl_build_send(x->b, hccl_team_rank(&rail, part_first(l, ahead) + own), mine, 0, 1);
    }
    hccl_build_recv(x->b, hccl_team_rank(&rail, part_first(l, behind) + from),
                    x->tmp + (x->flat ? i : 0), 0, 1);
}

/* RECV = what the parts have, in their order, on all active ranks; `mine` is my part's. */
static void meet(const radix_t *x, const level_t *l, int mine)
{
    const bool shared = 1 < x->active && !x->flat;
    const int pub = shared ? hccl_build_publications(x->b, 1, 1) : 0;

    if (x->here.me >= x->active) {
        return;
    }
    for (int i = x->here.me; i + 1 < l->parts; i += x->flat ? 1 : l->parts) {
        talk(x, l, mine, i);
    }
    hccl_build_wait(x->b);
    if (shared && x->here.me + 1 < l->parts) {
        hccl_build_publish(x->b, pub, x->tmp, 0, 1);
    }
    hccl_build_fold_begin(x->b, HCCL_BASE_RECV, 0, 1);
    for (int part = 0; part < l->parts; part++) {
        const int receiver = (l->mine - part + l->parts) % l->parts - 1;

        if (0 > receiver) {
            hccl_build_fold_own(x->b, mine, 0);
        } else if (x->flat) {
            hccl_build_fold_own(x->b, x->tmp + receiver, 0);
        } else if (receiver == x->here.me) {
            hccl_build_fold_own(x->b, x->tmp, 0);
        } else {
            hccl_build_fold_peer(x->b, receiver, pub, 0, 0);
        }
    }
    hccl_build_fold_end(x->b);
}

static void meet_all(const radix_t *x, int mine)
{
    for (int i = x->levels - 1; 0 <= i; i--) {
        meet(x, &x->level[i], mine);
        mine = HCCL_BASE_RECV;
    }
    if (x->here.me < x->active) {
        hccl_part_move(x->b, HCCL_BASE_RECV, mine, 0, 1);
    }
}

/* All ranks of a node publish, the active ones combine everything. */
static int mesh(const radix_t *x)
{
    const int pub = hccl_build_publications(x->b, 1, 1);

    hccl_build_publish(x->b, pub, HCCL_BASE_SEND, 0, 1);
    if (x->here.me >= x->active) {
        return HCCL_BASE_SEND;
    }
    hccl_build_fold_begin(x->b, HCCL_BASE_RECV, 0, 1);
    for (int peer = 0; peer < x->here.n; peer++) {
        if (peer == x->here.me) {
            hccl_build_fold_own(x->b, HCCL_BASE_SEND, 0);
        } else {
            hccl_build_fold_peer(x->b, peer, pub, 0, 0);
        }
    }
    hccl_build_fold_end(x->b);
    return HCCL_BASE_RECV;
}

/* In nodes of many ranks one of them combines, so that not every active rank reads from all. */
static int through_first(const radix_t *x, const hccl_slices_t *whole)
{
    const int mine = hccl_part_node_reduce(x->b, x->c, whole, HCCL_BASE_SEND, HCCL_BASE_RECV);

    if (1 < x->active) {
        const int pub = hccl_build_publications(x->b, 1, 1);

        if (0 == x->here.me) {
            hccl_build_publish(x->b, pub, mine, 0, 1);
        } else if (x->here.me < x->active) {
            hccl_build_fetch(x->b, HCCL_BASE_RECV, 0, 1, 0, pub, 0, 0);
        }
    }
    return mine;
}

/* The active ranks have the result; each of the others asks one of them. */
static void tell(const radix_t *x)
{
    const int pub = hccl_build_publications(x->b, 1, 1), me = x->here.me;

    if (me >= x->active) {
        hccl_build_fetch(x->b, HCCL_BASE_RECV, 0, 1, me % x->active, pub, 0, 0);
    } else if (me + x->active < x->here.n) {
        hccl_build_publish(x->b, pub, HCCL_BASE_RECV, 0, 1);
    }
}

int hccl_algo_allreduce_hier_radix(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_slices_t whole = {1, 0, hccl_map_even(0, 1)};
    radix_t x = {.c = c,
                 .here = hccl_node_of(c, c->me),
                 .nodes = c->shape->nnodes,
                 .ports = hccl_part_ports(c, c->shape->min_local)};

    x.b = hccl_build_start(c, algorithm, 1);
    if (NULL == x.b) {
        return HCCL_ERR_NOMEM;
    }
    find_levels(&x);
    if (1 == x.active) { /* the leader of each node: number 0 from here on */
        whole.lead = hccl_team_lead(c, -1);
        x.here.me = (x.here.me - whole.lead + x.here.n) % x.here.n;
    }
    x.tmp = hccl_build_scratch(x.b, 1);
    const bool large = 8 <= x.here.n || 1 == x.active;
    meet_all(&x, large ? through_first(&x, &whole) : mesh(&x));
    if (large) {
        hccl_part_node_spread(x.b, c, &whole, HCCL_BASE_RECV);
    } else {
        tell(&x);
    }
    return hccl_build_finish(x.b, plan);
}

int hccl_algo_allreduce_radix(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    radix_t x = {.c = c,
                 .here = {.node = c->me, .n = 1},
                 .nodes = c->shape->nranks,
                 .ports = 2 > c->dials.radix ? 1 : c->dials.radix - 1,
                 .flat = true};

    x.b = hccl_build_start(c, algorithm, 1);
    if (NULL == x.b) {
        return HCCL_ERR_NOMEM;
    }
    find_levels(&x);
    x.tmp = hccl_build_scratch(x.b, 1);
    for (int i = 1; i < x.active; i++) {
        hccl_build_scratch(x.b, 1);
    }
    meet_all(&x, HCCL_BASE_SEND);
    return hccl_build_finish(x.b, plan);
}
