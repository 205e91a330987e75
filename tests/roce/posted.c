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
#include <string.h>

static int (*real_post)(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
static int (*real_poll)(struct ibv_cq *, int, struct ibv_wc *);
static struct ibv_mr *(*real_register)(struct ibv_pd *, void *, size_t, uint64_t, unsigned int);
static posted_t so_far;

/* Memory that is registered; rings: messages with immediate data leave from there, and so others' come there, as
 * the rings of both directions are one region. Kept when it is given back: no harm is done by it here. */
enum { REGIONS = 64 };
static struct {
    const char *begin, *end;
    bool rings;
} regions[REGIONS];
static int nregions;
static bool posting; /* the library may copy what goes with a work request */

static void note_rings(const char *from)
{
    for (int i = 0; i < nregions; i++) {
        regions[i].rings |= regions[i].begin <= from && from < regions[i].end;
    }
}

/* Found before libc's. */
__attribute__((visibility("default"))) void *memcpy(void *to, const void *from, size_t n)
{
    for (int i = 0; !posting && i < nregions; i++) {
        so_far.copies += regions[i].rings && regions[i].begin <= (const char *) from
                         && (const char *) from < regions[i].end;
    }
    return memmove(to, from, n);
}

static int counting_post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    bool payload = false, told = false;

    for (const struct ibv_send_wr *one = wr; NULL != one; one = one->next) {
        int64_t bytes = 0;
        for (int i = 0; i < one->num_sge; i++) {
            bytes += one->sg_list[i].length;
        }
        told = IBV_WR_RDMA_WRITE_WITH_IMM == one->opcode;
        if (told && POSTED_SHORT >= bytes) {
            note_rings((const char *) (uintptr_t) one->sg_list[0].addr);
        }
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
    posting = true;
    const int code = real_post(qp, wr, bad);
    posting = false;
    return code;
}

static int counting_poll(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    const int n = real_poll(cq, most, wc);

    so_far.completions += 0 < n ? n : 0;
    return n;
}

/* Found before the library's own. It is what ibv_reg_mr calls where the kind of access is no constant. */
__attribute__((visibility("default"))) struct ibv_mr *
ibv_reg_mr_iova2(struct ibv_pd *pd, void *memory, size_t bytes, uint64_t iova, unsigned int access)
{
    if (NULL == real_register) {
        void *library = dlopen("libibverbs.so.1", RTLD_LAZY);
        *(void **) &real_register = NULL == library ? NULL : dlsym(library, "ibv_reg_mr_iova2");
    }
    struct ibv_mr *mr =
        NULL == real_register ? NULL : real_register(pd, memory, bytes, iova, access);
    if (NULL != mr && REGIONS > nregions) {
        regions[nregions].begin = memory;
        regions[nregions].end = regions[nregions].begin + bytes;
        nregions++;
    }
    return mr;
}

/* Likewise. All devices have the same driver. */
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
