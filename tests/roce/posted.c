/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * posted.c: see posted.h.
 */
#include "posted.h"

#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>

static int (*real_post)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static int (*real_poll)(struct ibv_cq *, int, struct ibv_wc *);
static posted_t so_far;

static int counting_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    bool payload = false, told = false;

    for (const struct ibv_send_wr *one = wr; NULL != one; one = one->next) {
        int64_t bytes = 0;
        for (int i = 0; i < one->num_sge; i++) {
            bytes += one->sg_list[i].length;
        }
        told = IBV_WR_RDMA_WRITE_WITH_IMM == one->opcode;
        so_far.requests++;
        so_far.immediate += told;
        so_far.inlined += 0 != (one->send_flags & IBV_SEND_INLINE);
        if (POSTED_SHORT < bytes) {
            payload = true;
            so_far.payload += bytes;
        } else {
            so_far.rest += bytes;
        }
    }
    so_far.calls++;
    so_far.split += payload && !told;
    return real_post(qp, wr, bad);
}

static int counting_poll(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    const int n = real_poll(cq, most, wc);

    so_far.completions += 0 < n ? n : 0;
    return n;
}

/* Found before the library's own. All devices have the same driver. */
__attribute__((visibility("default"))) struct ibv_context *
ibv_open_device(struct ibv_device *device)
{
    struct ibv_context *(*open_device)(struct ibv_device *) = NULL;
    void *library = dlopen("libibverbs.so.1", RTLD_LAZY);

    if (NULL != library) {
        *(void **) &open_device = dlsym(library, "ibv_open_device");
    }
    struct ibv_context *context = NULL == open_device ? NULL : open_device(device);
    if (NULL != context && counting_post != context->ops.post_send) {
        real_post = context->ops.post_send;
        real_poll = context->ops.poll_cq;
        context->ops.post_send = counting_post;
        context->ops.poll_cq = counting_poll;
    }
    return context;
}

posted_t posted_so_far(void)
{
    return so_far;
}
