/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * What every network tier promises to the engine: messages between ranks of a communicator.
 *
 *  - A message is matched by communicator, sender, receiver and tag; those of the same four arrive
 *    in the order in which they were started. Messages that differ in one of these never wait for
 *    each other for ever, whatever the order in which both sides start them.
 *  - Starting one never waits. The memory belongs to the message until hccl_tier_test has said that
 *    it has ended. A message of no bytes is a message.
 *  - A receiver that is given more than it has room for reports an error; so does whoever waits for a
 *    message that can never come.
 *  - Progress is made by Open MPI's progress function.
 *
 * Which tier carries the messages of two processes follows from what both have published, so both
 * choose alike; the engine does not see which. This header refuses to know plans and operands; exec/
 * calls it, and nobody else.
 */
#ifndef HCCL_TIER_TIER_H
#define HCCL_TIER_TIER_H

#include "tier/pml.h"
#include "tier/rdma.h"

/** Where a message goes to, or comes from. */
typedef struct hccl_address {
    ompi_communicator_t *comm;
    int rank; /* in the remote group of an inter-communicator */
    int tag;
} hccl_address_t;

/** A message under way. */
typedef struct hccl_message {
    struct hccl_verbs_message *rdma; /* by RDMA; NULL: not */
    ompi_request_t *pml;             /* else Open MPI's request */
} hccl_message_t;

/** Starts sending bytes bytes. Returns an Open MPI error code; *m is a message on success alone. */
HCCL_CHECKED static inline int hccl_tier_send(const hccl_address_t *to, const void *data,
                                              size_t bytes, hccl_message_t *m)
{
    m->rdma = NULL;
    if (HCCL_UNLIKELY(hccl_rdma_active)) {
        int rc = hccl_rdma_message(to->comm, to->rank, to->tag, HCCL_RDMA_SEND,
                                   (void *) (uintptr_t) data, bytes, &m->rdma);
        if (NULL != m->rdma || OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return hccl_pml_send(to->comm, to->rank, to->tag, data, bytes, &m->pml);
}

static inline int hccl_tier_take(const hccl_address_t *from, hccl_rdma_kind_t kind, void *data,
                                 size_t bytes, hccl_message_t *m)
{
    m->rdma = NULL;
    if (HCCL_UNLIKELY(hccl_rdma_active)) {
        int rc = hccl_rdma_message(from->comm, from->rank, from->tag, kind, data, bytes, &m->rdma);
        if (NULL != m->rdma || OMPI_SUCCESS != rc) {
            return rc;
        }
    }
    return hccl_pml_receive(from->comm, from->rank, from->tag, data, bytes, &m->pml);
}

/** Starts receiving bytes bytes. Likewise. */
HCCL_CHECKED static inline int hccl_tier_receive(const hccl_address_t *from, void *data,
                                                 size_t bytes, hccl_message_t *m)
{
    return hccl_tier_take(from, HCCL_RDMA_RECEIVE, data, bytes, m);
}

/** As hccl_tier_receive, but the bytes may stay where the tier got them, to be read there: when the message
 *  has ended, hccl_tier_lends(m) says whether they do. Then *m is a message until hccl_tier_return; the
 *  tier may copy them to `data` at any time but between hccl_tier_pin and hccl_tier_unpin. */
HCCL_CHECKED static inline int hccl_tier_borrow(const hccl_address_t *from, void *data,
                                                size_t bytes, hccl_message_t *m)
{
    return hccl_tier_take(from, HCCL_RDMA_BORROW, data, bytes, m);
}

static inline bool hccl_tier_lends(const hccl_message_t *m)
{
    return NULL != m->rdma;
}

/** Where the bytes are, which may be read until hccl_tier_unpin; nobody may wait for anything meanwhile. NULL: they
 *  are in `data`. */
static inline const char *hccl_tier_pin(hccl_message_t *m)
{
    return hccl_rdma_pin(m->rdma);
}

/** copies: that were made of them meanwhile. */
static inline void hccl_tier_unpin(hccl_message_t *m, int copies)
{
    hccl_rdma_unpin(m->rdma, copies);
}

/** Nobody needs them any more, pinned or not. *m is no message any more. */
static inline void hccl_tier_return(hccl_message_t *m, int copies)
{
    hccl_rdma_return(m->rdma, copies);
    m->rdma = NULL;
}

/** Whether a message of bytes bytes from there can be received into my cells in shared memory with profit:
 *  the device writes it there itself. any: tests ask for all that can be. */
static inline bool hccl_tier_lands(const hccl_address_t *from, const void *data, size_t bytes,
                                   bool any)
{
    return (hccl_rdma_active && hccl_rdma_lands(from->comm, from->rank, data, bytes)) || any;
}

/** A message that is being received, and that nobody will send, ends: hccl_tier_test will say so. */
static inline void hccl_tier_cancel(hccl_message_t *m)
{
    if (NULL == m->rdma) {
        hccl_pml_cancel(m->pml);
    } else {
        hccl_rdma_cancel(m->rdma);
    }
}

/** For who is about to sleep: from now on, news of messages wakes hccl_tier_sleep. Make progress and look once
 *  more before that. *others: some messages may bring news that do not. False: all do not. */
static inline bool hccl_tier_arm(bool *others)
{
    return HCCL_UNLIKELY(hccl_rdma_active) && hccl_rdma_arm(others);
}

/** Sleeps for so long, or until there is news. */
static inline void hccl_tier_sleep(uint64_t ns)
{
    hccl_rdma_sleep(ns);
}

/** Whether the message has ended: then *error is its Open MPI error code, and *m no message any
 *  more, unless it is lent. */
HCCL_CHECKED static inline bool hccl_tier_test(hccl_message_t *m, int *error)
{
    return HCCL_LIKELY(NULL == m->rdma) ? hccl_pml_test(&m->pml, error)
                                        : hccl_rdma_test(&m->rdma, error);
}

#endif
