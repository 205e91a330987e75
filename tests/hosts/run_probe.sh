#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 200
#
# hccl_links: the links of four hosts, of which two are slow, measured into a topology file; then a job
# that reads it. And what the program refuses.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
export OMPI_MPIRUN

bed=$here/bed
name=probe$$
program=$HCCL_BUILD_DIR/bench/hccl_links

# has TEST FILE REGEX [COUNT]: so many lines match (default 1).
has() {
    local count
    count=$(grep -cE "$3" "$2" || true)
    if [[ ${4:-1} == "$count" ]]; then
        hccl_ok "probe/$1"
    else
        hccl_quote "$(head -n 20 "$2")"
        hccl_not_ok "probe/$1" "$count lines match '$3' instead of ${4:-1}"
    fi
}

# refused WORDS ARGUMENTS: exit code 2 and a message.
refused() {
    local words=$1 rc=0
    shift
    hccl_mpirun -np 2 --mca coll hccl "$program" "$@" >"$HCCL_TMP/refused" 2>&1 || rc=$?
    if [[ 2 == "$rc" ]] && grep -qF -- "$words" "$HCCL_TMP/refused"; then
        hccl_ok "probe/refused: $*"
    else
        hccl_quote "$(head -n 5 "$HCCL_TMP/refused")"
        hccl_not_ok "probe/refused: $*" "exit code $rc"
    fi
}

# Hosts h0 and h1 send at 400 Mbit/s, h2 and h3 at 40: the pair of the latter is the slowest, so they
# must not be neighbours in the ring.
measured() {
    local host rc=0 file=$HCCL_TMP/topology
    "$bed" up --name "$name" 4 400mbit >"$HCCL_TMP/up" 2>&1
    for host in h2 h3; do
        "$bed" on --name "$name" "$host" tc qdisc change dev data root tbf rate 40mbit burst 65536 \
            limit 256mb
    done
    hccl_limit 60 "$bed" run --name "$name" 4x2 -- --mca coll hccl "$program" -b 256 -n 5 "$file" \
        >"$HCCL_TMP/out" 2>&1 </dev/null || rc=$?
    if ((0 != rc)); then
        hccl_quote "$(head -n 10 "$HCCL_TMP/out")"
        hccl_not_ok "probe/four hosts" "exit code $rc"
        return
    fi
    has "hosts" "$file" '^host h[0-3]$' 4
    has "pairs" "$file" '^link h[0-2] h[1-3] latency_us=[0-9]+\.[0-9]+ bandwidth_mbs=[0-9]+\.[0-9]+$' 6
    hccl_limit 60 "$bed" run --name "$name" 4x2 -- --mca coll hccl "$program" -b 500000 -n 5 "$file" \
        >"$HCCL_TMP/out" 2>&1 </dev/null || rc=$?
    # 500000 bytes at 5 and at 50 MB/s: only h0-h1 has no slow end
    if awk '/^link/ { sub(".*=", "", $5); fast = $2 $3 == "h0h1"; if (fast != ($5 + 0 > 12)) bad = 1 }
            END { exit bad }' "$file"; then
        hccl_ok "probe/which links are slow"
    else
        hccl_quote "$(cat "$file")"
        hccl_not_ok "probe/which links are slow" "not only those of h2 and h3"
    fi
    hccl_limit 60 "$bed" run --name "$name" 4x2 -- --mca coll hccl --mca coll_hccl_topo_file "$file" \
        --mca coll_hccl_verbose 1 "$HCCL_BUILD_DIR/tests/mpi/fuzz" -s 3 -n 50 >"$HCCL_TMP/out" 2>&1 \
        </dev/null || rc=$?
    has "a job along the links" "$HCCL_TMP/out" \
        'rings go through nodes ([01] .* [23] .* [01] .* [23]|[23] .* [01] .* [23] .* [01]) '
    has "right results" "$HCCL_TMP/out" '^ok fuzz'
}

main() {
    local message
    hccl_mktemp
    refused "(no FILE)"
    refused "bad argument: -b" -b 0 x
    refused "bad argument: y" x y
    refused "bad argument: -q" -q
    refused "there is one host" "$HCCL_TMP/none"
    message=$("$here/bed.sh" check) || {
        hccl_skip "probe/four hosts" "${message#skip: }"
        hccl_finish
    }
    measured
    "$bed" down --name "$name" >/dev/null 2>&1
    hccl_finish
}

main
