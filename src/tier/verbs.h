/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Messages by RDMA: the engine. One of these is what a process makes of its ports; it uses one of them,
 * and others when that one fails.
 *
 * Between two processes there is one connection, of one or more *channels*. A channel is a reliable
 * queue pair and, on each side, a ring of slots in registered memory into which the other side writes
 * (RDMA WRITE with immediate data): what is in a slot, and in which order, is the same on both
 * sides, whatever happens to the queue pair. A message of the engine goes
 *   - whole in one slot of channel 0, behind its header, if it fits: one work request, inline if it
 *     is short;
 *   - else ASK tells the receiver; when it has matched, HERE tells the sender where its memory is;
 *     the sender writes it there, in as many parts as are worth a channel each, and WRITTEN behind
 *     each part says so, or, where there is one, the immediate data of the write itself. Where
 *     memory cannot be registered, PIECEs go through the ring instead.
 * A sender uses a slot again when the receiver says that it is free: no receiver is ever overrun.
 *
 * After a fault both sides make new queue pairs, tell each other how much of each ring they had
 * seen, and send again what was not: slots are kept until then, and the memory of a long message is
 * the message's until its parts are known to have arrived. Where either has further ports, they first
 * agree over which to go on; after a move, receivers say anew where long messages go.
 *
 * Refuses to know MPI: connections are agreed upon through a hccl_verbs_carrier_t. Thread-safe. Used by
 * rdma.c and by unit tests.
 */
#ifndef HCCL_TIER_VERBS_H
#define HCCL_TIER_VERBS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/codes.h"
#include "tier/verbs_table.h"
#include "tier/verbs_wire.h"

typedef struct hccl_verbs hccl_verbs_t;
typedef struct hccl_verbs_peer hccl_verbs_peer_t;
typedef struct hccl_verbs_message hccl_verbs_message_t;

/** Settings; those marked * must be the same in all processes. */
typedef struct hccl_verbs_settings {
    int channels;      /* * queue pairs of a connection */
    size_t part_min;   /* * bytes below which a message is not worth another channel */
    int slots;         /* * of each ring, a power of two */
    size_t eager;      /* * longest message that travels in a slot */
    int batch;         /* work requests handed over in one call, at most */
    int traffic_class; /* of the address vector */
    int service_level; /* likewise */
    int timeout;       /* of a queue pair: 4.096 us times two to this power */
    int retries;       /* of a queue pair, before it fails */
    int reconnects;    /* of a connection without anything getting through, before it is lost */
    bool sleeps;       /* hccl_verbs_arm and hccl_verbs_sleep are called */
    size_t registered_most; /* bytes of user memory that stay registered */
    int break_every;        /* tests: after so many messages, queue pairs fail; 0: never */
} hccl_verbs_settings_t;

/** How two processes agree on a connection. All calls are made without a lock held, by one thread at a
 *  time; they must not wait. A code other than HCCL_OK means that the peer cannot be reached. */
typedef struct hccl_verbs_carrier {
    /** Sends mine, which is kept until the exchange has ended, and expects the peer's. */
    int (*begin)(hccl_verbs_peer_t *peer, const hccl_verbs_info_t *mine, hccl_verbs_info_t *theirs);
    /** Whether the exchange has ended; then *code tells how. */
    bool (*ended)(hccl_verbs_peer_t *peer, int *code);
    /** Whether the peer has begun an exchange of which I have received nothing yet. */
    bool (*called)(hccl_verbs_peer_t *peer);
    /** Takes a message over, since there will be no connection: sets handed. */
    int (*hand_over)(hccl_verbs_message_t *message);
} hccl_verbs_carrier_t;

/** Whose message, and which. */
typedef struct hccl_verbs_key {
    uint32_t comm; /* number of the communicator */
    int32_t tag;
    void *object; /* the carrier's, for hand_over: the communicator */
    int rank;     /* likewise: the peer's rank in it */
} hccl_verbs_key_t;

/** How far a message is. */
typedef enum {
    HCCL_VERBS_UNDER_WAY,
    HCCL_VERBS_ENDED, /* error tells how */
    HCCL_VERBS_HANDED /* the carrier has it */
} hccl_verbs_end_t;

typedef struct hccl_verbs_reg hccl_verbs_reg_t;

struct hccl_verbs_message {
    hccl_verbs_message_t *next; /* in the one list that it is in */
    hccl_verbs_peer_t *peer;
    hccl_verbs_key_t key;
    bool sends;
    char *data;
    size_t bytes;
    uint32_t id;       /* long ones: my number of it, */
    uint32_t their_id; /* and the peer's */
    uint64_t address;  /* sender: where the peer's memory is */
    uint32_t rkey;
    hccl_verbs_reg_t *reg; /* of data, NULL: not registered */
    int parts;             /* sender: not known to have arrived; receiver: arrived */
    size_t done;           /* bytes that went or came in pieces */
    bool in_pieces;        /* it goes, or comes, in pieces */
    bool borrows;          /* receiver: it may stay in the slot that it comes in; */
    bool lent;             /* it is there, */
    bool pinned;           /* and being read */
    bool copied;           /* it was copied from there */
    uint64_t slot;         /* lent: number of the slot */
    int error;             /* HCCL_* */
    _Atomic int end;       /* hccl_verbs_end_t */
    void *handed;          /* the carrier's */
};

/** What has happened so far. */
typedef struct hccl_verbs_counters {
    uint64_t requests;    /* work requests posted for sending, */
    uint64_t inlined;     /* of these inline, */
    uint64_t doorbells;   /* and calls that posted them */
    uint64_t bytes;       /* of payload posted: what the engine was asked to send */
    uint64_t completions; /* read, of both kinds */
    uint64_t messages;    /* of the engine, sent */
    uint64_t unexpected;  /* came before they were asked for, */
    uint64_t copied;      /* and had to leave their slot */
    uint64_t lent;        /* short messages that were read where they had come, and never copied */
    uint64_t taken; /* copies of messages, or pieces, out of my ring to where they are wanted */
    uint64_t registrations; /* of users' memory */
    uint64_t found;         /* users' memory that was registered already */
    uint64_t straight;      /* long messages that came straight into memory that was offered, */
    uint64_t from_there;    /* and that left from there */
    uint64_t connections;   /* made, the first time */
    uint64_t reconnections; /* after a fault, */
    uint64_t moves;         /* and of these over other ports */
    uint64_t queue_pairs;   /* now */
    uint64_t regions;       /* memory regions of the tier itself, now */
} hccl_verbs_counters_t;

/** Opens a port and tries whether it can be used. Always fills *card; HCCL_OK: its state is READY, and *v
 *  is to be closed. `world` is the number of processes that can be peers. */
HCCL_CHECKED int hccl_verbs_open(const hccl_verbs_table_t *table,
                                 const hccl_verbs_settings_t *settings, const char *device,
                                 int port, int gid_index, hccl_verbs_card_t *card,
                                 hccl_verbs_t **v);

/** Before the first peer: the number of this process, and all of its ports that peers know of, in an order
 *  on which all processes agree. Number `first` of them is the one that was opened; others are when
 *  it fails. Without this call, there is that one alone. */
void hccl_verbs_set_ports(hccl_verbs_t *v, int me, const hccl_verbs_card_t *cards,
                          const int *gid_index, int n, int first);

/** Before the first message. */
void hccl_verbs_set_carrier(hccl_verbs_t *v, const hccl_verbs_carrier_t *carrier);

/** Whether hccl_verbs_forget is called when memory goes: only then do registrations stay. */
void hccl_verbs_keep(hccl_verbs_t *v, bool keeps);

/** This memory may be written to and sent from at any time, until hccl_verbs_close: it is registered now, for
 *  good. False: it cannot be. */
HCCL_CHECKED bool hccl_verbs_offer(hccl_verbs_t *v, const void *memory, size_t bytes);

/** From now on, no connection is made: peers and this process use the other way. */
void hccl_verbs_refuse(hccl_verbs_t *v);

/** The port that was opened. */
const hccl_verbs_card_t *hccl_verbs_card(const hccl_verbs_t *v);

void hccl_verbs_close(hccl_verbs_t *v);

/** A process to talk to; number: for the carrier and for messages to people. Its ports are as in
 *  hccl_verbs_set_ports of that process. NULL: no memory. It goes with v. */
hccl_verbs_peer_t *hccl_verbs_peer_new(hccl_verbs_t *v, int number, const hccl_verbs_card_t *cards,
                                       int n, int first);
int hccl_verbs_peer_number(const hccl_verbs_peer_t *peer);

/** Room for what the carrier has to remember of a peer. */
void **hccl_verbs_peer_slot(hccl_verbs_peer_t *peer);

/** Whether a message of so many bytes is written where the receiver says, by the device itself, as far as can be
 *  known now. */
bool hccl_verbs_writes_in_place(hccl_verbs_peer_t *peer, size_t bytes);

/** Starts a message. HCCL_ERR_NOTSUP: there is no connection to this peer, and both know: use the other
 *  way. */
HCCL_CHECKED int hccl_verbs_send(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key,
                                 const void *data, size_t bytes, hccl_verbs_message_t **message);
HCCL_CHECKED int hccl_verbs_receive(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key,
                                    void *data, size_t bytes, hccl_verbs_message_t **message);

/** As hccl_verbs_receive, but a message that comes in a slot of the ring stays there, to be read between
 *  hccl_verbs_pin and hccl_verbs_unpin, until hccl_verbs_return. It may be copied to `data` at any
 *  time meanwhile, where the ring needs the slot: else a sender could wait for ever for who waits for it. */
HCCL_CHECKED int hccl_verbs_borrow(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key, void *data,
                                   size_t bytes, hccl_verbs_message_t **message);

/** Where the bytes of such a message are, which has ended without an error: in the ring until hccl_verbs_unpin,
 *  which follows without waiting for anything. NULL: they are in `data`. */
const char *hccl_verbs_pin(hccl_verbs_message_t *message);

/** copies: that were made of it meanwhile. */
void hccl_verbs_unpin(hccl_verbs_message_t *message, int copies);

/** Instead of hccl_verbs_message_free: nobody needs the bytes any more. It may be pinned. */
void hccl_verbs_return(hccl_verbs_message_t *message, int copies);

/** How far it is. */
static inline hccl_verbs_end_t hccl_verbs_look(const hccl_verbs_message_t *message)
{
    return (hccl_verbs_end_t) atomic_load_explicit(&message->end, memory_order_acquire);
}

/** A message that is being received, and that nobody will send, ends, unless it has been matched. */
void hccl_verbs_cancel(hccl_verbs_message_t *message);

/** Gives the memory of a message back that is not under way any more. */
void hccl_verbs_message_free(hccl_verbs_message_t *message);

/** For who is about to sleep: from now on, a completion wakes hccl_verbs_sleep. What came before does not, so
 *  make progress and look once more before that. *busy: connections are being made, or messages wait for
 *  slots, which no completion tells of. False: there is nothing to sleep on. */
bool hccl_verbs_arm(hccl_verbs_t *v, bool *busy);

/** Sleeps for so long, or until there is a completion. */
void hccl_verbs_sleep(hccl_verbs_t *v, uint64_t ns);

/** Moves everything on that can be; returns the number of completions read. */
int hccl_verbs_progress(hccl_verbs_t *v);

/** This memory is going or has gone; from anywhere. */
void hccl_verbs_forget(hccl_verbs_t *v, const void *address, size_t bytes);

void hccl_verbs_count(hccl_verbs_t *v, hccl_verbs_counters_t *counters);

#endif
