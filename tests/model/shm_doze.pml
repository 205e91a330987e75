/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Ordering 7 of src/tier/shm_layout.h as a model: sleeping until a peer has news. run_spin.sh walks all
 * interleavings.
 *
 * Two ranks publish TAGS tags each and wait for the peer's, by sleeping. Sleep has no time limit here, so
 * a lost wake-up ends in a state where a rank sleeps for ever, which spin reports. Memory is that of x86:
 * stores of a rank wait in a buffer, first in, first out, and become visible at any time later; a fence,
 * an atomic exchange and the kernel's lock wait until the buffer is empty.
 *
 * NO_SLEEPER_FENCE, NO_WAKER_FENCE, NO_LAST_LOOK, NO_COMPARE, NO_WAKE and NO_WAKE_AT_END take a rule away:
 * the model must then fail.
 */
#ifndef TAGS
#define TAGS 3
#endif

#define TAG 0
#define DOZES 1

byte tag[2];    /* published by each rank, as all see it */
bit dozes[2];   /* the word in each rank's region */
bool asleep[2]; /* in the kernel */

/* A rank's stores that only it would see: which word, value. */
chan buffer0 = [4] of { bit, byte };
chan buffer1 = [4] of { bit, byte };

inline drain(buffer) {
    empty(buffer)
}

/* The sleeper's half; the kernel compares and falls asleep under one lock. */
inline sleep_unless_there(me, peer, buffer) {
    buffer!DOZES, 1;
#ifndef NO_SLEEPER_FENCE
    drain(buffer);
#endif
    if
#ifndef NO_LAST_LOOK
    :: tag[peer] >= t
    :: tag[peer] < t ->
#else
    :: true ->
#endif
        atomic {
            drain(buffer);
#ifndef NO_COMPARE
            if
            :: dozes[me] == 1 -> asleep[me] = true
            :: else
            fi
#else
            asleep[me] = true
#endif
        };
        !asleep[me]
    fi;
    buffer!DOZES, 0
}

/* The waker's half. */
inline wake(peer, buffer) {
#ifndef NO_WAKER_FENCE
    drain(buffer);
#endif
    if
    :: dozes[peer] == 0
    :: dozes[peer] == 1 ->
        atomic { drain(buffer); was = dozes[peer]; dozes[peer] = 0 };
        if
        :: was == 1 -> asleep[peer] = false /* under the kernel's lock */
        :: else
        fi
    fi
}

inline exchange(me, peer, buffer) {
    t = 1;
    do
    :: t <= TAGS ->
        buffer!TAG, t;
#ifndef NO_WAKE
#ifdef NO_WAKE_AT_END
        if
        :: tag[peer] < t -> wake(peer, buffer) /* only before it waits itself */
        :: else
        fi;
#else
        wake(peer, buffer);
#endif
#endif
        do
        :: tag[peer] >= t -> break
        :: tag[peer] < t -> sleep_unless_there(me, peer, buffer)
        od;
        t++
    :: else -> break
    od
}

active proctype rank0() {
    byte t;
    bit was;
    exchange(0, 1, buffer0)
}

active proctype rank1() {
    byte t;
    bit was;
    exchange(1, 0, buffer1)
}

/* The processors: the oldest store of a buffer reaches memory, some time. */
inline store(me, buffer) {
    atomic {
        buffer?word, value;
        if
        :: word == TAG -> tag[me] = value
        :: else -> dozes[me] = value
        fi
    }
}

active proctype memory() {
    bit word;
    byte value;
end:
    do
    :: store(0, buffer0)
    :: store(1, buffer1)
    od
}
