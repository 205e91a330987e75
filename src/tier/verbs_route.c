/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Over which ports a connection goes, and how it moves to others: see verbs_engine.h.
 *
 * A route is a pair of ports. Both processes number all pairs alike: they begin with the two that the
 * processes use unless these fail, and then go on by one port on both sides, since ports with the same
 * number are mostly cabled to the same network; pairs that cross come last. After a fault each says which
 * of its ports work and why the connection failed, and from these two votes both find the same route.
 */
#include <stdio.h>

#include "base/log.h"
#include "tier/verbs_engine.h"

int hccl_verbs_routes(const hccl_verbs_peer_t *peer)
{
    return peer->v->ports.n * peer->ports.n;
}

bool hccl_verbs_route_ends(const hccl_verbs_peer_t *peer, int route, int *mine, int *theirs)
{
    const bool low = peer->v->me < peer->number;
    const hccl_verbs_ports_t *a = low ? &peer->v->ports : &peer->ports;
    const hccl_verbs_ports_t *b = low ? &peer->ports : &peer->v->ports;
    int step = route % a->n, across = route / a->n;
    int at_a = (a->first + step) % a->n, at_b = (b->first + step + across) % b->n;
    *mine = low ? at_a : at_b;
    *theirs = low ? at_b : at_a;
    return hccl_verbs_reach(&a->card[at_a], &b->card[at_b]);
}

uint32_t hccl_verbs_working(hccl_verbs_t *v)
{
    uint32_t working = 0;
    for (int i = 0; i < v->ports.n; i++) {
        working |= hccl_verbs_port_works(v, i) ? UINT32_C(1) << i : 0;
    }
    return working;
}

/* Whether both ends of a route work, as far as the votes say. */
static bool works(const hccl_verbs_peer_t *peer, int route)
{
    int mine, theirs;
    return hccl_verbs_route_ends(peer, route, &mine, &theirs)
           && 0 != (peer->mine.working >> mine & 1) && 0 != (peer->theirs.working >> theirs & 1);
}

/* Whether packets did not come through for as long as a queue pair tries. */
static bool is_silence(uint32_t status)
{
    return IBV_WC_RETRY_EXC_ERR == (enum ibv_wc_status) status
           || IBV_WC_RESP_TIMEOUT_ERR == (enum ibv_wc_status) status;
}

/* Whether the votes give the route up: it has failed twice, or it is silent and that is no wonder of a queue
 * pair which has failed for a reason of its own at the other end. */
static bool are_against(const hccl_verbs_info_t *a, const hccl_verbs_info_t *b)
{
    bool silence_a = is_silence(a->status), silence_b = is_silence(b->status);
    return a->failures > 1 || b->failures > 1
           || (silence_a && (silence_b || IBV_WC_SUCCESS == (enum ibv_wc_status) b->status))
           || (silence_b && IBV_WC_SUCCESS == (enum ibv_wc_status) a->status);
}

int hccl_verbs_next_route(const hccl_verbs_peer_t *peer)
{
    if (works(peer, peer->route) && !are_against(&peer->mine, &peer->theirs)) {
        return peer->route;
    }
    int n = hccl_verbs_routes(peer);
    for (int i = 1; i < n; i++) {
        if (works(peer, (peer->route + i) % n)) {
            return (peer->route + i) % n;
        }
    }
    return peer->route;
}

static void put_registrations(hccl_verbs_peer_t *peer, hccl_verbs_message_t *list)
{
    for (hccl_verbs_message_t *m = list; NULL != m; m = m->next) {
        if (NULL != m->reg) {
            hccl_verbs_cache_put(&peer->port->cache, m->reg);
            m->reg = NULL;
        }
    }
}

void hccl_verbs_move(hccl_verbs_peer_t *peer, int route)
{
    hccl_verbs_t *v = peer->v;
    int was_mine = peer->mine_at, was_theirs = peer->theirs_at;
    put_registrations(peer, peer->sending);
    put_registrations(peer, peer->receiving);
    hccl_verbs_unregister(peer);
    (void) hccl_verbs_route_ends(peer, route, &peer->mine_at, &peer->theirs_at);
    peer->route = route;
    peer->port = hccl_verbs_port_at(v, peer->mine_at);
    peer->moved = true;
    v->count.moves++;
    const hccl_verbs_card_t *old = &v->ports.card[was_mine], *new = &v->ports.card[peer->mine_at];
    const hccl_verbs_card_t *from = &peer->ports.card[was_theirs];
    const hccl_verbs_card_t *to = &peer->ports.card[peer->theirs_at];
    hccl_log_note("messages to rank %d move from %s/%d (its port: %s/%d) to %s/%d (its port: "
                  "%s/%d)",
                  peer->number, old->device, old->port, from->device, from->port, new->device,
                  new->port, to->device, to->port);
}

void hccl_verbs_place_anew(hccl_verbs_peer_t *peer)
{
    for (int i = 0; i < peer->v->set.channels; i++) {
        hccl_verbs_channel_t *ch = &peer->channel[i];
        hccl_verbs_acked(ch, peer->theirs.channel[i].received);
    }
    for (int i = 0; i < peer->v->set.channels; i++) {
        hccl_verbs_void_places(&peer->channel[i], peer->theirs.channel[i].received);
    }
    for (hccl_verbs_message_t *m = peer->sending; NULL != m; m = m->next) {
        m->parts = 0;
    }
    hccl_verbs_answer_anew(peer);
    peer->moved = false;
}

void hccl_verbs_print_tried(const hccl_verbs_peer_t *peer, char *text, size_t bytes)
{
    size_t used = 0;
    text[0] = '\0';
    for (int i = 0; i < hccl_verbs_routes(peer) && used < bytes; i++) {
        int mine, theirs;
        if (0 == (peer->tried >> i & 1) || !hccl_verbs_route_ends(peer, i, &mine, &theirs)) {
            continue;
        }
        const hccl_verbs_card_t *a = &peer->v->ports.card[mine], *b = &peer->ports.card[theirs];
        int n = snprintf(text + used, bytes - used, "%s%s/%d to its %s/%d", 0 == used ? "" : ", ",
                         a->device, a->port, b->device, b->port);
        used += n > 0 ? (size_t) n : 0;
    }
}
