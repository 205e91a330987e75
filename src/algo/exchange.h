/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Exchanges between the members of teams of equal size: every member's block to all members
 * (gathering), and the same backwards: every member's block of all members combined at him
 * (reducing). A pattern says who sends what in which round; the messages follow from it.
 *
 * Patterns are the same seen from each member, so a pattern is written in distances between members,
 * round the end. Knows no collective, as the other parts (parts.h). Only files of algo/ may include
 * this header.
 */
#ifndef HCCL_ALGO_EXCHANGE_H
#define HCCL_ALGO_EXCHANGE_H

#include "algo/parts.h"

/** One round of gathering: I send to the member `to` ahead of me, and receive from the one as far
 *  behind, the blocks of the members first, first + stride, ... (count of them) ahead of the
 *  sender. */
typedef struct hccl_round {
    int to, first, stride, count;
} hccl_round_t;

/** Every member gets each block once, from one who has it already. Round 0 sends the sender's own
 *  block. */
typedef struct hccl_pattern {
    int (*rounds)(int n);
    hccl_round_t (*round)(int n, int i);
    bool linear; /* as many rounds as members, one block in each */
    bool passes; /* linear; reducing: what comes in one round is sent on in the next one */
    bool
        strides; /* what travels together are members a power of two apart, and blocks lie in an order
                     in which those are together, if n is a power of two, or else in few runs */
    bool turns; /* linear; of several exchanges at once, each goes round in another way */
    bool far;   /* more data the further they go; else less, or all to the next member */
} hccl_pattern_t;

extern const hccl_pattern_t hccl_pattern_ring, hccl_pattern_nhr, hccl_pattern_nb;

/** What an algorithm does between nodes, or between all ranks: a pattern, backwards and forwards; or a
 *  whole allreduce of `cuts` positions from `first` on, dst = src of all members combined. */
typedef struct hccl_way {
    const char *name;     /* of the algorithm, without "hier_" */
    hccl_rails_who_t who; /* which ranks of a node take part */
    const hccl_pattern_t *pattern;
    bool piped; /* shares of the own node are combined while others travel */
    void (*across)(hccl_builder_t *b, const hccl_team_t *team, int tmp, int src, int dst, int first,
                   int cuts);
    int (*cuts)(int n); /* of n members */
    int areas;          /* of scratch, if more than one: tmp, tmp + 1, ... */
} hccl_way_t;

/** The way that an algorithm's name says. NULL: none; the entry of algorithms.def is wrong then, and
 *  its builder returns HCCL_ERR_INTERNAL. */
const hccl_way_t *hccl_way_of(int algorithm);

/** An exchange under way, for all my teams alike. */
typedef struct hccl_exchange {
    const hccl_pattern_t *pattern;
    int n; /* members */
    bool
        along; /* members are in the order of fast links: exchanges go round in both ways, no more */
    int rings;    /* ways round that differ, at most; below 1: as many as there are */
    int *slot;    /* [n] where the block of a member lies among the n of the map */
    int *run;     /* [n] the blocks of a message, by slot */
    int low, end; /* where they lie */
    bool *met;    /* [n] reducing: I have combined something into the block of the member that far
                   ahead of me */
} hccl_exchange_t;

/** HCCL_OK or HCCL_ERR_NOMEM; close in both cases. */
HCCL_CHECKED int hccl_exchange_open(hccl_exchange_t *x, const hccl_pattern_t *pattern, int n);
void hccl_exchange_close(hccl_exchange_t *x);

/** Opens one for a part of a plan. False: no memory, and the plan can't be made. Close in both cases. */
bool hccl_exchange_begin(hccl_exchange_t *x, hccl_builder_t *b, const hccl_pattern_t *pattern,
                         int n);

int hccl_exchange_rounds(const hccl_exchange_t *x);

/** The member so far ahead of member `me`. */
int hccl_exchange_ahead(const hccl_exchange_t *x, int me, int turn, int distance);

/** All ranks, node after node, in the order in which most data go to near nodes. */
hccl_team_t hccl_exchange_team(const hccl_pattern_t *pattern, const hccl_case_t *c);

/** For an exchange of all ranks' blocks among these: orders them by slot. HCCL_OK or
 *  HCCL_ERR_NOMEM. */
HCCL_CHECKED int hccl_exchange_order(const hccl_exchange_t *x, hccl_builder_t *b,
                                     const hccl_case_t *c);

/** One team that I am a member of. */
typedef struct hccl_stream {
    hccl_team_t team;
    hccl_map_t map; /* by slot */
    int turn;       /* distances are multiplied by it; prime to n */
} hccl_stream_t;

/** The turn of exchange number i of several. */
int hccl_exchange_turn(const hccl_exchange_t *x, int i);

/** Where nodes are members of exchanges: *seat[v] is the number of node v, so that most data go along
 *  the shape's ring. *own is NULL or to be freed. HCCL_OK or HCCL_ERR_NOMEM. */
HCCL_CHECKED int hccl_exchange_seats(const hccl_pattern_t *pattern, const hccl_shape_t *shape,
                                     const int **seat, int **own);

/** Starts the messages of a round; the caller waits. A member `complete` (-1: none) that has all
 *  blocks already is sent nothing. */
void hccl_exchange_gather(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int base,
                          int complete, int i);

/** Linear patterns: whose block has come to member `me` in a round; before the first one, his own. */
int hccl_exchange_source(const hccl_exchange_t *x, int me, int turn, int i);

/** Starts the messages of round i of reducing. What I have combined is in acc, else in src; what
 *  comes goes to tmp. */
void hccl_exchange_reduce(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int src,
                          int acc, int tmp, int i);

/** After the wait: acc = what has come combined with mine; in the last round dst, for my block.
 *  acc and tmp may be the same area if the pattern passes what comes. */
void hccl_exchange_combine(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int src,
                           int acc, int tmp, int dst, int i);

/** After the combinations of all streams in round i. */
void hccl_exchange_reduced(hccl_exchange_t *x, int i);

/** The members whose blocks meet mine in round i of reducing (sent false), or that I send. */
hccl_round_t hccl_exchange_touched(const hccl_exchange_t *x, int i, bool sent);

/** Starts one message for each run of the members whose `round` is i; the caller waits. */
void hccl_exchange_marked(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, bool send,
                          int peer, int base, const int *round, int i);

/* ---- whole exchanges ------------------------------------------------------------- */

/** The root's base to all members: scattered on the ways of gathering backwards, so that what is for
 *  several members goes together as far as it can (linear patterns: straight), then gathered, but for
 *  what a member has passed on before: each block comes to each member once. No turns. For `count` teams
 *  in which I have the same number, and so has the root, at once. */
void hccl_part_scattering(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int count,
                          int root, int base);

/** The slots of all members to the root, on the ways of gathering, for `count` teams in which I have the
 *  same number at once. */
void hccl_part_collecting(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int count,
                          int root, int base);

/** Every member's slot of base to all members, for `count` teams with the same members at once. */
void hccl_part_gathering(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int count,
                         int base, int complete);

/** Every member's slot of base to the root, a member, or to all (-1): Bruck's messages, one team. */
void hccl_part_uniting(hccl_builder_t *b, const hccl_stream_t *s, int root, int base);

/** dst = src of all members combined, of my slot only. acc (may be dst) and tmp are overwritten. */
void hccl_part_reducing(hccl_builder_t *b, hccl_exchange_t *x, const hccl_stream_t *s, int count,
                        int src, int acc, int tmp, int dst);

#endif
