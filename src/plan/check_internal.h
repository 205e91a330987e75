/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the files of the prover share. check_form.c looks at plans without walking them, check_data.c
 * knows what data mean, check_sizes.c how large they are, check_apart.c how blocks of private sizes
 * move, check_walk.c walks, check_message.c is the
 * network, check_count.c counts loads and stores, check_schedule.c says who moves, check.c holds all of
 * it together. Nobody else includes this.
 */
#ifndef HCCL_PLAN_CHECK_INTERNAL_H
#define HCCL_PLAN_CHECK_INTERNAL_H

#include "plan/check.h"

/** Sizes of blocks, as exec/bind.c finds them. */
typedef enum {
    HCCL_GRID_NONE,   /* barrier */
    HCCL_GRID_VECTOR, /* parts of a vector */
    HCCL_GRID_EQUAL,  /* blocks of one size */
    HCCL_GRID_TABLE,  /* blocks of sizes that all ranks know */
    HCCL_GRID_PRIVATE /* two ranks know the size of a block: who sends and who receives it */
} hccl_grid_t;

/** What one position of one base holds: a combination of contributions. All zero: never written. */
typedef struct hccl_cell {
    uint32_t n;         /* contributions combined */
    uint16_t sending;   /* messages that read it and are not waited for */
    uint16_t receiving; /* 1: a message that is not waited for writes it */
    uint64_t sum;       /* of the contributions' ids: who took part */
    uint64_t order;     /* polynomial in their ids: in which order */
    uint64_t tree;      /* hash of the expression: by which association */
} hccl_cell_t;

/** What became of a step. */
typedef enum { HCCL_CHECK_DONE, HCCL_CHECK_LATER } hccl_check_result_t;

/** One rank's buffers, from the collective and its role in it. */
typedef struct hccl_role {
    hccl_holds_t send, recv; /* NONE: no such buffer here */
    int nsend, nrecv;        /* positions of each */
    bool root;               /* of a rooted collective */
    int group;               /* 0 or 1 */
    int first;               /* global number of my group's rank 0 */
    int far;                 /* global number of the other group's rank 0, -1: none */
    int node;                /* among the nodes of both groups */
} hccl_role_t;

/** One message started, until its WAIT. */
typedef struct hccl_half {
    int rank, cursor; /* who started it */
    uint64_t key;     /* of the channel */
    int next;         /* in the channel's bucket, or among the free ones */
    int mine;         /* the one that this cursor started before */
    bool matched;
    int hops;     /* messages between nodes that led to it */
    double ready; /* when it was started */
    double done;  /* when it was complete */
    const hccl_step_t *step;
    uint64_t *known; /* barriers: who had entered, as the sender knew */
    uint32_t *seen;  /* the sender's clock */
} hccl_half_t;

typedef struct hccl_walker {
    int seg; /* -1: idle */
    int step;
    int open;   /* messages without a partner yet */
    int halves; /* messages since the last WAIT, newest first; -1: none */
    int32_t ack;
    int hops;
    double clock;
    hccl_cell_t *send, *recv, *tmp;
    uint32_t *seen; /* [n] steps of each rank in this segment that surely lie behind */
} hccl_walker_t;

typedef struct hccl_slot_image {
    uint64_t tag;
    const hccl_step_t *step; /* the PUBLISH */
    hccl_cell_t *cells;      /* [room] what was published */
    int room;
    uint64_t *known;
    uint32_t *seen; /* the publisher's clock */
    int hops;
    double time;
} hccl_slot_image_t;

typedef struct hccl_walk_rank {
    hccl_walker_t cursor[HCCL_CURSORS];
    int next_seg, running;
    bool more; /* blocks of private sizes: one of mine goes on in the next segment */
    bool ended;
    uint64_t ack;
    hccl_slot_image_t *ring; /* [slots], NULL: publishes nothing */
    uint64_t *known;         /* barriers: who has entered, as this rank knows */
    double cpu;              /* busy until then */
    int own_position;        /* of my own block */
    int own_followed;        /* 1: it is followed */
} hccl_walk_rank_t;

/** A part of a publication that a peer reads. */
typedef struct hccl_reading {
    int pub;        /* the publication's number */
    int rank, step; /* the reader */
    int first, count;
} hccl_reading_t;

typedef struct hccl_readings {
    hccl_reading_t *at;
    int n;
} hccl_readings_t;

typedef struct hccl_check_piece hccl_check_piece_t;

struct hccl_checker {
    hccl_check_world_t world;
    hccl_grid_t grid;
    bool copies; /* vectors in one block: each position of scratch has room for all of it */
    bool fixed;  /* every block stays at its position in all plans */
    bool barrier, neighbour;
    bool apart; /* the plans are for blocks of private sizes */
    int root;   /* global number of the root, -1: none */
    int split;  /* ranks of the first group */
    int nodes;
    int npositions; /* most positions of any base */
    int smallest_ring;
    hccl_role_t *role;         /* [n] */
    int **pub_step;            /* [n][npub] step that publishes the number, -1: none */
    int tracked;               /* positions followed */
    int *before;               /* [npositions + 1] positions followed below */
    int *at;                   /* [npositions] the position that is followed as number i */
    hccl_cell_t *prefix[2];    /* reductions: [n of group + 1] ranks below combined, without tree */
    hccl_readings_t *readings; /* [n] of each rank's publications; NULL: not looked at */
    hccl_reading_t *reading;   /* all of them */
    uint64_t *power;           /* powers of the polynomial's base */

    /* One run. */
    hccl_check_setup_t setup;
    hccl_check_report_t *report;
    int nseg, ncursors;
    uint64_t piece, parcel, in_pieces; /* units of the longest piece, parcel, block in pieces */
    uint64_t *start[2];     /* [nseg][positions + 1] units in front of a position, per group */
    uint64_t *own_units;    /* [nseg][n] units of a rank's own block */
    hccl_walk_rank_t *rank; /* [n] */
    hccl_half_t *half;
    int nhalves, free_half;
    int *bucket; /* [buckets] oldest message without partner */
    int *bucket_end;
    int buckets;
    uint64_t *tree[2];          /* [tracked] of the first rank that has ended; 0: none yet */
    double *link_out, *link_in; /* [nodes] busy until then */
    int words;                  /* of a `known` */
    uint64_t random;
    hccl_check_piece_t *chunks, *current, *large; /* memory of the run */
    bool failed;
    char *why; /* where the first fault goes */
};

/* check.c */
void hccl_check_fail(hccl_checker_t *k, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
uint64_t hccl_check_mix(uint64_t x);
uint64_t hccl_check_random(hccl_checker_t *k);
void *hccl_check_take(hccl_checker_t *k, size_t bytes);
const char *hccl_check_step_name(int kind);

/** The rank (both groups counted through) that a peer of a plan means. */
static inline int hccl_check_peer(const hccl_role_t *role, int peer)
{
    return 0 != (peer & HCCL_PEER_REMOTE) ? role->far + HCCL_PEER_RANK(peer) : role->first + peer;
}

/** The rank with an index within the node of `rank`. */
static inline int hccl_check_local(const hccl_checker_t *k, int rank, int index)
{
    const hccl_shape_t *shape = k->world.cases[rank].shape;
    int node = shape->node_of[rank - k->role[rank].first];
    return k->role[rank].first + shape->node_ranks[shape->node_start[node] + index];
}

static inline int hccl_check_node_size(const hccl_checker_t *k, int rank)
{
    const hccl_shape_t *shape = k->world.cases[rank].shape;
    int node = shape->node_of[rank - k->role[rank].first];
    return shape->node_start[node + 1] - shape->node_start[node];
}

static inline hccl_holds_t hccl_check_holds(const hccl_role_t *role, int base)
{
    return HCCL_BASE_SEND == base   ? role->send
           : HCCL_BASE_RECV == base ? role->recv
                                    : HCCL_HOLDS_GRID;
}

/* check_form.c */

/** The block at a position of a base: the one block of an OWN buffer is the rank's own. */
int hccl_check_block(const hccl_checker_t *k, int rank, int base, int position);
int hccl_check_form(hccl_checker_t *k);

/* check_data.c */
int hccl_check_prepare_data(hccl_checker_t *k);
int hccl_check_allocate(hccl_checker_t *k, int rank);
void hccl_check_fill(hccl_checker_t *k, int rank, hccl_walker_t *c);
void hccl_check_result(hccl_checker_t *k, int rank, const hccl_walker_t *c);
void hccl_check_combine(const hccl_checker_t *k, hccl_cell_t *left, const hccl_cell_t *right);

/** One contribution: what rank `who` gives as its block. */
hccl_cell_t hccl_check_contribution(uint64_t who, uint64_t block);

/** Cells of a range of positions, and how many of them are followed. */
hccl_cell_t *hccl_check_cells(const hccl_checker_t *k, int rank, const hccl_walker_t *c, int base,
                              int first, int count, int *n);

/* check_sizes.c */
void hccl_check_sizes(hccl_checker_t *k);

/** Units of an operand in a segment. */
uint64_t hccl_check_units(const hccl_checker_t *k, int rank, int seg, int base, int first,
                          int count);

/* check_apart.c */

/** Sets the lengths of pieces and parcels for a run. */
void hccl_check_measure(hccl_checker_t *k);

/** Units that are moved of an operand in a segment, taken as a block of SEND or RECV (scratch: 1). */
uint64_t hccl_check_apart_units(const hccl_checker_t *k, int rank, int seg, int base, int first,
                                int count);

/** Whether a message that is for LONG blocks alone has something to do. */
bool hccl_check_is_long(const hccl_checker_t *k, int rank, const hccl_step_t *step);

/** Units of parcels in an operand. */
uint64_t hccl_check_parcels(const hccl_checker_t *k, int rank, const hccl_walker_t *c, int base,
                            int first, int count);

/** ... in cells that have been marked. */
uint64_t hccl_check_marked(const hccl_checker_t *k, const hccl_cell_t *cells, int n);

/** Cells of an operand that travel as parcels: each keeps its length, or that it is LONG. */
void hccl_check_mark(const hccl_checker_t *k, int rank, int base, int first, hccl_cell_t *cells,
                     int n);

/** Tries a step of a plan for blocks of private sizes. */
hccl_check_result_t hccl_check_apart_try(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                         const hccl_step_t *step);

/** What a step may be and do by its `how`; NULL: nothing is wrong. */
const char *hccl_check_how(const hccl_checker_t *k, int rank, const hccl_step_t *step);

/* check_message.c */

/** Whether the cells may be read or written now; if not, the fault is reported. n cells from position
 *  `first` of a base on. */
bool hccl_check_readable(hccl_checker_t *k, int rank, const hccl_walker_t *c, int base, int first,
                         int count, const hccl_cell_t *cells, int n);
bool hccl_check_writable(hccl_checker_t *k, int rank, const hccl_walker_t *c,
                         const hccl_cell_t *cells, int n);
void hccl_check_start_message(hccl_checker_t *k, int rank, hccl_walker_t *c,
                              const hccl_step_t *step);

/** Whether a message that the WAIT is for lacks its partner; if none does, the WAIT itself. */
bool hccl_check_is_open(const hccl_checker_t *k, const hccl_walker_t *c, const hccl_step_t *wait);
void hccl_check_finish_messages(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                const hccl_step_t *wait);

/** Barriers: whoever knows `from` has entered, `into` knows then too. */
void hccl_check_learn(const hccl_checker_t *k, uint64_t *into, const uint64_t *from);
uint64_t *hccl_check_remember(hccl_checker_t *k, const uint64_t *known);

/* check_count.c */

/** The counters of a run, all 0. */
void hccl_check_count_open(hccl_checker_t *k);

/** A rank went once over `units` of each source and over as many of its result. */
void hccl_check_count_pass(hccl_checker_t *k, int rank, int sources, uint64_t units);

/** A rank read what another rank of its node had written. */
void hccl_check_count_read(hccl_checker_t *k, int reader, int writer, uint64_t units);

/* check_direct.c */
int hccl_check_prepare_direct(hccl_checker_t *k);

/** A copy of a clock (NULL: of zeros), in `into` or, if that is NULL, in new memory. */
uint32_t *hccl_check_clock(hccl_checker_t *k, const uint32_t *from, uint32_t *into);

/** What lies behind `from` lies behind this segment too. */
void hccl_check_hear(const hccl_checker_t *k, hccl_walker_t *c, const uint32_t *from);

/** Whether no peer may still read these cells in place; if one may, the fault is reported. */
bool hccl_check_unread(hccl_checker_t *k, int rank, const hccl_walker_t *c,
                       const hccl_cell_t *cells, int n);

/* check_walk.c */

/** Tries a step. */
hccl_check_result_t hccl_check_try(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                   const hccl_step_t *step);

/** Tags up to this one belong to operations before this one. */
uint64_t hccl_check_base_tag(const hccl_checker_t *k);
uint64_t hccl_check_tag(const hccl_checker_t *k, int rank, const hccl_walker_t *c, int pub);
hccl_slot_image_t *hccl_check_slot(const hccl_checker_t *k, int rank, uint64_t tag);

/** PUBLISH; and what COPY, FETCH, REDUCE and FOLD consist of: whether the publications that a step reads
 *  are there, the cells of one source (NULL after a fault or if none is followed), all of it. */
hccl_check_result_t hccl_check_publish(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                       const hccl_step_t *step);
hccl_check_result_t hccl_check_look(hccl_checker_t *k, int rank, const hccl_walker_t *c,
                                    const hccl_step_t *step);
const hccl_cell_t *hccl_check_source(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                     const hccl_step_t *step, const hccl_source_t *s,
                                     const hccl_cell_t *dst, int n);
hccl_check_result_t hccl_check_fold(hccl_checker_t *k, int rank, hccl_walker_t *c,
                                    const hccl_step_t *step);

/** Lets a rank's clock go on. */
double hccl_check_spend(hccl_checker_t *k, int rank, hccl_walker_t *c, double seconds);

/** Units that a step moves. */
uint64_t hccl_check_moved(const hccl_checker_t *k, int rank, const hccl_walker_t *c,
                          const hccl_step_t *step);

/** Begins a rank's next segment, false: none, or its cursor is busy. */
bool hccl_check_start_segment(hccl_checker_t *k, int rank);

/** One rank, up to `limit` steps of each of its cursors; whether anything was done. */
bool hccl_check_advance(hccl_checker_t *k, int rank, int limit, bool youngest_first);

/* check_schedule.c */
void hccl_check_walk(hccl_checker_t *k);

#endif
