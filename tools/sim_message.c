/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The simulator's network. A message of up to `eager` bytes sets out when it is sent, a longer one
 * when both sides have started it and they have agreed on it. It goes through its node's NIC, the
 * uplink and downlink of the leaf switches if it leaves one, and the other node's NIC at the rate
 * that they have to share; then the sender may go on, and a latency later it is there.
 */
#include <stdlib.h>

#include "sim_internal.h"

static int take_message(hccl_sim_t *s)
{
    if (s->free_message < 0) {
        int more = 2 * s->nmessages + 64;
        hccl_sim_message_t *moved = realloc(s->message, (size_t) more * sizeof(*moved));
        if (NULL == moved) {
            s->failed = true;
            return -1;
        }
        s->message = moved;
        for (int i = more - 1; i >= s->nmessages; i--) {
            moved[i].next = s->free_message;
            s->free_message = i;
        }
        s->nmessages = more;
    }
    int taken = s->free_message;
    s->free_message = s->message[taken].next;
    return taken;
}

static void put_back(hccl_sim_t *s, int number)
{
    s->message[number].next = s->free_message;
    s->free_message = number;
}

/* The oldest message of the channel that lacks this half; else a new one at its end. */
static int find_message(hccl_sim_t *s, int channel, int cursor, bool send)
{
    int *from = &s->waiting[channel * s->ncursors + cursor];
    while (*from >= 0) {
        hccl_sim_message_t *m = &s->message[*from];
        if (send ? !m->has_send : !m->has_recv) {
            int found = *from;
            *from = m->next;
            return found;
        }
        from = &m->next;
    }
    ptrdiff_t at = -1; /* `from` may lie in the array that grows */
    if (from != &s->waiting[channel * s->ncursors + cursor]) {
        at = (char *) from - (char *) s->message;
    }
    int number = take_message(s);
    if (number < 0) {
        return -1;
    }
    from = at < 0 ? from : (int *) ((char *) s->message + at);
    s->message[number] =
        (hccl_sim_message_t){.channel = channel, .cursor = cursor, .next = -1, .missing = 2};
    *from = number;
    return number;
}

/* A rank's NIC: its ranks are shared out in runs. */
static int nic_of(const hccl_sim_t *s, int rank)
{
    int node = s->p->rank[rank].node, nics = (int) s->m->nics;
    int local = rank - s->p->node_first[node];
    int size = s->p->node_first[node + 1] - s->p->node_first[node];
    return node * nics + (int) ((long long) local * nics / size);
}

static void count(hccl_sim_link_t *link, double bytes)
{
    link->bytes += bytes;
    link->messages++;
}

/* Sets out at once. */
static void set_out(hccl_sim_t *s, int number)
{
    hccl_sim_message_t *m = &s->message[number];
    const hccl_sim_channel_t *channel = &s->p->channel[m->channel];
    hccl_sim_report_t *r = s->report;
    if (channel->out < 0) {
        count(&r->tier[channel->tier], m->bytes);
        hccl_sim_at(s, s->now + m->bytes / s->m->inside_speed, HCCL_SIM_SENT, number);
        return;
    }
    int out = nic_of(s, channel->from), in = nic_of(s, channel->to), nics = r->nodes * r->nics;
    int links[HCCL_FLOW_LINKS] = {out, nics + in, 2 * nics + channel->from_leaf,
                                  2 * nics + r->leaves + channel->to_leaf};
    count(&r->out[out], m->bytes);
    count(&r->in[in], m->bytes);
    if (channel->crosses) {
        count(&r->up[channel->from_leaf], m->bytes);
        count(&r->down[channel->to_leaf], m->bytes);
    }
    if (!(m->bytes > 0)) {
        hccl_sim_at(s, s->now, HCCL_SIM_SENT, number);
    } else if (!hccl_flows_add(s->flows, s->now, links, channel->crosses ? 4 : 2, m->bytes,
                               number)) {
        s->failed = true;
    }
}

/* One of a cursor's messages is complete. */
static void complete(hccl_sim_t *s, int rank, int cursor)
{
    s->rank[rank].cursor[cursor].open--;
    hccl_sim_look(s, rank);
}

/* It has arrived, or the receiver is ready; when both are true the message is complete. */
static void deliver(hccl_sim_t *s, int number)
{
    hccl_sim_message_t *m = &s->message[number];
    const hccl_sim_channel_t *channel = &s->p->channel[m->channel];
    hccl_sim_cursor_t *c = &s->rank[channel->to].cursor[m->cursor];
    int hops = m->hops + (channel->out < 0 ? 0 : 1);
    if (0 < --m->missing) {
        return;
    }
    c->arriving = c->arriving > hops ? c->arriving : hops;
    complete(s, channel->to, m->cursor);
    put_back(s, number);
}

void hccl_sim_start_message(hccl_sim_t *s, int rank, int cursor, const hccl_sim_step_t *step,
                            double bytes, double ready)
{
    bool send = HCCL_STEP_SEND == step->kind;
    int number = find_message(s, step->at, cursor, send);
    if (number < 0) {
        return;
    }
    hccl_sim_message_t *m = &s->message[number];
    const hccl_sim_channel_t *channel = &s->p->channel[step->at];
    if (send) {
        m->has_send = true;
        m->sent = ready;
        m->bytes = bytes;
        m->hops = s->rank[rank].cursor[cursor].hops;
        m->eager = bytes <= s->m->eager;
        if (m->eager) {
            hccl_sim_at(s, ready, HCCL_SIM_START, number);
        }
    } else {
        m->has_recv = true;
        m->ready = ready;
        hccl_sim_at(s, ready, HCCL_SIM_THERE, number);
    }
    if (m->has_send && m->has_recv && !m->eager) {
        double begin = m->sent > m->ready ? m->sent : m->ready;
        hccl_sim_at(s, begin + (channel->out < 0 ? 0 : s->m->rendezvous), HCCL_SIM_START, number);
    }
}

/* The last byte has left the sender. */
static void has_left(hccl_sim_t *s, int number)
{
    const hccl_sim_message_t *m = &s->message[number];
    const hccl_sim_channel_t *channel = &s->p->channel[m->channel];
    double alpha = s->m->alpha + (channel->crosses ? s->m->leaf_alpha : 0);
    if (channel->out < 0) {
        alpha = s->m->tier[channel->tier].alpha + s->m->inside_alpha;
    }
    complete(s, channel->from, m->cursor);
    hccl_sim_at(s, s->now + alpha, HCCL_SIM_THERE, number);
}

void hccl_sim_flow_ended(hccl_sim_t *s, int message)
{
    has_left(s, message);
}

void hccl_sim_message_event(hccl_sim_t *s, const hccl_sim_event_t *event)
{
    if (HCCL_SIM_START == event->kind) {
        set_out(s, event->who);
    } else if (HCCL_SIM_SENT == event->kind) {
        has_left(s, event->who);
    } else {
        deliver(s, event->who);
    }
}
