#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 300
# A cached plan, run by a blocking call, allocates nothing, faults no page in and makes no system
# call: counted over thousands of calls of each of the 17 blocking collectives, of 8 bytes, 8 KiB and
# 1 MiB (steady.c). Waiting excepted: Open MPI's progress looks at file descriptors now and then
# (poll with timeout 0), and gives up the core when there are more ranks than cores (sched_yield).
# Waits are reported.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp

if (($# > 0)); then
    echo "usage: tests/mpi/run_steady.sh" >&2
    exit 2
fi
steady=$HCCL_BUILD_DIR/tests/mpi/steady
if [[ ! -x $steady ]]; then
    hccl_not_ok steady "no program $steady: run make check"
    hccl_finish
fi
if [[ $HCCL_SANITIZERS == 1 ]]; then
    hccl_skip steady "a build with sanitizers has an allocator of its own"
    hccl_finish
fi
stretches=49 # sixteen collectives of three sizes, and the barrier
calls=10000
if [[ ${HCCL_CHECK_LONG:-0} == 1 ]]; then
    calls=100000
fi

# two_cores ARGS...: mpirun for ranks that have a core each and keep it.
two_cores() {
    hccl_limit 200 "$OMPI_MPIRUN" --bind-to none --mca coll hccl "$@" </dev/null
}

# counted NAME RANKS STEADY_ARGS...: no allocation and no page fault in any stretch of any rank.
counted() {
    local name=$1 ranks=$2 out=$HCCL_TMP/counted rc=0 lines bad
    shift 2
    HCCL_TEST_TIMEOUT=200 hccl_mpirun -np "$ranks" --mca coll hccl "$steady" "$@" \
        >"$out" 2>&1 || rc=$?
    lines=$(grep -cE '^[0-9]+ [a-z_]+ [0-9]+ [0-9]+ alloc=' "$out" || true)
    bad=$(grep ' alloc=' "$out" | grep -vE ' alloc=0 faults=0$' || true)
    if ((rc != 0)); then
        hccl_quote "$(tail -n 20 "$out")"
        hccl_not_ok "$name" "exit code $rc"
    elif ((lines != ranks * stretches)); then
        hccl_not_ok "$name" "$lines stretches counted instead of $((ranks * stretches))"
    elif [[ -n $bad ]]; then
        hccl_quote "$bad"$'\n'"$(grep ' from: ' "$out" | sort | uniq | head -n 20)"
        hccl_not_ok "$name" "rank, collective, bytes, calls: ${bad%%$'\n'*}"
    else
        hccl_ok "$name"
    fi
}

# between_marks TRACE: `COLLECTIVE BYTES CALL`, for each system call between the marks.
between_marks() {
    awk '/HCCL-END/ { on = 0 }
         on { print what " " $0 }
         match($0, /HCCL-BEGIN [a-z_]+ [0-9]+/) {
             what = substr($0, RSTART + 11, RLENGTH - 11); on = 1; n++ }
         END { print n + 0 > "/dev/stderr" }' "$1" 2>"$HCCL_TMP/marks"
}

waits='(e?poll|epoll_p?wait|ppoll)\(.*, 0(, [^)]*)?\)'

# trace RANKS STEADY_ARGS...: a job whose first rank is traced; then $HCCL_TMP/other holds its system
# calls between the marks that are no waits. Exit code of the job. Two ranks do not yield.
trace() {
    local ranks=$1 run=two_cores allowed=$waits
    shift
    if ((ranks > 2)); then
        run="hccl_mpirun --mca coll hccl"
        allowed="($waits|sched_yield\(\))"
    fi
    $run -np 1 strace -s 100 -o "$HCCL_TMP/trace" "$steady" "$@" \
        : -np $((ranks - 1)) --mca coll hccl "$steady" "$@" >"$HCCL_TMP/out" 2>&1 || return 1
    between_marks "$HCCL_TMP/trace" >"$HCCL_TMP/between"
    grep -vE "^[a-z_]+ [0-9]+ $allowed" "$HCCL_TMP/between" >"$HCCL_TMP/other" || true
}

# traced NAME RANKS STRETCHES STEADY_ARGS...
traced() {
    local name=$1 ranks=$2 want=$3 marks other
    shift 3
    if (($(nproc) < 2)); then
        hccl_skip "$name" "needs two cores: else waiting ranks have to yield"
        return 0
    fi
    hccl_have "$name" strace || return 0
    if ! trace "$ranks" "$@"; then
        if grep -q 'ptrace.*Operation not permitted' "$HCCL_TMP/out"; then
            hccl_skip "$name" "tracing is not permitted here"
        else
            hccl_quote "$(tail -n 20 "$HCCL_TMP/out")"
            hccl_not_ok "$name" "the job failed"
        fi
        return 0
    fi
    marks=$(cat "$HCCL_TMP/marks")
    other=$(wc -l <"$HCCL_TMP/other")
    hccl_note "$name: $marks stretches, $(wc -l <"$HCCL_TMP/between") system calls," \
        "$other of them not for waiting"
    if ((marks != want)); then
        hccl_not_ok "$name" "$marks stretches in the trace instead of $want"
    elif ((other > 0)); then
        hccl_quote "$(awk '{ sub(/\(.*/, "", $3); n[$1 " " $2 " " $3]++ }
            END { for (k in n) print k ": " n[k] }' "$HCCL_TMP/other" | sort | head -n 40)"
        hccl_not_ok "$name" "$(head -n 1 "$HCCL_TMP/other")"
    else
        hccl_ok "$name"
    fi
}

# The counter and the trace see what is planted.
planted() {
    local name=steady/planted-allocation
    hccl_mpirun -np 2 --mca coll hccl "$steady" -c barrier -n 100 -p >"$HCCL_TMP/out" 2>&1 || true
    if (($(grep -c 'alloc=2' "$HCCL_TMP/out" || true) != 2)); then
        hccl_quote "$(cat "$HCCL_TMP/out")"
        hccl_not_ok "$name" "a planted allocation was not counted"
    else
        hccl_ok "$name"
    fi
}

planted_call() {
    local name=steady/planted-system-call
    (traced "$name" 2 1 -c barrier -n 100 -p) >"$HCCL_TMP/planted"
    if grep -q "^not ok $name: barrier 0 getppid" "$HCCL_TMP/planted"; then
        hccl_ok "$name"
    elif grep -q '^skip' "$HCCL_TMP/planted"; then
        cat "$HCCL_TMP/planted"
    else
        hccl_quote "$(cat "$HCCL_TMP/planted")"
        hccl_not_ok "$name" "it was not seen"
    fi
}

planted
planted_call
counted steady/2-ranks 2 -n "$calls" -b 300
counted steady/2-ranks-MPI-memory 2 -m -n "$calls" -b 300
OMPI_MCA_coll_hccl_zero_copy=always counted steady/2-ranks-in-place 2 -m -n "$((calls / 10))" -b 100
counted steady/3-ranks 3 -n $((calls / 5)) -b 40
counted steady/4-ranks 4 -n $((calls / 5)) -b 40
traced steady/no-system-call 2 "$stretches" -n "$calls" -b 300
traced steady/no-system-call-3-ranks 3 "$stretches" -n $((calls / 50)) -b 20
traced steady/no-system-call-4-ranks 4 "$stretches" -n $((calls / 50)) -b 20
hccl_finish
