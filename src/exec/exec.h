/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The execution object: all mutable state of one operation. It lives on the caller's stack for a
 * blocking call and inside the request for the others. Life of an operation:
 *
 *   entry/ fills call -> hccl_exec_bind: what memory, which plan, which lane, how many segments
 *     -> its turn on the lane comes (turn.c) -> hccl_run_begin -> hccl_run_advance until it says
 *     that it has ended -> hccl_exec_unbind: results to the user's layout, scratch returned.
 *
 * bind.c and views.c fill the views, run.c walks the plan, steps.c does the steps, turn.c and drive.c
 * decide when.
 */
#ifndef HCCL_EXEC_EXEC_H
#define HCCL_EXEC_EXEC_H

#include "exec/call.h"
#include "exec/combine.h"
#include "exec/comm.h"
#include "tier/tier.h"

/** How a buffer is laid out, seen as packed units (bytes; for reductions elements). */
typedef enum {
    HCCL_VIEW_NONE,
    HCCL_VIEW_VECTOR,  /* units in a row */
    HCCL_VIEW_UNIFORM, /* blocks of equal size at equal distances */
    HCCL_VIEW_TABLE,   /* blocks of any size anywhere */
    HCCL_VIEW_OWN      /* one block, whatever its number */
} hccl_view_kind_t;

typedef struct hccl_view {
    hccl_view_kind_t kind;
    char *base;       /* start of the first unit (not TABLE) */
    size_t units;     /* VECTOR: in all; UNIFORM, OWN: of a block */
    ptrdiff_t stride; /* UNIFORM: bytes from block to block */
    char **addr;      /* TABLE: [blocks] */
    size_t *len;      /* TABLE: [blocks] units */
} hccl_view_t;

/** A message whose operand is not one run of memory travels through this. */
typedef struct hccl_stage {
    struct hccl_stage *next;
    const hccl_step_t *step; /* RECV: scattered to the operand at the WAIT */
    char data[];
} hccl_stage_t;

/** A message that is read where the network tier has it (borrow.h). */
typedef struct hccl_loan hccl_loan_t;

/** One segment on its way through the plan. */
typedef struct hccl_cursor {
    int seg;       /* number of the segment, -1: idle */
    int step;      /* next step of the plan */
    int nmessages; /* messages not known to have ended */
    int32_t ack;   /* publications below this number of the segment are read */
    size_t at;     /* first unit of the segment, in the vector or in each block */
    size_t units;  /* units of the segment, of the vector or of each block */
    size_t q;      /* VECTOR: units of a plan block */
    size_t end;    /* VECTOR: blocks end here; one block: scratch goes on with copies of it */
    char *tmp;     /* scratch areas, one after the other */
    hccl_message_t *messages; /* [plan->max_requests]; apart.c has a list of its own here */
    hccl_stage_t *stages;     /* since the last WAIT */
    uint32_t landed;    /* landings whose message goes, or has gone, into its slot; a bit each */
    uint32_t told;      /* those of them that are published already */
    uint32_t asked;     /* borrowings whose message is under way, a bit each; */
    uint32_t lent;      /* those that are there, and do not lie where the plan says */
    hccl_loan_t *loans; /* [borrowings->n] */
} hccl_cursor_t;

/** Where an operation is. */
typedef enum {
    HCCL_EXEC_BOUND,   /* not begun: waits for its turn */
    HCCL_EXEC_OPENING, /* its lane is being agreed upon */
    HCCL_EXEC_RUNNING,
    HCCL_EXEC_LENDING, /* the plan is walked; peers still read what was published in place */
    HCCL_EXEC_ENDED
} hccl_exec_state_t;

enum { HCCL_EXEC_OWNED = 8 };

typedef struct hccl_exec {
    hccl_call_t call;
    hccl_comm_t *hc;
    hccl_exec_state_t state;
    int error; /* first Open MPI error code, OMPI_SUCCESS so far */

    /* Geometry, set by bind.c. */
    hccl_view_kind_t grid; /* VECTOR, UNIFORM, TABLE; NONE for barriers */
    size_t unit;           /* bytes of a unit */
    size_t units;          /* VECTOR: of the vector; UNIFORM: of a block */
    const size_t *len;     /* TABLE: [blocks] units, NULL when the sizes are private */
    hccl_view_t send, recv;
    hccl_combine_t combine;
    ompi_datatype_t *type; /* of the elements of a reduction */
    bool commutative;
    int root; /* as plans know it: rank, HCCL_ROOT_* or 0 */

    /* The way it is done. */
    const hccl_plan_t *plan;
    bool flat;     /* planned on the flat shape */
    int lane_kind; /* -1: none */
    hccl_lane_t *lane;
    int nseg;
    size_t seg_units;   /* VECTOR, UNIFORM: units of a segment but the last */
    size_t piece;       /* plans for blocks of private sizes: longest piece, */
    size_t parcel;      /* parcel, */
    size_t in_pieces;   /* and block that goes in pieces */
    uint32_t signature; /* what peers can compare: collective, bytes, op, root */
    int tag;            /* of messages of cursor 0; the other cursors' follow */
    int direct; /* what may be published in place, the bit of hccl_direct_t that counts here;
                           0: nothing */
    const struct hccl_landings *landings;     /* of the plan; NULL: no message goes into a slot */
    const struct hccl_borrowings *borrowings; /* of the plan; NULL: nothing is borrowed */
    struct hccl_trial *trial;                 /* this run is timed for it, NULL: it is not */
    bool trial_closes;                        /* it ends when the peers have ended */
    int trial_run;                            /* its number */
    size_t trial_bytes;
    double trial_began; /* nanoseconds */
    bool persistent;    /* started by MPI_Start, any number of times */
    uint32_t instance;  /* number of the persistent operation, or HCCL_INSTANCE_* */

    /* The run. */
    uint64_t base; /* the lane's tags up to this one are older operations' */
    uint64_t lent; /* last tag published in place, 0: none; I end when all peers have read it */
    int next_seg;  /* first segment not begun */
    int running;   /* cursors not idle */
    bool more;     /* plans for blocks of private sizes: a block goes on in the next segment */
    int ncursors;
    size_t area_bytes;  /* of one scratch area */
    size_t *tmp_offset; /* TABLE: [positions + 1] units in front of each of a scratch area */
    hccl_cursor_t cursor[HCCL_CURSORS];
    void *owned[HCCL_EXEC_OWNED]; /* pool memory to return at the end */
    int nowned;
    char *staged_recv;        /* packed image of the receive buffer, unpacked at the end */
    struct hccl_agree *agree; /* while OPENING */

    /* Queues, turn.c and drive.c. */
    hccl_queue_t *queue;    /* the one it waits or works in, NULL: none */
    struct hccl_exec *next; /* in the lane's queue */
    struct hccl_exec *next_active;
    struct hccl_request *request; /* NULL: blocking */
    bool finished;                /* blocking, on the list: tells the waiting caller */
} hccl_exec_t;

/** Reads the call: views, plan, lane, segments. *nothing: there is no data to move, the call is
 *  done. Returns an Open MPI error code. */
HCCL_CHECKED int hccl_exec_bind(hccl_exec_t *x, bool *nothing);

/** Whether the call moves nothing, as all ranks know; sets x->root. For persistent operations, which
 *  are bound only when they start. */
bool hccl_exec_is_nothing(hccl_exec_t *x);

/** Takes or drops references to the datatypes and the op of the call that mean something here. */
void hccl_exec_hold(hccl_exec_t *x, bool retain);

/** Chooses plan, lane and segments anew, on the flat shape or the true one. */
HCCL_CHECKED int hccl_exec_plan(hccl_exec_t *x, bool flat);

/** Puts results into the user's layout if all went well, and returns the scratch. Returns the
 *  error of the operation. */
HCCL_CHECKED int hccl_exec_unbind(hccl_exec_t *x);

/** Pool memory that lives as long as the operation is bound; NULL: none. */
void *hccl_exec_take(hccl_exec_t *x, size_t bytes);

/** Sets the cursors up. */
HCCL_CHECKED int hccl_run_begin(hccl_exec_t *x);

/** Says which units a cursor is about: those of segment seg. */
void hccl_run_place(const hccl_exec_t *x, hccl_cursor_t *c, int seg);

/** Ends the job: the peers wait for steps that this rank cannot make for want of memory, and no job
 *  is better than a hanging one. */
_Noreturn void hccl_run_give_up(const hccl_exec_t *x);

/** Goes as far as possible without waiting. *moved: something was done. Returns true when the plan
 *  has been walked to the end (x->error tells how it went). */
HCCL_CHECKED bool hccl_run_advance(hccl_exec_t *x, bool *moved);

typedef enum { HCCL_STEP_DONE, HCCL_STEP_LATER } hccl_step_result_t;

/** Tries one step. Errors are kept in x->error and the plan goes on, so that peers do not hang. */
HCCL_CHECKED hccl_step_result_t hccl_step_try(hccl_exec_t *x, hccl_cursor_t *c,
                                              const hccl_step_t *step);

static inline void hccl_exec_fail(hccl_exec_t *x, int error)
{
    if (OMPI_SUCCESS == x->error) {
        x->error = error;
    }
}

#endif
