/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * A pattern's gathering, of which only what one member gets is done (collecting), and the same
 * backwards (scattering). NHR and NB become binomial trees, in which messages halve or double.
 *
 * Used by algo/ only.
 */
#include "algo/exchange.h"

#include <stdlib.h>

/* The tree of the ways on which gathered blocks reach the root. */
typedef struct {
    const hccl_exchange_t *x;
    int root, me;
    int *got;   /* [n] by distance ahead of a member: the round in which it gets that block */
    int *below; /* [n] the member is in the subtree of my child of this round, -1: of none */
    int *other; /* [n] the same for another member, all as 0 */
    int *pick;  /* [n] the members of a message, by its number */
} tree_t;

static int ahead_of(const tree_t *t, int member, int i)
{
    return hccl_exchange_ahead(t->x, member, 1, t->x->pattern->round(t->x->n, i).to);
}

static int behind(const tree_t *t, int member, int i)
{
    return hccl_exchange_ahead(t->x, member, 1, -t->x->pattern->round(t->x->n, i).to);
}

/* The round in which a member's own block sets out for the root. */
static int sets_out(const tree_t *t, int member)
{
    int i = -1;

    for (int at = t->root; at != member; at = behind(t, at, i)) {
        i = t->got[hccl_exchange_ahead(t->x, member, 1, -at)];
    }
    return i;
}

/* Fills in `value` for a member and all whose blocks pass it. */
static void mark(const tree_t *t, int member, int *values, int value)
{
    values[member] = value;
    for (int i = 0; i < hccl_exchange_rounds(t->x); i++) {
        const int child = behind(t, member, i);

        if (child != t->root && i == sets_out(t, child)) {
            mark(t, child, values, value);
        }
    }
}

static void clear(const tree_t *t, int *values)
{
    for (int i = 0; i < t->x->n; i++) {
        values[i] = -1;
    }
}

/* false: I am no member, or there is no memory; else the caller frees t->got. */
static bool open_tree(tree_t *t, hccl_builder_t *b, const hccl_exchange_t *x,
                      const hccl_stream_t *s, int root)
{
    const size_t n = (size_t) x->n;
    const int me = s->team.me;

    if (!hccl_team_member(&s->team)) {
        return false;
    }
    *t = (tree_t){.x = x, .root = root, .me = me, .got = malloc(4 * n * sizeof(*t->got))};
    if (NULL == t->got) {
        hccl_build_fail(b, HCCL_ERR_NOMEM);
        return false;
    }
    t->below = t->got + n;
    t->other = t->below + n;
    t->pick = t->other + n;
    for (int i = 0; i < hccl_exchange_rounds(x); i++) {
        const hccl_round_t r = x->pattern->round(x->n, i);

        for (int j = 0; j < r.count; j++) {
            t->got[hccl_exchange_ahead(x, 0, 1, r.first + j * r.stride - r.to)] = i;
        }
    }
    clear(t, t->below);
    clear(t, t->pick);
    for (int i = 0; i < hccl_exchange_rounds(x); i++) {
        const int child = behind(t, me, i);

        if (child != root && i == sets_out(t, child)) {
            mark(t, child, t->below, i);
        }
    }
    return true;
}

/* Along the tree, away from the root or towards it, for `count` teams with the same members' numbers. */
static void walk(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int count,
                 tree_t *t, bool away, int base)
{
    const int rounds = hccl_exchange_rounds(x), up = t->me == t->root ? -1 : sets_out(t, t->me);

    clear(t, t->other);
    mark(t, t->me, t->other, 0);
    for (int k = 0; k < rounds; k++) {
        const int i = away ? rounds - 1 - k : k;

        for (int j = 0; j < count; j++) {
            const hccl_team_t *team = &s[j].team;

            hccl_exchange_marked(b, x, &s[j], away, hccl_team_rank(team, behind(t, t->me, i)), base,
                                 t->below, i);
            if (i == up) {
                hccl_exchange_marked(b, x, &s[j], !away,
                                     hccl_team_rank(team, ahead_of(t, t->me, i)), base, t->other,
                                     0);
            }
        }
        hccl_build_wait(b);
    }
}

/* One way of a round of gathering, without what has been scattered to its receiver. */
static void gather_rest(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, tree_t *t,
                        int from, int to, int base, int i)
{
    const hccl_round_t r = x->pattern->round(x->n, i);
    const bool sends = from == t->me;
    const int number = 2 * i + (sends ? 0 : 1);

    if (to == t->root) {
        return;
    }
    clear(t, t->other);
    mark(t, to, t->other, 0);
    for (int j = 0; j < r.count; j++) {
        const int member = hccl_exchange_ahead(x, from, 1, r.first + j * r.stride);

        t->pick[member] = 0 > t->other[member] ? number : t->pick[member];
    }
    hccl_exchange_marked(b, x, s, sends, hccl_team_rank(&s->team, sends ? to : from), base, t->pick,
                         number);
}

void hccl_part_scattering(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int count,
                          int root, int base)
{
    tree_t t;

    if (x->pattern->linear) {
        for (int j = 0; j < count; j++) {
            hccl_part_scatter(b, &s[j].team, root, &s[j].map, base, base);
        }
        hccl_build_wait(b);
        hccl_part_gathering(b, x, s, count, base, root);
        return;
    }
    if (!open_tree(&t, b, x, s, root)) {
        return;
    }
    walk(b, x, s, count, &t, true, base);
    for (int i = 0; i < hccl_exchange_rounds(x); i++) {
        for (int j = 0; j < count; j++) {
            gather_rest(b, x, &s[j], &t, t.me, ahead_of(&t, t.me, i), base, i);
            gather_rest(b, x, &s[j], &t, behind(&t, t.me, i), t.me, base, i);
        }
        hccl_build_wait(b);
    }
    free(t.got);
}

void hccl_part_collecting(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int count,
                          int root, int base)
{
    tree_t t;

    if (x->pattern->linear) {
        for (int j = 0; j < count; j++) {
            hccl_part_gather(b, &s[j].team, root, &s[j].map, base, base);
        }
        hccl_build_wait(b);
        return;
    }
    if (!open_tree(&t, b, x, s, root)) {
        return;
    }
    walk(b, x, s, count, &t, false, base);
    free(t.got);
}
