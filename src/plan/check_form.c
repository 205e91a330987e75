/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The prover, first half: what can be seen of plans without walking them.
 */
#include "plan/check_internal.h"

#include <stdlib.h>
#include <string.h>

static void fail_at(hccl_checker_t *k, int rank, int i, const char *what)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    hccl_check_fail(k, "rank %d step %d %s: %s", rank, i, hccl_check_step_name(plan->steps[i].kind),
                    what);
}

int hccl_check_block(const hccl_checker_t *k, int rank, int base, int position)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    if (HCCL_HOLDS_OWN == hccl_check_holds(&k->role[rank], base)) {
        return k->world.cases[rank].me;
    }
    return NULL == plan->order || position >= plan->nblocks ? position : plan->order[position];
}

/* Whether a plan may name these positions of a base. */
static const char *range_fault(const hccl_checker_t *k, int rank, int base, int first, int count)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    const hccl_role_t *role = &k->role[rank];
    bool by_block = (HCCL_GRID_VECTOR == k->grid && !k->copies) || HCCL_GRID_TABLE == k->grid;
    int limit;
    if (first < 0 || count < 0 || base < 0 || base >= HCCL_BASE_TMP + plan->ntmp) {
        return "operand is not in any base";
    }
    if (0 == count) {
        return NULL;
    }
    if (base >= HCCL_BASE_TMP) {
        if (HCCL_GRID_PRIVATE == k->grid && !k->apart) {
            return "scratch in a collective whose block sizes are private";
        }
        limit = by_block ? plan->nblocks : plan->tmp_blocks;
    } else {
        hccl_holds_t holds = hccl_check_holds(role, base);
        if (HCCL_HOLDS_NONE == holds) {
            return "this rank has no such buffer";
        }
        if (HCCL_HOLDS_OWN == holds) {
            return count > 1 ? "several blocks of a buffer that has one" : NULL;
        }
        limit = HCCL_BASE_SEND == base ? role->nsend : role->nrecv;
    }
    return first > limit - count ? "operand goes beyond its base" : NULL;
}

/* ---- one plan --------------------------------------------------------------------------------- */

static void check_sources(hccl_checker_t *k, int rank, int i)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    const hccl_step_t *step = &plan->steps[i];
    bool shared = false;
    if (step->nsrc < 1 || step->src < 0 || step->src > plan->nsources - step->nsrc) {
        fail_at(k, rank, i, "sources outside of the plan's list");
        return;
    }
    for (int j = 0; j < step->nsrc; j++) {
        const hccl_source_t *s = &plan->sources[step->src + j];
        if (s->peer >= 0) {
            shared = true;
            if (s->peer >= hccl_check_node_size(k, rank)
                || s->peer == k->world.cases[rank].shape->local_of[k->world.cases[rank].me]) {
                fail_at(k, rank, i, "source is no other rank of the node");
            } else if (s->base < 0 || s->base >= plan->npub) {
                fail_at(k, rank, i, "source has no reserved publication number");
            }
            continue;
        }
        const char *fault = range_fault(k, rank, s->base, s->first, step->count);
        if (NULL != fault) {
            fail_at(k, rank, i, fault);
        }
        for (int x = 0; k->fixed && !k->failed && x < step->count; x++) {
            if (hccl_check_block(k, rank, s->base, s->first + x)
                != hccl_check_block(k, rank, step->base, step->first + x)) {
                fail_at(k, rank, i, "moves a block to the position of another block");
            }
        }
    }
    bool many = HCCL_STEP_REDUCE == step->kind || HCCL_STEP_FOLD == step->kind;
    bool peers = HCCL_STEP_FETCH == step->kind || HCCL_STEP_FOLD == step->kind;
    if (many != (step->nsrc > 1) || peers != shared) {
        fail_at(k, rank, i, "kind of step and sources do not fit together");
    } else if (many && !hccl_coll_info[plan->coll].reduces) {
        fail_at(k, rank, i, "combines in a collective that only moves");
    } else if (HCCL_GRID_PRIVATE == k->grid && peers && !k->apart) {
        fail_at(k, rank, i, "shared memory in a collective whose block sizes are private");
    }
}

static void check_message(hccl_checker_t *k, int rank, int i)
{
    const hccl_step_t *step = &k->world.plans[rank]->steps[i];
    const hccl_case_t *c = &k->world.cases[rank];
    bool remote = step->peer >= 0 && 0 != (step->peer & HCCL_PEER_REMOTE);
    int size = remote ? c->nremote : c->shape->nranks;
    if (step->peer < 0 || HCCL_PEER_RANK(step->peer) >= size) {
        fail_at(k, rank, i, "peer is no rank of the communicator");
    } else if (!remote && step->peer == c->me && !k->neighbour) {
        fail_at(k, rank, i, "peer is the rank itself");
    }
}

static void check_publish(hccl_checker_t *k, int rank, int i, int *last)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    const hccl_step_t *step = &plan->steps[i];
    if (step->pub < 0 || step->pub >= plan->npub) {
        fail_at(k, rank, i, "publication number is not reserved");
    } else if (step->pub <= *last) {
        fail_at(k, rank, i, "publication numbers do not grow");
    } else if (HCCL_DIRECT_NEVER != step->direct
               && (step->base >= HCCL_BASE_TMP || 0 == step->count || k->apart)) {
        fail_at(k, rank, i, "may be read in place, but is no user's buffer");
    } else if (step->count > plan->max_pub) {
        fail_at(k, rank, i, "publishes more positions than max_pub");
    } else if (HCCL_GRID_PRIVATE == k->grid && !k->apart) {
        fail_at(k, rank, i, "shared memory in a collective whose block sizes are private");
    } else {
        *last = step->pub;
        k->pub_step[rank][step->pub] = i;
    }
}

static void need_ring(hccl_checker_t *k, int slots)
{
    while (slots > k->smallest_ring) {
        k->smallest_ring *= 2;
    }
}

/* A step's `ack` may not exceed what is read later. The ring that this rank needs: nobody can publish
 * number n before I have acknowledged n - slots, so I must not wait for it, nor publish it, before. */
static void check_acks(hccl_checker_t *k, int rank)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    int lowest = plan->npub; /* read by the steps behind */
    for (int i = plan->nsteps - 1; i >= 0 && !k->failed; i--) {
        const hccl_step_t *step = &plan->steps[i];
        int acked = 0 == i ? 0 : plan->steps[i - 1].ack;
        if (step->ack > lowest) {
            fail_at(k, rank, i, "acknowledges a publication that is still to be read");
        } else if (step->ack < acked) {
            fail_at(k, rank, i, "acknowledgements go back");
        }
        for (int j = 0; j < step->nsrc; j++) {
            const hccl_source_t *s = &plan->sources[step->src + j];
            if (s->peer >= 0) {
                lowest = s->base < lowest ? s->base : lowest;
                need_ring(k, s->base - acked + 1);
            }
        }
        if (HCCL_STEP_PUBLISH == step->kind) {
            need_ring(k, step->pub - (lowest < acked ? lowest : acked) + 1);
        }
    }
}

static void check_steps(hccl_checker_t *k, int rank)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    int last_pub = -1, open[HCCL_HOW_LONG + 1] = {0};
    for (int i = 0; i < plan->nsteps && !k->failed; i++) {
        const hccl_step_t *step = &plan->steps[i];
        if (step->kind > HCCL_STEP_WAIT) {
            fail_at(k, rank, i, "unknown kind");
            return;
        }
        bool writes = HCCL_STEP_PUBLISH != step->kind && HCCL_STEP_SEND != step->kind
                      && HCCL_STEP_WAIT != step->kind;
        const char *fault = range_fault(k, rank, step->base, step->first, step->count);
        if (NULL == fault && writes && HCCL_BASE_SEND == step->base && step->count > 0) {
            fault = "writes the send buffer";
        } else if (NULL == fault) {
            fault = hccl_check_how(k, rank, step);
        }
        if (NULL != fault) {
            fail_at(k, rank, i, fault);
            return;
        }
        switch ((hccl_step_kind_t) step->kind) {
        case HCCL_STEP_PUBLISH:
            check_publish(k, rank, i, &last_pub);
            break;
        case HCCL_STEP_SEND:
        case HCCL_STEP_RECV:
            check_message(k, rank, i);
            open[step->how]++;
            if (open[HCCL_HOW_WHOLE] + open[HCCL_HOW_PARCELS] + open[HCCL_HOW_LONG]
                > plan->max_requests) {
                fail_at(k, rank, i, "more open messages than max_requests");
            }
            break;
        case HCCL_STEP_WAIT:
            open[step->how] = 0;
            break;
        default:
            check_sources(k, rank, i);
            break;
        }
    }
    if (open[HCCL_HOW_WHOLE] + open[HCCL_HOW_PARCELS] + open[HCCL_HOW_LONG] > 0) {
        hccl_check_fail(k, "rank %d: the plan ends with open messages", rank);
    }
    if (!k->failed) {
        check_acks(k, rank);
    }
}

static bool is_permutation(const int32_t *order, int n, char *seen)
{
    memset(seen, 0, (size_t) n);
    for (int i = 0; i < n; i++) {
        if (order[i] < 0 || order[i] >= n || seen[order[i]]) {
            return false;
        }
        seen[order[i]] = 1;
    }
    return true;
}

static int check_plan(hccl_checker_t *k, int rank)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    const hccl_role_t *role = &k->role[rank];
    int need = role->nsend > role->nrecv ? role->nsend : role->nrecv;
    if (plan->coll != k->world.cases[0].coll || plan->nsteps < 0 || plan->npub < 0 || plan->ntmp < 0
        || plan->nblocks < (k->neighbour ? 0 : 1) || plan->nblocks < need
        || (plan->ntmp > 0 && !k->apart && plan->tmp_blocks < plan->nblocks)) {
        hccl_check_fail(k, "rank %d: the plan's counts are wrong (nblocks %d, needed %d)", rank,
                        plan->nblocks, need);
        return HCCL_OK;
    }
    if (0 != plan->apart
        && (0 != k->world.cases[rank].nremote || k->neighbour || HCCL_GRID_PRIVATE != k->grid)) {
        hccl_check_fail(k, "rank %d: the sizes of blocks are not private here", rank);
        return HCCL_OK;
    }
    if (plan->apart && plan->ntmp > 0 && (plan->box < 1 || 0 != plan->tmp_blocks % plan->box)) {
        hccl_check_fail(k, "rank %d: its scratch areas are no rows of boxes", rank);
        return HCCL_OK;
    }
    size_t npub = (size_t) plan->npub;
    k->pub_step[rank] = malloc((npub + 1) * sizeof(int));
    char *seen = NULL == plan->order ? NULL : malloc((size_t) plan->nblocks);
    if (NULL == k->pub_step[rank] || (NULL != plan->order && NULL == seen)) {
        free(seen);
        return HCCL_ERR_NOMEM;
    }
    for (size_t i = 0; i < npub; i++) {
        k->pub_step[rank][i] = -1;
    }
    if (NULL != plan->order && !is_permutation(plan->order, plan->nblocks, seen)) {
        hccl_check_fail(k, "rank %d: order is no permutation", rank);
    }
    free(seen);
    if (!k->failed) {
        check_steps(k, rank);
    }
    return HCCL_OK;
}

/* ---- plans against each other ----------------------------------------------------------------- */

static void check_alike(hccl_checker_t *k, int rank)
{
    const hccl_role_t *role = &k->role[rank];
    const hccl_plan_t *a = k->world.plans[role->first], *b = k->world.plans[rank];
    const hccl_plan_t *near = k->world.plans[hccl_check_local(k, rank, 0)];
    const char *what = NULL;
    if (near->npub != b->npub) {
        what = "npub differs within the node";
    } else if (k->neighbour) {
        return;
    } else if (a->nblocks != b->nblocks) {
        what = "nblocks";
    } else if (a->max_pub != b->max_pub || a->publishes != b->publishes) {
        what = "publications";
    } else if (a->apart != b->apart || a->box != b->box) {
        what = "ways for blocks of private sizes";
    } else if (!k->copies && a->tmp_blocks != b->tmp_blocks) {
        what = "scratch";
    } else if ((NULL == a->order) != (NULL == b->order)
               || (NULL != a->order
                   && 0 != memcmp(a->order, b->order, (size_t) a->nblocks * sizeof(int32_t)))) {
        what = "order";
    }
    if (NULL != what) {
        hccl_check_fail(k, "rank %d: differs from its group in %s", rank, what);
    }
}

/* Every publication that is read: somebody makes it, and it covers what is read. */
static void check_read(hccl_checker_t *k, int rank, int i, const hccl_source_t *s)
{
    const hccl_step_t *step = &k->world.plans[rank]->steps[i];
    int peer = hccl_check_local(k, rank, s->peer);
    int at = k->pub_step[peer][s->base];
    if (at < 0) {
        hccl_check_fail(k, "rank %d step %d %s: reads publication %d, which rank %d never makes",
                        rank, i, hccl_check_step_name(step->kind), s->base, peer);
        return;
    }
    const hccl_step_t *pub = &k->world.plans[peer]->steps[at];
    bool own =
        pub->base < HCCL_BASE_TMP && HCCL_HOLDS_OWN == hccl_check_holds(&k->role[peer], pub->base);
    if (step->count > 0
        && (s->pub_first != pub->first || s->first < pub->first
            || s->first + step->count > pub->first + pub->count)) {
        hccl_check_fail(k,
                        "rank %d step %d %s: reads [%d,%d) of publication %d as if it began at %d, "
                        "but rank %d publishes [%d,%d)",
                        rank, i, hccl_check_step_name(step->kind), s->first, s->first + step->count,
                        s->base, s->pub_first, peer, pub->first, pub->first + pub->count);
        return;
    }
    if (pub->how != step->how) {
        fail_at(k, rank, i, "reads as pieces what are parcels, or the other way round");
        return;
    }
    for (int x = 0; k->fixed && x < step->count; x++) {
        int from =
            own ? k->world.cases[peer].me : hccl_check_block(k, peer, pub->base, s->first + x);
        if (from != hccl_check_block(k, rank, step->base, step->first + x)) {
            fail_at(k, rank, i, "fetches a block to the position of another block");
            return;
        }
    }
}

static void check_reads(hccl_checker_t *k, int rank)
{
    const hccl_plan_t *plan = k->world.plans[rank];
    for (int i = 0; i < plan->nsteps && !k->failed; i++) {
        const hccl_step_t *step = &plan->steps[i];
        for (int j = 0; j < step->nsrc && !k->failed; j++) {
            const hccl_source_t *s = &plan->sources[step->src + j];
            if (s->peer >= 0) {
                check_read(k, rank, i, s);
            }
        }
    }
}

int hccl_check_form(hccl_checker_t *k)
{
    k->smallest_ring = 1;
    for (int i = 0; i < k->world.n && !k->failed; i++) {
        int rc = check_plan(k, i);
        if (HCCL_OK != rc) {
            return rc;
        }
    }
    for (int i = 0; i < k->world.n && !k->failed; i++) {
        check_alike(k, i);
    }
    for (int i = 0; i < k->world.n && !k->failed; i++) {
        check_reads(k, i);
    }
    if (!k->failed && k->smallest_ring > 8) {
        hccl_check_fail(k, "needs rings of %d slots, 8 are promised", k->smallest_ring);
    }
    return HCCL_OK;
}
