#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 800
#
# The collectives between several emulated hosts (see bed.sh): right results on even and uneven
# hosts, and a clean end when a rank is killed; and that the bed's counters count. Compares with
# arithmetic only, never with another component. Bytes are run_bytes.sh's.
#
# HCCL_TEST_COLL  the components to use (default hccl)
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
export OMPI_MPIRUN

coll=${HCCL_TEST_COLL:-hccl}
traffic=$HCCL_BUILD_DIR/tests/hosts/traffic
operations="allreduce bcast allgather reduce reduce_scatter_block alltoall barrier gather scatter"
job_limit=${HCCL_TEST_TIMEOUT:-90}
vector=4194304 # bytes

# job LOG BED-ARGUMENTS -- TRAFFIC-ARGUMENTS: one job of traffic on one bed. Sets job_rc.
job() {
    local log=$1
    local -a bed=() options=(--mca coll "$coll")
    shift
    while [[ -- != "$1" ]]; do
        bed+=("$1")
        shift
    done
    shift
    if [[ 1 == "$HCCL_SANITIZERS" ]]; then
        options+=(-x "LD_PRELOAD=$($HCCL_CC -print-file-name=libasan.so)" -x ASAN_OPTIONS=detect_leaks=0)
    fi
    job_rc=0
    hccl_limit "$job_limit" "$here/bed.sh" run "${bed[@]}" -- "${options[@]}" "$traffic" "$@" \
        </dev/null >"$log" 2>"$log.err" || job_rc=$?
}

# measure ARGUMENTS OF job: again, at most twice, while TCP has sent data twice (which is not the
# job's doing: the links lose nothing, but a machine can be so busy that an answer comes too late).
measure() {
    local tries
    for tries in 1 2 3; do
        job "$@"
        if ! grep -q '^resent,' "$1"; then
            break
        fi
        hccl_note "measurement $tries: TCP sent data twice"
    done
}

# why LOG: one phrase about a job that went wrong.
why() {
    local last
    last=$(sed -n 's/^case,\([^,]*\),\([^,]*\),\(.*\)/\1 of \2 bytes, root \3/p' "$1" | tail -n 1)
    if ((124 == job_rc || 137 == job_rc || 143 == job_rc)); then
        echo "stopped after $job_limit s in ${last:-MPI_Init}"
    elif grep -q '^wrong ' "$1"; then
        grep -m 1 '^wrong ' "$1"
    else
        echo "exit code $job_rc in ${last:-MPI_Init}: $(grep -v setpgid "$1.err" | grep -m 1 '[a-z]' || true)"
    fi
}

# explain LOG: what the job said, as progress lines.
explain() {
    hccl_quote "$(grep -v -e '^case' -e ',ok$' "$1" | head -n 20)"
    hccl_quote "$(grep -v setpgid "$1.err" | head -n 20)"
}

# --- Results -----------------------------------------------------------------------------------------

# results SLOTS MAP: every operation, four sizes, every root, on one bed.
results() {
    local log=$HCCL_TMP/results op reason="" name="hosts/results $1 by $2" ok wrong
    job "$log" --slots "$1" --map "$2" --leftovers "$log.left" -- \
        all 8,1000,65540,4194304 2 all
    if ((0 != job_rc)); then
        reason=$(why "$log")
        explain "$log"
    fi
    for op in $operations; do
        ok=$(grep -c "^result,$op,.*,ok$" "$log" || true)
        wrong=$(grep -c "^result,$op,.*,wrong$" "$log" || true)
        if ((0 < wrong)); then
            hccl_not_ok "$name/$op" "$(grep -m 1 "^wrong $op" "$log" || echo "$wrong cases wrong")"
        elif ((ok < $(cases "$op" "$1"))); then
            hccl_not_ok "$name/$op" "not finished: $reason"
        else
            hccl_ok "$name/$op"
        fi
    done
    nothing_left "$name/nothing left" "$log.left"
}

# cases OPERATION SLOTS: how many results a complete job prints.
cases() {
    case $1 in
    barrier) echo 1 ;;
    bcast | reduce | gather | scatter) echo $((4 * (${2//,/+}))) ;;
    *) echo 4 ;;
    esac
}

# nothing_left NAME FILE: no process on any host, nothing of ours in any /dev/shm.
nothing_left() {
    local left
    if [[ ! -f $2 ]]; then
        hccl_not_ok "$1" "the job was stopped before its hosts could be looked at"
        return
    fi
    left=$(grep -E ',process,|,shm,.*hccl' "$2" | tr '\n' ' ' || true)
    if [[ -z $left ]]; then
        hccl_ok "$1"
    else
        hccl_not_ok "$1" "$left"
    fi
}

# --- The bed and its counters ------------------------------------------------------------------------

# Two beds at once, one job of which sends 5 x 4 MiB from the first host to the last: the difference
# of the two jobs, and what the job itself read, must both be that. Without the component under test:
# this is about the bed.
counters() {
    local coll=tuned,basic,libnbc,self,inter
    local base=$HCCL_TMP/base moved=$HCCL_TMP/moved base_pid got want=$((5 * vector)) name
    job "$base" --slots 1,1,1 --counters "$base.csv" -- send "$vector" 0 0 &
    base_pid=$!
    job "$moved" --slots 1,1,1 --counters "$moved.csv" -- send "$vector" 5 0
    wait "$base_pid"
    name="hosts/counters of two beds at once"
    if [[ ! -f $base.csv || ! -f $moved.csv ]]; then
        hccl_not_ok "$name" "$(why "$moved")"
        return
    fi
    got=$(paste -d, "$base.csv" "$moved.csv" | awk -F, -v want="$want" '
        NR > 1 {
            out = $5 - $2
            into = $6 - $3
            right += ($1 == "h0" && out >= want && out < 1.01 * want && into < 0.01 * want)
            right += ($1 == "h1" && out < 0.01 * want && into < 0.01 * want)
            right += ($1 == "h2" && into >= want && into < 1.01 * want && out < 0.01 * want)
            text = text " " $1 " out " out " in " into
        }
        END { print (right == 3 ? "right" : text) }')
    if [[ right == "$got" ]]; then
        hccl_ok "$name"
    else
        hccl_not_ok "$name" "5 x 4 MiB from h0 to h2 counted as$got"
    fi
    name="hosts/counters read in the job"
    measure "$moved" --slots 1,1,1 -- --counters send "$vector" 3 0
    got=$(awk -F, -v n="$vector" '
        8 != NF { next }
        { want_out = n * ($4 == "h0"); want_in = n * ($4 == "h2") }
        $7 > want_out - n / 100 && $7 < want_out + n / 100 &&
            $8 > want_in - n / 100 && $8 < want_in + n / 100 { right++ }
        END { print right + 0 }' "$moved")
    if ((3 == got)); then
        hccl_ok "$name"
    else
        explain "$moved"
        hccl_not_ok "$name" "one transfer of 4 MiB from h0 to h2 counted wrongly"
    fi
}

# The bed must go when bed.sh gets no chance to tidy up, and when only its caller dies.
killed_bed() {
    # A command line that nothing else on the machine has.
    local how pid tries name seconds=3$$ marker="sleep 3$$"
    for how in bed caller; do
        name="hosts/bed goes when the $how is killed"
        if [[ bed == "$how" ]]; then
            "$here/bed.sh" run --slots 1,1 -- sleep "$seconds" </dev/null >/dev/null 2>&1 &
        else
            bash -c '"$1" run --slots 1,1 -- sleep "$2"; true' - "$here/bed.sh" "$seconds" \
                </dev/null >/dev/null 2>&1 &
        fi
        pid=$!
        for ((tries = 0; tries < 50; tries++)); do
            if pgrep -f "^$marker\$" >/dev/null; then
                break
            fi
            sleep 0.2
        done
        if ((50 == tries)); then
            hccl_not_ok "$name" "the job did not start"
            kill -TERM "$pid"
            continue
        fi
        kill -KILL "$pid"
        wait "$pid" 2>/dev/null || true
        for ((tries = 0; tries < 25; tries++)); do
            if ! pgrep -f "(^|bed.*)$marker\$" >/dev/null; then
                break
            fi
            sleep 0.2
        done
        if ((25 == tries)); then
            hccl_not_ok "$name" "its processes still run after 5 s"
        else
            hccl_ok "$name"
        fi
    done
}

# --- A killed rank -----------------------------------------------------------------------------------

# killed_rank OPERATION BYTES
killed_rank() {
    local log=$HCCL_TMP/killed name="hosts/rank killed in $1 of $2 bytes" killed ended
    job "$log" --slots 2,2 --leftovers "$log.left" -- --kill 3 "$1" "$2" 1000000 0
    killed=$(sed -n 's/^killing,//p' "$log")
    ended=$(sed -n 's/^head,ended,//p' "$log.left" 2>/dev/null || true)
    if [[ -z $killed || -z $ended ]]; then
        explain "$log"
        hccl_not_ok "$name: job ends" "$(why "$log")"
        return
    fi
    hccl_note "$name: mpirun ended $((ended - killed)) ms later with exit code $job_rc"
    if ((0 == job_rc)); then
        hccl_not_ok "$name: job ends" "mpirun did not notice"
    elif ((20000 < ended - killed)); then
        hccl_not_ok "$name: job ends" "only after $((ended - killed)) ms"
    else
        hccl_ok "$name: job ends"
    fi
    nothing_left "$name: nothing left" "$log.left"
}

# --- All ---------------------------------------------------------------------------------------------

main() {
    local message
    message=$("$here/bed.sh" check) || {
        hccl_skip "hosts" "${message#skip: }"
        hccl_finish
    }
    # Built by the one rule there is; `make check` has done it already.
    make -C "$HCCL_BUILD_DIR/tests" hosts/traffic >/dev/null
    hccl_mktemp
    counters
    if hccl_have "hosts/bed goes when killed" pgrep; then
        killed_bed
    fi
    if [[ ,$coll, == *,hccl,* && ! -f $HCCL_PLUGIN_DIR/mca_coll_hccl.so ]]; then
        hccl_not_ok "hosts/results, bytes, killed rank" "no component in $HCCL_PLUGIN_DIR"
        hccl_finish
    fi
    results 2,2 slot
    results 2,2 node
    results 2,1 slot
    results 1,3 node
    results 1,1,1 slot
    killed_rank allreduce 65536
    killed_rank bcast 4194304
    hccl_finish
}

main
