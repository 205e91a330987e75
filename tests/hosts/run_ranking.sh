#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 250
#
# bench/ranking: its verdicts on given times, its arguments, and one small run, whose verdict does not
# count: two busy processors are no place to judge times.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
ranking=$HCCL_SRC_DIR/bench/ranking
hccl_mktemp

# verdict NAME CODE REGEX RING RD TREE: of an allreduce of 1 MiB with these times, in ms, each of two
# jobs (a/b). hier_ring sends the least bytes and tree the most, so this is their predicted order.
verdict() {
    local name=$1 code=$2 regex=$3 out rc=0 algorithm number
    shift 3
    cp "$HCCL_SRC_DIR/tools/machines/emulated-hosts.machine" "$HCCL_TMP/given.machine"
    echo "round,map,collective,bytes,algorithm,seconds" >"$HCCL_TMP/given.csv"
    for algorithm in hier_ring hier_rd tree; do
        for number in 0 1; do
            printf '%d,in order,allreduce,1048576,%s,0.%06d\n' "$number" "$algorithm" \
                "$((1000 * $(cut -d/ -f$((number + 1)) <<<"$1")))" >>"$HCCL_TMP/given.csv"
        done
        shift
    done
    out=$("$ranking" --rounds 0 --append --out "$HCCL_TMP/given" 2>&1) || rc=$?
    if ((rc == code)) && grep -qE "$regex" <<<"$out"; then
        hccl_ok "ranking/$name"
    else
        hccl_quote "$out"
        hccl_not_ok "ranking/$name" "exit code $rc, or no line matches '$regex'"
    fi
}

# refused TEXT ARGUMENTS: exit code 2, and one line, which has the text in it.
refused() {
    local text=$1 out rc=0
    shift
    out=$("$ranking" "$@" 2>&1) || rc=$?
    if [[ 2 == "$rc" && $out == *"$text"* && $out != *$'\n'* ]]; then
        hccl_ok "ranking/refused: $*"
    else
        hccl_not_ok "ranking/refused: $*" "exit code $rc: ${out##*$'\n'}"
    fi
}

small_run() {
    local out rc=0
    out=$(hccl_limit 150 "$ranking" --collectives allreduce --maps "in order" --sizes 256K --hosts 2 \
        --rounds 1 --rate 200mbit --out "$HCCL_TMP/small" 2>&1) || rc=$?
    if ((rc == 77)); then
        hccl_skip "ranking/small run" "${out#skip: }"
    elif ((rc < 2)) && grep -qE '^[01] of 1 points agree$' <<<"$out" &&
        "$HCCL_BUILD_DIR/tools/hccl_plan" machine --machine "$HCCL_TMP/small.machine" >/dev/null; then
        hccl_ok "ranking/small run"
    else
        hccl_quote "$out"
        hccl_not_ok "ranking/small run" "exit code $rc"
    fi
}

verdict "same order" 0 '^allreduce .* agrees \(3 pairs in the same order, 0 ties, 0' 100/110 200/210 400/400
verdict "other order" 1 '^allreduce .* DIFFERS \(2 pairs in the same order, 0 ties, 1' 200/210 100/110 400/400
verdict "ranges that overlap tie" 0 'agrees \(2 pairs in the same order, 1 ties, 0' 150/260 100/200 400/400
verdict "medians within 5 % tie" 0 'agrees \(2 pairs in the same order, 1 ties, 0' 104/104 100/100 400/400
verdict "number of points" 0 '^1 of 1 points agree$' 100/110 200/210 400/400
refused "--collectives nonsense: accepted are allreduce" --collectives nonsense
refused "--rounds x" --rounds x
refused "--sizes 1T" --sizes 1T
small_run
hccl_finish
