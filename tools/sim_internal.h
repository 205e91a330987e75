/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the simulator's files share: sim_compile.c makes programs, sim_symmetry.c finds parts that
 * stand for others, sim_size.c knows sizes and segments, sim_run.c walks, sim_message.c is the
 * network, flows.c shares links. Nobody else includes this.
 */
#ifndef HCCL_TOOLS_SIM_INTERNAL_H
#define HCCL_TOOLS_SIM_INTERNAL_H

#include "flows.h"
#include "sim.h"

/** A step of a plan. */
typedef struct hccl_sim_step {
    uint8_t kind; /* hccl_step_kind_t */
    uint8_t how;  /* hccl_how_t */
    uint16_t nsrc;
    int32_t first, count;
    int32_t at;  /* SEND, RECV: the channel; PUBLISH: the number */
    int32_t src; /* index of the first source */
    int32_t ack;
} hccl_sim_step_t;

typedef struct hccl_sim_source {
    int32_t peer; /* index in my node, -1: my own memory */
    int32_t pub;
} hccl_sim_source_t;

/** Messages from one rank to another; in reduced programs from all ranks for which `from` stands
 *  to those that lie as `to` lies from it. */
typedef struct hccl_sim_channel {
    int from, to; /* ranks simulated */
    int out, in;  /* NICs, -1: inside a node */
    bool crosses; /* it leaves the leaf switch */
    int from_leaf, to_leaf;
    hccl_tier_t tier; /* inside a node */
    int started;      /* SENDs less RECVs: 0 when the program is whole */
} hccl_sim_channel_t;

/** A rank simulated. */
typedef struct hccl_sim_rank {
    int rank; /* in the shape */
    int node; /* among those simulated */
    int local;
    uint64_t first; /* its steps */
    int nsteps;
    int npub;
} hccl_sim_rank_t;

/** How parts of the machine are mapped onto each other: part q onto part q + s modulo their
 *  number, or onto q xor s. */
typedef enum { HCCL_SIM_NO_MAP, HCCL_SIM_TURN, HCCL_SIM_XOR } hccl_sim_map_t;

struct hccl_sim_program {
    hccl_sim_case_t c;
    hccl_coll_t coll;
    hccl_sim_map_t map;
    bool sampled;
    int part;   /* nodes of one part; all without a map */
    int parts;  /* of the machine; 1 without a map */
    int nranks; /* simulated */
    int nnodes;
    int nblocks, npositions, max_pub;
    bool publishes;
    int box;               /* positions of a box of parcels, 0: none */
    int32_t *order;        /* [nblocks], NULL: none */
    hccl_sim_rank_t *rank; /* [nranks], node after node */
    int *node_first;       /* [nnodes + 1] */
    hccl_sim_step_t *steps;
    uint64_t nsteps, room_steps;
    hccl_sim_source_t *sources;
    uint64_t nsources, room_sources;
    hccl_sim_channel_t *channel;
    int nchannels, room_channels;
    int32_t *table; /* hash: key -> channel */
    uint64_t *keys;
    int table_size;
    hccl_sim_link_t *links; /* of the last report */
    double *start[2];       /* of the last run: where positions begin, in a segment and in the
                               last */
};

/* sim_symmetry.c */

/** A hash of a plan as it is seen from the rank's own part, by either map. */
typedef struct hccl_sim_view {
    uint64_t turn, exclusive;
} hccl_sim_view_t;

hccl_sim_view_t hccl_sim_view(const hccl_sim_program_t *p, int rank, const hccl_plan_t *plan);

/** Finds the map and sets map, part, parts, sampled. */
HCCL_CHECKED int hccl_sim_find_map(hccl_sim_program_t *p, char *why);

/** The leaf switch of a node. */
int hccl_sim_leaf(const hccl_sim_program_t *p, int node);

/** Where part `to` lies from part `from`; the reverse of it. */
int hccl_sim_offset(const hccl_sim_program_t *p, int from, int to);
int hccl_sim_reverse(const hccl_sim_program_t *p, int offset);

/** Whether all nodes of a shape are built alike. */
bool hccl_sim_alike(const hccl_shape_t *shape);

/** The plan of a rank; the caller frees it. */
HCCL_CHECKED int hccl_sim_build(const hccl_sim_program_t *p, int rank, hccl_plan_t **plan,
                                char *why);

hccl_tier_t hccl_sim_tier(const hccl_shape_t *shape, int a, int b);

/* sim_size.c */

typedef struct hccl_sim_sizes {
    bool vector; /* else blocks of `bytes` */
    int nseg;
    double parcel;          /* blocks of private sizes: longest parcel */
    double bytes[2];        /* of a segment, of the last one: of the vector or of a block */
    const double *start[2]; /* VECTOR with rounded blocks: where positions begin; else NULL */
    int nblocks;
} hccl_sim_sizes_t;

HCCL_CHECKED int hccl_sim_sizes(hccl_sim_program_t *p, const hccl_sim_setup_t *setup,
                                hccl_sim_sizes_t *sizes);

static inline double hccl_sim_bytes(const hccl_sim_sizes_t *s, int seg, const hccl_sim_step_t *step)
{
    int last = seg + 1 == s->nseg;
    /* Blocks of private sizes are taken to be alike here: all of them parcels, or all LONG. */
    if (HCCL_HOW_PARCELS == step->how || HCCL_HOW_LONG == step->how) {
        bool moves = (s->bytes[last] > s->parcel) == (HCCL_HOW_LONG == step->how);
        return moves ? step->count * s->bytes[last] : 0;
    }
    if (!s->vector) {
        return step->count * s->bytes[last];
    }
    if (NULL != s->start[last]) {
        return s->start[last][step->first + step->count] - s->start[last][step->first];
    }
    return step->count * (s->bytes[last] / s->nblocks);
}

/* sim_run.c */

typedef enum {
    HCCL_SIM_WAKE,  /* a rank may have something to do */
    HCCL_SIM_READ,  /* its acknowledgement is seen by the others */
    HCCL_SIM_START, /* a message sets out */
    HCCL_SIM_SENT,  /* its last byte has left the sender */
    HCCL_SIM_THERE  /* it has arrived; or the receiver is ready for it */
} hccl_sim_kind_t;

typedef struct hccl_sim_event {
    double time;
    int kind;
    int who;        /* rank or message */
    uint64_t value; /* READ: the acknowledgement */
} hccl_sim_event_t;

typedef struct hccl_sim_cursor {
    int seg; /* -1: idle */
    int step;
    int open; /* messages under way */
    int ack;
    int hops;
    int arriving; /* hops that the messages received since the last WAIT bring */
    int missing;  /* the rank whose publication it waits for, -1: for something else */
} hccl_sim_cursor_t;

typedef struct hccl_sim_state {
    hccl_sim_cursor_t cursor[HCCL_CURSORS];
    int next_seg, running;
    double busy; /* the processor is, until then */
    bool queued; /* in the list of those that are looked at now */
    bool ended;
    bool cramped;           /* it waits for room in its ring */
    uint64_t ack, seen_ack; /* what it has acknowledged, and what of it the others have seen */
} hccl_sim_state_t;

typedef struct hccl_sim_slot {
    uint64_t tag;
    double time; /* when it was published */
    int hops;
} hccl_sim_slot_t;

typedef struct hccl_sim_message {
    int channel, cursor;
    int next; /* in its channel, or among the free ones */
    bool has_send, has_recv, eager;
    int missing;        /* of its arrival and the receiver's being ready */
    int hops;           /* of the sender */
    double sent, ready; /* when the sender and the receiver have started it */
    double bytes;
} hccl_sim_message_t;

typedef struct hccl_sim {
    hccl_sim_program_t *p;
    const hccl_sim_setup_t *setup;
    const hccl_machine_t *m;
    hccl_sim_report_t *report;
    hccl_sim_sizes_t sizes;
    int ncursors, slots;
    bool tight; /* rings are used more than once, so acknowledgements matter */
    double now;
    double begin;           /* of the operation */
    bool last;              /* its time counts */
    hccl_sim_state_t *rank; /* [nranks] */
    hccl_sim_slot_t *ring;  /* [nranks * slots] */
    hccl_sim_event_t *heap; /* by time */
    int nheap, room_heap;
    int *look; /* ranks to look at in this instant */
    int nlook;
    int ended;
    int *waiting; /* [nchannels * ncursors] first message that lacks a half, -1: none */
    hccl_sim_message_t *message;
    int nmessages, free_message;
    hccl_flows_t *flows;
    bool failed; /* no memory */
} hccl_sim_t;

/** At `time`, kind for who. */
void hccl_sim_at(hccl_sim_t *s, double time, hccl_sim_kind_t kind, int who);

/** The rank is looked at in this instant, if it waits. */
void hccl_sim_look(hccl_sim_t *s, int rank);

/* sim_message.c */

/** A SEND or RECV that is complete as a step at `ready`. */
void hccl_sim_start_message(hccl_sim_t *s, int rank, int cursor, const hccl_sim_step_t *step,
                            double bytes, double ready);

/** An event of a message. */
void hccl_sim_message_event(hccl_sim_t *s, const hccl_sim_event_t *event);

/** The flow of a message has ended. */
void hccl_sim_flow_ended(hccl_sim_t *s, int message);

#endif
