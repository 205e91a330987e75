/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What travels between two processes that exchange messages by RDMA: the card in the modex, what
 * both tell each other when they connect, and the header in front of each message in a ring. All in
 * the sender's byte order: communicators across architectures are not served.
 *
 * Pure; knows no library. Used by the files verbs_* and, for the card, by the component.
 */
#ifndef HCCL_TIER_VERBS_WIRE_H
#define HCCL_TIER_VERBS_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/** Most queue pairs between two processes, and most ports of one. */
enum { HCCL_VERBS_MAX_CHANNELS = 32, HCCL_VERBS_MAX_PORTS = 8 };

/** Whether a process can use its port; above READY: why it cannot, to be told once. */
typedef enum {
    HCCL_VERBS_NONE,  /* there is no port, or nobody asked: nothing to tell */
    HCCL_VERBS_READY, /* device, port and memory are there */
    HCCL_VERBS_PORT_DOWN,
    HCCL_VERBS_NO_GID,    /* RoCE without a usable GID */
    HCCL_VERBS_NO_MEMORY, /* memory could not be registered: the limit of locked memory, mostly */
    HCCL_VERBS_NO_DEVICE, /* the device could not be opened, or lacks something */
    HCCL_VERBS_STATES
} hccl_verbs_state_t;

/** A port of a process, as others need it. */
typedef struct hccl_verbs_card {
    uint8_t state;   /* hccl_verbs_state_t */
    uint8_t mtu;     /* enum ibv_mtu */
    uint8_t port;    /* number, and the name of its device: for messages to people */
    uint8_t gid[16]; /* the port's address */
    char device[16];
} hccl_verbs_card_t;

/** Whether these two ports' addresses reach each other: in RoCE v2, IPv4 and IPv6 do not. */
static inline bool hccl_verbs_reach(const hccl_verbs_card_t *a, const hccl_verbs_card_t *b)
{
    static const uint8_t mapped[12] = {[10] = 0xff, [11] = 0xff};
    return (0 == __builtin_memcmp(a->gid, mapped, sizeof(mapped)))
           == (0 == __builtin_memcmp(b->gid, mapped, sizeof(mapped)));
}

/** Whether these two processes exchange messages by RDMA. The same whoever asks: both must choose
 *  alike. host: who shares memory (0: nobody does) has a faster way. */
static inline bool hccl_verbs_pair(const hccl_verbs_card_t *a, uint64_t host_a,
                                   const hccl_verbs_card_t *b, uint64_t host_b)
{
    return HCCL_VERBS_READY == a->state && HCCL_VERBS_READY == b->state
           && (host_a != host_b || 0 == host_a) && hccl_verbs_reach(a, b);
}

/** What the two sides tell each other, over the PML: after a fault of a connection that could go over other
 *  ports, first what they know of their ports (votes); then what a connection is made of. */
typedef struct hccl_verbs_info {
    uint32_t generation; /* of the connection: 1, 2, ...; both sides count alike */
    uint32_t refused;    /* 1: I cannot connect; 2: I give up what was connected */
    uint32_t status;     /* enum ibv_wc_status of the last fault */
    uint32_t votes;      /* 1: these two count, and nothing below */
    uint32_t working;    /* a bit for each port of mine that works */
    uint32_t failures;   /* over these ports since something got through */
    uint32_t reads;      /* 1: my arena can be read */
    uint32_t rkey;       /* of my arena */
    uint64_t arena;      /* its address; both sides' are laid out alike */
    struct {
        uint32_t qp;       /* queue pair number */
        uint32_t psn;      /* first packet number that I send */
        uint64_t received; /* messages in the ring that I have seen */
        uint64_t consumed; /* and those whose slots are free again */
    } channel[HCCL_VERBS_MAX_CHANNELS];
} hccl_verbs_info_t;

/** What a message in a ring is. */
typedef enum {
    HCCL_VERBS_EAGER = 1, /* a whole message of the engine follows */
    HCCL_VERBS_ASK,       /* a long one waits: id is the sender's number of it */
    HCCL_VERBS_HERE,      /* answer to ASK: write it there (hccl_verbs_place_t follows) */
    HCCL_VERBS_WRITTEN, /* one of `parts` parts is there: id is the receiver's number. Of a message that has one
                             part, the write of the part says so: then this is not sent, and its slot stays empty */
    HCCL_VERBS_PIECE,  /* bytes of it from `offset` on follow: for want of registered memory */
    HCCL_VERBS_NOTHING /* what was here holds no more: the connection has moved to other ports */
} hccl_verbs_kind_t;

/** The immediate data of a write: the number of the slot in the ring that it fills; or, with this bit, what
 *  WRITTEN's id would be, since the write was all of a long message. Numbers of messages do without the bit. */
#define HCCL_VERBS_WHOLE (UINT32_C(1) << 31)

typedef struct hccl_verbs_header {
    uint32_t kind;     /* hccl_verbs_kind_t */
    uint32_t comm;     /* EAGER, ASK: number of the communicator, */
    int32_t tag;       /* and the tag */
    uint32_t id;       /* ASK, WRITTEN, PIECE */
    uint32_t consumed; /* slots of the other direction's ring that are free again, so far */
    uint32_t parts;    /* WRITTEN */
    uint64_t bytes;    /* EAGER, ASK: of the message; HERE: that fit; PIECE: offset */
} hccl_verbs_header_t;

_Static_assert(32 == sizeof(hccl_verbs_header_t), "an 8-byte message goes inline in 40 bytes");

/** Where a long message is written. */
typedef struct hccl_verbs_place {
    uint64_t address;
    uint32_t rkey;
    uint32_t sender;   /* the sender's number of the message */
    uint32_t receiver; /* the receiver's */
    uint32_t way;      /* hccl_verbs_way_t */
} hccl_verbs_place_t;

typedef enum {
    HCCL_VERBS_WRITE,  /* by RDMA */
    HCCL_VERBS_PIECES, /* in pieces through the ring */
    HCCL_VERBS_NO_ROOM /* not at all: the receiver has no room */
} hccl_verbs_way_t;

#endif
