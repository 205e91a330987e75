/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files verbs_* share among themselves; see verbs.h for what they do together. All of it is
 * guarded by the engine's lock, unless a comment says otherwise.
 *
 *   verbs_device.c   the engine's life, and lists that belong to the process
 *   verbs_port.c     one port of the process
 *   verbs_route.c    over which ports a connection goes, and how it moves to others
 *   verbs_connect.c  what a connection is made of: rings, queue pairs
 *   verbs_peer.c     when it is made, and what happens when it fails
 *   verbs_ring.c     rings: from items that wait to work requests
 *   verbs_send.c     the sender's side of messages
 *   verbs_receive.c  the receiver's
 *   verbs_credit.c   when what tells of free slots is lost
 *   verbs_poll.c     completions
 *   verbs_sleep.c    sleep until there is one
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

/** A port of mine that is open. */
typedef struct hccl_verbs_port {
    hccl_verbs_card_t card; /* what peers know of it */
    int gid_index;
    struct ibv_context *context;
    struct ibv_pd *pd;
    struct ibv_comp_channel *channel; /* NULL: nobody sleeps */
    struct ibv_cq *cq;
    int cqe;          /* entries of it, */
    int cqe_used;     /* and how many could be there at once */
    uint64_t longest; /* work request */
    uint32_t inlines; /* bytes that a queue pair takes with the work request */
    bool reads;       /* and lets peers read */
    hccl_verbs_cache_t cache;
} hccl_verbs_port_t;

/** The ports of a process that others know of, in an order on which all agree. */
typedef struct hccl_verbs_ports {
    int n;
    int first; /* the one that it uses unless that fails */
    hccl_verbs_card_t card[HCCL_VERBS_MAX_PORTS];
} hccl_verbs_ports_t;

/** Memory that was offered. */
typedef struct hccl_verbs_offer {
    const void *memory;
    size_t bytes;
} hccl_verbs_offer_t;

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
    uint64_t received;           /* slots seen */
    uint64_t consumed;           /* slots free again: all below it are */
    uint64_t told;               /* what the peer knows of that */
    bool *held;                  /* [slots] a message lies there that was unexpected, or is lent: */
    hccl_verbs_message_t **lent; /* [slots] this one; else NULL */
    uint64_t *credit;            /* the peer writes `consumed` of its side here; */
    uint64_t *report;            /* I write mine from here */
    uint64_t remote_credit;      /* there */

    /* The queue pair: counts of work requests. */
    uint64_t requests;  /* posted for sending */
    uint64_t done;      /* known to be done */
    uint64_t signalled; /* the last one that will tell */
    int receives;       /* posted for receiving */

    /* Questions (verbs_credit.c): mine for slots of the ring into which I send, and the peer's for the other. A
     * word is the count of questions, and below it the low half of `freed`. */
    uint64_t *question;    /* I write mine from here */
    uint64_t remote_asked; /* there, */
    uint32_t questions;    /* so many, */
    uint64_t *echo;        /* and read it from there again, to here, */
    uint64_t read_by;      /* by this work request; 0: it is not read */
    int unheard;           /* that were not there, in a row */
    uint64_t stuck_since;  /* ms: since when I wait for slots, 0: I do not, */
    uint64_t stuck_freed;  /* at this count */
    uint64_t *asked;       /* the peer writes its own here */
    uint64_t heard;        /* the last one that was answered */
    uint64_t told_then;    /* `told` at the last look, or answer, */
    uint64_t told_since;   /* ms: since when */
    int lost;              /* what was told, in a row, and has not arrived */
    bool must_tell;        /* `consumed` has to be told again */
} hccl_verbs_channel_t;

/** Where a connection is. */
typedef enum {
    HCCL_VERBS_IDLE,       /* nobody wanted one */
    HCCL_VERBS_WANTED,     /* to be prepared */
    HCCL_VERBS_VOTING,     /* the carrier has what I know of my ports */
    HCCL_VERBS_AGREED,     /* both know over which ports */
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
    hccl_verbs_ports_t ports; /* the peer's */
    int route;                /* which of all pairs of ports (verbs_route.c): */
    int mine_at, theirs_at;   /* numbers of my port and the peer's */
    uint64_t tried;           /* a bit for each route that has failed */
    hccl_verbs_port_t *port;  /* mine, open */
    void *carrier_slot;
    hccl_verbs_peer_state_t state;
    uint32_t generation;       /* of the connection that is or is being made */
    int failures;              /* connections broken since something got through */
    uint64_t since;            /* ms: when this state began */
    uint64_t next_try;         /* ms, CONNECTING */
    enum ibv_wc_status status; /* of the last fault */
    int connected;             /* CONNECTING: channels that are */
    bool moved;                /* over other ports since; messages have to be placed anew */
    hccl_verbs_info_t mine, theirs;
    char *arena;                   /* rings of both directions, one memory region, */
    struct ibv_mr *mr;             /* registered for `port`; NULL: not */
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
    int me; /* number of this process among all */
    int send_depth, receive_depth;
    hccl_verbs_ports_t ports;
    int gid_index[HCCL_VERBS_MAX_PORTS];
    hccl_verbs_port_t *port[HCCL_VERBS_MAX_PORTS]; /* NULL: not open */
    bool keeps;                                    /* registrations */
    hccl_verbs_offer_t *offers;
    size_t noffers;
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

/** Whether a message in a ring that gets through shows that the connection works: answers do not, since after
 *  each move they are given anew. */
static inline bool hccl_verbs_is_progress(uint32_t kind)
{
    return HCCL_VERBS_HERE != kind && HCCL_VERBS_NOTHING != kind;
}

/* verbs_port.c */
/** Opens a port and tries whether it can be used. The card says how it is; *port, if that is READY. */
void hccl_verbs_port_open(const hccl_verbs_t *v, const char *device, int number, int gid_index,
                          hccl_verbs_card_t *card, hccl_verbs_port_t **port);
void hccl_verbs_port_close(const hccl_verbs_t *v, hccl_verbs_port_t *port);
/** Port number `at` of mine; opened if it is not yet. NULL: it cannot be. */
hccl_verbs_port_t *hccl_verbs_port_at(hccl_verbs_t *v, int at);
/** Whether it is up and has the address that peers know. */
bool hccl_verbs_port_works(hccl_verbs_t *v, int at);
/** NULL: there is none to be had. */
struct ibv_qp *hccl_verbs_queue_pair(const hccl_verbs_t *v, hccl_verbs_port_t *port);

/* verbs_route.c */
/** Number of pairs of ports over which a connection to this peer could go. */
int hccl_verbs_routes(const hccl_verbs_peer_t *peer);
/** Finds the numbers of both ports of a route; false: they do not reach each other. */
bool hccl_verbs_route_ends(const hccl_verbs_peer_t *peer, int route, int *mine, int *theirs);
/** A bit for each port of mine that works. */
uint32_t hccl_verbs_working(hccl_verbs_t *v);
/** The route on which both go on after a fault, by what both have said; the same on both sides. */
int hccl_verbs_next_route(const hccl_verbs_peer_t *peer);
/** Goes over to a route. */
void hccl_verbs_move(hccl_verbs_peer_t *peer, int route);
/** Both know what has arrived: what has not is sent to where the receiver will say anew. */
void hccl_verbs_place_anew(hccl_verbs_peer_t *peer);
/** Writes the routes that have failed as text. */
void hccl_verbs_print_tried(const hccl_verbs_peer_t *peer, char *text, size_t bytes);

/* verbs_device.c */
uint64_t hccl_verbs_now(void); /* ms */
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
/** A number for a long message to or from a peer. */
uint32_t hccl_verbs_next_id(hccl_verbs_peer_t *peer);
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
/** The rings are not registered any more. */
void hccl_verbs_unregister(hccl_verbs_peer_t *peer);
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
/** What waits for a slot and belongs to a message that is about to end, is not needed any more. */
void hccl_verbs_withdraw(hccl_verbs_channel_t *ch, const hccl_verbs_message_t *message);
void hccl_verbs_pump(hccl_verbs_channel_t *ch);
void hccl_verbs_pump_all(hccl_verbs_peer_t *peer);
void hccl_verbs_credit(hccl_verbs_channel_t *ch, uint32_t consumed);
void hccl_verbs_acked(hccl_verbs_channel_t *ch, uint64_t upto);
/** What stands in the ring from slot `from` on, or waits for it, and tells of places in the memory of either
 *  side, becomes nothing. */
void hccl_verbs_void_places(hccl_verbs_channel_t *ch, uint64_t from);

/** Whether all slots are taken that the peer has, and somebody waits for one. */
bool hccl_verbs_waits_for_credit(const hccl_verbs_channel_t *ch);
/** Asks the peer which of its slots are free, and reads whether the question is there; tells the peer which of mine are. */
void hccl_verbs_ask(hccl_verbs_channel_t *ch);
void hccl_verbs_tell(hccl_verbs_channel_t *ch);

/* verbs_credit.c */
/** Asks and answers where that is due. */
void hccl_verbs_look_for_credits(hccl_verbs_peer_t *peer, uint64_t now);

/* verbs_send.c */
void hccl_verbs_start(hccl_verbs_message_t *message);
void hccl_verbs_take_place(hccl_verbs_peer_t *peer, const hccl_verbs_place_t *place, uint64_t room);
void hccl_verbs_part_arrived(hccl_verbs_message_t *message);

/* verbs_receive.c */
/** Says anew where long messages go that are not there yet. */
void hccl_verbs_answer_anew(hccl_verbs_peer_t *peer);
void hccl_verbs_arrived(hccl_verbs_channel_t *ch, uint64_t slot);
/** A slot that stays empty: all of the long message with my number `id` is there. */
void hccl_verbs_whole_arrived(hccl_verbs_channel_t *ch, uint32_t id);
void hccl_verbs_drop_early(hccl_verbs_peer_t *peer);

#endif
