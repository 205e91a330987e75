#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# How ranks wait: whether more ranks than processors are noticed; what waiting costs with and without
# coll_hccl_sleep_after, and that sleeping ranks are woken (idle.c).
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp

if (($# > 0)); then
    echo "usage: tests/mpi/run_waiting.sh" >&2
    exit 2
fi
served=$HCCL_BUILD_DIR/tests/mpi/served
program=$HCCL_BUILD_DIR/tests/mpi/idle
if [[ ! -x $served || ! -x $program ]]; then
    hccl_not_ok waiting "no program $served or $program: run make check"
    hccl_finish
fi

# The processors that this shell may run on, one number a line.
processors() {
    taskset -pc $$ | sed 's/.*: //' | tr , '\n' |
        while IFS=- read -r first last; do seq "$first" "${last:-$first}"; done
}
mapfile -t cpus < <(processors)

# crowded NAME yes|no COMMAND...: whether the job that COMMAND starts says that processors are few.
crowded() {
    local name=waiting/$1 expected=$2 out rc=0 found=no
    shift 2
    out=$(hccl_limit 60 "$@" 2>&1 </dev/null) || rc=$?
    if grep -q 'outnumber the processors' <<<"$out"; then
        found=yes
    fi
    if ((rc != 0)); then
        hccl_quote "$out"
        hccl_not_ok "$name" "exit code $rc"
    elif [[ $found != "$expected" ]]; then
        hccl_not_ok "$name" "crowded: $found, expected $expected"
    else
        hccl_ok "$name"
    fi
}

export OMPI_MCA_coll=hccl OMPI_MCA_coll_hccl_verbose=2
mpi=("$OMPI_MPIRUN" --oversubscribe --bind-to none)
n=${#cpus[@]}
if ((n > 64)); then
    hccl_skip waiting/crowd "a job of more than $n ranks is too large a test"
else
    crowded a-rank-per-processor no "${mpi[@]}" -np "$n" "$served"
    crowded one-rank-more yes "${mpi[@]}" -np $((n + 1)) "$served"
    crowded one-rank-more-on-made-up-nodes yes "${mpi[@]}" -np $((n + 1)) \
        --mca coll_hccl_topology "node:$((n + 1)) core:1" "$served"
fi
crowded two-ranks-in-a-set-of-one yes taskset -c "${cpus[0]}" "${mpi[@]}" -np 2 "$served"
if ((n < 2)); then
    hccl_skip waiting/bound "there is one processor"
else
    crowded bound-to-the-same-processor yes "${mpi[@]}" \
        -np 1 taskset -c "${cpus[0]}" "$served" : -np 1 taskset -c "${cpus[0]}" "$served"
    crowded bound-to-different-processors no "${mpi[@]}" \
        -np 1 taskset -c "${cpus[0]}" "$served" : -np 1 taskset -c "${cpus[1]}" "$served"
fi

# look NAME RULE RANKS MPIRUN_ARGS...: once. RULE is a condition of awk on what idle prints: $2 the
# case, cpu and late. Sets why, empty when all lines meet it.
look() {
    local rule=$1 ranks=$2 out=$HCCL_TMP/idle rc=0 bad lines
    shift 2
    hccl_limit 60 "${mpi[@]}" "$@" >"$out" 2>&1 </dev/null || rc=$?
    lines=$(grep -cE '^[0-9]+ [a-z0-9-]+ cpu=[0-9.]+ late=[0-9]+$' "$out" || true)
    bad=$(awk "/ cpu=/ { split(\$3, c, \"=\"); split(\$4, l, \"=\"); cpu = c[2]; late = l[2]
        if (!($rule)) print }" "$out")
    if ((rc != 0)); then
        why="exit code $rc"
    elif ((lines != (ranks - 1) * 7)); then
        why="$lines lines instead of $(((ranks - 1) * 7))"
    else
        why=${bad%%$'\n'*}
    fi
}

# idle NAME RULE RANKS MPIRUN_ARGS...: three times if need be, since somebody else's work shows in both
# figures. Whether a rank is woken does not depend on chance: if not, it comes 5 ms late.
idle() {
    local name=waiting/$1 try
    shift
    if ((n < 2)); then
        hccl_skip "$name" "there is one processor"
        return 0
    fi
    for try in 1 2 3; do
        look "$@"
        if [[ -z $why ]]; then
            hccl_ok "$name"
            return 0
        fi
        hccl_note "$name, try $try: $why"
    done
    hccl_quote "$(cat "$HCCL_TMP/idle")"
    hccl_not_ok "$name" "$why"
}
export OMPI_MCA_coll_hccl_verbose=1
asleep=(--mca coll_hccl_sleep_after 500)
woken='cpu < 5 && late < 2500'
# All of a processor, but others may want some of it too.
polls='cpu > 15'
idle polling "$polls" 2 -np 2 "$program" -n 1
idle sleeping "$woken" 2 -np 2 "${asleep[@]}" "$program"
# Nobody wakes a rank for a message: it looks every millisecond at least, several times per call.
idle sleeping-on-two-nodes 'cpu < 5 && late < 4500' 2 -np 2 "${asleep[@]}" \
    --mca coll_hccl_topology "node:2 core:1" "$program"
idle sleeping-4-ranks "$woken" 4 -np 4 "${asleep[@]}" --mca coll_hccl_topology "node:2 core:2" \
    "$program" -n 4
# Each rank has its own value: who never sleeps wakes the others.
idle some-sleep "$woken" 2 \
    -np 1 "$program" : -np 1 -x OMPI_MCA_coll_hccl_sleep_after=500 "$program"
idle some-poll "$polls" 2 \
    -np 1 -x OMPI_MCA_coll_hccl_sleep_after=500 "$program" -n 1 : -np 1 "$program" -n 1
hccl_finish
