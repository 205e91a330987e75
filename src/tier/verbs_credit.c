/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * When what tells of free slots does not arrive: see verbs_engine.h. A queue pair that lives delivers what it
 * is given, so this takes a fault of a device, a driver or this engine; without a word about it, a
 * sender would wait for ever, and nobody would know why.
 *
 * Who has waited for slots for a while, though all that it sent is there, asks: it writes a word into the peer's
 * memory. The peer may be outside of MPI, and says nothing then. Else it finds the word at its next look, and tells
 * once more. It knows what it told the last time, and so whether that arrived; if it did not several times,
 * the connection fails, and is made again like any other that has: both say there what they have seen.
 */
#include "base/log.h"
#include "tier/verbs_engine.h"

/* Least time that a sender waits before it asks, ms; and how often what it is told must not arrive. */
#define PATIENCE 200
#define MOST_LOST 4

/* A packet may be sent again once before it arrives. */
static uint64_t patience(const hccl_verbs_t *v)
{
    uint64_t ms = 2 * (UINT64_C(4096) << v->set.timeout) / 1000000;
    return ms > PATIENCE ? ms : PATIENCE;
}

/* My side of the ring into which I send. Asks a bit later than the peer may believe that its word is lost. */
static void ask_if_stuck(hccl_verbs_channel_t *ch, uint64_t now)
{
    bool waits = hccl_verbs_waits_for_credit(ch);
    if (!waits || ch->stuck_freed != ch->freed || 0 == ch->stuck_since) {
        ch->stuck_freed = ch->freed;
        ch->stuck_since = waits ? now : 0;
    } else if (now >= ch->stuck_since + patience(ch->peer->v) + PATIENCE) {
        ch->stuck_since = now;
        hccl_verbs_ask(ch);
    }
}

/* Once may be a link that was down for as long; twice in a row is not. */
static void tell_lost(const hccl_verbs_channel_t *ch, uint32_t knows)
{
    const hccl_verbs_peer_t *peer = ch->peer;
    const hccl_verbs_card_t *mine = &peer->port->card;
    const hccl_verbs_card_t *theirs = &peer->ports.card[peer->theirs_at];
    void (*say)(const char *, ...) = 1 == ch->lost ? hccl_log_info : hccl_log_warn;
    say("rank %d was told that %u of its messages have been taken, but knows of %u, though the "
        "queue "
        "pair (%s/%d to its %s/%d) has status: %s. It is told again, and after %d times the "
        "connection is made again. Check both adapters (firmware, errors in dmesg and in "
        "hw_counters); with coll_hccl_rdma off nothing depends on them",
        peer->number, (uint32_t) ch->told_then, knows, mine->device, mine->port, theirs->device,
        theirs->port, peer->v->table->status_text(IBV_WC_SUCCESS), MOST_LOST);
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
    ch->heard = word;
    uint32_t knows = (uint32_t) word;
    bool behind = (int32_t) ((uint32_t) ch->told_then - knows) > 0;
    if (behind && now < ch->told_since + patience(ch->peer->v)) {
        /* What was told and the question may have crossed. */
        hccl_verbs_tell(ch);
        return;
    }
    ch->lost = behind ? ch->lost + 1 : 0;
    if (1 == ch->lost || 2 == ch->lost) {
        tell_lost(ch, knows);
    }
    if (ch->lost >= MOST_LOST) {
        ch->lost = 0;
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
