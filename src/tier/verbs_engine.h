/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files verbs_* share among themselves; see verbs.h for what they do together. All of it is
 * guarded by the engine's lock, unless a comment says otherwise.
 *
 *   verbs_device.c   the port, and lists that belong to the process
 *   verbs_connect.c  what a connection is made of: rings, queue pairs
 *   verbs_peer.c     when it is made, and what happens when it fails
 *   verbs_ring.c     rings: from items that wait to work requests
 *   verbs_send.c     the sender's side of messages
 *   verbs_receive.c  the receiver's
 *   verbs_poll.c     completions
 */
#ifndef HCCL_TIER_VERBS_ENGINE_H
#define HCCL_TIER_VERBS_ENGINE_H

#include <pthread.h>

#include "tier/verbs.h"
#include "tier/verbs_cache.h"

/** Most work requests in one call. */
enum { HCCL_VERBS_MAX_BATCH = 64 };

/** The number of a work request: whether it is for receiving; the connection's generation, since a
 *  device may use the number of a queue pair again while completions of the old one are not read; the
 *  channel; and its own count. */
#define HCCL_VERBS_RECEIVE (UINT64_C(1) << 63)
#define HCCL_VERBS_GENERATION(id) ((uint32_t) ((id) >> 55) & 0xff)
#define HCCL_VERBS_INDEX(id) ((uint32_t) ((id) >> 32) & 0x7fffff)

/** Work requests that a send queue takes, for each slot of the ring. */
enum { HCCL_VERBS_REQUESTS_PER_SLOT = 4 };

/** Bytes of a slot of channels other than 0, which carry WRITTEN alone. */
enum { HCCL_VERBS_NARROW_SLOT = 64 };

/** One thing that waits for a slot. */
typedef struct hccl_verbs_item {
    struct hccl_verbs_item *next;
    hccl_verbs_kind_t kind;
    hccl_verbs_message_t *message;
    size_t offset; /* WRITTEN: the part of the message that goes in front of it */
    size_t length;
    uint32_t parts;       /* WRITTEN: of how many */
    hccl_verbs_way_t way; /* HERE */
    uint32_t their_id;    /* HERE: the sender's number of the message */
} hccl_verbs_item_t;

/** What a slot that I have filled holds, until it is known to have arrived. */
typedef struct hccl_verbs_sent {
    hccl_verbs_message_t *message; /* WRITTEN: whose part goes in front, NULL: none */
    size_t offset, length;
    size_t bytes;  /* in the slot, header included */
    uint64_t last; /* number of the last work request for it */
} hccl_verbs_sent_t;

typedef struct hccl_verbs_channel {
    hccl_verbs_peer_t *peer;
    uint32_t index;    /* in the engine's table, */
    bool entered;      /* if it stands there, */
    int number;        /* and in the connection */
    struct ibv_qp *qp; /* NULL: none */
    uint32_t psn;
    size_t slot_bytes;

    /* My ring of what I send, and theirs: counts of slots so far. acked <= posted <= filled, filled -
     * freed <= slots. */
    char *out;                  /* [slots], registered */
    uint64_t remote;            /* address of the ring in the peer's memory */
    uint64_t acked;             /* known to have arrived */
    uint64_t posted;            /* handed to the queue pair */
    uint64_t filled;            /* filled with something */
    uint64_t freed;             /* free again at the peer */
    hccl_verbs_sent_t *sent;    /* [slots] */
    hccl_verbs_item_t *waiting; /* for a slot, oldest first */
    hccl_verbs_item_t **last;   /* where the next one is linked */

    /* The ring into which the peer writes. */
    char *in;
    uint64_t received;      /* slots seen */
    uint64_t consumed;      /* slots free again: all below it are */
    uint64_t told;          /* what the peer knows of that */
    bool *held;             /* [slots] an unexpected message lies there */
    uint64_t *credit;       /* the peer writes `consumed` of its side here; */
    uint64_t *report;       /* I write mine from here */
    uint64_t remote_credit; /* there */

    /* The queue pair: counts of work requests. */
    uint64_t requests;  /* posted for sending */
    uint64_t done;      /* known to be done */
    uint64_t signalled; /* the last one that will tell */
    int receives;       /* posted for receiving */
} hccl_verbs_channel_t;

/** Where a connection is. */
typedef enum {
    HCCL_VERBS_IDLE,       /* nobody wanted one */
    HCCL_VERBS_WANTED,     /* to be prepared */
    HCCL_VERBS_EXCHANGING, /* the carrier has what I said */
    HCCL_VERBS_CONNECTING, /* both have said it; the port may not be ready */
    HCCL_VERBS_CONNECTED,
    HCCL_VERBS_BROKEN,   /* its queue pairs are being emptied */
    HCCL_VERBS_REFUSING, /* its messages are handed over */
    HCCL_VERBS_REFUSED,  /* there is none, and both know */
    HCCL_VERBS_LOST      /* it was there once; nothing can be sent any more */
} hccl_verbs_peer_state_t;

/** A message that came before it was asked for. */
typedef struct hccl_verbs_early {
    struct hccl_verbs_early *next;
    hccl_verbs_header_t header;
    uint64_t slot; /* EAGER: number of the slot that it is in, */
    char *copy;    /* or its payload here */
} hccl_verbs_early_t;

struct hccl_verbs_peer {
    hccl_verbs_t *v;
    hccl_verbs_peer_t *next;      /* of all peers */
    hccl_verbs_peer_t *attention; /* next of those that are not at rest */
    bool attended;                /* it is in that list */
    int number;
    hccl_verbs_card_t card;
    void *carrier_slot;
    hccl_verbs_peer_state_t state;
    uint32_t generation; /* of the connection that is or is being made */
    int failures;        /* connections broken since something got through */
    uint64_t since;      /* ms: when this state began; CONNECTING: of the next try */
    int tries;
    enum ibv_wc_status status; /* of the last fault */
    int connected;             /* CONNECTING: channels that are */
    hccl_verbs_info_t mine, theirs;
    char *arena; /* rings of both directions, one memory region */
    struct ibv_mr *mr;
    hccl_verbs_channel_t *channel; /* [settings.channels] once there is an arena */
    uint32_t next_id;
    /* Messages, oldest first. */
    hccl_verbs_message_t *posted;    /* receives that wait for a match */
    hccl_verbs_message_t *starting;  /* sends that wait for a connection */
    hccl_verbs_message_t *sending;   /* long ones that asked */
    hccl_verbs_message_t *receiving; /* long ones that were answered */
    hccl_verbs_early_t *early;
};

struct hccl_verbs {
    pthread_mutex_t lock;
    const hccl_verbs_table_t *table;
    hccl_verbs_settings_t set;
    const hccl_verbs_carrier_t *carrier;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_cq *cq;
    int cqe;      /* entries of it, */
    int cqe_used; /* and how many could be there at once */
    int port, gid_index;
    enum ibv_mtu mtu;
    uint64_t longest; /* work request */
    int send_depth, receive_depth;
    uint32_t inlines; /* bytes that a queue pair takes with the work request */
    hccl_verbs_card_t card;
    hccl_verbs_cache_t cache;
    hccl_verbs_peer_t *peers;
    hccl_verbs_peer_t *attention;
    bool refuses;                    /* connections */
    bool stalled;                    /* items wait for slots */
    atomic_bool attending;           /* one thread at a time looks after `attention` */
    _Atomic int active;              /* peers that are not IDLE or REFUSED */
    unsigned calls;                  /* of progress, to look at the clock now and then */
    uint64_t looked;                 /* ms: when peers were last asked whether they called */
    hccl_verbs_channel_t **channels; /* by index; NULL: free */
    uint32_t nchannels;
    hccl_verbs_item_t *free_items;
    hccl_verbs_message_t *free_messages;
    hccl_verbs_early_t *free_early;
    hccl_verbs_counters_t count;
};

static inline uint64_t hccl_verbs_request_id(const hccl_verbs_channel_t *ch, uint32_t count)
{
    return (uint64_t) (ch->peer->generation & 0xff) << 55 | (uint64_t) ch->index << 32 | count;
}

/* verbs_device.c */
struct ibv_qp *hccl_verbs_queue_pair(hccl_verbs_t *v); /* NULL: there is none to be had */
uint64_t hccl_verbs_now(void);                         /* ms */
hccl_verbs_item_t *hccl_verbs_item_new(hccl_verbs_t *v);
void hccl_verbs_item_free(hccl_verbs_t *v, hccl_verbs_item_t *item);
/** A message to or from a peer. HCCL_ERR_NOTSUP: there is no connection, and both know; HCCL_ERR_SYS: it
 *  is lost; HCCL_ERR_NOMEM. */
HCCL_CHECKED int hccl_verbs_message_new(hccl_verbs_peer_t *peer, const hccl_verbs_key_t *key,
                                        void *data, size_t bytes, hccl_verbs_message_t **message);
/** Appends to, and takes from, a list of messages. */
void hccl_verbs_append(hccl_verbs_message_t **list, hccl_verbs_message_t *message);
void hccl_verbs_remove(hccl_verbs_message_t **list, hccl_verbs_message_t *message);
hccl_verbs_message_t *hccl_verbs_find(hccl_verbs_message_t *list, uint32_t id);
/** The message has ended; whoever waits may free it at once. */
void hccl_verbs_end(hccl_verbs_message_t *message, int error);

/* verbs_connect.c */
/** Makes rings and queue pairs, and says in peer->mine what the peer must know. False: that cannot be. */
HCCL_CHECKED bool hccl_verbs_prepare(hccl_verbs_peer_t *peer);
/** Connects all channels to what peer->theirs says, and goes on where the rings had got to. False: the port
 *  is not ready; to be tried again. */
HCCL_CHECKED bool hccl_verbs_connect(hccl_verbs_peer_t *peer);
/** Keeps the receive queue of a channel full; false: the queue pair refuses. */
HCCL_CHECKED bool hccl_verbs_refill(hccl_verbs_channel_t *ch);
/** Puts the queue pairs to this peer in error; destroys them; frees the rings. */
void hccl_verbs_stop(hccl_verbs_peer_t *peer);
void hccl_verbs_drop_queue_pairs(hccl_verbs_peer_t *peer);
void hccl_verbs_free_arena(hccl_verbs_peer_t *peer);

/* verbs_peer.c */
void hccl_verbs_peer_free(hccl_verbs_peer_t *peer);
/** A message needs a connection. */
void hccl_verbs_want(hccl_verbs_peer_t *peer);
/** The queue pairs to this peer do not work any more. SUCCESS: the peer says so. */
void hccl_verbs_fault(hccl_verbs_peer_t *peer, enum ibv_wc_status status);
/** Looks after connections that are not at rest. Without the lock. */
void hccl_verbs_attend(hccl_verbs_t *v);

/* verbs_ring.c */
void hccl_verbs_queue(hccl_verbs_channel_t *ch, hccl_verbs_item_t *item);
void hccl_verbs_pump(hccl_verbs_channel_t *ch);
void hccl_verbs_pump_all(hccl_verbs_peer_t *peer);
void hccl_verbs_credit(hccl_verbs_channel_t *ch, uint32_t consumed);
void hccl_verbs_acked(hccl_verbs_channel_t *ch, uint64_t upto);

/* verbs_send.c */
void hccl_verbs_start(hccl_verbs_message_t *message);
void hccl_verbs_take_place(hccl_verbs_peer_t *peer, const hccl_verbs_place_t *place);
void hccl_verbs_part_arrived(hccl_verbs_message_t *message);

/* verbs_receive.c */
void hccl_verbs_arrived(hccl_verbs_channel_t *ch, uint64_t slot);
void hccl_verbs_drop_early(hccl_verbs_peer_t *peer);

#endif
