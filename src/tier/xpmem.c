/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See xpmem.h.
 */
#include "tier/xpmem.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>

/* libxpmem's interface, as its header <xpmem.h> declares it. */
typedef int64_t segid_t;
typedef int64_t apid_t;

typedef struct {
    apid_t apid;
    off_t offset;
} attachment_t;

#define WHOLE_SPACE SIZE_MAX /* XPMEM_MAXADDR_SIZE */
#define READ_WRITE 2         /* XPMEM_RDWR */
#define BY_MODE 1            /* XPMEM_PERMIT_MODE */
#define SAME_USER 0600

static struct {
    void *library; /* NULL: not loaded */
    int (*version)(void);
    segid_t (*make)(void *address, size_t size, int permit_type, void *permit);
    int (*remove)(segid_t segment);
    apid_t (*get)(segid_t segment, int flags, int permit_type, void *permit);
    int (*release)(apid_t apid);
    void *(*attach)(attachment_t from, size_t size, void *address);
    int (*detach)(void *address);
    segid_t mine;    /* 0: nothing offered */
    uint64_t *probe; /* what my card points at */
} xpmem;

typedef struct window {
    struct window *next;
    uint64_t index; /* address / 2^HCCL_XPMEM_WINDOW_BITS */
    char *base;
} window_t;

struct hccl_xpmem_peer {
    apid_t apid;
    pthread_mutex_t lock;        /* whoever adds a window */
    _Atomic(window_t *) windows; /* a list that only grows, at its head */
};

static bool find(const char *name, void *function)
{
    void *symbol = dlsym(xpmem.library, name);
    memcpy(function, &symbol, sizeof(symbol));
    return NULL != symbol;
}

static bool load(void)
{
    xpmem.library = dlopen("libxpmem.so.0", RTLD_NOW | RTLD_LOCAL);
    return NULL != xpmem.library && find("xpmem_version", &xpmem.version)
           && find("xpmem_make", &xpmem.make) && find("xpmem_remove", &xpmem.remove)
           && find("xpmem_get", &xpmem.get) && find("xpmem_release", &xpmem.release)
           && find("xpmem_attach", &xpmem.attach) && find("xpmem_detach", &xpmem.detach);
}

/* The mode as the library takes it: a number in the place of a pointer. */
static void *same_user(void)
{
    return (void *) (uintptr_t) SAME_USER;
}

int hccl_xpmem_offer(uint64_t proof, hccl_xpmem_card_t *card, const char **why)
{
    memset(card, 0, sizeof(*card));
    if (!load()) {
        *why = "no libxpmem.so.0 on this host";
    } else if (xpmem.version() < 0) {
        *why = "the kernel module is not loaded, or /dev/xpmem is not accessible";
    } else if (NULL == (xpmem.probe = malloc(sizeof(*xpmem.probe)))) {
        *why = "out of memory";
    } else if ((xpmem.mine = xpmem.make(NULL, WHOLE_SPACE, BY_MODE, same_user())) <= 0) {
        xpmem.mine = 0;
        *why = "xpmem_make failed";
    } else {
        *xpmem.probe = proof;
        *card = (hccl_xpmem_card_t){
            .segment = xpmem.mine, .probe = (uint64_t) (uintptr_t) xpmem.probe, .proof = proof};
        return HCCL_OK;
    }
    hccl_xpmem_withdraw();
    return HCCL_ERR_NOTSUP;
}

void hccl_xpmem_withdraw(void)
{
    if (0 != xpmem.mine) {
        (void) xpmem.remove(xpmem.mine);
    }
    free(xpmem.probe);
    if (NULL != xpmem.library) {
        (void) dlclose(xpmem.library);
    }
    memset(&xpmem, 0, sizeof(xpmem));
}

hccl_xpmem_peer_t *hccl_xpmem_open(const hccl_xpmem_card_t *card)
{
    hccl_xpmem_peer_t *peer = 0 == xpmem.mine ? NULL : calloc(1, sizeof(*peer));
    if (NULL == peer) {
        return NULL;
    }
    peer->apid = xpmem.get(card->segment, READ_WRITE, BY_MODE, same_user());
    (void) pthread_mutex_init(&peer->lock, NULL);
    const uint64_t *proof = peer->apid <= 0 ? NULL : hccl_xpmem_at(peer, card->probe);
    if (NULL == proof || *proof != card->proof) {
        hccl_xpmem_close(peer);
        return NULL;
    }
    return peer;
}

void hccl_xpmem_close(hccl_xpmem_peer_t *peer)
{
    window_t *w = atomic_load(&peer->windows);
    while (NULL != w) {
        window_t *next = w->next;
        (void) xpmem.detach(w->base);
        free(w);
        w = next;
    }
    if (peer->apid > 0) {
        (void) xpmem.release(peer->apid);
    }
    (void) pthread_mutex_destroy(&peer->lock);
    free(peer);
}

static const window_t *find_window(hccl_xpmem_peer_t *peer, uint64_t index)
{
    /* A window is complete before it is at the head of the list. */
    const window_t *w = atomic_load_explicit(&peer->windows, memory_order_acquire);
    while (NULL != w && w->index != index) {
        w = w->next;
    }
    return w;
}

static const window_t *add_window(hccl_xpmem_peer_t *peer, uint64_t index)
{
    attachment_t from = {peer->apid, (off_t) (index << HCCL_XPMEM_WINDOW_BITS)};
    window_t *w = malloc(sizeof(*w));
    if (NULL == w) {
        return NULL;
    }
    *w = (window_t){.next = atomic_load(&peer->windows), .index = index};
    w->base = xpmem.attach(from, HCCL_XPMEM_WINDOW_BYTES, NULL);
    if (NULL == w->base || (void *) -1 == (void *) w->base) {
        free(w);
        return NULL;
    }
    atomic_store_explicit(&peer->windows, w, memory_order_release);
    return w;
}

const void *hccl_xpmem_at(hccl_xpmem_peer_t *peer, uint64_t address)
{
    uint64_t index = address >> HCCL_XPMEM_WINDOW_BITS;
    const window_t *w = find_window(peer, index);
    if (HCCL_UNLIKELY(NULL == w)) {
        (void) pthread_mutex_lock(&peer->lock);
        w = find_window(peer, index);
        w = NULL == w ? add_window(peer, index) : w;
        (void) pthread_mutex_unlock(&peer->lock);
    }
    return NULL == w ? NULL : w->base + (address - (index << HCCL_XPMEM_WINDOW_BITS));
}
