/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Reduce: on one node, hierarchical, and flat. Only the root may touch RECV.
 */
#include "algo/hier.h"

/* What happens between nodes to one slice of `cuts` positions: member root's dst = all src. NULL: the tree
 * that scratch areas are reserved for. */
typedef void (*across_t)(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                         int dst, int first, int cuts);

static void across_tree(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                        int dst, int first, int cuts)
{
    hccl_part_reduce(b, team, root, HCCL_TREE_BINOMIAL, tmp, src, dst, first, cuts);
}

static void across_star(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                        int dst, int first, int cuts)
{
    hccl_part_reduce(b, team, root, HCCL_TREE_STAR, tmp, src, dst, first, cuts);
}

static void across_double_tree(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp,
                               int src, int dst, int first, int cuts)
{
    hccl_part_reduce(b, team, root, HCCL_TREE_DOUBLE, tmp, src, dst, first, cuts);
}

static void across_chain(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                         int dst, int first, int cuts)
{
    hccl_part_reduce(b, team, root, HCCL_TREE_CHAIN, tmp, src, dst, first, cuts);
}

/* A line that ends at the root, whatever its place: each member adds its own to what comes from
 * the next one. Every member receives and sends once; the order is not that of the ranks. */
static void across_line(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                        int dst, int first, int cuts)
{
    if (!hccl_team_member(team)) {
        return;
    }
    const int n = team->n, me = team->me;
    const bool at_root = root == me, at_end = root == (me + 1) % n;

    if (!at_end) {
        hccl_build_recv(b, hccl_team_rank(team, (me + 1) % n), tmp, first, cuts);
        hccl_build_wait(b);
        hccl_build_fold_begin(b, at_root ? dst : tmp, first, cuts);
        hccl_build_fold_own(b, src, first);
        hccl_build_fold_own(b, tmp, first);
        hccl_build_fold_end(b);
        src = tmp;
    } else if (at_root) {
        hccl_part_move(b, dst, src, first, cuts);
    }
    if (!at_root) {
        hccl_build_send(b, hccl_team_rank(team, (me - 1 + n) % n), src, first, cuts);
        hccl_build_wait(b);
    }
}

static void across_pattern(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                           int dst, int first, const hccl_pattern_t *pattern)
{
    const hccl_stream_t s = {*team, hccl_map_even(first, 1), 1};
    const int acc = pattern->passes ? tmp : dst;
    hccl_exchange_t x;

    if (hccl_exchange_begin(&x, b, pattern, team->n)) {
        hccl_part_reducing(b, &x, &s, 1, src, acc, tmp, dst);
        hccl_part_collecting(b, &x, &s, 1, root, dst);
    }
    hccl_exchange_close(&x);
}

static void across_ring(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                        int dst, int first, int cuts)
{
    (void) cuts;
    across_pattern(b, team, root, tmp, src, dst, first, &hccl_pattern_ring);
}

static void across_nhr(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                       int dst, int first, int cuts)
{
    (void) cuts;
    across_pattern(b, team, root, tmp, src, dst, first, &hccl_pattern_nhr);
}

static void across_nb(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                      int dst, int first, int cuts)
{
    (void) cuts;
    across_pattern(b, team, root, tmp, src, dst, first, &hccl_pattern_nb);
}

static void across_rhd(hccl_builder_t *b, const hccl_team_t *team, int root, int tmp, int src,
                       int dst, int first, int cuts)
{
    const hccl_map_t map = hccl_map_even(first, 1);

    (void) cuts;
    hccl_part_halving(b, team, &map, tmp, src, dst);
    hccl_part_halving_gather(b, team, &map, root, dst);
}

/* What combines in another order than that of the nodes may as well follow the fast links. (NB would need
 * another one, see hccl_exchange_seats.) */
static bool in_any_order(across_t across)
{
    return across_line == across || across_ring == across || across_nhr == across;
}

/* The same as hierarchical where the nodes are divided alike: every rank has a slice. */
static int through_groups(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, int cuts,
                          hccl_tree_t scratch, across_t across)
{
    const hccl_node_t here = hccl_node_of(c, c->me), home = hccl_node_of(c, c->root);
    hccl_tiers_t t;
    const int rc = hccl_tiers_slices(c, -1, HCCL_TIERS_FROM_ALL, &t);

    if (HCCL_OK != rc) {
        return rc;
    }
    hccl_builder_t *b = hccl_build_start(c, algorithm, t.n * cuts);

    if (NULL != b) {
        const bool ring = in_any_order(across);
        const hccl_team_t team = ring ? hccl_team_ring(c, here.me) : hccl_team_rail(c, here.me);
        const int area = hccl_build_scratch(b, t.n * cuts);
        const int tmp =
            hccl_part_reduce_scratch(b, scratch, c->shape->nnodes, c->me == c->root, t.n * cuts);
        const int dst = c->me == c->root ? HCCL_BASE_RECV : area;

        t.scale = cuts;
        hccl_tiers_up(b, &t, HCCL_BASE_SEND, dst, dst);
        across(b, &team, ring ? c->shape->seat[home.node] : home.node, tmp, dst, dst,
               hccl_tiers_position(&t, c->me) * cuts, cuts);
        if (here.node == home.node) {
            hccl_tiers_collect(b, &t, c->root, dst);
        }
    }
    hccl_tiers_free(&t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

/* Slices inside the nodes, one exchange between nodes for each slice; its result is at the owner of
 * the slice in the root's node, where the root fetches it. A single slice is owned by the root. */
static int hierarchical(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, int slices,
                        int cuts, hccl_tree_t scratch, across_t across)
{
    if (1 < slices && hccl_tiers_alike(c->shape)) {
        return through_groups(c, algorithm, plan, cuts, scratch, across);
    }
    hccl_builder_t *b = hccl_build_start(c, algorithm, slices * cuts);
    const hccl_node_t here = hccl_node_of(c, c->me), home = hccl_node_of(c, c->root);
    const bool at_home = here.node == home.node, at_root = c->me == c->root;
    const hccl_slices_t cut = {slices, 1 == slices ? hccl_team_lead(c, c->root) : 0,
                               hccl_map_even(0, cuts)};
    const int own = hccl_slices_of(&cut, here.me);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int area = hccl_build_scratch(b, slices * cuts);
    const int tmp = hccl_part_reduce_scratch(b, scratch, c->shape->nnodes, at_root, slices * cuts);
    const int dst = at_root ? HCCL_BASE_RECV : area;
    const int src = hccl_part_node_reduce(b, c, &cut, HCCL_BASE_SEND, dst);

    if (0 <= own) {
        const bool ring = in_any_order(across);
        const hccl_team_t team =
            1 == slices ? ring ? hccl_team_ring_leaders(c, c->root) : hccl_team_leaders(c, c->root)
            : ring ? hccl_team_ring(c, own)
                        : hccl_team_rail(c, own);

        if (NULL == across) {
            hccl_part_reduce(b, &team, home.node, scratch, tmp, src, dst, own * cuts, cuts);
        } else {
            across(b, &team, ring ? c->shape->seat[home.node] : home.node, tmp, src, dst,
                   own * cuts, cuts);
        }
    }
    const int pub = 1 == slices ? 0 : hccl_build_publications(b, 1, cuts);

    if (1 < slices && at_home && !at_root && 0 <= own) {
        hccl_build_publish(b, pub, dst, own * cuts, cuts);
    }
    for (int i = 0; at_root && i < slices; i++) {
        if (i != own) {
            hccl_build_fetch(b, dst, i * cuts, cuts, i, pub, i * cuts, i * cuts);
        }
    }
    return hccl_build_finish(b, plan);
}

/* The slices of the root's node, from the ranks who have them to the root. */
static void fetch_slices(const hccl_hier_t *h, int dst)
{
    const hccl_case_t *c = h->c;
    const hccl_slices_t *slices = &h->slices;
    const int own = hccl_slices_of(slices, h->here.me);
    int widest = slices->map.widest;

    for (int i = 0; 0 == slices->map.widest && i < slices->n; i++) {
        const int count = hccl_map_count(&slices->map, i, 1);

        widest = count > widest ? count : widest;
    }
    const int pub = hccl_build_publications(h->b, 1, widest);

    if (h->here.node != c->shape->node_of[c->root]) {
        return;
    }
    if (c->me != c->root) {
        hccl_build_publish(h->b, pub, dst, hccl_map_first(&slices->map, own),
                           hccl_map_count(&slices->map, own, 1));
        return;
    }
    for (int k = 1; k < slices->n; k++) {
        const int i = (own + k) % slices->n, first = hccl_map_first(&slices->map, i);

        hccl_build_fetch(h->b, dst, first, hccl_map_count(&slices->map, i, 1), i, pub, first,
                         first);
    }
}

/* The same as hierarchical, by all ranks of nodes of different size. Who serves several rails has the
 * messages of a pattern's round under way together; along trees and lines, those of several segments. */
static int by_all_ranks(const hccl_case_t *c, int algorithm, hccl_plan_t **plan,
                        hccl_tree_t scratch, across_t across)
{
    const bool at_root = c->me == c->root;
    hccl_hier_t h;
    const int rc = hccl_hier_start(&h, c, algorithm, HCCL_HIER_VECTOR);

    if (HCCL_OK == rc) {
        const int positions = h.rails.units * h.rails.slots;
        const int home = hccl_rails_seat(&h.rails, c->shape->node_of[c->root]);
        const int area = hccl_build_scratch(h.b, positions);
        const int tmp =
            hccl_part_reduce_scratch(h.b, scratch, c->shape->nnodes, at_root, positions);
        const int dst = at_root ? HCCL_BASE_RECV : area;

        if (NULL != across) {
            const int src = hccl_part_node_reduce(h.b, c, &h.slices, HCCL_BASE_SEND, dst);

            for (int k = 0; k < h.n; k++) {
                const hccl_map_t *map = &h.streams[k].map;

                across(h.b, &h.streams[k].team, home, tmp, src, dst, hccl_map_first(map, 0),
                       hccl_map_count(map, 0, h.rails.slots));
            }
        } else {
            hccl_hier_reduce(&h, HCCL_BASE_SEND, dst, tmp, dst);
            hccl_part_collecting(h.b, &h.x, h.streams, h.n, home, dst);
        }
        fetch_slices(&h, dst);
    }
    return hccl_hier_finish(&h, rc, plan);
}

int hccl_algo_reduce_hier_ahc_line(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return by_all_ranks(c, algorithm, plan, HCCL_TREE_CHAIN, across_line);
}

int hccl_algo_reduce_hier_ahc_double_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return by_all_ranks(c, algorithm, plan, HCCL_TREE_DOUBLE, across_double_tree);
}

/* Reduce-scatter and gather between the nodes, of all rails at once. */
int hccl_algo_reduce_hier_ahc_nb(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return by_all_ranks(c, algorithm, plan, HCCL_TREE_CHAIN, NULL);
}

int hccl_algo_reduce_mesh(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, 1, 1, HCCL_TREE_CHAIN, across_chain);
}

int hccl_algo_reduce_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->nranks, 1, HCCL_TREE_CHAIN, across_chain);
}

int hccl_algo_reduce_hier_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, 1, 1, HCCL_TREE_BINOMIAL, across_tree);
}

int hccl_algo_reduce_hier_tree4(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, 1, 1, hccl_tree_nomial(c), NULL);
}

int hccl_algo_reduce_hier_star(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, 1, 1, HCCL_TREE_STAR, across_star);
}

int hccl_algo_reduce_hier_double_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->min_local, 2, HCCL_TREE_DOUBLE,
                        across_double_tree);
}

int hccl_algo_reduce_hier_chain(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->min_local, 1, HCCL_TREE_CHAIN, across_chain);
}

int hccl_algo_reduce_hier_line(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->min_local, 1, HCCL_TREE_CHAIN, across_line);
}

int hccl_algo_reduce_hier_ring(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->min_local, c->shape->nnodes, HCCL_TREE_CHAIN,
                        across_ring);
}

int hccl_algo_reduce_hier_nhr(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->min_local, c->shape->nnodes, HCCL_TREE_CHAIN,
                        across_nhr);
}

int hccl_algo_reduce_hier_nb(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->min_local, c->shape->nnodes, HCCL_TREE_CHAIN,
                        across_nb);
}

int hccl_algo_reduce_hier_rhd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return hierarchical(c, algorithm, plan, c->shape->min_local, hccl_part_power(c->shape->nnodes),
                        HCCL_TREE_CHAIN, across_rhd);
}

static int tiered(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, hccl_tiers_t *t)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, t->n);

    if (NULL != b) {
        const int area = hccl_build_scratch(b, t->n);
        const int dst = c->me == c->root ? HCCL_BASE_RECV : area;

        hccl_tiers_up(b, t, HCCL_BASE_SEND, dst, dst);
        if (1 < t->n) {
            hccl_tiers_collect(b, t, c->root, dst);
        }
    }
    hccl_tiers_free(t);
    return NULL == b ? HCCL_ERR_NOMEM : hccl_build_finish(b, plan);
}

int hccl_algo_reduce_tier_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_leaders(c, c->root, &t);

    return HCCL_OK == rc ? tiered(c, algorithm, plan, &t) : rc;
}

int hccl_algo_reduce_tier_slices(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    hccl_tiers_t t;
    const int rc = hccl_tiers_slices(c, c->root, HCCL_TIERS_FROM_ALL, &t);

    return HCCL_OK == rc ? tiered(c, algorithm, plan, &t) : rc;
}

/* One exchange among all ranks. */
static int flat(const hccl_case_t *c, int algorithm, hccl_plan_t **plan, hccl_team_t team, int root,
                int cuts, hccl_tree_t scratch, across_t across)
{
    hccl_builder_t *b = hccl_build_start(c, algorithm, cuts);

    if (NULL == b) {
        return HCCL_ERR_NOMEM;
    }
    const int area = hccl_build_scratch(b, cuts);
    const int tmp = hccl_part_reduce_scratch(b, scratch, team.n, c->me == c->root, cuts);

    const int dst = c->me == c->root ? HCCL_BASE_RECV : area;

    if (NULL == across) {
        hccl_part_reduce(b, &team, root, scratch, tmp, HCCL_BASE_SEND, dst, 0, cuts);
    } else {
        across(b, &team, root, tmp, HCCL_BASE_SEND, dst, 0, cuts);
    }
    return hccl_build_finish(b, plan);
}

int hccl_algo_reduce_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_all(c), c->root, 1, HCCL_TREE_BINOMIAL, across_tree);
}

int hccl_algo_reduce_tree4(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_all(c), c->root, 1, hccl_tree_nomial(c), NULL);
}

int hccl_algo_reduce_star(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_all(c), c->root, 1, HCCL_TREE_STAR, across_star);
}

int hccl_algo_reduce_double_tree(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_by_ring(c), hccl_by_ring(c, c->root), 2,
                HCCL_TREE_DOUBLE, across_double_tree);
}

int hccl_algo_reduce_chain(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_all(c), c->root, 1, HCCL_TREE_CHAIN, across_chain);
}

int hccl_algo_reduce_ring(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_by_ring(c), hccl_by_ring(c, c->root),
                c->shape->nranks, HCCL_TREE_CHAIN, across_ring);
}

int hccl_algo_reduce_nhr(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_by_ring(c), hccl_by_ring(c, c->root),
                c->shape->nranks, HCCL_TREE_CHAIN, across_nhr);
}

int hccl_algo_reduce_nb(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_by_node(c), hccl_by_node(c, c->root),
                c->shape->nranks, HCCL_TREE_CHAIN, across_nb);
}

int hccl_algo_reduce_rhd(const hccl_case_t *c, int algorithm, hccl_plan_t **plan)
{
    return flat(c, algorithm, plan, hccl_team_all(c), c->root, hccl_part_power(c->shape->nranks),
                HCCL_TREE_CHAIN, across_rhd);
}
