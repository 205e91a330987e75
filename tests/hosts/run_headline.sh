#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 200
#
# bench/headline: its arithmetic on given results, its arguments, and one small run.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
headline=$HCCL_SRC_DIR/bench/headline

# refused TEXT ARGUMENTS: exit code 2, and one line, which has the text in it.
refused() {
    local text=$1 out rc=0
    shift
    out=$("$headline" "$@" 2>&1) || rc=$?
    if [[ 2 == "$rc" && $out == *"$text"* && $out != *$'\n'* ]]; then
        hccl_ok "headline/refused: $*"
    else
        hccl_not_ok "headline/refused: $*" "exit code $rc: ${out##*$'\n'}"
    fi
}

# has TEST TEXT REGEX
has() {
    if grep -qE "$3" <<<"$2"; then
        hccl_ok "headline/$1"
    else
        hccl_quote "$2"
        hccl_not_ok "headline/$1" "no line matches '$3'"
    fi
}

# Results whose ratios are easy: the median of 1, 4 and 2 s is 2 s. Another rate's do not count.
given_results() {
    local out
    cat >"$HCCL_TMP/given.csv" <<END
round,hosts,slots,rate,map,contender,bytes,seconds,out_bytes,in_bytes
0,2,2,8mbit,alternating,pipelined,1000000,1,1500000,1000000
1,2,2,8mbit,alternating,pipelined,1000000,4,1500000,1000000
2,2,2,8mbit,alternating,pipelined,1000000,2,1500000,1000000
2,2,2,9mbit,alternating,pipelined,1000000,2000,1500000,1000000
0,2,2,8mbit,alternating,flat ring,1000000,5,4000000,3000000
0,2,2,8mbit,alternating,unoptimised,1000000,5,4000000,5000000
END
    out=$("$headline" --rounds 0 --append --out "$HCCL_TMP/given" --hosts 2 --slots 2 --rate 8mbit \
        --size 1000000 2>&1) || true
    has "the link's own time" "$out" 'less than 1\.0 MB from each host: 1\.00 s'
    has "median and bytes" "$out" '^pipelined +2\.000 +1\.000 +4\.000 +3 +1\.00 +1\.5 +1\.50$'
    has "ratio" "$out" '^unoptimised +5\.000 +5\.000 +5\.000 +1 +2\.50 +5\.0 +5\.00$'
    has "documented ratio reached" "$out" 'alternating: 2\.50 x faster than flat ring.* 1\.7 x: reached'
    has "and not reached" "$out" 'alternating: 2\.50 x faster than unoptimised.* 2\.7 x: not reached'
    if hccl_have "headline/chart" gnuplot; then
        hccl_try "headline/chart" grep -q "unoptimised" "$HCCL_TMP/given.svg"
    fi
}

small_run() {
    local out rc=0
    out=$(hccl_limit 100 "$headline" --hosts 2 --slots 2 --rate 1gbit --size 128K --rounds 1 \
        --only "flat ring,pipelined" --out "$HCCL_TMP/small" 2>&1) || rc=$?
    if ((0 != rc)); then
        hccl_quote "$out"
        hccl_not_ok "headline/small run" "exit code $rc"
        return
    fi
    hccl_ok "headline/small run"
    # In order, a ring of all four ranks sends 2 x 3/4 of the vector from each host, ours 2 x 1/2.
    has "small run: bytes of the ring" "$out" '^flat ring .* 1\.5[0-2]$'
    has "small run: bytes of the hierarchy" "$out" '^pipelined .* 1\.0[0-2]$'
}

main() {
    local message
    message=$("$here/bed.sh" check) || {
        hccl_skip "headline" "${message#skip: }"
        hccl_finish
    }
    hccl_mktemp
    given_results
    refused "--size 3Q" --size 3Q
    refused "--size 4K" --size 4K
    refused "--rate fast" --rate fast
    refused "--hosts 1" --hosts 1
    refused "--slots x" --slots x
    refused "--only nobody" --only nobody
    refused "No such file" --rounds 0 --out /nowhere/x
    small_run
    hccl_finish
}

main
