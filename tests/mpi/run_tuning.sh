#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# What is measured at the start: kept, read again, measured anew when damaged, the same on all ranks
# whoever knows it, and never in the way.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp

if (($# > 0)); then
    echo "usage: tests/mpi/run_tuning.sh" >&2
    exit 2
fi
program=$HCCL_BUILD_DIR/bench/hccl_test
if [[ ! -x $program ]]; then
    hccl_not_ok tuning "no program $program: run make"
    hccl_finish
fi
unset OMPI_MCA_coll_hccl_cache_dir
export OMPI_MCA_coll=hccl OMPI_MCA_coll_hccl_verbose=2 HOME=$HCCL_TMP/home
mkdir "$HOME"
mpi=("$OMPI_MPIRUN" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1)
work=("$program" bcast,allreduce,alltoall -b 200K -e 300K -n 3)
dir=$HCCL_TMP/kept

# job OPTIONS...: sets out; its results must be right and its lanes open.
job() {
    local rc=0
    out=$(hccl_limit 60 "${mpi[@]}" "$@" 2>&1 </dev/null) || rc=$?
    if ((rc != 0)); then
        fault="exit code $rc"
    elif grep -q 'network tier instead' <<<"$out"; then
        fault="shared memory is not used"
    else
        fault=""
    fi
}

# verdict NAME CONDITION...: ok if the last job had no fault and the command CONDITION succeeds.
verdict() {
    local name=tuning/$1
    shift
    if [[ -z $fault ]] && ! "$@"; then
        fault="not as expected: $*"
    fi
    if [[ -n $fault ]]; then
        hccl_quote "$out"
        hccl_not_ok "$name" "$fault"
    else
        hccl_ok "$name"
    fi
}

says() { grep -q "$1" <<<"$out"; }
# uses RANKS LARGE WIDE: so many ranks say that they use these.
uses() {
    (($(grep -c "slots of $2 bytes for long messages one way, of $3 for others" <<<"$out") == $1))
}
neither() { ! says "$1" && ! says "$2"; }
kept() { compgen -G "$1/probe-*" >/dev/null; }

# Nothing to measure for: one rank on a node, values given, switched off.
job -np 1 --mca coll_hccl_cache_dir "$dir" "${work[@]}"
verdict alone neither measured 'not be measured'
job -np 2 --mca coll_hccl_cache_dir "$dir" --mca coll_hccl_slot_large 64k \
    --mca coll_hccl_slot_wide 128k "${work[@]}"
verdict given uses 2 65536 131072
job -np 2 --mca coll_hccl_cache_dir "$dir" --mca coll_hccl_probe 0 "${work[@]}"
verdict off uses 2 32768 262144
verdict nothing-kept test ! -e "$dir"

# On a machine that is busy the probe may not end in time; the job must go well all the same.
for ((i = 0; i < 20; i++)); do
    job -np 2 --mca coll_hccl_cache_dir "$dir" "${work[@]}"
    if [[ -n $fault ]] || kept "$dir"; then
        break
    fi
done
if [[ -z $fault ]] && ! kept "$dir"; then
    hccl_skip tuning/measured "the probe found no time in $i jobs, or there is one processor"
    hccl_finish
fi
verdict measured says measured
job -np 2 --mca coll_hccl_cache_dir "$dir" "${work[@]}"
verdict kept says 'measured earlier'

# change LARGE WIDE FILE: another file of this machine, with a right sum.
file=$(compgen -G "$dir/probe-*")
change() {
    python3 - "$file" "$@" <<'END'
import sys
lines = open(sys.argv[1]).read().split("\n")
lines[2] = f"slot_large {sys.argv[2]} slot_wide {sys.argv[3]}"
text = "\n".join(lines[:3]) + "\n"
total = 0xcbf29ce484222325
for byte in text.encode():
    total = (total ^ byte) * 0x100000001b3 % 2**64
open(sys.argv[4], "w").write(f"{text}sum {total:016x}\n")
END
}
name=${file##*/}
mkdir "$HCCL_TMP/a" "$HCCL_TMP/b" "$HCCL_TMP/none"
change 65536 131072 "$HCCL_TMP/a/$name"
change 16384 65536 "$HCCL_TMP/b/$name"
# (--mca would hold for all ranks of the job.)
rank() { printf '%s\n' -np "$1" env "OMPI_MCA_coll_hccl_cache_dir=$HCCL_TMP/$2" "${work[@]}"; }

# Ranks that know different things use the same: what the first one knows that knows anything.
mapfile -t args < <(rank 1 a; echo :; rank 2 b)
job "${args[@]}"
verdict first-one-decides uses 3 65536 131072
mapfile -t args < <(rank 2 b; echo :; rank 1 a)
job "${args[@]}"
verdict in-the-order-of-ranks uses 3 16384 65536
job -np 2 --mca coll_hccl_cache_dir "$HCCL_TMP/a" --mca coll_hccl_slot_wide 512k "${work[@]}"
verdict given-wins uses 2 65536 524288
# An emulated node of its own for each rank: they do not share memory, and must agree all the same.
job -np 2 --mca coll_hccl_cache_dir "$HCCL_TMP/a" --mca coll_hccl_topology "node:2 core:1" \
    "${work[@]}"
verdict on-two-nodes uses 2 65536 131072

# Damaged: one warning, and it does not stay.
truncate -s -5 "$file"
for ((i = 0; i < 20; i++)); do
    job -np 2 --mca coll_hccl_cache_dir "$dir" "${work[@]}"
    if [[ -n $fault ]] || says 'measured: '; then
        break
    fi
done
one_warning() { (($(grep -c 'It is measured anew' <<<"$out") == 1)); }
verdict damaged one_warning
job -np 2 --mca coll_hccl_cache_dir "$dir" "${work[@]}"
verdict mended neither 'measured anew' 'not be measured'

# What cannot be replaced is not said to be.
rm "$file"
mkdir -p "$file/below"
job -np 2 --mca coll_hccl_cache_dir "$dir" "${work[@]}"
stays() { (($(grep -c ' warning .*is not replaced now' <<<"$out") == 1)) && ! says 'file is replaced'; }
verdict stays stays
rm -r "$file"

# No place to keep it: said where the user has named the place, else not.
: >"$HCCL_TMP/file"
job -np 2 --mca coll_hccl_cache_dir "$HCCL_TMP/file/below" "${work[@]}"
warned() { says 'not be measured' || says 'parameter coll_hccl_cache_dir:.*cannot be written to'; }
verdict bad-directory warned
job -np 2 --mca coll_hccl_cache_dir "/$(printf '%05000d' 0)" "${work[@]}"
too_long() { (($(grep -c ' warning .*coll_hccl_cache_dir: the name is too long' <<<"$out") == 1)); }
verdict long-name too_long
rm -r "$HOME"
: >"$HOME"
job -np 2 "${work[@]}"
silent() { ! grep -q ' warning ' <<<"$out"; }
verdict no-home silent
hccl_finish
