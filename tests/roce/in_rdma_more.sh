#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# devices: 2
# seconds: 200
#
# In the machine that vm makes: messages by RDMA, counted, with buffers that go and come, with children,
# with a link that is down, and where something is missing at the start.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
# shellcheck source=tests/roce/guest.sh
. "$here/guest.sh"
export HCCL_TEST_TIMEOUT=60

prog=$HCCL_BUILD_DIR/tests/roce/rdma
said=$TMPDIR/rdma.said

run() { # ARGS of mpirun and the program; sets code
    code=0
    : >"$said"
    hccl_mpirun --mca coll hccl --mca coll_hccl_topology node:2 --mca coll_hccl_rdma on \
        --mca coll_hccl_port_map 0=rxe0,1=rxe1 --mca coll_hccl_verbose 2 -np 2 "$@" \
        >"$said" 2>&1 || code=$?
}
check() { # NAME CONDITION...: the last job ended well, and this is true
    local name=roce/rdma_more:\ $1
    shift
    if ((code != 0)); then
        head -n 5 "$said" | sed 's/^/# /'
        hccl_not_ok "$name" "exit code $code"
    elif "$@"; then
        hccl_ok "$name"
    else
        hccl_not_ok "$name" "not true: $*"
    fi
}
told() { # RANK WHAT: a counter
    sed -nE "s/.*rank $1\\]: rdma: .*$2 ([0-9]+).*/\1/p" "$said"
}
says() { # TEXT TIMES
    local n
    n=$(grep -cE "$1" "$said" || true)
    [[ $n == "$2" ]] || { hccl_note "$n lines: $1"; return 1; }
}
by_rdma() { (($(told 0 messages) > 0 && $(told 1 messages) > 0)); }

# What one call more sends: with two ranks, each sends its vector once, or two halves.
declare -A had
for bytes in 8 1048576; do
    for times in 2 7; do
        run "$prog" count $bytes $times
        for what in payload "work requests" doorbells messages completions; do
            had[$times,$what]=$(told 0 "$what")
        done
        had[$times,inline]=$(sed -nE 's/.*rank 0\]: rdma: .*\(([0-9]+) inline\).*/\1/p' "$said")
    done
    hccl_note "$bytes bytes, per call: $(for what in messages "work requests" inline doorbells \
        completions payload; do
        printf '%s %s, ' "$what" $(((${had[7,$what]} - ${had[2,$what]}) / 5))
    done)"
    check "bytes sent by an allreduce of $bytes bytes" \
        [ $((had[7,payload] - had[2,payload])) -eq $((5 * bytes)) ]
    if ((8 == bytes)); then
        check "8 bytes are one inline work request" \
            [ $((had[7,inline] - had[2,inline])) -eq 5 -a $((had[7,doorbells] - had[2,doorbells])) -eq 5 ]
    fi
done

run "$prog" remap 20
check "buffers mapped anew at their addresses" by_rdma
run "$prog" fork 5
check "children that write" by_rdma
run "$prog" comms 200
check "200 communicators" by_rdma
check "one connection for all of them" [ "$(told 0 connections),$(told 0 again)" = 1,0 ]

# A link goes down when the job has come so far.
after_steps() {
    local tenths
    for ((tenths = 0; tenths < 300; tenths++)); do
        ! grep -q '^step 20$' "$said" || return 0
        sleep 0.1
    done
    return 1
}
# A link is down for a second: the queue pairs try for so long.
: >"$said"
(after_steps && roce_link 1 down && sleep 1 && roce_link 1 up) &
run --mca coll_hccl_rdma_timeout 16 "$prog" steps 80
wait
check "a link down for a second" by_rdma
# For longer than the queue pairs try: connected again.
: >"$said"
(after_steps && roce_link 1 down && sleep 4 && roce_link 1 up) &
run --mca coll_hccl_rdma_timeout 12 --mca coll_hccl_rdma_retry_cnt 2 --mca coll_hccl_retry_count 1000 \
    --mca btl_tcp_if_include lo "$prog" steps 80
wait
check "a link down for long" [ "$(told 0 again)" -gt 0 ]
# For good: both ranks say why, and end.
: >"$said"
(after_steps && roce_link 1 down) &
started=$SECONDS
run --mca coll_hccl_rdma_timeout 12 --mca coll_hccl_rdma_retry_cnt 2 \
    --mca btl_tcp_if_include lo "$prog" steps 1000
wait
roce_link 1 up
if ((code != 0 && SECONDS - started < 30)) && says 'connection to rank . .* is lost' 2; then
    hccl_ok "roce/rdma_more: a link down for good"
else
    hccl_not_ok "roce/rdma_more: a link down for good" "exit code $code after $((SECONDS - started)) s"
fi

# What is missing at the start: one line, and the other way for all.
run setpriv --bounding-set=-ipc_lock bash -c "ulimit -l 64; exec $prog count 1048576 3"
check "little locked memory" says 'RDMA is not used by 2 of 2 ranks: rank 0 has no memory' 1
check "little locked memory: nothing by RDMA" [ -z "$(told 0 messages)" ]
ip link set roce0 down
ip link set roce1 down
run "$prog" count 1048576 3
check "ports that are down" \
    says 'RDMA is not used by 2 of 2 ranks: rank 0 has no RoCE port that is up' 1
ip link set roce0 up
ip link set roce1 up
run --mca coll_hccl_ib_gid_index 77 "$prog" count 1048576 3
check "no GID" says 'RDMA is not used by 2 of 2 ranks: rank 0 has no RoCE port with a GID' 1
hccl_finish
