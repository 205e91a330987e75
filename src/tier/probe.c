/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See probe.h. Whether two cores are near each other may change from minute to minute, where a
 * hypervisor moves them, and what is measured now holds for long. So the candidates are sizes that
 * cost little in either state, and the usual one stays unless another gains much.
 */
#include "tier/probe.h"

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "tier/shm_layout.h"

enum { CANDIDATES = 6, SLOTS = 8, FEWEST_ROUNDS = 3, MOST_ROUNDS = 10 };

static const struct candidate {
    uint32_t slot;
    bool both_ways;
} candidates[CANDIDATES] = {{(uint32_t) 32 << 10, false},  {(uint32_t) 64 << 10, false},
                            {(uint32_t) 128 << 10, false}, {(uint32_t) 256 << 10, true},
                            {(uint32_t) 128 << 10, true},  {(uint32_t) 64 << 10, true}};

#define LONGEST_SLOT ((size_t) 256 << 10)

/* How much less time a candidate must take. */
#define GAIN 0.1

/* What is moved: a message that needs several segments of any candidate. */
#define ONE_WAY_BYTES ((size_t) 512 << 10)
#define BOTH_WAYS_BYTES ((size_t) 768 << 10)

#define RING_BYTES (sizeof(hccl_cell_t) + SLOTS * (LONGEST_SLOT + 2 * HCCL_LINE_PAIR_BYTES))

/* Of a thread: its ring, what it sends, what it gets. */
#define SIDE_BYTES (RING_BYTES + 2 * BOTH_WAYS_BYTES)

/* A thread's part; each line has one writer. */
typedef struct side {
    struct probe *probe;
    int cpu;
    int me;
    hccl_cell_t *cell; /* mine: acknowledgement and ring */
    char *send, *recv; /* BOTH_WAYS_BYTES each */
    uint64_t room;     /* the peer has acknowledged tags up to this one, as last seen */
    uint64_t last;     /* tag */
    double least[CANDIDATES];
    _Alignas(HCCL_LINE_PAIR_BYTES) _Atomic uint32_t reached; /* the barrier I have come to */
} side_t;

typedef struct probe {
    side_t side[2];
    double deadline, enough; /* give up; make no other round if there were FEWEST_ROUNDS */
    bool ends;               /* thread 0's, before a meeting: this round was the last one */
    _Alignas(HCCL_LINE_PAIR_BYTES) _Atomic bool over; /* the deadline has passed, or one gave up */
} probe_t;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

/* One more poll; false: give up. */
static bool may_wait(probe_t *p, int *polls)
{
    if (0 == ++*polls % 256 && now() > p->deadline) {
        atomic_store_explicit(&p->over, true, memory_order_relaxed);
    }
    return !atomic_load_explicit(&p->over, memory_order_relaxed);
}

static bool meet(side_t *mine)
{
    side_t *peer = &mine->probe->side[1 - mine->me];
    uint32_t number = atomic_load_explicit(&mine->reached, memory_order_relaxed) + 1;
    int polls = 0;
    atomic_store_explicit(&mine->reached, number, memory_order_release);
    while ((int32_t) (atomic_load_explicit(&peer->reached, memory_order_acquire) - number) < 0) {
        if (!may_wait(mine->probe, &polls)) {
            return false;
        }
    }
    return true;
}

/* Orderings 1 and 2 of shm_layout.h, as in lane.h. */
static bool publish(side_t *mine, size_t stride, uint64_t tag, const char *from, size_t bytes)
{
    hccl_cell_t *theirs = mine->probe->side[1 - mine->me].cell;
    hccl_slot_t *slot = hccl_cell_slot(mine->cell, stride, tag % SLOTS);
    int polls = 0;
    while (tag > mine->room + SLOTS) {
        mine->room = atomic_load_explicit(&theirs->ack, memory_order_acquire);
        if (!may_wait(mine->probe, &polls)) {
            return false;
        }
    }
    memcpy(slot + 1, from, bytes);
    atomic_store_explicit(&slot->tag, tag, memory_order_release);
    return true;
}

static bool fetch(side_t *mine, size_t stride, uint64_t tag, char *to, size_t bytes)
{
    hccl_cell_t *theirs = mine->probe->side[1 - mine->me].cell;
    hccl_slot_t *slot = hccl_cell_slot(theirs, stride, tag % SLOTS);
    int polls = 0;
    while (tag != atomic_load_explicit(&slot->tag, memory_order_acquire)) {
        if (!may_wait(mine->probe, &polls)) {
            return false;
        }
    }
    memcpy(to, slot + 1, bytes);
    return true;
}

/* One message from thread `root`, or one from each to the other. */
static bool move(side_t *mine, const struct candidate *c, int root)
{
    size_t total = c->both_ways ? BOTH_WAYS_BYTES : ONE_WAY_BYTES;
    size_t stride = hccl_slot_stride(c->slot);
    bool publishes = c->both_ways || root == mine->me;
    bool fetches = c->both_ways || root != mine->me;
    for (size_t at = 0; at < total; at += c->slot) {
        uint64_t tag = ++mine->last;
        size_t bytes = total - at < c->slot ? total - at : c->slot;
        if ((publishes && !publish(mine, stride, tag, mine->send + at, bytes))
            || (fetches && !fetch(mine, stride, tag, mine->recv + at, bytes))) {
            return false;
        }
        atomic_store_explicit(&mine->cell->ack, tag, memory_order_release);
    }
    return true;
}

/* The first message warms the slots up; then both threads are root in turn. */
static bool try_candidate(side_t *mine, int i)
{
    const struct candidate *c = &candidates[i];
    double began = 0;
    int messages = c->both_ways ? 3 : 7;
    for (int k = 0; k < messages; k++) {
        if (1 == k) {
            began = now();
        }
        if (!move(mine, c, k % 2)) {
            return false;
        }
    }
    /* The next candidate has its slots elsewhere: nobody may read these any more. */
    if (!meet(mine)) {
        return false;
    }
    double took = now() - began;
    mine->least[i] = 0 == mine->least[i] || took < mine->least[i] ? took : mine->least[i];
    return true;
}

static bool stay_on(int cpu)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    if (cpu < 0 || cpu >= CPU_SETSIZE) {
        return false;
    }
    CPU_SET(cpu, &set);
    return 0 == pthread_setaffinity_np(pthread_self(), sizeof(set), &set);
}

/* One round; false: give up. */
static bool try_all(side_t *mine)
{
    for (int i = 0; i < CANDIDATES; i++) {
        if (!try_candidate(mine, i)) {
            return false;
        }
    }
    return true;
}

static bool do_rounds(side_t *mine)
{
    probe_t *p = mine->probe;
    bool ends = false;
    for (int round = 1; !ends; round++) {
        if (!try_all(mine)) {
            return false;
        }
        if (0 == mine->me) {
            p->ends = round >= FEWEST_ROUNDS && (MOST_ROUNDS == round || now() > p->enough);
        }
        if (!meet(mine)) {
            return false;
        }
        ends = p->ends;
    }
    return true;
}

static void *run(void *arg)
{
    side_t *mine = arg;
    bool done = stay_on(mine->cpu);
    if (done) {
        memset(mine->cell, 0, SIDE_BYTES); /* faulted in, and no tag is there */
        done = meet(mine) && do_rounds(mine);
    }
    if (!done) {
        atomic_store_explicit(&mine->probe->over, true, memory_order_relaxed);
    }
    return NULL;
}

/* The size for one kind of messages. */
static uint32_t winner(const probe_t *p, bool both_ways, uint32_t usual)
{
    double bound = 0;
    uint32_t best = usual;
    for (int i = 0; i < CANDIDATES; i++) {
        if (candidates[i].both_ways == both_ways && candidates[i].slot == usual) {
            bound = p->side[0].least[i] * (1 - GAIN);
        }
    }
    for (int i = 0; i < CANDIDATES; i++) {
        if (candidates[i].both_ways == both_ways && candidates[i].slot != usual
            && p->side[0].least[i] < bound) {
            bound = p->side[0].least[i];
            best = candidates[i].slot;
        }
    }
    return best;
}

/* Signals are the process's business, not for these threads. */
static bool start(pthread_t *thread, side_t *side)
{
    sigset_t all, before;
    sigfillset(&all);
    if (0 != pthread_sigmask(SIG_SETMASK, &all, &before)) {
        return false;
    }
    bool started = 0 == pthread_create(thread, NULL, run, side);
    return 0 == pthread_sigmask(SIG_SETMASK, &before, NULL) && started;
}

static void run_both(probe_t *p)
{
    pthread_t thread[2];
    int started = 0;
    while (started < 2 && start(&thread[started], &p->side[started])) {
        started++;
    }
    if (started < 2) {
        atomic_store_explicit(&p->over, true, memory_order_relaxed);
    }
    while (started > 0) {
        (void) pthread_join(thread[--started], NULL); /* fails only for what is no thread */
    }
}

int hccl_probe(const int pair[2], double seconds, const hccl_tuning_t *usual, hccl_tuning_t *found)
{
    probe_t p;
    memset(&p, 0, sizeof(p));
    p.deadline = now() + seconds;
    p.enough = now() + seconds / 3;
    char *memory =
        mmap(NULL, 2 * SIDE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (MAP_FAILED == (void *) memory) {
        return HCCL_ERR_NOMEM;
    }
    for (int i = 0; i < 2; i++) {
        side_t *s = &p.side[i];
        s->probe = &p;
        s->cpu = pair[i];
        s->me = i;
        s->cell = (hccl_cell_t *) (memory + (size_t) i * SIDE_BYTES);
        s->send = (char *) s->cell + RING_BYTES;
        s->recv = s->send + BOTH_WAYS_BYTES;
    }
    run_both(&p);
    munmap(memory, 2 * SIDE_BYTES);
    if (atomic_load_explicit(&p.over, memory_order_relaxed)) {
        return HCCL_ERR_NOTSUP;
    }
    *found = (hccl_tuning_t){.slot_large = winner(&p, false, usual->slot_large),
                             .slot_wide = winner(&p, true, usual->slot_wide)};
    return HCCL_OK;
}
