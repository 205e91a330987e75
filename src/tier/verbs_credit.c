/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * When what tells of free slots does not arrive: see verbs_engine.h. A queue pair that lives delivers what it
 * is given, so this takes a fault of a device, a driver or this engine; without a word about it, a
 * sender would wait for ever, and nobody would know why.
 *
 * Who has waited for slots for a while, though all that it sent is there, asks: it writes a word into the peer's
 * memory. The peer may be outside of MPI, and says nothing then. Else it finds the word at its next look, and tells
 * once more. It knows what it told the last time, and so whether that arrived. Who asked reads the word in the
 * peer's memory, and so knows whether the question arrived, whatever the peer does. If either did not arrive
 * several times in a row, the connection fails, and is made again like any other that has: both say there what
 * they have seen.
 */
#include <stdio.h>

#include "base/log.h"
#include "tier/verbs_engine.h"

/* Least time that a sender waits before it asks, ms; and how often what is told or asked may get lost in a row. */
#define PATIENCE 200
#define MOST_LOST 4

/* A packet may be sent again once before it arrives. */
static uint64_t patience(const hccl_verbs_t *v)
{
    uint64_t ms = 2 * (UINT64_C(4096) << v->set.timeout) / 1000000;
    return ms > PATIENCE ? ms : PATIENCE;
}

/* Once may be a link that was down for as long; twice in a row is not. times: in a row; then: what follows. */
static void complain(const hccl_verbs_channel_t *ch, int times, const char *what, const char *then)
{
    const hccl_verbs_peer_t *peer = ch->peer;
    const hccl_verbs_card_t *mine = &peer->port->card;
    const hccl_verbs_card_t *theirs = &peer->ports.card[peer->theirs_at];
    void (*say)(const char *, ...) = 1 == times ? hccl_log_info : hccl_log_warn;
    if (times > 2) {
        return;
    }
    say("rank %d was %s, though the queue pair (%s/%d to its %s/%d) has status: %s. It is "
        "%s again, and after %d times the connection is made again. Check both adapters (firmware, "
        "errors in dmesg and in hw_counters); with coll_hccl_rdma off nothing depends on them",
        peer->number, what, mine->device, mine->port, theirs->device, theirs->port,
        peer->v->table->status_text(IBV_WC_SUCCESS), then, MOST_LOST);
}

/* Whether my last question is not where it was written to. */
static bool was_unheard(const hccl_verbs_channel_t *ch)
{
    return 0 != ch->read_by && ch->done >= ch->read_by
           && *ch->question != __atomic_load_n(ch->echo, __ATOMIC_ACQUIRE);
}

/* My side of the ring into which I send. Asks a bit later than the peer may believe that its word is lost. */
static void ask_if_stuck(hccl_verbs_channel_t *ch, uint64_t now)
{
    bool waits = hccl_verbs_waits_for_credit(ch);
    if (!waits || ch->stuck_freed != ch->freed || 0 == ch->stuck_since) {
        ch->stuck_freed = ch->freed;
        ch->stuck_since = waits ? now : 0;
        ch->read_by = 0; /* the next question is a new one */
        return;
    }
    if (now < ch->stuck_since + patience(ch->peer->v) + PATIENCE) {
        return;
    }
    ch->stuck_since = now;
    if (!was_unheard(ch)) {
        ch->unheard = 0;
    } else {
        complain(ch, ++ch->unheard,
                 "asked which messages it has taken, but the question is not in its memory",
                 "asked");
    }
    if (ch->unheard >= MOST_LOST) {
        hccl_verbs_fault(ch->peer, IBV_WC_RESP_TIMEOUT_ERR);
        return;
    }
    hccl_verbs_ask(ch);
}

/* The other side's question, if there is one. */
static void answer(hccl_verbs_channel_t *ch, uint64_t now)
{
    if (ch->told != ch->told_then) {
        ch->told_then = ch->told;
        ch->told_since = now;
    }
    uint64_t word = __atomic_load_n(ch->asked, __ATOMIC_ACQUIRE);
    if (word == ch->heard) {
        return;
    }
    uint32_t knows = (uint32_t) word;
    if (knows != (uint32_t) ch->heard) {
        ch->lost = 0; /* something that was told since the last question has arrived */
    }
    ch->heard = word;
    bool behind = (int32_t) ((uint32_t) ch->told_then - knows) > 0;
    if (behind && now < ch->told_since + patience(ch->peer->v)) {
        /* What was told and the question may have crossed. */
        hccl_verbs_tell(ch);
        return;
    }
    if (behind) {
        char what[120];
        snprintf(what, sizeof(what),
                 "told that %u of its messages have been taken, but knows of %u",
                 (uint32_t) ch->told_then, knows);
        complain(ch, ++ch->lost, what, "told");
    }
    if (ch->lost >= MOST_LOST) {
        hccl_verbs_fault(ch->peer, IBV_WC_RESP_TIMEOUT_ERR);
        return;
    }
    hccl_verbs_tell(ch);
    ch->told_then = ch->told;
    ch->told_since = now;
}

void hccl_verbs_look_for_credits(hccl_verbs_peer_t *peer, uint64_t now)
{
    for (int i = 0; i < peer->v->set.channels && HCCL_VERBS_CONNECTED == peer->state; i++) {
        answer(&peer->channel[i], now);
        if (HCCL_VERBS_CONNECTED == peer->state) {
            ask_if_stuck(&peer->channel[i], now);
        }
    }
}
