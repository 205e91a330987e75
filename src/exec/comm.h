/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What the engine keeps per communicator: shape, lanes, plans and the queue of operations. It has
 * no live state of an operation beyond that queue (exec.h has).
 *
 * Made by the component when a communicator is created, from cards alone: nothing here talks to
 * another process until the first collective.
 */
#ifndef HCCL_EXEC_COMM_H
#define HCCL_EXEC_COMM_H

#include "compat/ompi.h"
#include "exec/combine.h"
#include "plan/build.h"
#include "plan/cache.h"
#include "select/segments.h"
#include "tier/lane.h"

struct hccl_exec;
struct hccl_repeat;
struct hccl_request;

/** Blocking and nonblocking operations have lanes and tags of their own. Only among themselves do
 *  they come in the same order on all ranks: Open MPI makes a communicator (MPI_Comm_idup) with
 *  nonblocking operations on its parent that start when a rank happens to make progress, which may
 *  be before the user's next blocking call, in it, or after it. */
typedef enum { HCCL_BLOCKING, HCCL_NONBLOCKING, HCCL_ORDERS } hccl_order_t;

/** Tags are counted apart for up to this many kinds of operations (turn.c). A power of two. */
#define HCCL_TAG_KINDS 8

/** Whether data in the heap are published in place. */
typedef enum {
    HCCL_ZERO_COPY_UNKNOWN = -1,
    HCCL_ZERO_COPY_NEVER,
    HCCL_ZERO_COPY_TRIAL, /* where the first calls were faster for it (trial.h) */
    HCCL_ZERO_COPY_ALWAYS
} hccl_zero_copy_t;

/** Whether messages are received into the slots in which they will be published. */
typedef enum {
    HCCL_LAND_UNKNOWN = -1,
    HCCL_LAND_NEVER,
    HCCL_LAND_RDMA,  /* where the device writes them there itself */
    HCCL_LAND_ALWAYS /* all that can be */
} hccl_land_t;

/** Settings of the engine, the same on all ranks. Filled by the component once. */
typedef struct hccl_engine {
    size_t slot_bytes[HCCL_LANES]; /* largest publication of each kind of lane, by the parameters */
    size_t slots;                  /* per ring, a power of two */
    hccl_dials_t dials;            /* what the user says about algorithms */
    int pipeline;                  /* segments of an operation under way at once,
                                      1 to HCCL_CURSORS */
    int spin;                      /* polls between two calls of opal_progress while waiting */
    int tag_base;                  /* lowest tag used */
    int tag_ids;                   /* operations of a kind told apart by tags, a power of two */
    int sleep_after;               /* microseconds to wait before sleeping; 0: never; my own */
    bool shared_memory;            /* use of the shared-memory tier is allowed */
    uint64_t settings_hash;        /* of all settings that must agree between ranks */
    bool oversubscribed;           /* this host: processes outnumber the processors that they may
                                      run on; found when communicators are made, then for ever */
    hccl_zero_copy_t zero_copy;    /* this rank's own */
    size_t zero_copy_min;          /* smallest publication in place */
    hccl_land_t land;              /* this rank's own */
    bool inject_heap;              /* debugging: this rank pretends that it cannot map heaps */
    bool inject;                   /* debugging: this rank pretends that preparing a lane fails */
} hccl_engine_t;

extern hccl_engine_t hccl_engine;

/** How an earlier call was served: most calls repeat one of the last few. */
typedef struct hccl_memo {
    const hccl_plan_t *plan; /* NULL: empty */
    size_t units, unit;      /* key: units of the vector or of a block, bytes of a unit, */
    int root;                /* root, */
    int coll;                /* collective, and whether the op commutes */
    bool commutative;
    int lane;               /* hccl_lane_kind_t, -1: network only */
    int nseg;               /* number of segments */
    size_t seg_units;       /* units of a segment */
    uint32_t signature;     /* of the call: exec.h */
    hccl_combine_t combine; /* how to combine; op NULL unless op and type are predefined, so that
                               these pointers mean the same objects for ever */
} hccl_memo_t;

enum { HCCL_MEMOS = 16, HCCL_REPEATS = 64 };

/** Operations on one lane, in the order of the calls: each starts when its predecessor has ended on
 *  this rank. Operations that need no lane never wait. */
typedef struct hccl_queue {
    struct hccl_exec *head; /* the one that uses the lane */
    struct hccl_exec *tail;
} hccl_queue_t;

typedef struct hccl_comm {
    ompi_communicator_t *comm;
    ompi_communicator_t *local_comm; /* of the local group; inter-communicators: another one, which
                                        pending operations keep alive */
    int rank;                        /* mine, in the local group */
    int size;                        /* of the local group */
    int remote_size;                 /* 0: intra-communicator */
    int nsources, ndests; /* neighbours of this rank, known from the first neighbourhood call on */
    int *sources, *dests; /* their ranks, negative: none; one allocation, NULL until then */
    bool cartesian;
    size_t slot_bytes
        [HCCL_LANES];    /* largest publication of each kind of lane, the same on all ranks */
    bool crowded;        /* on some node, members outnumber the processors; the same on all ranks */
    hccl_shape_t *shape; /* of the local group, as the cards say */
    hccl_shape_t *flat;  /* every rank a node: when the lane is unavailable; made when needed */
    const hccl_region_card_t **regions; /* [ranks of my node] */
    /* Nonblocking operations may be driven, and by MPI_Comm_idup even called, by another thread than
     * the user's on this communicator. All that the latter then shares with them is guarded by
     * plan_lock: shape flat, plans, memo, trials, the list of persistent operations. */
    opal_mutex_t plan_lock;
    hccl_plan_cache_t plans;
    hccl_memo_t memo[HCCL_MEMOS];
    struct hccl_arrivals *arrivals; /* of plans; grows with them */
    struct hccl_trials *trials;     /* exec/trial.c; made when a buffer in the heap is first seen */
    struct hccl_repeat *repeats[HCCL_REPEATS]; /* of blocking calls: repeat.h; NULL: none */
    hccl_lane_t lanes[HCCL_ORDERS][HCCL_LANES];
    bool
        sees_memory; /* a lane was opened, and ranks of a node can read all of each other's memory */
    hccl_queue_t queues[HCCL_ORDERS][HCCL_LANES];
    uint32_t next_op[HCCL_ORDERS];   /* operations begun so far that every rank takes part in */
    uint64_t next_persistent;        /* persistent operations made so far, and numbers left out */
    uint64_t next_neighbor;          /* of neighbourhoods, likewise */
    struct hccl_request *persistent; /* those that exist; guarded by plan_lock */
    uint32_t next_here;    /* inter-communicators: rooted operations with this rank as root */
    uint32_t *next_rooted; /* [remote_size] the same for each root in the other group */
} hccl_comm_t;

/** Takes ownership of shape and regions (freed with free). slot_bytes: the same on all ranks. */
void hccl_comm_init(hccl_comm_t *hc, ompi_communicator_t *comm, hccl_shape_t *shape, bool crowded,
                    const hccl_region_card_t **regions, const size_t slot_bytes[HCCL_LANES]);
void hccl_comm_fini(hccl_comm_t *hc);

/** The shape to plan with: flat when no lane can be used. HCCL_ERR_NOMEM possible for flat. */
HCCL_CHECKED int hccl_comm_shape(hccl_comm_t *hc, bool flat, const hccl_shape_t **shape);

/** The key of a lane in the regions' directories. instance: number of the persistent operation,
 *  counted from 1, or whose of the communicator's own lanes it is. */
#define HCCL_INSTANCE_BLOCKING 0
#define HCCL_INSTANCE_NONBLOCKING ((UINT32_C(1) << 30) - 1)
uint64_t hccl_comm_lane_key(const hccl_comm_t *hc, int kind, uint32_t instance);

/** Whether this communicator has ranks that can share memory with others. */
static inline bool hccl_comm_has_lanes(const hccl_comm_t *hc)
{
    return 0 == hc->remote_size && hc->shape->max_local > 1 && hccl_engine.shared_memory;
}

#endif
