/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Sleep until there is a completion: see verbs_engine.h. Each open port has a completion channel then,
 * whose file descriptor becomes readable.
 */
#include <poll.h>
#include <time.h>

#include "tier/verbs_engine.h"

bool hccl_verbs_arm(hccl_verbs_t *v, bool *busy)
{
    bool armed = false;
    if (!v->set.sleeps || 0 == atomic_load_explicit(&v->active, memory_order_relaxed)) {
        return false;
    }
    pthread_mutex_lock(&v->lock);
    for (int i = 0; i < v->ports.n; i++) {
        hccl_verbs_port_t *port = v->port[i];
        if (NULL != port && NULL != port->channel) {
            /* What was told of before has been seen. */
            while (v->table->take_cq_event(port->channel)) {
            }
            armed = 0 == v->table->req_notify_cq(port->cq) || armed;
        }
    }
    /* A word that tells of free slots makes no completion. */
    *busy = NULL != v->attention || v->stalled;
    v->calls = UINT32_MAX; /* progress is called seldom now: the next one looks at the clock */
    pthread_mutex_unlock(&v->lock);
    return armed;
}

void hccl_verbs_sleep(hccl_verbs_t *v, uint64_t ns)
{
    struct pollfd fds[HCCL_VERBS_MAX_PORTS];
    nfds_t n = 0;
    pthread_mutex_lock(&v->lock);
    for (int i = 0; i < v->ports.n; i++) {
        if (NULL != v->port[i] && NULL != v->port[i]->channel) {
            fds[n++] = (struct pollfd){.fd = v->port[i]->channel->fd, .events = POLLIN};
        }
    }
    pthread_mutex_unlock(&v->lock);
    struct timespec limit = {.tv_sec = (time_t) (ns / 1000000000),
                             .tv_nsec = (long) (ns % 1000000000)};
    /* Whatever ends it, the caller looks again. */
    (void) ppoll(fds, n, &limit, NULL);
}
