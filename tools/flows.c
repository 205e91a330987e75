/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See flows.h. Rates change only where flows begin or end: of the links that these touch, and of
 * what is connected with them by other flows. So many independent links cost no more than one.
 */
#include "flows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Times are the same instant, and shares are equal, within this relative difference. */
#define NEAR 1e-12

/* Less of a burst is none, in bytes. */
#define LEAST_CREDIT 1.0

typedef struct flow {
    int link[HCCL_FLOW_LINKS];
    int next[HCCL_FLOW_LINKS],
        before[HCCL_FLOW_LINKS]; /* in the link's list: flow * LINKS + place */
    int n;
    int who;        /* -1: free; then next[0] is the next free one */
    uint32_t stamp; /* of the newest entry in the heap */
    uint32_t round; /* of sharing in which it has got its rate */
    double left, rate, since;
} flow_t;

typedef struct link {
    double capacity;
    int first; /* of its flows, -1: none */
    int flows;
    bool dirty;
    uint32_t round;     /* of sharing in which it was visited */
    double burst, peak; /* see hccl_flows_burst; burst 0: none */
    double credit;      /* of it, at `since` */
    double since, used; /* its rate since then */
    uint32_t stamp;     /* of the entry that says when the burst is used up */
    int unfixed;        /* while sharing */
    double limit, rest; /* ... bandwidth, and what of it is not yet given away */
} link_t;

typedef struct entry {
    double time;
    int flow; /* negative: -1 - number of a link, whose burst is used up */
    uint32_t stamp;
} entry_t;

struct hccl_flows {
    link_t *link;
    int nlinks;
    flow_t *flow;
    int nflows, free;
    int *dirty, ndirty;
    int *part;   /* [nlinks] links that are connected, while sharing */
    int *narrow; /* [nlinks] ... those with flows that have no rate yet */
    uint32_t round;
    uint64_t work;
    entry_t *heap;
    int nheap, room_heap;
    bool failed;
};

hccl_flows_t *hccl_flows_new(int nlinks, const double *capacity)
{
    hccl_flows_t *f = calloc(1, sizeof(*f));
    if (NULL == f) {
        return NULL;
    }
    f->nlinks = nlinks;
    f->free = -1;
    size_t n = (size_t) nlinks + 1;
    f->link = calloc(n, sizeof(*f->link));
    f->dirty = calloc(n, sizeof(*f->dirty));
    f->part = calloc(n, sizeof(*f->part));
    f->narrow = calloc(n, sizeof(*f->narrow));
    if (NULL == f->link || NULL == f->dirty || NULL == f->part || NULL == f->narrow) {
        hccl_flows_free(f);
        return NULL;
    }
    for (int i = 0; i < nlinks; i++) {
        f->link[i].capacity = capacity[i];
        f->link[i].first = -1;
    }
    return f;
}

void hccl_flows_free(hccl_flows_t *f)
{
    if (NULL == f) {
        return;
    }
    free(f->link);
    free(f->flow);
    free(f->dirty);
    free(f->part);
    free(f->narrow);
    free(f->heap);
    free(f);
}

void hccl_flows_burst(hccl_flows_t *f, int link, double burst, double peak)
{
    link_t *l = &f->link[link];
    l->burst = l->credit = burst;
    l->peak = peak > l->capacity ? peak : l->capacity;
}

uint64_t hccl_flows_work(const hccl_flows_t *f)
{
    return f->work;
}

bool hccl_flows_failed(const hccl_flows_t *f)
{
    return f->failed;
}

/* ---- ends of flows, earliest first ------------------------------------------------------------ */

static void push(hccl_flows_t *f, entry_t entry)
{
    if (f->nheap == f->room_heap) {
        int room = 2 * f->room_heap + 64;
        entry_t *heap = realloc(f->heap, (size_t) room * sizeof(*heap));
        if (NULL == heap) {
            f->failed = true;
            return;
        }
        f->heap = heap;
        f->room_heap = room;
    }
    int at = f->nheap++;
    while (at > 0 && f->heap[(at - 1) / 2].time > entry.time) {
        f->heap[at] = f->heap[(at - 1) / 2];
        at = (at - 1) / 2;
    }
    f->heap[at] = entry;
}

static void pop(hccl_flows_t *f)
{
    entry_t last = f->heap[--f->nheap];
    int at = 0;
    for (int child = 1; child < f->nheap; child = 2 * at + 1) {
        if (child + 1 < f->nheap && f->heap[child + 1].time < f->heap[child].time) {
            child++;
        }
        if (f->heap[child].time >= last.time) {
            break;
        }
        f->heap[at] = f->heap[child];
        at = child;
    }
    f->heap[at] = last;
}

/* ---- lists of links --------------------------------------------------------------------------- */

static void mark(hccl_flows_t *f, int link)
{
    if (!f->link[link].dirty) {
        f->link[link].dirty = true;
        f->dirty[f->ndirty++] = link;
    }
}

static void insert(hccl_flows_t *f, int number, int place)
{
    flow_t *flow = &f->flow[number];
    link_t *link = &f->link[flow->link[place]];
    int me = number * HCCL_FLOW_LINKS + place;
    flow->next[place] = link->first;
    flow->before[place] = -1;
    if (link->first >= 0) {
        f->flow[link->first / HCCL_FLOW_LINKS].before[link->first % HCCL_FLOW_LINKS] = me;
    }
    link->first = me;
    link->flows++;
    mark(f, flow->link[place]);
}

static void remove_from(hccl_flows_t *f, int number, int place)
{
    flow_t *flow = &f->flow[number];
    link_t *link = &f->link[flow->link[place]];
    int next = flow->next[place], before = flow->before[place];
    if (before >= 0) {
        f->flow[before / HCCL_FLOW_LINKS].next[before % HCCL_FLOW_LINKS] = next;
    } else {
        link->first = next;
    }
    if (next >= 0) {
        f->flow[next / HCCL_FLOW_LINKS].before[next % HCCL_FLOW_LINKS] = before;
    }
    link->flows--;
    mark(f, flow->link[place]);
}

static int take_free(hccl_flows_t *f)
{
    if (f->free < 0) {
        int more = 2 * f->nflows + 64;
        flow_t *flow = realloc(f->flow, (size_t) more * sizeof(*flow));
        if (NULL == flow) {
            f->failed = true;
            return -1;
        }
        memset(flow + f->nflows, 0, (size_t) (more - f->nflows) * sizeof(*flow));
        for (int i = more - 1; i >= f->nflows; i--) {
            flow[i].who = -1;
            flow[i].next[0] = f->free;
            f->free = i;
        }
        f->flow = flow;
        f->nflows = more;
    }
    int taken = f->free;
    f->free = f->flow[taken].next[0];
    return taken;
}

bool hccl_flows_add(hccl_flows_t *f, double now, const int *links, int n, double bytes, int who)
{
    int number = take_free(f);
    if (number < 0) {
        return false;
    }
    flow_t *flow = &f->flow[number];
    flow->n = n;
    flow->who = who;
    flow->left = bytes;
    flow->rate = 0;
    flow->since = now;
    for (int i = 0; i < n; i++) {
        flow->link[i] = links[i];
        insert(f, number, i);
    }
    return true;
}

/* ---- sharing ---------------------------------------------------------------------------------- */

static void set_rate(hccl_flows_t *f, int number, double now, double rate)
{
    flow_t *flow = &f->flow[number];
    if (flow->rate > 0 && fabs(rate - flow->rate) <= NEAR * rate) {
        return;
    }
    flow->left -= flow->rate * (now - flow->since);
    flow->left = flow->left > 0 ? flow->left : 0;
    flow->since = now;
    flow->rate = rate;
    push(f, (entry_t){now + flow->left / rate, number, ++flow->stamp});
}

/* What is left of a burst, which grows again while the link is not busy. */
static double credit_of(link_t *l, double now)
{
    l->credit += (l->capacity - l->used) * (now - l->since);
    l->credit = l->credit < l->burst ? l->credit : l->burst;
    l->credit = l->credit > LEAST_CREDIT ? l->credit : 0;
    l->since = now;
    return l->credit;
}

/* The links connected with `link` by flows; returns how many. */
static int collect(hccl_flows_t *f, int link, double now)
{
    int n = 1;
    f->part[0] = link;
    f->link[link].round = f->round;
    for (int i = 0; i < n; i++) {
        link_t *l = &f->link[f->part[i]];
        l->limit = l->burst > 0 && credit_of(l, now) > 0 ? l->peak : l->capacity;
        l->rest = l->limit;
        l->unfixed = l->flows;
        for (int at = l->first; at >= 0;) {
            const flow_t *flow = &f->flow[at / HCCL_FLOW_LINKS];
            for (int j = 0; j < flow->n; j++) {
                if (f->round != f->link[flow->link[j]].round) {
                    f->link[flow->link[j]].round = f->round;
                    f->part[n++] = flow->link[j];
                }
            }
            at = flow->next[at % HCCL_FLOW_LINKS];
        }
    }
    return n;
}

/* All flows of a link that have no rate yet get this one. */
static void fix(hccl_flows_t *f, link_t *link, double now, double rate)
{
    for (int at = link->first; at >= 0;) {
        int number = at / HCCL_FLOW_LINKS;
        flow_t *flow = &f->flow[number];
        if (f->round != flow->round) {
            flow->round = f->round;
            f->work++;
            set_rate(f, number, now, rate);
            for (int j = 0; j < flow->n; j++) {
                f->link[flow->link[j]].rest -= rate;
                f->link[flow->link[j]].unfixed--;
            }
        }
        at = flow->next[at % HCCL_FLOW_LINKS];
    }
}

/* The narrowest links first: their flows get equal shares, which are taken off the other links. */
static void share(hccl_flows_t *f, int n, double now)
{
    memcpy(f->narrow, f->part, (size_t) n * sizeof(*f->narrow));
    while (n > 0) {
        double least = INFINITY;
        int kept = 0;
        for (int i = 0; i < n; i++) {
            const link_t *l = &f->link[f->narrow[i]];
            if (l->unfixed > 0) {
                double each = l->rest / l->unfixed;
                least = each < least ? each : least;
                f->narrow[kept++] = f->narrow[i];
            }
        }
        n = kept;
        for (int i = 0; i < n; i++) {
            link_t *l = &f->link[f->narrow[i]];
            if (l->unfixed > 0 && l->rest / l->unfixed <= least * (1 + 1e-9)) {
                fix(f, l, now, least);
            }
        }
    }
}

/* When the bursts of these links will be used up. */
static void watch_bursts(hccl_flows_t *f, int n, double now)
{
    for (int i = 0; i < n; i++) {
        link_t *l = &f->link[f->part[i]];
        if (l->burst > 0) {
            l->used = l->limit - l->rest;
            l->stamp++;
            if (l->credit > 0 && l->used > l->capacity * (1 + 1e-9)) {
                push(f, (entry_t){now + l->credit / (l->used - l->capacity), -1 - f->part[i],
                                  l->stamp});
            }
        }
    }
}

/* Whether an entry has been overtaken by another one. */
static bool is_stale(const hccl_flows_t *f, const entry_t *entry)
{
    return entry->stamp
           != (entry->flow < 0 ? f->link[-1 - entry->flow].stamp : f->flow[entry->flow].stamp);
}

double hccl_flows_next(hccl_flows_t *f, double now)
{
    if (f->ndirty > 0) {
        f->round++;
        for (int i = 0; i < f->ndirty; i++) {
            f->link[f->dirty[i]].dirty = false;
            if (f->round != f->link[f->dirty[i]].round) {
                int n = collect(f, f->dirty[i], now);
                share(f, n, now);
                watch_bursts(f, n, now);
            }
        }
        f->ndirty = 0;
    }
    while (f->nheap > 0 && is_stale(f, &f->heap[0])) {
        pop(f);
    }
    return f->nheap > 0 ? f->heap[0].time : INFINITY;
}

int hccl_flows_take(hccl_flows_t *f, double now)
{
    while (f->nheap > 0 && f->heap[0].time <= now * (1 + NEAR)) {
        entry_t top = f->heap[0];
        bool stale = is_stale(f, &top);
        pop(f);
        if (!stale && top.flow < 0) {
            f->link[-1 - top.flow].credit = 0;
            f->link[-1 - top.flow].since = now;
            mark(f, -1 - top.flow);
        }
        if (stale || top.flow < 0) {
            continue;
        }
        flow_t *flow = &f->flow[top.flow];
        int who = flow->who;
        for (int i = 0; i < flow->n; i++) {
            remove_from(f, top.flow, i);
        }
        flow->stamp++;
        flow->who = -1;
        flow->next[0] = f->free;
        f->free = top.flow;
        return who;
    }
    return -1;
}
