/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See fake_verbs.h.
 */
#include "fake_verbs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define MOST 512

fake_t fake;

#define MUST(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "fake device, %s:%d: not true: %s\n", __FILE__, __LINE__, #condition); \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

typedef struct request {
    struct request *next;
    struct ibv_send_wr wr;
    struct ibv_sge sge;
    char *inlined;
} request_t;

typedef struct cq {
    struct ibv_cq cq;
    bool armed;
    int n, most;
    struct ibv_wc *wc;
} cq_t;

typedef struct qp {
    struct ibv_qp qp;
    cq_t *cq;
    uint32_t to; /* number of the queue pair that it is connected to */
    int state;
    request_t *sends;
    int nsends, most_sends;
    uint64_t receives[1024]; /* numbers of the requests, a ring */
    unsigned first, nreceives, most_receives;
    uint32_t inlines;
    int reads, is_read; /* RDMA READs that may be under way at once, to the peer and from it */
} qp_t;

static qp_t *qps[MOST];
static struct ibv_mr *mrs[MOST];
static int mr_access[MOST];
static uint32_t next_number;

void fake_reset(uint32_t seed)
{
    memset(&fake, 0, sizeof(fake));
    fake.random = seed;
    fake.queue_pairs_left = -1;
    fake.inlines = 64;
    fake.most_message = 32768;
    next_number = 100;
    for (int i = 0; i < MOST; i++) {
        MUST(NULL == qps[i] && NULL == mrs[i]);
    }
}

uint32_t fake_random(uint32_t n)
{
    fake.random = fake.random * 1664525u + 1013904223u;
    return (uint32_t) (((uint64_t) (fake.random >> 8) * n) >> 24);
}

/* ---- device ----------------------------------------------------------------------------------- */

static struct ibv_context *open_device(const char *name)
{
    int number = 0;
    if (0 != strncmp(name, "fake", 4)
        || ('\0' != name[4] && 1 != sscanf(name + 4, "%d", &number))) {
        return NULL;
    }
    MUST(0 <= number && number < FAKE_DEVICES);
    fake.others++;
    struct ibv_context *context = calloc(1, sizeof(*context));
    context->num_comp_vectors = number;
    return context;
}

/* The number in its name. */
static int device_of(const struct ibv_context *context)
{
    return context->num_comp_vectors;
}

static bool is_down(const qp_t *qp)
{
    return fake.down[device_of(qp->qp.pd->context)];
}

static int close_device(struct ibv_context *context)
{
    fake.others--;
    free(context);
    return 0;
}

static int query_device(struct ibv_context *context, struct ibv_device_attr *attr)
{
    (void) context;
    *attr = (struct ibv_device_attr){
        .max_qp_wr = 1024, .max_cqe = 65536, .max_qp_rd_atom = 16, .max_qp_init_rd_atom = 16};
    return 0;
}

static int query_port(struct ibv_context *context, uint8_t port, struct ibv_port_attr *attr)
{
    MUST(1 == port);
    *attr = (struct ibv_port_attr){.state = fake.down[device_of(context)] ? IBV_PORT_DOWN
                                                                          : IBV_PORT_ACTIVE,
                                   .active_mtu = IBV_MTU_1024,
                                   .link_layer = IBV_LINK_LAYER_ETHERNET,
                                   .max_msg_sz = fake.most_message};
    return 0;
}

static int query_gid(struct ibv_context *context, uint8_t port, int index, union ibv_gid *gid)
{
    (void) port;
    memset(gid, 0, sizeof(*gid));
    gid->raw[13] = fake.renamed[device_of(context)] ? 1 : 0;
    gid->raw[14] = (uint8_t) device_of(context);
    gid->raw[15] = (uint8_t) (index + 1);
    if (fake.no_gid) {
        memset(gid, 0, sizeof(*gid));
    }
    return 0;
}

static struct ibv_pd *alloc_pd(struct ibv_context *context)
{
    struct ibv_pd *pd = calloc(1, sizeof(*pd));
    pd->context = context;
    fake.others++;
    return pd;
}

static int dealloc_pd(struct ibv_pd *pd)
{
    fake.others--;
    free(pd);
    return 0;
}

/* ---- memory ----------------------------------------------------------------------------------- */

static struct ibv_mr *reg_mr(struct ibv_pd *pd, void *address, size_t bytes, int access)
{
    if ((0 != fake.lock_limit && fake.locked + (long) bytes > fake.lock_limit)
        || fake.broken[device_of(pd->context)]) {
        return NULL;
    }
    for (int i = 0; i < MOST; i++) {
        if (NULL == mrs[i]) {
            mrs[i] = calloc(1, sizeof(*mrs[i]));
            *mrs[i] =
                (struct ibv_mr){.context = pd->context, .pd = pd, .addr = address, .length = bytes};
            mrs[i]->lkey = mrs[i]->rkey = (next_number++ << 10) + (uint32_t) i;
            mr_access[i] = access;
            fake.locked += (long) bytes;
            fake.regions++;
            return mrs[i];
        }
    }
    return NULL;
}

static int dereg_mr(struct ibv_mr *mr)
{
    uint32_t at = mr->lkey % 1024;
    MUST(mr == mrs[at]);
    mrs[at] = NULL;
    fake.locked -= (long) mr->length;
    fake.regions--;
    free(mr);
    return 0;
}

static bool allowed(const struct ibv_pd *pd, uint32_t key, uint64_t address, size_t bytes,
                    int access)
{
    struct ibv_mr *mr = mrs[key % 1024 % MOST];
    return NULL != mr && key == mr->lkey && pd == mr->pd
           && (uint64_t) (uintptr_t) mr->addr <= address
           && address + bytes <= (uint64_t) (uintptr_t) mr->addr + mr->length
           && access == (mr_access[key % 1024] & access);
}

/* ---- completions ------------------------------------------------------------------------------ */

static struct ibv_comp_channel *create_comp_channel(struct ibv_context *context)
{
    struct ibv_comp_channel *channel = calloc(1, sizeof(*channel));
    channel->context = context;
    channel->fd = eventfd(0, EFD_NONBLOCK);
    fake.others++;
    fake.channels++;
    return channel;
}

static int destroy_comp_channel(struct ibv_comp_channel *channel)
{
    close(channel->fd);
    free(channel);
    fake.others--;
    return 0;
}

static int req_notify_cq(struct ibv_cq *ibv)
{
    ((cq_t *) ibv)->armed = true;
    return 0;
}

static bool take_cq_event(struct ibv_comp_channel *channel)
{
    uint64_t count;
    return sizeof(count) == read(channel->fd, &count, sizeof(count));
}

static struct ibv_cq *create_cq(struct ibv_context *context, int cqe, void *cq_context,
                                struct ibv_comp_channel *channel, int vector)
{
    (void) cq_context;
    (void) vector;
    cq_t *cq = calloc(1, sizeof(*cq));
    cq->cq.context = context;
    cq->cq.channel = channel;
    cq->most = cqe;
    cq->wc = calloc((size_t) cqe, sizeof(*cq->wc));
    fake.others++;
    return &cq->cq;
}

static int resize_cq(struct ibv_cq *ibv, int cqe)
{
    cq_t *cq = (cq_t *) ibv;
    cq->wc = realloc(cq->wc, (size_t) cqe * sizeof(*cq->wc));
    cq->most = cqe;
    return 0;
}

static int destroy_cq(struct ibv_cq *ibv)
{
    cq_t *cq = (cq_t *) ibv;
    fake.others--;
    free(cq->wc);
    free(cq);
    return 0;
}

static void complete(qp_t *qp, uint64_t id, enum ibv_wc_status status, enum ibv_wc_opcode opcode,
                     uint32_t imm)
{
    cq_t *cq = qp->cq;
    MUST(cq->n < cq->most);
    if (cq->armed) {
        uint64_t one = 1;
        cq->armed = false;
        MUST(sizeof(one) == write(cq->cq.channel->fd, &one, sizeof(one)));
    }
    cq->wc[cq->n++] = (struct ibv_wc){
        .wr_id = id, .status = status, .opcode = opcode, .imm_data = imm, .qp_num = qp->qp.qp_num};
}

static int poll_cq(struct ibv_cq *ibv, int n, struct ibv_wc *wc)
{
    cq_t *cq = (cq_t *) ibv;
    /* Not always all that is there. */
    n = fake.mute[device_of(cq->cq.context)] ? 0 : n < cq->n ? n : cq->n;
    n = 0 == fake_random(2) ? n : (int) fake_random((uint32_t) n + 1);
    memcpy(wc, cq->wc, (size_t) n * sizeof(*wc));
    memmove(cq->wc, cq->wc + n, (size_t) (cq->n - n) * sizeof(*wc));
    cq->n -= n;
    return n;
}

/* ---- queue pairs ------------------------------------------------------------------------------ */

static struct ibv_qp *create_qp(struct ibv_pd *pd, struct ibv_qp_init_attr *attr)
{
    if (attr->cap.max_inline_data > fake.inlines || 0 == fake.queue_pairs_left) {
        return NULL;
    }
    fake.queue_pairs_left -= fake.queue_pairs_left > 0 ? 1 : 0;
    for (int i = 0; i < MOST; i++) {
        if (NULL == qps[i]) {
            qp_t *qp = calloc(1, sizeof(*qp));
            qps[i] = qp;
            qp->qp.pd = pd;
            qp->qp.qp_num = (next_number++ << 10) + (uint32_t) i;
            qp->cq = (cq_t *) attr->send_cq;
            qp->state = IBV_QPS_RESET;
            qp->most_sends = (int) attr->cap.max_send_wr;
            qp->most_receives = attr->cap.max_recv_wr;
            qp->inlines = attr->cap.max_inline_data;
            MUST(qp->most_receives <= 1024);
            fake.queue_pairs++;
            return &qp->qp;
        }
    }
    return NULL;
}

static void drop_first(qp_t *qp)
{
    request_t *r = qp->sends;
    qp->sends = r->next;
    qp->nsends--;
    free(r->inlined);
    free(r);
}

/* Puts a queue pair in error: all that is posted comes back. */
static void to_error(qp_t *qp)
{
    qp->state = IBV_QPS_ERR;
    while (NULL != qp->sends) {
        complete(qp, qp->sends->wr.wr_id, IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 0);
        drop_first(qp);
    }
    while (qp->nreceives > 0) {
        complete(qp, qp->receives[qp->first], IBV_WC_WR_FLUSH_ERR, IBV_WC_SEND, 0);
        qp->first = (qp->first + 1) % 1024;
        qp->nreceives--;
    }
}

static int modify_qp(struct ibv_qp *ibv, struct ibv_qp_attr *attr, int mask)
{
    qp_t *qp = (qp_t *) ibv;
    MUST(0 != (mask & IBV_QP_STATE));
    if (IBV_QPS_ERR == attr->qp_state) {
        to_error(qp);
        return 0;
    }
    if (is_down(qp) && IBV_QPS_RTR == attr->qp_state) {
        return 110;
    }
    MUST((int) attr->qp_state == qp->state + 1);
    qp->state = attr->qp_state;
    if (IBV_QPS_RTR == attr->qp_state) {
        qp->to = attr->dest_qp_num;
        qp->is_read = attr->max_dest_rd_atomic;
        fake.to_receive = *attr;
    } else if (IBV_QPS_RTS == attr->qp_state) {
        qp->reads = attr->max_rd_atomic;
        fake.to_send = *attr;
    }
    return 0;
}

static int destroy_qp(struct ibv_qp *ibv)
{
    qp_t *qp = (qp_t *) ibv;
    uint32_t at = qp->qp.qp_num % 1024;
    MUST(qp == qps[at]);
    while (NULL != qp->sends) {
        drop_first(qp);
    }
    /* As real libraries do: completions of it are gone. */
    int kept = 0;
    for (int i = 0; i < qp->cq->n; i++) {
        if (qp->cq->wc[i].qp_num != qp->qp.qp_num) {
            qp->cq->wc[kept++] = qp->cq->wc[i];
        }
    }
    qp->cq->n = kept;
    qps[at] = NULL;
    fake.queue_pairs--;
    free(qp);
    return 0;
}

static int post_send(struct ibv_qp *ibv, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    qp_t *qp = (qp_t *) ibv;
    *bad = NULL;
    MUST(qp->state >= IBV_QPS_RTS);
    for (; NULL != wr; wr = wr->next) {
        request_t *r = calloc(1, sizeof(*r));
        r->wr = *wr;
        MUST(1 == wr->num_sge);
        r->sge = *wr->sg_list;
        if (0 != (wr->send_flags & IBV_SEND_INLINE)) {
            MUST(r->sge.length <= qp->inlines);
            r->inlined = malloc(r->sge.length + 1);
            memcpy(r->inlined, (void *) (uintptr_t) r->sge.addr, r->sge.length);
        }
        request_t **at = &qp->sends;
        while (NULL != *at) {
            at = &(*at)->next;
        }
        *at = r;
        MUST(++qp->nsends <= qp->most_sends);
    }
    if (IBV_QPS_ERR == qp->state) {
        to_error(qp);
    }
    if (NULL != fake.meanwhile) {
        fake.meanwhile();
    }
    return 0;
}

static int post_recv(struct ibv_qp *ibv, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    qp_t *qp = (qp_t *) ibv;
    *bad = NULL;
    for (; NULL != wr; wr = wr->next) {
        MUST(++qp->nreceives <= qp->most_receives);
        qp->receives[(qp->first + qp->nreceives - 1) % 1024] = wr->wr_id;
    }
    if (IBV_QPS_ERR == qp->state) {
        to_error(qp);
    }
    return 0;
}

static const char *status_text(enum ibv_wc_status status)
{
    return IBV_WC_SUCCESS == status ? "success" : "failure";
}

/* ---- the wire --------------------------------------------------------------------------------- */

static void fail(qp_t *qp, enum ibv_wc_status status)
{
    complete(qp, qp->sends->wr.wr_id, status, IBV_WC_RDMA_WRITE, 0);
    drop_first(qp);
    to_error(qp);
}

static bool is_dropped(const qp_t *qp)
{
    long *left = &fake.drops_words[device_of(qp->qp.pd->context)];
    bool dropped = 0 != *left;
    *left -= *left > 0 ? 1 : 0;
    return dropped;
}

/* Does the oldest request of a queue pair; false: the receiver is not ready. */
static bool perform(qp_t *qp)
{
    request_t *r = qp->sends;
    qp_t *to = qps[qp->to % 1024 % MOST];
    bool tells = IBV_WR_RDMA_WRITE_WITH_IMM == r->wr.opcode;
    if (NULL == to || to->qp.qp_num != qp->to || to->state < IBV_QPS_RTR || IBV_QPS_ERR == to->state
        || (0 != fake.longest && fake.longest < r->sge.length) || fake.unreachable || is_down(qp)
        || is_down(to)) {
        if (NULL != to && to->qp.qp_num == qp->to && to->state < IBV_QPS_RTR && !fake.unreachable) {
            return false; /* tried again for a while */
        }
        fail(qp, IBV_WC_RETRY_EXC_ERR);
        return true;
    }
    if (tells && 0 == to->nreceives) {
        fake.not_ready++;
        return false;
    }
    if (IBV_WR_RDMA_READ == r->wr.opcode) {
        MUST(qp->reads > 0 && to->is_read > 0 && NULL == r->inlined);
        MUST(allowed(qp->qp.pd, r->sge.lkey, r->sge.addr, r->sge.length, IBV_ACCESS_LOCAL_WRITE));
        MUST(allowed(to->qp.pd, r->wr.wr.rdma.rkey, r->wr.wr.rdma.remote_addr, r->sge.length,
                     IBV_ACCESS_REMOTE_READ));
        memcpy((void *) (uintptr_t) r->sge.addr, (void *) (uintptr_t) r->wr.wr.rdma.remote_addr,
               r->sge.length);
        fake.done++;
        if (0 != (r->wr.send_flags & IBV_SEND_SIGNALED)) {
            complete(qp, r->wr.wr_id, IBV_WC_SUCCESS, IBV_WC_RDMA_READ, 0);
        }
        drop_first(qp);
        return true;
    }
    MUST(NULL != r->inlined || allowed(qp->qp.pd, r->sge.lkey, r->sge.addr, r->sge.length, 0));
    MUST(allowed(to->qp.pd, r->wr.wr.rdma.rkey, r->wr.wr.rdma.remote_addr, r->sge.length,
                 IBV_ACCESS_REMOTE_WRITE));
    if (tells || 8 != r->sge.length || !is_dropped(qp)) {
        memcpy((void *) (uintptr_t) r->wr.wr.rdma.remote_addr,
               NULL != r->inlined ? r->inlined : (void *) (uintptr_t) r->sge.addr, r->sge.length);
    }
    fake.done++;
    if (tells) {
        complete(to, to->receives[to->first], IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM,
                 r->wr.imm_data);
        to->first = (to->first + 1) % 1024;
        to->nreceives--;
    }
    if (0 != (r->wr.send_flags & IBV_SEND_SIGNALED)) {
        complete(qp, r->wr.wr_id, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE, 0);
    }
    drop_first(qp);
    return true;
}

bool fake_step(void)
{
    uint32_t start = fake_random(MOST);
    for (uint32_t i = 0; i < MOST; i++) {
        qp_t *qp = qps[(start + i) % MOST];
        if (NULL != qp && IBV_QPS_RTS == qp->state && NULL != qp->sends && perform(qp)) {
            return true;
        }
    }
    return false;
}

/* What was done but whose completion is not read yet: the answer was lost. */
static void lose_answers(qp_t *qp)
{
    int kept = 0;
    for (int i = 0; i < qp->cq->n; i++) {
        const struct ibv_wc *wc = &qp->cq->wc[i];
        if (wc->qp_num != qp->qp.qp_num || IBV_WC_RDMA_WRITE != wc->opcode) {
            qp->cq->wc[kept++] = *wc;
        }
    }
    qp->cq->n = kept;
}

bool fake_break(void)
{
    uint32_t start = fake_random(MOST);
    for (uint32_t i = 0; i < MOST; i++) {
        qp_t *qp = qps[(start + i) % MOST];
        if (NULL != qp && IBV_QPS_RTS == qp->state) {
            if (fake.loses_answers) {
                lose_answers(qp);
            }
            to_error(qp);
            return true;
        }
    }
    return false;
}

const hccl_verbs_table_t fake_verbs = {
    .open_device = open_device,
    .close_device = close_device,
    .query_device = query_device,
    .query_port = query_port,
    .query_gid = query_gid,
    .alloc_pd = alloc_pd,
    .dealloc_pd = dealloc_pd,
    .reg_mr = reg_mr,
    .dereg_mr = dereg_mr,
    .create_comp_channel = create_comp_channel,
    .destroy_comp_channel = destroy_comp_channel,
    .create_cq = create_cq,
    .resize_cq = resize_cq,
    .destroy_cq = destroy_cq,
    .req_notify_cq = req_notify_cq,
    .take_cq_event = take_cq_event,
    .poll_cq = poll_cq,
    .create_qp = create_qp,
    .modify_qp = modify_qp,
    .destroy_qp = destroy_qp,
    .post_send = post_send,
    .post_recv = post_recv,
    .status_text = status_text,
};
