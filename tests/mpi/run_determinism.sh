#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 420
# Reductions give the same bits on all ranks and in every run of the same shape (determinism.c):
# each algorithm that reduces, on several shapes. Two jobs with other delays must print the same
# checksums. HCCL_CHECK_LONG=1: every algorithm on every shape, longer vectors.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp
export HCCL_TEST_TIMEOUT=100

if (($# > 0)); then
    echo "usage: tests/mpi/run_determinism.sh" >&2
    exit 2
fi
program=$HCCL_BUILD_DIR/tests/mpi/determinism
if [[ ! -x $program ]]; then
    hccl_not_ok determinism "no program $program: run make check"
    hccl_finish
fi
longest=7001
if [[ ${HCCL_CHECK_LONG:-0} == 1 ]]; then
    longest=300007
fi
kinds="allreduce reduce reduce_scatter reduce_scatter_block scan exscan"

# algorithms COLLECTIVE: the names of algorithms.def for intra-communicators, one per line.
algorithms() {
    sed -nE "s/^HCCL_ALGO\(${1^^}, ([a-z_0-9]+),.*/\1/p" "$HCCL_SRC_DIR/src/algo/algorithms.def" \
        | grep -vx inter
}

# twice NAME RANKS SHAPE OPTIONS...: two runs, one table. SHAPE may be empty.
twice() {
    local name=$1 ranks=$2 shape=$3 seed rc
    shift 3
    if [[ -n $shape ]]; then
        set -- --mca coll_hccl_topology "$shape" "$@"
    fi
    for seed in 1 2; do
        rc=0
        hccl_mpirun -np "$ranks" --mca coll hccl "$@" "$program" -s "$seed" -l "$longest" \
            >"$HCCL_TMP/run$seed" 2>&1 || rc=$?
        if ((rc != 0)); then
            hccl_quote "$(grep -avE '^[a-z_]+ (double|float) ' "$HCCL_TMP/run$seed" | head -n 12)"
            hccl_not_ok "$name" "exit code $rc$(grep -am 1 '^rank ' "$HCCL_TMP/run$seed" \
                | sed 's/^/: /')"
            return 0
        fi
    done
    if ! grep -qE '^allreduce double sum 1 [0-9a-f]{16}$' "$HCCL_TMP/run1"; then
        hccl_not_ok "$name" "no checksums"
    elif ! cmp -s "$HCCL_TMP/run1" "$HCCL_TMP/run2"; then
        hccl_not_ok "$name" "another run gave other bits: $(diff "$HCCL_TMP/run1" \
            "$HCCL_TMP/run2" | sed -n 's/^< //p' | head -n 1)"
    else
        hccl_ok "$name"
    fi
}

# every_algorithm NAME RANKS SHAPE PATTERN: as many pairs of jobs as the collective with the most
# algorithms has (of those that match the pattern); each job forces the next one of each collective.
every_algorithm() {
    local name=$1 ranks=$2 shape=$3 pattern=$4 kind i=0 one most=0
    local -A list=()
    local -a names options
    for kind in $kinds; do
        list[$kind]=$(algorithms "$kind" | grep -E "$pattern" | tr '\n' ' ' || true)
        read -r -a names <<<"${list[$kind]}"
        most=$((${#names[@]} > most ? ${#names[@]} : most))
    done
    while ((i < most)); do
        options=()
        one=
        for kind in $kinds; do
            read -r -a names <<<"${list[$kind]}"
            if ((${#names[@]} > 0)); then
                options+=(--mca "coll_hccl_${kind}_algorithm" "${names[i % ${#names[@]}]}")
                if ((i < ${#names[@]})); then
                    one+="+${names[i]}"
                fi
            fi
        done
        # The name holds the algorithms that are new, each once.
        one=$(tr '+' '\n' <<<"${one#+}" | sort -u | paste -sd+)
        twice "determinism/$name-$one" "$ranks" "$shape" "${options[@]}"
        i=$((i + 1))
    done
}

if [[ -z $(algorithms allreduce) ]]; then
    hccl_not_ok determinism "no algorithms found in algorithms.def"
    hccl_finish
fi
twice determinism/2-ranks 2 ""
twice determinism/5-ranks 5 ""
twice determinism/8-ranks-cyclic 8 "node:3 core:(3,2,3) map:cyclic"
twice determinism/network 3 "" --mca coll_hccl_shared_memory 0
if [[ ${HCCL_CHECK_LONG:-0} == 1 ]]; then
    every_algorithm node 4 "node:1 core:4" .
    every_algorithm 2x2 4 "node:2 core:2" .
    every_algorithm uneven 4 "node:3 core:(1,2,1)" .
    every_algorithm cyclic 6 "node:2 core:3 map:cyclic" .
    every_algorithm divided 8 "package:2 numa:2 core:2" '^tier'
    every_algorithm network 7 "node:7 core:1" .
else
    every_algorithm node 3 "node:1 core:3" '^(mesh|slices|rhd|tree)'
    every_algorithm uneven 4 "node:3 core:(1,2,1)" '^hier'
    every_algorithm 2x2 4 "node:2 core:2" '^(hier|r|tree|c|b)'
    every_algorithm divided 5 "numa:2 core:(2,3)" '^tier'
fi
hccl_finish
