#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 1200
# Random differential test of all collectives on 2 to 8 ranks and on emulated nodes, after a proof that
# the test notices spoilt results. In every other job no rank may store into another one's shared
# memory (one_writer_shim.c).
set -euo pipefail

usage() {
    cat <<'END'
usage: tests/mpi/run_fuzz.sh [-n CASES] [-s SEED] [-j] [-- FUZZ OPTIONS]
  -n CASES   cases in all, shared out over the jobs (default 20000)
  -s SEED    of the first job; the others follow (default 1; 0: from the clock)
  -j         only the jobs, without the proof
Options behind -- go to every fuzz program, e.g. -- -c allreduce -m multi -k 0.
Environment:
  HCCL_TEST_COLL     coll components to run with (default hccl; others ignore the emulated nodes)
  HCCL_FUZZ_CASES, HCCL_FUZZ_SEED   as -n and -s
  HCCL_TEST_TIMEOUT  seconds for one job (default 300)
END
}

bad() {
    echo "run_fuzz.sh: $1" >&2
    usage >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
total=${HCCL_FUZZ_CASES:-20000}
seed=${HCCL_FUZZ_SEED:-1}
prove=1
while getopts ":n:s:jh" o; do
    case $o in
        n) total=$OPTARG ;;
        s) seed=$OPTARG ;;
        j) prove=0 ;;
        h)
            usage
            exit 0
            ;;
        *) bad "unknown or incomplete option -$OPTARG" ;;
    esac
done
shift $((OPTIND - 1))
[[ $total =~ ^[1-9][0-9]*$ ]] || bad "-n needs a number of cases, not '$total'"
[[ $seed =~ ^[0-9]+$ ]] || bad "-s needs a number, not '$seed'"
if ((seed == 0)); then
    seed=$(date +%s)
fi

HCCL_TEST_TIMEOUT=${HCCL_TEST_TIMEOUT:-300}
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
hccl_mktemp
coll=${HCCL_TEST_COLL:-hccl}
fuzz=$HCCL_BUILD_DIR/tests/mpi/fuzz
shim=$HCCL_BUILD_DIR/tests/mpi/.libs/libcorrupt_shim.so
if [[ ! -x $fuzz || ! -e $shim ]]; then
    echo "run_fuzz.sh: $fuzz or $shim is missing: make -C $HCCL_BUILD_DIR/tests check-programs" >&2
    exit 2
fi

# What Open MPI's own components and operations are known to do wrong, so that a run with them says
# something about the rest: see the list in known_openmpi.txt.
force=()
leave_out=()
if [[ $coll != hccl ]]; then
    leave_out=(-x 'zerotypes,tinygrid,wide,mixed,rubbish,bottom,droptypes')
fi

# forced ALGORITHM: options that force it on every collective that has one of this name.
forced() {
    local kind
    for kind in $(sed -n "s/^HCCL_ALGO(\([A-Z_]*\), $1,.*/\L\1/p" "$here/../../src/algo/algorithms.def"); do
        echo "--mca coll_hccl_${kind}_algorithm $1"
    done
}

# More options of mpirun for run_job, and a library to preload; empty: every other job has shim_writer.
extra=()
preloaded=

# Every other job runs with stores into peers' memory forbidden, while watch is 1; how many of them
# mapped any.
shim_writer=$HCCL_BUILD_DIR/tests/mpi/.libs/libone_writer_shim.so
jobs=0
jobs_watched=0
watch=1

# run_job NAME LABEL RANKS TOPOLOGY ARGS...: one job, with the options of the array force; its lines go through, and it must report once.
run_job() {
    local name=$1 label=$2 ranks=$3 topology=$4 out rc=0
    shift 4
    local -a mca=(--mca coll "$coll" "${extra[@]}")
    if [[ -n $topology && $coll == hccl ]]; then
        mca+=(--mca coll_hccl_topology "$topology" "${force[@]}")
    fi
    jobs=$((jobs + 1))
    if [[ -n $preloaded ]]; then
        mca+=(-x "LD_PRELOAD=$preloaded")
    elif ((watch == 1 && jobs % 2 == 0)) && [[ $coll == hccl && $HCCL_SANITIZERS != 1 ]]; then
        mca+=(-x "LD_PRELOAD=$shim_writer")
    fi
    out=$(hccl_mpirun "${mca[@]}" -np "$ranks" "$fuzz" ${label:+-L "$label"} "${leave_out[@]}" "$@" 2>&1) || rc=$?
    grep -aE '^(ok |not ok |# (FAILURE|HANG|CRASH|fuzz:|  that))' <<<"$out" | grep -av '^not ok ' || true
    if grep -aq '^# one writer: ' <<<"$out"; then
        jobs_watched=$((jobs_watched + 1))
    fi
    if ((rc == 0)) && grep -aq '^ok ' <<<"$out"; then
        return
    fi
    if ! grep -aqE '^# (FAILURE|HANG|CRASH)' <<<"$out"; then
        hccl_quote "$(tail -n 12 <<<"$out")"
    fi
    hccl_not_ok "$name" "exit code $rc, $ranks ranks${topology:+, coll_hccl_topology=\"$topology\"}; the lines above repeat it"
}

# ---- the proof: each spoilt function must be noticed ---------------------------------------------------

# prove_one SPOILT ARGS...: fuzz fails when the calls of that function are spoilt.
prove_one() {
    local spoilt=$1 out rc=0
    shift
    out=$(hccl_mpirun --mca coll "$coll" -np 3 -x HCCL_CORRUPT="$spoilt" -x LD_PRELOAD="$shim" \
        "$fuzz" -n 400 -s 7 "${leave_out[@]}" "$@" 2>&1) || rc=$?
    if ((rc != 0)) && grep -aq '^# FAILURE' <<<"$out"; then
        hccl_ok "fuzz.notices.$spoilt"
    elif ((rc != 0)); then
        hccl_quote "$(tail -n 5 <<<"$out")"
        hccl_not_ok "fuzz.notices.$spoilt" "ended with $rc, but for another reason"
    else
        hccl_not_ok "fuzz.notices.$spoilt" "400 cases passed although every fifth call was spoilt"
    fi
}

if ((prove == 1)); then
    prove_one barrier -m blocking -c barrier -C world
    prove_one bcast -m blocking -c bcast
    prove_one bcast_guard -m blocking -c bcast
    prove_one allgather -m blocking -c allgather
    prove_one allgather_send -m blocking -c allgather
    prove_one alltoall -m blocking -c alltoall
    prove_one reduce -m blocking -c reduce
    prove_one allreduce -m blocking -c allreduce
    prove_one scan -m blocking -c scan
    prove_one iallreduce -m nonblocking -c allreduce
    prove_one iallgather -m nonblocking -c allgather
    prove_one neighbor_allgather -m blocking -c neighbor_allgather
    prove_one allreduce_init -m persistent -c allreduce
    prove_one allgather_init -m persistent -c allgather
fi

# A store into a peer's memory ends the job.
if ((prove == 1)) && [[ $coll == hccl && $HCCL_SANITIZERS != 1 ]]; then
    rc=0
    hccl_mpirun --mca coll "$coll" -np 2 -x "LD_PRELOAD=$shim_writer" -x HCCL_PLANT_STORE=1 \
        "$fuzz" -n 10 -s 7 >"$HCCL_TMP/planted" 2>&1 || rc=$?
    if ((rc != 0)) && grep -aq '^# CRASH' "$HCCL_TMP/planted"; then
        hccl_ok fuzz.notices.second-writer
    else
        hccl_quote "$(tail -n 5 "$HCCL_TMP/planted")"
        hccl_not_ok fuzz.notices.second-writer "exit code $rc, no crash"
    fi
fi

# ---- the jobs: ranks, parts of 1000 of all cases, topology, algorithm to force -----------------------------------------------

hccl_note "fuzz: $total cases in all, coll $coll, seeds from $seed"
while IFS='|' read -r ranks parts topology algorithm; do
    cases=$((total * parts / 1000))
    ((cases > 0)) || cases=1
    read -r -a force <<<"$([[ -z $algorithm ]] || forced "$algorithm" | paste -sd' ')"
    label=$(tr -cs 'a-z0-9\n' '-' <<<"$topology $algorithm" | sed 's/^-//; s/-$//')
    hccl_note "fuzz -s $seed -n $cases on $ranks ranks, ${topology:-one node as detected} $algorithm"
    run_job "fuzz${label:+.$label}.np$ranks.seed$seed" "$label" "$ranks" "$topology" -s "$seed" -n "$cases" "$@"
    seed=$((seed + 1))
done <<'END'
2|130|
3|90|
4|120|
5|50|
6|35|
7|25|
8|25|
2|90|node:2 core:1
3|70|node:3 core:1
3|40|node:2 core:(1,2)
4|80|node:2 core:2
4|40|node:2 core:2 map:cyclic
4|20|node:1 numa:2 core:2
4|20|numa:2 core:2|tier_slices
5|20|numa:2 core:(2,3) map:0,2,3,1,4|tier_tree
8|15|package:2 numa:2 core:2|tier_slices
8|15|package:2 numa:2 core:2|tier_tree
5|30|node:2 core:(1,4)
6|25|node:3 core:(1,2,3)
6|15|node:3 rank:2 map:cyclic
7|15|node:3 core:(3,1,3) map:cyclic
8|15|node:4 core:2
8|15|node:2 numa:2 core:2
END

# ---- in place: the same with hardly anything copied, buffers of both kinds side by side ---------------------

if [[ $coll == hccl ]]; then
    in_place=(--mca coll_hccl_zero_copy_min 64 --mca coll_hccl_slot_small 256)
    while IFS='|' read -r ranks parts topology way; do
        cases=$((total * parts / 1000))
        ((cases > 0)) || cases=1
        extra=("${in_place[@]}" --mca coll_hccl_zero_copy "$way")
        run_job "fuzz.in-place.$way.np$ranks.seed$seed" "in-place-$way" "$ranks" "$topology" -s "$seed" -n "$cases" "$@"
        seed=$((seed + 1))
    done <<'END'
2|150||always
3|200||trial
4|150|numa:2 core:2|always
4|150|node:2 core:2|always
END
    # Buffers from malloc, through what stands in for XPMEM (fake_xpmem.c).
    if [[ $HCCL_SANITIZERS == 1 ]]; then
        hccl_skip "fuzz.xpmem" "the library that stands in for it brings its own malloc"
    else
        hccl_mktemp
        preloaded=$HCCL_TMP/libxpmem.so.0
        ln -s "$HCCL_BUILD_DIR/tests/mpi/.libs/libfake_xpmem.so" "$preloaded"
        extra=("${in_place[@]}" --mca coll_hccl_zero_copy always --mca coll_hccl_alloc_mem 0
            -x "LD_LIBRARY_PATH=$HCCL_TMP${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}")
        run_job "fuzz.xpmem.np3.seed$seed" xpmem 3 "" -s "$seed" -n "$((total / 7 + 1))" "$@"
    fi
    if [[ $HCCL_SANITIZERS != 1 ]]; then
        if ((jobs_watched * 3 > jobs)); then
            hccl_ok "fuzz.one-writer"
            hccl_note "fuzz: stores into peers' memory were forbidden in $jobs_watched of $jobs jobs"
        else
            hccl_not_ok "fuzz.one-writer" "only $jobs_watched of $jobs jobs were watched"
        fi
    fi
fi

# ---- landing: what is received to be published goes straight into its slot, and what is only read is read
# where it came, whatever the network; short slots, so that there are many segments ------------------------

if [[ $coll == hccl ]]; then
    preloaded=
    extra=(--mca coll_hccl_land always --mca coll_hccl_slot_small 256 --mca coll_hccl_slot_wide 4096)
    while IFS='|' read -r ranks parts topology; do
        cases=$((total * parts / 1000))
        ((cases > 0)) || cases=1
        run_job "fuzz.landing.np$ranks.seed$seed" landing "$ranks" "$topology" -s "$seed" -n "$cases" "$@"
        seed=$((seed + 1))
    done <<'END'
4|100|node:2 core:2
6|30|node:3 core:2
5|30|node:2 core:(2,3)
4|50|node:4
END
fi

# ---- asleep: nearly every wait becomes a sleep, or hardly any does. Who wakes a peer stores into its
# memory: the one word that may have two writers. -----------------------------------------------------------------

if [[ $coll == hccl ]]; then
    watch=0
    preloaded=
    while IFS='|' read -r ranks parts topology after; do
        cases=$((total * parts / 1000))
        ((cases > 0)) || cases=1
        extra=(--mca coll_hccl_sleep_after "$after")
        run_job "fuzz.asleep.after$after.np$ranks.seed$seed" "asleep-$after" "$ranks" "$topology" -s "$seed" -n "$cases" "$@"
        seed=$((seed + 1))
    done <<'END'
2|60||1
3|60||50
4|60|numa:2 core:2|1
4|60|node:2 core:2|10
END
fi
hccl_finish
