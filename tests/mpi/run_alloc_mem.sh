#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Memory from MPI_Alloc_mem: where it comes from, and that it is read in place without harm
# (alloc_mem.c).
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

if (($# > 0)); then
    echo "usage: tests/mpi/run_alloc_mem.sh" >&2
    exit 2
fi
program=$HCCL_BUILD_DIR/tests/mpi/alloc_mem
if [[ ! -x $program ]]; then
    hccl_not_ok alloc_mem "no program $program: run make check"
    hccl_finish
fi

# run NAME RANKS TEST MCA_OPTIONS...
run() {
    local name=$1 ranks=$2 test=$3
    shift 3
    hccl_try "alloc_mem/$name" hccl_mpirun -np "$ranks" "$@" "$program" "$test"
}
hccl=(--mca coll hccl)
in_place=(--mca coll_hccl_zero_copy always)

run heap 2 heap "${hccl[@]}"
run "switched off" 1 malloc "${hccl[@]}" --mca coll_hccl_alloc_mem 0
run "without the component" 1 malloc --mca coll ^hccl
run "without shared memory" 2 malloc "${hccl[@]}" --mca coll_hccl_shared_memory 0
run "a full heap" 1 full "${hccl[@]}" --mca coll_hccl_heap_size 1m
run "no growth" 1 growth "${hccl[@]}"
run "after MPI_Finalize" 2 finalize "${hccl[@]}"
run "after MPI_Finalize, without the component" 1 finalize --mca coll ^hccl
run "any order" 2 order "${hccl[@]}" --mca coll_hccl_heap_size 16m
run "1000 communicators" 2 comms "${hccl[@]}" "${in_place[@]}"
run "1000 communicators, a heap that is too small" 3 comms "${hccl[@]}" "${in_place[@]}" \
    --mca coll_hccl_heap_size 1m
run fork 2 fork "${hccl[@]}" "${in_place[@]}"
run "shared windows" 3 window "${hccl[@]}" "${in_place[@]}"
for ranks in 2 3 4; do
    run "reuse at once, $ranks ranks" "$ranks" reuse "${hccl[@]}" "${in_place[@]}"
    run "reuse behind requests, $ranks ranks" "$ranks" requests "${hccl[@]}" "${in_place[@]}"
done
run "reuse at once, trial" 3 reuse "${hccl[@]}"
run "a rank that maps no heap" 3 reuse "${hccl[@]}" "${in_place[@]}" --mca coll_hccl_inject heap:1
run "two nodes" 4 reuse "${hccl[@]}" "${in_place[@]}" --mca coll_hccl_topology "node:2 core:2"

# says NAME yes|no PATTERN RANKS TEST OPTIONS...: whether the output has a line like that.
says() {
    local name=$1 want=$2 pattern=$3 ranks=$4 test=$5 out has=no
    shift 5
    out=$(hccl_mpirun -np "$ranks" "$@" "$program" "$test" 2>&1) || true
    if grep -q "$pattern" <<<"$out"; then
        has=yes
    fi
    if [[ "$has" == "$want" ]]; then
        hccl_ok "alloc_mem/$name"
    else
        hccl_quote "$(tail -n 5 <<<"$out")"
        hccl_not_ok "alloc_mem/$name" "a line like '$pattern': $has"
    fi
}
found='takes .* us copied and .* in place'
says "the trial reports" yes "$found" 2 reuse "${hccl[@]}" --mca coll_hccl_verbose 2

# XPMEM, or what stands in for it (fake_xpmem.c): buffers from malloc are read in place.
if [[ 1 == "$HCCL_SANITIZERS" ]]; then
    hccl_skip "alloc_mem/xpmem" "the library that stands in for it brings its own malloc"
else
    hccl_mktemp
    fake=$HCCL_TMP/libxpmem.so.0
    ln -s "$HCCL_BUILD_DIR/tests/mpi/.libs/libfake_xpmem.so" "$fake"
    xpmem=("${hccl[@]}" --mca coll_hccl_alloc_mem 0 -x "LD_PRELOAD=$fake"
        -x "LD_LIBRARY_PATH=$HCCL_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
    for ranks in 2 3; do
        run "xpmem, $ranks ranks" "$ranks" reuse "${xpmem[@]}" "${in_place[@]}"
        run "xpmem behind requests, $ranks ranks" "$ranks" requests "${xpmem[@]}" "${in_place[@]}"
    done
    run "xpmem, two nodes" 4 reuse "${xpmem[@]}" "${in_place[@]}" \
        --mca coll_hccl_topology "node:2 core:2"
    says "xpmem is tried" yes "$found" 2 reuse "${xpmem[@]}" --mca coll_hccl_verbose 2
    says "xpmem switched off" no "$found" 2 reuse "${xpmem[@]}" --mca coll_hccl_verbose 2 \
        --mca coll_hccl_xpmem 0
    for fault in version make get attach proof late; do
        run "xpmem whose $fault fails on a rank" 3 reuse "${xpmem[@]}" "${in_place[@]}" \
            -x HCCL_FAKE_XPMEM="$fault"
        says "xpmem whose $fault fails is not used" no "$found" 3 reuse "${xpmem[@]}" \
            --mca coll_hccl_verbose 2 -x HCCL_FAKE_XPMEM="$fault"
    done
    says "memory that cannot be mapped is named" yes \
        'the memory of a process of this node, at 0x[0-9a-f]*, cannot be mapped with XPMEM' \
        3 window "${xpmem[@]}" "${in_place[@]}"
fi

out=$(hccl_mpirun -np 2 "${hccl[@]}" --mca coll_hccl_zero_copy maybe "$program" heap 2>&1) || true
if grep -q 'coll_hccl_zero_copy: "maybe" is not accepted; accepted: trial, always and never' \
    <<<"$out"; then
    hccl_ok "alloc_mem/a wrong word is named"
else
    hccl_quote "$(head -n 5 <<<"$out")"
    hccl_not_ok "alloc_mem/a wrong word is named" "no such message"
fi
hccl_finish
