/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * The drivers: the same operation run to its end (blocking), a little at a time (nonblocking) or
 * again and again (persistent). entry/ calls these after filling the call; nobody else does.
 *
 * Every function returns an Open MPI error code.
 */
#ifndef HCCL_EXEC_DRIVE_H
#define HCCL_EXEC_DRIVE_H

#include "exec/exec.h"

/** Who frees a started request. The operation's end and MPI_Request_free may come from two threads
 *  at once: each replaces the fate, and the second one finds the other's. */
typedef enum {
    HCCL_FATE_OPEN,
    HCCL_FATE_ENDING,   /* about to be marked complete: the user frees it, after that */
    HCCL_FATE_ABANDONED /* freed by the user before it ended: frees itself */
} hccl_fate_t;

/** A nonblocking or persistent operation. */
typedef struct hccl_request {
    ompi_coll_base_nbc_request_t super;
    hccl_exec_t x;
    hccl_lane_t lane; /* persistent: its own, since such operations start in any order */
    hccl_fate_t fate;
    struct hccl_request *next; /* persistent: in the list of its communicator (comm.h), */
    struct hccl_request **at;  /* and what points to it there */
} hccl_request_t;
OBJ_CLASS_DECLARATION(hccl_request_t);

/** Called when the component opens and closes. */
HCCL_CHECKED int hccl_drive_init(void);
void hccl_drive_fini(void);

/** Runs a call to its end. */
HCCL_CHECKED int hccl_drive_blocking(hccl_comm_t *hc, hccl_call_t call);

/** Whether operations are under way that only Open MPI's progress moves on. */
bool hccl_drive_is_busy(void);

/** The next three steps make a nonblocking operation: take a request, fill request->x.call, start
 *  it (which consumes it, also on failure). NULL: no memory. */
hccl_request_t *hccl_drive_request(hccl_comm_t *hc);
HCCL_CHECKED int hccl_drive_nonblocking(hccl_request_t *request, ompi_request_t **out);

/** The same for a persistent one, which stays inactive until MPI_Start. */
HCCL_CHECKED int hccl_drive_persistent(hccl_request_t *request, ompi_request_t **out);

#endif
