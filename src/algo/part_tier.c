/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The ways up and down the tree of groups inside a node, as publications and what reads them.
 *
 * In each group a rank publishes under at most two numbers: the positions in question are in a row,
 * but may go around the end. Groups of one level share their numbers.
 *
 * Used by algo/ only.
 */
#include "algo/tiers.h"

/* What a rank publishes in a group. */
typedef enum {
    UP,   /* what it owns in its part of the group, but not in the group: others combine it */
    DOWN, /* what it owns in the group, unless it has published it in the group around it */
    OWNED /* all that it owns in the group */
} set_t;

/* Positions in a row that are published together. */
typedef struct {
    int number; /* 0 or 1 */
    int first, count;
} run_t;

/* Where a position is in the plan. */
static int at(const hccl_tiers_t *t, int x)
{
    return t->first + x * t->scale;
}

static int owner(const hccl_tiers_t *t, int g, int x)
{
    return t->owner[(size_t) t->row[g] * (size_t) t->n + (size_t) x];
}

/* The owner of a position in the part of a group that a rank belongs to. */
static int holder(const hccl_tiers_t *t, int g, int rank, int x)
{
    const int part = hccl_tiers_part(t->c->shape, g, rank);

    return 0 > part ? rank : owner(t, part, x);
}

/* Whether the parts of the group all combine. */
static bool meets(const hccl_tiers_t *t, int g)
{
    return t->meet && t->node == g;
}

static bool in_set(const hccl_tiers_t *t, set_t set, int g, int rank, int x)
{
    const int above = t->c->shape->group[g].parent;

    switch (set) {
    case UP:
        return rank == holder(t, g, rank, x) && (meets(t, g) || rank != owner(t, g, x));
    case DOWN:
        return rank == owner(t, g, x)
               && (t->node == g || meets(t, above) || rank != owner(t, above, x));
    default:
        return rank == owner(t, g, x);
    }
}

/* The run of a set that holds position x. */
static run_t run_at(const hccl_tiers_t *t, set_t set, int g, int rank, int x)
{
    int first = x, end = x + 1;

    while (0 < first && in_set(t, set, g, rank, first - 1)) {
        first--;
    }
    while (end < t->n && in_set(t, set, g, rank, end)) {
        end++;
    }
    return (run_t){0 < first && in_set(t, set, g, rank, 0) ? 1 : 0, first, end - first};
}

/* Numbers that one level takes. */
static int runs(const hccl_tiers_t *t)
{
    return 1 < t->n ? 2 : 1;
}

/* Most positions that one rank publishes together, in any group of the node or in the node only. */
static int widest(const hccl_tiers_t *t, set_t set, bool node_only)
{
    const hccl_shape_t *shape = t->c->shape;
    int most = 0;

    if (t->flags) {
        return 0;
    }
    for (int i = 0; i < shape->group[t->node].nranks; i++) {
        const int rank = shape->group[t->node].ranks[i];

        for (int g = shape->inner_of[rank]; 0 <= g; g = shape->group[g].parent) {
            for (int x = 0; (t->node == g || !node_only) && x < t->n; x++) {
                if (in_set(t, set, g, rank, x)) {
                    const run_t run = run_at(t, set, g, rank, x);

                    most = run.count > most ? run.count : most;
                    x = run.first + run.count;
                }
            }
        }
    }
    return most * t->scale;
}

static void publish(hccl_builder_t *b, const hccl_tiers_t *t, set_t set, int g, int base, int pub)
{
    for (int x = 0; x < t->n; x++) {
        if (in_set(t, set, g, t->c->me, x)) {
            const run_t run = run_at(t, set, g, t->c->me, x);

            hccl_build_publish(b, pub + run.number, base, at(t, run.first),
                               t->flags ? 0 : run.count * t->scale);
            x = run.first + run.count;
        }
    }
}

/* ---- up --------------------------------------------------------------------------------------- */

/* Whether I combine a position in a group. */
static bool mine(const hccl_tiers_t *t, int g, int x)
{
    return t->c->me == (meets(t, g) ? holder(t, g, t->c->me, x) : owner(t, g, x));
}

/* Positions from x on that I combine from the same ranks. */
static int same_holders(const hccl_tiers_t *t, int g, int x)
{
    const hccl_group_t *group = &t->c->shape->group[g];
    int end = x + 1;

    for (; end < t->n && mine(t, g, end); end++) {
        for (int i = 0; i < group->nreps; i++) {
            if (holder(t, g, group->reps[i], x) != holder(t, g, group->reps[i], end)) {
                return end - x;
            }
        }
    }
    return end - x;
}

/* dst = the parts' results of positions x, ..., x + count - 1 in the order of their first ranks;
 * mine is in src. */
static void combine(hccl_builder_t *b, const hccl_tiers_t *t, int g, int src, int dst, int pub,
                    int x, int count)
{
    const hccl_group_t *group = &t->c->shape->group[g];

    hccl_build_fold_begin(b, dst, at(t, x), count * t->scale);
    for (int i = 0; i < group->nreps; i++) {
        const int peer = holder(t, g, group->reps[i], x);

        if (t->c->me == peer) {
            hccl_build_fold_own(b, src, at(t, x));
        } else {
            const run_t run = run_at(t, UP, g, peer, x);

            hccl_build_fold_peer(b, t->c->shape->local_of[peer], pub + run.number, at(t, run.first),
                                 at(t, x));
        }
    }
    hccl_build_fold_end(b);
}

static void await(hccl_builder_t *b, const hccl_tiers_t *t, int peer, int pub)
{
    hccl_build_fetch(b, HCCL_BASE_RECV, 0, 0, t->c->shape->local_of[peer], pub, 0, 0);
}

static void await_parts(hccl_builder_t *b, const hccl_tiers_t *t, int g, int pub)
{
    const hccl_group_t *group = &t->c->shape->group[g];

    for (int i = 0; i < group->nreps; i++) {
        const int peer = holder(t, g, group->reps[i], 0);

        if (t->c->me != peer) {
            await(b, t, peer, pub);
        }
    }
}

void hccl_tiers_up(hccl_builder_t *b, const hccl_tiers_t *t, int src, int mid, int dst)
{
    const hccl_shape_t *shape = t->c->shape;
    const int first = hccl_build_publications(b, (t->depth + 1) * runs(t), widest(t, UP, false));

    for (int g = shape->inner_of[t->c->me]; 0 <= g; g = shape->group[g].parent) {
        const int pub = first + (t->depth - hccl_tiers_level(shape, g)) * runs(t);
        const int to = t->node == g ? dst : mid;

        publish(b, t, UP, g, src, pub);
        for (int x = 0; x < t->n; x++) {
            if (mine(t, g, x)) {
                const int count = same_holders(t, g, x);

                if (t->flags) {
                    await_parts(b, t, g, pub);
                } else {
                    combine(b, t, g, src, to, pub, x, count);
                }
                x += count - 1;
            }
        }
        src = to;
    }
}

/* ---- down ------------------------------------------------------------------------------------- */

/* The outermost group in which the owner of a position in g is its owner too. */
static int published_in(const hccl_tiers_t *t, int g, int x)
{
    const int rank = owner(t, g, x);
    int above = t->c->shape->group[g].parent;

    while (0 <= above && !meets(t, above) && rank == owner(t, above, x)) {
        g = above;
        above = t->c->shape->group[g].parent;
    }
    return g;
}

/* What my part still lacks and I fetch for it. */
static bool lacks(const hccl_tiers_t *t, int g, int x)
{
    return t->c->me == holder(t, g, t->c->me, x) && t->c->me != owner(t, g, x);
}

static int down_number(const hccl_tiers_t *t, int g)
{
    const int level = hccl_tiers_level(t->c->shape, g);

    return 0 == level ? 0 : 1 + (level - 1) * runs(t);
}

/* Fetches position x and those behind it, up to end, that come from the same publication. Returns
 * how many. */
static int fetch_run(hccl_builder_t *b, const hccl_tiers_t *t, int g, int base, int first, int x,
                     int end)
{
    const int peer = owner(t, g, x), from = published_in(t, g, x);
    const run_t run = run_at(t, DOWN, from, peer, x);
    const int pub = first + down_number(t, from) + run.number;
    int count = 1;

    end = run.first + run.count < end ? run.first + run.count : end;
    while (x + count < end && lacks(t, g, x + count) && peer == owner(t, g, x + count)
           && from == published_in(t, g, x + count)) {
        count++;
    }
    if (t->flags) {
        await(b, t, peer, pub);
    } else {
        hccl_build_fetch(b, base, at(t, x), count * t->scale, t->c->shape->local_of[peer], pub,
                         at(t, run.first), at(t, x));
    }
    return count;
}

static void fetch_range(hccl_builder_t *b, const hccl_tiers_t *t, int g, int base, int first,
                        int from, int end)
{
    for (int x = from; x < end;) {
        x += lacks(t, g, x) ? fetch_run(b, t, g, base, first, x, end) : 1;
    }
}

void hccl_tiers_down(hccl_builder_t *b, const hccl_tiers_t *t, int base)
{
    const hccl_shape_t *shape = t->c->shape;
    const int first = hccl_build_publications(b, 1 + t->depth * runs(t), widest(t, DOWN, false));
    const int start = hccl_tiers_position(t, t->c->me); /* everybody begins at another owner */

    for (int g = t->node; 0 <= g; g = hccl_tiers_part(shape, g, t->c->me)) {
        if (!meets(t, g)) {
            publish(b, t, DOWN, g, base, first + down_number(t, g));
            fetch_range(b, t, g, base, first, start, t->n);
            fetch_range(b, t, g, base, first, 0, start);
        }
    }
}

void hccl_tiers_collect(hccl_builder_t *b, const hccl_tiers_t *t, int root, int base)
{
    const int pub = hccl_build_publications(b, runs(t), widest(t, OWNED, true));

    if (root != t->c->me) {
        publish(b, t, OWNED, t->node, base, pub);
        return;
    }
    for (int x = 0; x < t->n; x++) {
        const int peer = owner(t, t->node, x);
        const run_t run = run_at(t, OWNED, t->node, peer, x);

        if (root != peer) {
            hccl_build_fetch(b, base, at(t, run.first), run.count * t->scale,
                             t->c->shape->local_of[peer], pub + run.number, at(t, run.first),
                             at(t, run.first));
        }
        x = run.first + run.count - 1;
    }
}
