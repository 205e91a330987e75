#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 200
#
# bench/links: its verdicts on given results, its arguments, and one small run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
links=$HCCL_SRC_DIR/bench/links

# refused TEXT ARGUMENTS: exit code 2, and one line, which has the text in it.
refused() {
    local text=$1 out rc=0
    shift
    out=$("$links" "$@" 2>&1) || rc=$?
    if [[ 2 == "$rc" && $out == *"$text"* && $out != *$'\n'* ]]; then
        hccl_ok "links/refused: $*"
    else
        hccl_not_ok "links/refused: $*" "exit code $rc: ${out##*$'\n'}"
    fi
}

# has TEST TEXT REGEX
has() {
    if grep -qE "$3" <<<"$2"; then
        hccl_ok "links/$1"
    else
        hccl_quote "$2"
        hccl_not_ok "links/$1" "no line matches '$3'"
    fi
}

# At 8 Mbit/s a bcast of 1448000 bytes takes 1.514 s of its link. The peers are 1.4 x slower: enough
# where they send alike, not where both send twice the bytes.
given_results() {
    local out
    cat >"$HCCL_TMP/given.csv" <<END
round,shape,rate,map,operation,vector_bytes,contender,seconds,out_bytes,in_bytes
0,4x2,8mbit,in order,bcast,1448000,hccl,1.0,1000,1448000
1,4x2,8mbit,in order,bcast,1448000,hccl,3.0,1000,1448000
2,4x2,8mbit,in order,bcast,1448000,hccl,1.7,1000,1448000
0,4x2,8mbit,in order,bcast,1448000,tuned,2.38,1448000,1448000
0,4x2,8mbit,in order,bcast,1448000,han,5.1,2896000,1448000
0,4x2,8mbit,alternating,bcast,1448000,hccl,1.8,1000,1448000
0,4x2,8mbit,alternating,bcast,1448000,tuned,2.52,2896000,1448000
0,4x2,8mbit,alternating,bcast,1448000,han,5.4,2896000,1448000
END
    out=$("$links" --rounds 0 --append --out "$HCCL_TMP/given" --rate 8mbit 2>&1) || true
    has "as wanted" "$out" '^4x2 +in order +bcast +1448000 +1\.700 +117\.6 +1\.12 +1\.40 +3\.00 +1\.00 +2\.00 +yes +yes'
    has "not as wanted" "$out" '^4x2 +alternating +bcast +1448000 +1\.800 +0\.0 +1\.19 +1\.40 +3\.00 +2\.00 +2\.00 +no +no'
    has "count of verdicts" "$out" '^link: 1 of 2'
}

small_run() {
    local out rc=0
    out=$(hccl_limit 100 "$links" --shapes 2x2 --sizes 256K --maps alternating --operations allreduce \
        --rounds 1 --only hccl,tuned --out "$HCCL_TMP/small" 2>&1) || rc=$?
    if ((0 != rc)); then
        hccl_quote "$out"
        hccl_not_ok "links/small run" "exit code $rc"
        return
    fi
    has "small run" "$out" '^2x2 +alternating +allreduce +262144 +[0-9.]+ +0\.0'
}

# hccl_phases on two hosts; and what it refuses.
phases() {
    local out rc=0 program=$HCCL_BUILD_DIR/bench/hccl_phases
    out=$(hccl_limit 60 "$here/bed.sh" run --slots 2,2 -- --mca coll hccl "$program" 65536 3 2>&1 \
        </dev/null) || rc=$?
    has "phases: an allreduce beside its parts" "$out" \
        '^allreduce +65536( +0\.[0-9]{4}){3} +[0-9.]+$'
    has "phases: a bcast" "$out" '^bcast +65536( +0\.[0-9]{4}){3} +[0-9.]+$'
    rc=0
    out=$(hccl_mpirun -np 1 --mca coll hccl "$program" 6 2>&1) || rc=$?
    has "phases: refuses 6 bytes (exit code $rc)" "$out" 'BYTES: accepted are multiples of 4'
    out=$(hccl_mpirun -np 2 --mca coll hccl "$program" 2>&1) || rc=$?
    has "phases: refuses one node (exit code $rc)" "$out" 'needs several nodes'
}

main() {
    local message
    message=$("$here/bed.sh" check) || {
        hccl_skip "links" "${message#skip: }"
        hccl_finish
    }
    hccl_mktemp
    given_results
    refused "--sizes" --sizes "1M 2M"
    refused "--shapes 1x1" --shapes 1x1
    refused "--rate fast" --rate fast
    refused "--only nobody" --only nobody
    refused "--operations scan" --operations scan
    refused "--contender x" --contender x
    small_run
    phases
    hccl_finish
}

main
