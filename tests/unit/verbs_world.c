/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * See verbs_world.h.
 */
#include "verbs_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "tier/verbs_engine.h"

typedef struct letter {
    struct letter *next;
    hccl_verbs_info_t info;
} letter_t;

world_t world;
static letter_t *mail[PROCS][PROCS];             /* from, to */
static hccl_verbs_info_t *expects[PROCS][PROCS]; /* by whom, from whom */

/* Who a peer object belongs to, and whom it means. */
static void who(const hccl_verbs_peer_t *peer, int *me, int *other)
{
    for (*me = 0; *me < world.n; ++*me) {
        for (*other = 0; *other < world.n; ++*other) {
            if (peer == world.peer[*me][*other]) {
                return;
            }
        }
    }
    abort();
}

static int carrier_begin(hccl_verbs_peer_t *peer, const hccl_verbs_info_t *mine,
                         hccl_verbs_info_t *theirs)
{
    int me, other;
    who(peer, &me, &other);
    letter_t *letter = calloc(1, sizeof(*letter));
    letter->info = *mine;
    letter_t **at = &mail[me][other];
    while (NULL != *at) {
        at = &(*at)->next;
    }
    *at = letter;
    expects[me][other] = theirs;
    return HCCL_OK;
}

static bool carrier_ended(hccl_verbs_peer_t *peer, int *code)
{
    int me, other;
    who(peer, &me, &other);
    letter_t *letter = mail[other][me];
    if (NULL == letter || 0 == fake_random(3)) {
        return false;
    }
    mail[other][me] = letter->next;
    *expects[me][other] = letter->info;
    expects[me][other] = NULL;
    free(letter);
    *code = HCCL_OK;
    return true;
}

static bool carrier_called(hccl_verbs_peer_t *peer)
{
    int me, other;
    who(peer, &me, &other);
    return NULL == expects[me][other] && NULL != mail[other][me];
}

static int carrier_hand_over(hccl_verbs_message_t *m)
{
    m->handed = &world;
    world.handed++;
    return HCCL_OK;
}

static const hccl_verbs_carrier_t carrier = {carrier_begin, carrier_ended, carrier_called,
                                             carrier_hand_over};

const hccl_verbs_settings_t world_usual = {.channels = 1,
                                           .part_min = 4096,
                                           .slots = SLOTS,
                                           .eager = EAGER,
                                           .batch = 16,
                                           .timeout = 14,
                                           .retries = 6,
                                           .reconnects = 3,
                                           .registered_most = 1 << 20};

void world_begin(int n, const hccl_verbs_settings_t *settings, uint32_t seed, int ports)
{
    static const int gid_index[HCCL_VERBS_MAX_PORTS] = {3, 3, 3, 3, 3, 3, 3, 3};
    fake_reset(seed);
    memset(&world, 0, sizeof(world));
    world.n = n;
    for (int i = 0; i < n; i++) {
        for (int k = 0; k < ports; k++) {
            hccl_verbs_card_t *card = &world.card[i][k];
            *card = (hccl_verbs_card_t){
                .state = HCCL_VERBS_READY, .mtu = IBV_MTU_1024, .port = 1, .gid = {[15] = 4}};
            card->gid[14] = (uint8_t) (i * ports + k);
            snprintf(card->device, sizeof(card->device), "fake%d", i * ports + k);
        }
        hccl_verbs_card_t opened;
        assert_int_equal(HCCL_OK, hccl_verbs_open(&fake_verbs, settings, world.card[i][0].device, 1,
                                                  3, &opened, &world.v[i]));
        assert_memory_equal(opened.gid, world.card[i][0].gid, sizeof(opened.gid));
        hccl_verbs_set_ports(world.v[i], i, world.card[i], gid_index, ports, 0);
        hccl_verbs_set_carrier(world.v[i], &carrier);
        hccl_verbs_keep(world.v[i], true);
    }
    for (int i = 0; i < n; i++) {
        for (int j = 0; j < n; j++) {
            world.peer[i][j] =
                i == j ? NULL : hccl_verbs_peer_new(world.v[i], j, world.card[j], ports, 0);
        }
    }
}

/* Closes all, and sees that nothing is left. But who is done with all messages need not answer who
 * wants to connect again after the last fault. */
void world_end(void)
{
    for (int i = 0; i < world.n; i++) {
        hccl_verbs_close(world.v[i]);
        for (int j = 0; j < world.n; j++) {
            while (NULL != mail[i][j]) {
                letter_t *letter = mail[i][j];
                assert_true(letter->info.generation > 1);
                mail[i][j] = letter->next;
                free(letter);
            }
        }
    }
    assert_int_equal(0, fake.regions);
    assert_int_equal(0, fake.queue_pairs);
    assert_int_equal(0, fake.others);
    assert_int_equal(0, fake.locked);
}

void world_turn(void)
{
    for (uint32_t i = fake_random(4); i > 0; i--) {
        (void) fake_step();
    }
    (void) hccl_verbs_progress(world.v[fake_random((uint32_t) world.n)]);
}

/* Lets everything come to rest. */
void world_settle(void)
{
    for (int i = 0; i < 3000; i++) {
        world_turn();
    }
}

hccl_verbs_message_t *world_send(int from, int to, int tag, const void *data, size_t bytes)
{
    hccl_verbs_key_t key = {.comm = 7, .tag = tag};
    hccl_verbs_message_t *m = NULL;
    assert_int_equal(HCCL_OK, hccl_verbs_send(world.peer[from][to], &key, data, bytes, &m));
    return m;
}

hccl_verbs_message_t *world_receive(int to, int from, int tag, void *data, size_t bytes)
{
    hccl_verbs_key_t key = {.comm = 7, .tag = tag};
    hccl_verbs_message_t *m = NULL;
    assert_int_equal(HCCL_OK, hccl_verbs_receive(world.peer[to][from], &key, data, bytes, &m));
    return m;
}

/* Waits; returns the error. */
int world_await(hccl_verbs_message_t *m)
{
    time_t limit = time(NULL) + 20;
    while (HCCL_VERBS_UNDER_WAY == hccl_verbs_look(m)) {
        assert_true(time(NULL) < limit);
        world_turn();
    }
    int error = m->error;
    hccl_verbs_message_free(m);
    return error;
}

/* Ends with a connection, and nothing counted. */
void world_connect(void)
{
    char a = 1, b = 0;
    hccl_verbs_message_t *s = world_send(0, 1, 1, &a, 1);
    assert_int_equal(HCCL_OK, world_await(world_receive(1, 0, 1, &b, 1)));
    assert_int_equal(HCCL_OK, world_await(s));
    world_settle();
}

void world_age(uint64_t slots, bool word)
{
    for (int i = 0; i < 2; i++) {
        hccl_verbs_peer_t *peer = world.peer[i][1 - i];
        for (int k = 0; k < peer->v->set.channels; k++) {
            hccl_verbs_channel_t *ch = &peer->channel[k];
            ch->acked += slots;
            ch->posted += slots;
            ch->filled += slots;
            ch->freed += slots;
            ch->received += slots;
            ch->consumed += slots;
            ch->told += slots;
            ch->told_then += slots;
            ch->stuck_freed += slots;
            *ch->credit += word ? slots : 0;
        }
    }
}

hccl_verbs_counters_t world_counted(int process)
{
    hccl_verbs_counters_t c;
    hccl_verbs_count(world.v[process], &c);
    return c;
}

/* ---- random ----------------------------------------------------------------------------------- */

typedef struct stream {
    int from, to, tag;
    int sent, received; /* messages started */
} stream_t;

typedef struct flight {
    hccl_verbs_message_t *message;
    unsigned char *data;
    size_t bytes; /* sent, or room for it */
    bool receives;
    bool too_long; /* there is less room than it takes */
    uint32_t seed;
} flight_t;

/* Length and contents of message `number` of a stream. */
static uint32_t seed_of(const stream_t *s, int number)
{
    return (uint32_t) (s->from * 31 + s->to * 17 + s->tag * 7 + number * 101 + 13) * 2654435761u;
}

static size_t bytes_of(uint32_t seed)
{
    return 0 == seed % 3 ? seed / 3 % 60000 : 1 == seed % 3 ? seed / 3 % 64 : seed / 3 % 600;
}

static unsigned char byte_of(uint32_t seed, size_t at)
{
    return (unsigned char) ((seed >> 8) + at * 11 + at / 251);
}

static flight_t start(const stream_t *s, int number, bool receives)
{
    flight_t f = {.receives = receives, .seed = seed_of(s, number)};
    f.bytes = bytes_of(f.seed);
    if (receives && 4 == f.seed / 64 % 8 && f.bytes > 0) {
        f.too_long = true;
        f.bytes /= 2;
    }
    f.data = malloc(f.bytes + 1);
    for (size_t i = 0; i < f.bytes + 1; i++) {
        f.data[i] = receives ? 0 : byte_of(f.seed, i);
    }
    f.message = receives ? world_receive(s->to, s->from, s->tag, f.data, f.bytes)
                         : world_send(s->from, s->to, s->tag, f.data, f.bytes);
    return f;
}

/* Whether a message has ended; it is checked then. */
static bool over(flight_t *f)
{
    if (HCCL_VERBS_UNDER_WAY == hccl_verbs_look(f->message)) {
        return false;
    }
    assert_int_equal(f->too_long ? HCCL_ERR_ARG : HCCL_OK, f->message->error);
    assert_int_equal(0, f->receives ? f->data[f->bytes] : 0);
    hccl_verbs_message_free(f->message);
    for (size_t i = 0; f->receives && i < f->bytes; i++) {
        assert_int_equal(byte_of(f->seed, i), f->data[i]);
    }
    memset(f->data, 0xee, f->bytes);
    /* The process may give the memory back, as free does for long blocks. */
    hccl_verbs_forget(world.v[0], f->data, f->bytes);
    hccl_verbs_forget(world.v[1], f->data, f->bytes);
    hccl_verbs_forget(world.v[2], f->data, f->bytes);
    free(f->data);
    return true;
}

enum { STREAMS = 12, FLIGHTS = 64 };

void world_random(const hccl_verbs_settings_t *set, uint32_t seed, int each, int ports,
                  uint32_t faults, void (*harm)(void))
{
    stream_t streams[STREAMS];
    flight_t flights[FLIGHTS];
    int n = 0, nflights = 0, left = 2 * STREAMS * each;
    world_begin(PROCS, set, seed, ports);
    fake.loses_answers = true;
    for (int from = 0; from < PROCS; from++) {
        for (int to = 0; to < PROCS; to++) {
            for (int tag = 0; from != to && tag < 2; tag++) {
                streams[n++] = (stream_t){.from = from, .to = to, .tag = tag};
            }
        }
    }
    for (long i = 0; left > 0 || nflights > 0; i++) {
        assert_true(i < 200000000);
        stream_t *s = &streams[fake_random(STREAMS)];
        bool receives = 0 == fake_random(2);
        int *number = receives ? &s->received : &s->sent;
        /* Neither side may take all places. */
        int ahead = receives ? s->received - s->sent : s->sent - s->received;
        if (nflights < FLIGHTS && *number < each && ahead < 4) {
            flights[nflights++] = start(s, (*number)++, receives);
            left--;
        }
        world_turn();
        if (0 != faults && 0 == fake_random(faults)) {
            harm();
        }
        for (int k = 0; k < nflights; k++) {
            if (over(&flights[k])) {
                flights[k--] = flights[--nflights];
            }
        }
    }
    world_settle();
    assert_int_equal(0, fake.not_ready);
    if (0 != faults) {
        assert_true(world_counted(0).reconnections + world_counted(1).reconnections > 0);
    }
}
