/*
 * SPDX-License-Identifier: BSD-3-Clause
 *
 * Publishing in place (src/tier/shm_layout.h, ordering 6) as a model: announce, read, acknowledge,
 * write again. run_spin.sh walks all interleavings.
 *
 * An owner and two readers run OPS operations. In each the owner decides, alone, to publish its buffer
 * in place or as a copy in the slot. Inside the operation it writes the buffer's first half again when
 * reader 1, who alone reads that half, has told that it is done (as allreduce's slices do); reader 2
 * reads the other half. When the operation has ended the buffer is the user's: it is written, or freed
 * and given to somebody else. Readers close their lane when they have read everything.
 *
 * NO_RETURN, NO_WORD, NO_CLOSED and EARLY_ACK take a rule away: the model must then fail.
 */
#define OPS 3
#define GARBAGE 99

byte buffer[2];  /* the user's, in the heap: its halves */
byte copy[2];    /* the slot's payload */
byte tag;        /* the slot's flag */
bool direct;     /* the slot's line says: in the heap */
byte ack[2];     /* what the readers have acknowledged */
byte word;       /* the last operation for which reader 1 has told, by a publication of its own */
bool closed[2];

/* The owner's memory of the readers: done with tag t. */
#ifdef NO_CLOSED
#define HAS_READ(r, t) (!closed[r] && ack[r] >= t)
#else
#define HAS_READ(r, t) (closed[r] || ack[r] >= t)
#endif

active proctype owner() {
    byte t = 1;
    bool lent;
    do
    :: t <= OPS ->
        buffer[0] = t; buffer[1] = t;
        /* The slot is free when its old tag is acknowledged. */
        (HAS_READ(0, t - 1) && HAS_READ(1, t - 1));
        if
        :: lent = true
        :: lent = false; copy[0] = buffer[0]; copy[1] = buffer[1]
        fi;
        direct = lent;
        tag = t;
        /* The plan writes the first half, whose reader has told. */
#ifndef NO_WORD
        (word >= t);
#endif
        buffer[0] = GARBAGE;
        /* The end of the operation. */
#ifndef NO_RETURN
        if
        :: lent -> (HAS_READ(0, t) && HAS_READ(1, t))
        :: !lent
        fi;
#endif
        buffer[0] = GARBAGE; buffer[1] = GARBAGE;
        t++
    :: else -> break
    od
}

inline read(half, value) {
    if
    :: direct -> value = buffer[half]
    :: else -> value = copy[half]
    fi
}

proctype reader(byte me) {
    byte t = 1, value;
    do
    :: t <= OPS ->
        (tag == t);
#ifdef EARLY_ACK
        ack[me] = t;
#endif
        read(me, value);
        assert(value == t);
        if
        :: me == 0 -> word = t
        :: else
        fi;
        ack[me] = t;
        t++
    :: else -> break
    od;
    closed[me] = true;
    ack[me] = 0 /* the cell's memory is somebody else's now */
}

init {
    atomic { run reader(0); run reader(1) }
}
