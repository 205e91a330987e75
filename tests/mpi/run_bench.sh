#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 600
# Tests of bench/hccl_test, bench/hccl_versus and bench/hccl_kernel: that they run everything, notice
# wrong results and contenders that die, refuse bad arguments, compare, draw and write files. Times are
# not judged.
# (What hccl_versus makes of its measurements is tested in tests/unit/bench_versus.c.)
set -euo pipefail

# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp

bench=$HCCL_BUILD_DIR/bench
shim=$bench/.libs/libhccl_corrupt.so
for program in hccl_test hccl_versus; do
    if [[ ! -x $bench/$program ]]; then
        hccl_not_ok "bench/$program" "not built"
        hccl_finish
    fi
done

collectives="allgather allgatherv allreduce alltoall alltoallv alltoallw barrier bcast exscan gather
gatherv reduce reduce_scatter reduce_scatter_block scan scatter scatterv neighbor_allgather
neighbor_allgatherv neighbor_alltoall neighbor_alltoallv neighbor_alltoallw"

# everything NAME RANKS SELECTION OPTIONS...: all collectives in all modes; the CSV must hold each of
# the 22 x 3 with three sizes (barrier: one) and no wrong element.
everything() {
    local name=$1 ranks=$2 selection=$3 csv=$HCCL_TMP/all.csv rc=0 missing="" collective mode rows want
    shift 3
    hccl_mpirun -np "$ranks" --mca coll "$selection" "$bench/hccl_test" all \
        -m blocking,nonblocking,persistent -b 0 -e 40000 -i 20000 -n 4 -w 1 --csv "$csv" "$@" \
        >"$HCCL_TMP/out" 2>&1 || rc=$?
    if ((rc != 0)); then
        sed 's/^/#   /' "$HCCL_TMP/out" | tail -n 20
        hccl_not_ok "$name" "exit code $rc"
        return 0
    fi
    for collective in $collectives; do
        for mode in blocking nonblocking persistent; do
            want=3
            if [[ barrier == "$collective" ]]; then
                want=1
            fi
            rows=$(awk -F, -v c="$collective" -v m="$mode" -v r="$ranks" \
                '$1 == c && $2 == m && $3 == r && $20 == 0' "$csv" | wc -l)
            if ((rows != want)); then
                missing+=" $collective/$mode:$rows"
            fi
        done
    done
    if [[ -z $missing ]]; then
        hccl_ok "$name"
    else
        hccl_not_ok "$name" "right rows missing:$missing"
    fi
}

# run_ok NAME RANKS ARGS...: exit code 0 under Open MPI's own components.
run_ok() {
    local name=$1 ranks=$2
    shift 2
    hccl_try "$name" hccl_mpirun -np "$ranks" --mca coll ^hccl "$bench/hccl_test" "$@"
}

# refused NAME WORDS ARGS...: exit code 2 and one line on stderr that holds both words: the value and
# something that is accepted.
refused() {
    local name=$1 value=$2 accepted=$3 rc=0 lines
    shift 3
    hccl_mpirun -np 2 --mca coll ^hccl "$bench/hccl_test" "$@" >"$HCCL_TMP/out" 2>&1 || rc=$?
    lines=$(grep -c '^hccl_test: ' "$HCCL_TMP/out" || true)
    if ((rc != 2)); then
        hccl_not_ok "$name" "exit code $rc instead of 2"
    elif ((lines != 1)); then
        hccl_not_ok "$name" "$lines messages instead of one"
    elif ! grep '^hccl_test: ' "$HCCL_TMP/out" | grep -F -e "$value" | grep -qF -e "$accepted"; then
        hccl_not_ok "$name" "unclear: $(grep '^hccl_test: ' "$HCCL_TMP/out")"
    else
        hccl_ok "$name"
    fi
}

# refused_versus NAME WORDS ARGS...: the same for hccl_versus, before any job is started.
refused_versus() {
    local name=$1 value=$2 accepted=$3 rc=0
    shift 3
    TMPDIR=$HCCL_TMP timeout --kill-after=5 20 "$bench/hccl_versus" "$@" >"$HCCL_TMP/out" 2>&1 \
        </dev/null || rc=$?
    if ((rc != 2)); then
        hccl_not_ok "$name" "exit code $rc instead of 2"
    elif (($(wc -l <"$HCCL_TMP/out") != 1)) || ! grep -q '^hccl_versus: ' "$HCCL_TMP/out"; then
        hccl_not_ok "$name" "$(wc -l <"$HCCL_TMP/out") lines instead of one message"
    elif ! grep -F -e "$value" "$HCCL_TMP/out" | grep -qF -e "$accepted"; then
        hccl_not_ok "$name" "unclear: $(cat "$HCCL_TMP/out")"
    else
        hccl_ok "$name"
    fi
}

# left_behind: processes and folders of comparisons of this driver that should have gone.
left_behind() {
    grep -lF "$HCCL_TMP/hccl_versus." /proc/[0-9]*/cmdline 2>/dev/null || true
    ls -d "$HCCL_TMP"/hccl_versus.* 2>/dev/null || true
}

# dies NAME BYTES ROWS CONTENDER...: the contender whose options kill its last rank in an allreduce of
# so many bytes is named; the rows before that (and, where others can go on, behind it) are in the CSV,
# with so many sizes in all; nothing is left.
dies() {
    local name=$1 who=$2 want=$3 rc=0 rows left
    shift 3
    rm -f "$HCCL_TMP/versus.csv"
    TMPDIR=$HCCL_TMP timeout --kill-after=10 60 "$bench/hccl_versus" -np 2 "$@" -- allreduce \
        -b 64 -e 1024 -f 4 -n 40 --rounds 5 --csv "$HCCL_TMP/versus.csv" >"$HCCL_TMP/out" 2>&1 \
        </dev/null || rc=$?
    rows=$(cut -d, -f1,8,9 "$HCCL_TMP/versus.csv" | grep -c '^allreduce,[0-9]*,first$' || true)
    left=$(left_behind)
    if ((rc != 1)); then
        hccl_not_ok "$name" "exit code $rc instead of 1: $(tail -n 1 "$HCCL_TMP/out")"
    elif ! grep -q "^hccl_versus: $who (mpirun.* ended by itself with exit code [1-9]" "$HCCL_TMP/out"; then
        hccl_not_ok "$name" "no message names $who: $(grep '^hccl_versus' "$HCCL_TMP/out")"
    elif ((rows != want)); then
        hccl_not_ok "$name" "$rows sizes in the CSV instead of $want"
    elif ! grep -q '^# summary' "$HCCL_TMP/out"; then
        hccl_not_ok "$name" "what was measured before is not summed up"
    elif [[ -n $left ]]; then
        hccl_not_ok "$name" "left behind: $left"
    else
        hccl_ok "$name"
    fi
}

# drawn NAME: the plot plot.svg of the comparison before is there and speaks of its contenders.
drawn() {
    if [[ -s $HCCL_TMP/plot.svg ]] && grep -q '<svg' "$HCCL_TMP/plot.svg" &&
        grep -q 'bcast, blocking' "$HCCL_TMP/plot.svg" && [[ -s $HCCL_TMP/plot.gp ]] &&
        grep -q "^# plot: $HCCL_TMP/plot.svg" "$HCCL_TMP/out" &&
        { [[ ! -e $HCCL_TMP/plot.png ]] || [[ -s $HCCL_TMP/plot.png ]]; }; then
        hccl_ok "$1"
    else
        hccl_not_ok "$1" "no plot: $(grep -i plot "$HCCL_TMP/out" | tail -n 1)"
    fi
}

# with_gnuplot PROGRAM ARGS...: a short comparison that finds PROGRAM as gnuplot, or none if it is
# empty; $HCCL_TMP/out is what it says. Exit code of the comparison.
with_gnuplot() {
    local path=$HCCL_TMP/path program=$1
    shift
    mkdir -p "$path"
    ln -sf "$(command -v "$OMPI_MPIRUN")" "$path/mpirun.openmpi"
    ln -sf "$(command -v orted)" "$(command -v sh)" "$path"
    rm -f "$path/gnuplot"
    if [[ -n $program ]]; then
        ln -s "$program" "$path/gnuplot"
    fi
    # On this path is no ssh either, which mpirun looks for though it needs none.
    PATH=$path OMPI_MCA_plm_rsh_agent=sh "$(command -v timeout)" --kill-after=10 60 "$bench/hccl_versus" -np 2 \
        -A "--mca coll ^hccl" -B "--mca coll basic,libnbc,self" --plot "$HCCL_TMP/plot" -- \
        barrier -n 40 --rounds 5 >"$HCCL_TMP/out" 2>&1 </dev/null
}

# corrupted COLLECTIVE: the preload library spoils the result at the last rank.
corrupted() {
    local name="bench/corrupt-$1" rc=0
    hccl_mpirun -np 2 --mca coll ^hccl -x "LD_PRELOAD=$shim" -x "HCCL_TEST_CORRUPT=$1" \
        "$bench/hccl_test" "$1" -b 4 -e 64K -f 128 -n 40 >"$HCCL_TMP/out" 2>&1 || rc=$?
    if ((rc != 1)); then
        hccl_not_ok "$name" "exit code $rc instead of 1"
    elif (($(grep -c 'WRONG$' "$HCCL_TMP/out") != 3)); then
        hccl_not_ok "$name" "not marked WRONG at all three sizes"
    elif ! grep -q "^hccl_test: $1 of 4 bytes: rank 1: element [01] of the receive buffer is wrong" \
        "$HCCL_TMP/out"; then
        hccl_not_ok "$name" "the wrong element was not named"
    else
        hccl_ok "$name"
    fi
}

# finite NAME FILE: each row of a comparison's CSV has ratios between 1/1000 and 1000.
finite() {
    if awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            { n++; p = $(at["ratio_p5"]); m = $(at["ratio_median"])
              if ("" == $(at["same_as"]) && !(p > 0.001 && p < 1000 && m > 0.001 && m < 1000)) bad = 1 }
            END { exit !(n > 1 && !bad) }' "$2"; then
        hccl_ok "$1"
    else
        hccl_not_ok "$1" "no finite ratio: $(tail -n 1 "$2")"
    fi
}

# compare NAME COMMAND...: runs a comparison that writes versus.csv.
compare() {
    local name=$1 rc=0
    shift
    rm -f "$HCCL_TMP/versus.csv"
    timeout --kill-after=10 120 "$@" --csv "$HCCL_TMP/versus.csv" >"$HCCL_TMP/out" 2>&1 \
        </dev/null || rc=$?
    if ((rc != 0)); then
        hccl_not_ok "$name" "exit code $rc: $(tail -n 1 "$HCCL_TMP/out")"
    else
        finite "$name" "$HCCL_TMP/versus.csv"
    fi
}

for ranks in 1 2 3; do
    everything "bench/everything-$ranks" "$ranks" ^hccl
done
everything "bench/everything-hccl-alone" 3 hccl

run_ok bench/in-place 3 all -p -m blocking,nonblocking -b 4 -e 40000 -f 100 -n 12
run_ok bench/offset 2 all -b 4 -e 40000 -f 100 -n 12 --offset 4 -d fp64
run_ok bench/mpi-memory 2 allreduce,alltoallw -e 1K --memory mpi -n 20
run_ok bench/one-root 3 bcast,reduce,gather,scatterv -r 2 -e 1K -n 20
for type in int8 uint8 int16 uint16 int32 uint32 int64 uint64 fp32 fp64; do
    for op in sum prod min max; do
        echo "allreduce,scan,reduce_scatter -d $type -o $op -b 8 -e 8K -f 32 -n 20"
    done
done >"$HCCL_TMP/types"
while read -r -a line; do
    rc=0
    hccl_mpirun -np 2 --mca coll ^hccl "$bench/hccl_test" "${line[@]}" >"$HCCL_TMP/out" 2>&1 || rc=$?
    if ((rc != 0)); then
        hccl_not_ok "bench/type-${line[2]}-${line[4]}" "exit code $rc: $(tail -n 1 "$HCCL_TMP/out")"
        break
    fi
done < <(if [[ 1 == "${HCCL_CHECK_LONG:-0}" ]]; then cat "$HCCL_TMP/types"; else
    grep -E 'int8 -o sum|uint16 -o max|int32 -o prod|int64 -o min|fp64 -o prod' "$HCCL_TMP/types"; fi)
if ((rc == 0)); then
    hccl_ok bench/types-and-ops
fi

refused bench/bad-collective allreduse allreduce allreduse
refused bench/no-collective "which collective" "hccl_test -h"
refused bench/bad-type fp99 fp32 allreduce -d fp99
refused bench/bad-op xor sum allreduce -o xor
refused bench/bad-size 8Q "K, M or G" allreduce -b 8Q
refused bench/negative-size -8 "K, M or G" allreduce -b -8
refused bench/sizes-crossed 1048576 8192 allreduce -b 1M -e 8K
refused bench/bad-factor 0.5 1.01 allreduce -f 0.5
refused bench/bad-iterations zero "from 1 to" allreduce -n zero
refused bench/bad-root "-r 2" "0 to 1" bcast -r 2
refused bench/bad-check "-c 2" "from 0 to 1" allreduce -c 2
refused bench/bad-mode sideways persistent allreduce -m sideways
refused bench/no-in-place bcast "-p" bcast -p
refused bench/bad-option --frobnicate "hccl_test -h" allreduce --frobnicate
refused bench/no-value -b "needs a value" allreduce -b
refused bench/too-large 3221225472 "lower -e" alltoall -b 3G -e 3G
refused bench/bad-csv /nonexistent/file "can be written" allreduce --csv /nonexistent/file
refused bench/bad-net nosuchif "/sys/class/net" allreduce --net nosuchif
refused bench/versus-in-mpirun --versus "without mpirun" allreduce --versus "coll tuned"

for collective in allreduce bcast allgather alltoall; do
    corrupted "$collective"
done

compare bench/versus "$bench/hccl_test" allreduce -b 8 -e 1K -f 128 -n 200 --np 2 --rounds 5 \
    --select "coll tuned,basic,libnbc,self" --versus "coll basic,libnbc,self"
compare bench/versus-modes "$bench/hccl_versus" -np 2 -A "--mca coll ^hccl" \
    -B "--mca coll basic,libnbc,self" --plot "$HCCL_TMP/plot" --json "$HCCL_TMP/versus.json" \
    --windows "$HCCL_TMP/windows.csv" -- bcast,barrier -m blocking,nonblocking -b 4K -e 4K -n 200 \
    --rounds 5
if hccl_have bench/versus-plot gnuplot; then
    drawn bench/versus-plot
fi
# Two collectives in two modes: four rows of two contenders.
if python3 - "$HCCL_TMP/versus.json" <<'END'; then
import json, sys
rows = json.load(open(sys.argv[1]))
assert len(rows) == 4, len(rows)
for row in rows:
    assert [c["contender"] for c in row["contenders"]] == ["A", "B"]
    median, low, high = row["contenders"][1]["ratio_median"]
    assert 0 < low <= median <= high
END
    hccl_ok bench/versus-json
else
    hccl_not_ok bench/versus-json "see the lines above"
fi
# Each row's rounds, five or more, and both windows of each; flags are there, sizes of bcast 4096.
if awk -F, 'NR > 1 { n[$1 $2]++; if ($1 == "bcast" && $3 != 4096 || $13 <= 0 || $14 <= 0) bad = 1 }
        END { for (k in n) { rows++; if (n[k] < 10 || n[k] % 2) bad = 1 } exit bad || rows != 4 }' \
    "$HCCL_TMP/windows.csv"; then
    hccl_ok bench/versus-windows
else
    hccl_not_ok bench/versus-windows "$(tail -n 1 "$HCCL_TMP/windows.csv")"
fi
compare bench/versus-crowded "$bench/hccl_versus" -np 3 -A "--mca coll ^hccl" \
    -B "--mca coll ^hccl" -- allreduce -b 64 -e 64 -n 40 --rounds 5

if with_gnuplot "" && grep -q '^# no plot: gnuplot is not installed' "$HCCL_TMP/out" &&
    [[ -s $HCCL_TMP/plot.gp ]]; then
    hccl_ok bench/versus-no-gnuplot
else
    hccl_not_ok bench/versus-no-gnuplot "$(tail -n 1 "$HCCL_TMP/out")"
fi
rc=0
with_gnuplot "$(type -P false)" || rc=$?
if ((rc == 1)) && grep -q "^hccl_versus: --plot: gnuplot could not draw $HCCL_TMP/plot.gp" "$HCCL_TMP/out"; then
    hccl_ok bench/versus-bad-gnuplot
else
    hccl_not_ok bench/versus-bad-gnuplot "exit code $rc: $(tail -n 1 "$HCCL_TMP/out")"
fi

# Of three contenders the second dies at 256 bytes: the others go on. Of two, nobody is left to compare
# with; without the first there is nothing to compare.
fine="--mca coll ^hccl"
deadly="$fine -x LD_PRELOAD=$shim -x HCCL_TEST_DIE"
dies bench/versus-one-of-three-dies second 3 "first=$fine" "second=$deadly=256" "third=$fine"
dies bench/versus-one-of-two-dies second 2 "first=$fine" "second=$deadly=1024"
dies bench/versus-the-first-dies first 1 "first=$deadly=256" "second=$fine" "third=$fine"

# The kernels alone: four working sets with a ratio for each of nine numbers of sources, all right.
rc=0
"$bench/hccl_kernel" --op prod --type float_complex --rounds 1 >"$HCCL_TMP/out" 2>&1 || rc=$?
if ((rc == 0)) && (($(grep -cE ' KiB ( +[0-9]+\.[0-9]{2}){9} +[0-9.]+$' "$HCCL_TMP/out") == 4)); then
    hccl_ok bench/kernels
else
    hccl_not_ok bench/kernels "exit code $rc: $(grep -m 1 WRONG "$HCCL_TMP/out")"
fi
rc=0
"$bench/hccl_kernel" --rounds 101 >"$HCCL_TMP/out" 2>&1 || rc=$?
if ((rc == 2)) && grep -q '^hccl_kernel: --rounds 101: 1 to 100$' "$HCCL_TMP/out"; then
    hccl_ok bench/kernels-bad-rounds
else
    hccl_not_ok bench/kernels-bad-rounds "exit code $rc: $(head -n 1 "$HCCL_TMP/out")"
fi

printf 'floor 1\nratio allreduse 8 1\n' >"$HCCL_TMP/goals"
refused_versus bench/versus-bad-goal "line 2: 'ratio allreduse 8 1'" "ratio COLLECTIVE" \
    --goals "$HCCL_TMP/goals" -- allreduce
refused_versus bench/versus-no-goals /nonexistent/goals "builtin and a file" \
    --goals /nonexistent/goals -- allreduce
refused_versus bench/versus-bad-contender nosuch "hccl, tuned" nosuch tuned -- allreduce
refused_versus bench/versus-same-name tuned "distinct ones" tuned tuned -- allreduce
refused_versus bench/versus-alone tuned "compared" tuned -- allreduce
refused_versus bench/versus-bad-ranks "-np 0" "from 1 to 4096" -np 0 -- allreduce
refused_versus bench/versus-bad-timeout "--timeout soon" "from 1 to 86400" --timeout soon -- allreduce
refused_versus bench/versus-bad-launcher "--launcher mpirun" "NAME=VALUE" --launcher mpirun -- allreduce
refused_versus bench/versus-launcher-of-nobody "--launcher x" "no contender" --launcher x=mpirun -- allreduce
refused_versus bench/versus-bad-plot "--plot a'b" "without quotes" --plot "a'b" -- allreduce
refused_versus bench/versus-plot-nowhere /nonexistent/plot "can be written" \
    --plot /nonexistent/plot -- allreduce
refused_versus bench/versus-bad-json "--json" "can be written" --json /nonexistent/file -- allreduce
refused_versus bench/versus-bad-csv "--csv" "can be written" -- allreduce --csv /nonexistent/file
refused_versus bench/versus-bad-option --frobnicate "hccl_versus -h" --frobnicate -- allreduce
refused_versus bench/versus-bad-collective allreduse allreduce -- allreduse
refused_versus bench/versus-bad-rounds "--rounds 0" "from" -- allreduce --rounds 0

# A side that cannot start ends the comparison, names the side, and leaves nothing behind.
rc=0
TMPDIR=$HCCL_TMP timeout 60 "$bench/hccl_versus" -np 2 -A "--mca coll ^hccl" \
    -B "--mca coll nosuchcomponent" -- barrier >"$HCCL_TMP/out" 2>&1 </dev/null || rc=$?
if ((rc == 1)) && grep -q '^hccl_versus: B .*nosuchcomponent' "$HCCL_TMP/out" &&
    ! ls -d "$HCCL_TMP"/hccl_versus.* >/dev/null 2>&1; then
    hccl_ok bench/versus-side-fails
else
    hccl_not_ok bench/versus-side-fails "exit code $rc: $(tail -n 1 "$HCCL_TMP/out")"
fi

# A wrong result on one side must be seen through the comparison as well.
rc=0
timeout 60 "$bench/hccl_versus" -np 2 -A "--mca coll ^hccl" \
    -B "--mca coll ^hccl -x LD_PRELOAD=$shim -x HCCL_TEST_CORRUPT=allreduce" -- allreduce -b 64 -e 64 \
    -n 40 --rounds 5 >"$HCCL_TMP/out" 2>&1 </dev/null || rc=$?
if ((rc == 1)) && grep -q 'B WRONG$' "$HCCL_TMP/out" && ! grep -q 'A WRONG' "$HCCL_TMP/out"; then
    hccl_ok bench/versus-wrong
else
    hccl_not_ok bench/versus-wrong "exit code $rc: $(tail -n 1 "$HCCL_TMP/out")"
fi

hccl_finish
