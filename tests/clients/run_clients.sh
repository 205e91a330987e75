#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 1500
#
# Runs real MPI programs, as Debian packages them, with `--mca coll hccl` alone: mpi4py's benchmark
# programs and a script of collectives, the HPC Challenge benchmark beside coll/tuned, and a short
# LAMMPS run where it is installed.
#
# It refuses to know how the component works. Called by tests/run_all.sh, or by hand.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"

readonly coll=${HCCL_TEST_COLL:-hccl}
readonly python=/usr/bin/python3
readonly hpcc_ranks=4
readonly -a reference=(--mca coll tuned,libnbc,basic,inter,self)

usage() {
    cat <<EOF
usage: ${0##*/} [CLIENT...]
Clients: mpi4py hpcc lammps (default: all).
Environment: HCCL_TEST_COLL names the coll components (default hccl; "default": Open MPI's choice).
EOF
}

# run NAME OUTPUT_FILE SECONDS MPIRUN_ARGS...: 0 when it ended well; else prints the test's line.
run() {
    local name=$1 out=$2 limit=$3 status=0
    shift 3
    HCCL_TEST_TIMEOUT=$limit hccl_mpirun "$@" >"$out" 2>&1 || status=$?
    if ((0 == status)); then
        return 0
    elif ((124 == status || 137 == status)); then
        hccl_not_ok "$name" "no end within $limit s"
    else
        hccl_not_ok "$name" "exit code $status"
    fi
    hccl_quote "$(tail -n 12 "$out")"
    return 1
}

# Each program of mpi4py.bench, judged by what it prints.
check_helloworld() { # OUTPUT RANKS
    local rank
    for ((rank = 0; rank < $2; rank++)); do
        grep -q "process *$rank of $2 on" "$1" || return 1
    done
}

check_ringtest() { # OUTPUT RANKS
    grep -qE "^time for [0-9]+ loops = .*\($2 processes, [0-9]+ bytes\)" "$1"
}

bench_one() { # PROGRAM RANKS ARGS...
    local program=$1 ranks=$2 name out=$HCCL_TMP/bench.out
    shift 2
    name="clients/mpi4py.bench-$program-$ranks${*:+ $*}"
    run "$name" "$out" 60 "${selection[@]}" -np "$ranks" \
        "$python" -m mpi4py.bench "$program" "$@" || return 0
    if ! declare -F "check_$program" >/dev/null || "check_$program" "$out" "$ranks"; then
        hccl_ok "$name"
    else
        hccl_quote "$(tail -n 12 "$out")"
        hccl_not_ok "$name" "its output is not what the program prints when all is well"
    fi
}

client_mpi4py() {
    local program ranks out=$HCCL_TMP/mpi4py.out library status
    if ! "$python" -c 'import mpi4py' 2>/dev/null; then
        hccl_skip clients/mpi4py "python3-mpi4py is not installed"
        return
    fi
    library=$("$python" -c 'import importlib.util as u; print(u.find_spec("mpi4py.MPI").origin)')
    if ! ldd "$library" | grep -q 'libmpi\.so'; then
        hccl_skip clients/mpi4py "python3-mpi4py is not built with Open MPI"
        return
    fi
    for program in $("$python" -c 'from mpi4py import bench; print(*bench.main.commands)'); do
        for ranks in 1 2 5 8; do
            bench_one "$program" "$ranks"
        done
    done
    bench_one ringtest 4 -n 1000000 -l 5 -s 2
    for ranks in 1 2 3 4 8; do
        status=0
        HCCL_TEST_TIMEOUT=120 hccl_mpirun "${selection[@]}" -np "$ranks" \
            "$python" "$here/mpi4py_collectives.py" >"$out" 2>"$out.err" || status=$?
        grep -E '^(ok|not ok|skip) ' "$out" || true
        if ((0 != status)); then
            HCCL_FAILED=$((HCCL_FAILED + 1))
            hccl_quote "$(tail -n 12 "$out.err")"
            if ! grep -q '^not ok ' "$out"; then
                hccl_not_ok "clients/mpi4py-$ranks" \
                    "exit code $status (124: no end) after $(tail -n 1 "$out")"
            fi
        fi
    done
}

# What HPCC verified, without times, rates and the residual whose data are random on every run.
verified() { # HPCC_OUTPUT
    awk '
        /^Begin of .* section/ { part = $3 }
        /^(WALL|CPU) +[0-9]+ / { print part ": " $1, $2, $3, $4, $5, $6, $7, $9, $11 }
        /^Found .* errors in / || /^Node\(s\) with error/ || /^Solution Validates/ ||
            /^max\(\|x-x0\|\)/ || /^\|\|Ax-b\|\|/ || /tests (completed|skipped)/ {
            print part ": " $0
        }
        /^Scaled residual/ { print part ": residual " ($3 < 16 ? "below" : "NOT below") " 16" }
        /^(Success|PTRANS_residual|MPIRandomAccess(_LCG)?_Errors|MPIFFT_maxErr)=/ ||
            /^(HPL_RnormI|HPL_AnormI|HPL_XnormI|HPL_BnormI|HPL_N)=/ { print part ": " $0 }' "$1"
}

run_hpcc() { # NAME FOLDER MPIRUN_OPTIONS...
    local name=$1 folder=$2
    shift 2
    mkdir -p "$folder"
    cp "$here/hpccinf.txt" "$folder/"
    run "$name" "$folder/out" 240 --wdir "$folder" "$@" -np "$hpcc_ranks" hpcc || return 1
    verified "$folder/hpccoutf.txt" >"$folder/verified"
}

client_hpcc() {
    local begin=$SECONDS seconds ours="$HCCL_TMP/hpcc-ours" theirs="$HCCL_TMP/hpcc-tuned" wrong
    hccl_have clients/hpcc hpcc || return 0
    run_hpcc clients/hpcc "$ours" "${selection[@]}" || return 0
    seconds=$((SECONDS - begin))
    run_hpcc clients/hpcc-tuned "$theirs" "${reference[@]}" || return 0
    hccl_note "hpcc: N 1000, $hpcc_ranks ranks, $seconds s with $coll," \
        "$((SECONDS - begin - seconds)) s with tuned"
    # Our own result first: two runs that fail alike must not pass.
    wrong=$(grep -E 'FAILED|NOT below|Success=[^1]|with error [1-9]|Found [1-9]|_Errors=[1-9]' \
        "$ours/verified" || true)
    if [[ -n $wrong ]]; then
        hccl_quote "$wrong"
        hccl_not_ok clients/hpcc-verified "$(head -n 1 <<<"$wrong")"
    elif ! grep -q 'Success=1' "$ours/verified" ||
        ! grep -q '^HPL: ||Ax-b||.*PASSED' "$ours/verified"; then
        hccl_not_ok clients/hpcc-verified "the report ends early"
    else
        hccl_ok clients/hpcc-verified
    fi
    if diff "$theirs/verified" "$ours/verified" >"$HCCL_TMP/hpcc.diff"; then
        hccl_ok clients/hpcc-as-tuned
    else
        hccl_quote "$(head -n 12 "$HCCL_TMP/hpcc.diff")"
        hccl_not_ok clients/hpcc-as-tuned "verified results differ from those with tuned"
    fi
}

# A few steps of a Lennard-Jones melt: the energies must be those of one rank, to the digits printed
# (sums over ranks round differently, so fewer are compared).
lammps_energies() { # LOG
    awk '/^ *Step / { on = 1; next } /^Loop time/ { on = 0 } on { printf "%d %.4f\n", $1, $3 }' "$1"
}

client_lammps() {
    local out=$HCCL_TMP/lammps ranks
    hccl_have clients/lammps lmp || return 0
    mkdir -p "$out"
    cat >"$out/in.melt" <<EOF
units lj
lattice fcc 0.8442
region box block 0 8 0 8 0 8
create_box 1 box
create_atoms 1 box
mass 1 1.0
velocity all create 1.44 87287 loop geom
pair_style lj/cut 2.5
pair_coeff 1 1 1.0 1.0 2.5
fix 1 all nve
thermo_style custom step temp etotal press
thermo 10
run 30
EOF
    for ranks in 1 4; do
        run "clients/lammps-$ranks" "$out/$ranks.out" 120 "${selection[@]}" --wdir "$out" \
            -np "$ranks" lmp -in in.melt -log "$out/$ranks.log" || return 0
        lammps_energies "$out/$ranks.log" >"$out/$ranks.energies"
    done
    if [[ -s $out/1.energies ]] && diff "$out/1.energies" "$out/4.energies" >"$out/diff"; then
        hccl_ok clients/lammps
    else
        hccl_quote "$(cat "$out/diff")"
        hccl_not_ok clients/lammps "the energies of 4 ranks are not those of one"
    fi
}

for client in "$@"; do
    case "$client" in
        mpi4py | hpcc | lammps) ;;
        -h | --help) usage; exit 0 ;;
        *) printf "unknown client '%s'; accepted: mpi4py, hpcc, lammps\n" "$client" >&2; exit 2 ;;
    esac
done
if ((0 == $#)); then
    set -- mpi4py hpcc lammps
fi
selection=(--mca coll "$coll")
[[ default != "$coll" ]] || selection=(--mca coll ^hccl)
readonly selection

hccl_mktemp
for client in "$@"; do
    begin=$SECONDS
    "client_$client"
    hccl_note "clients/$client: $((SECONDS - begin)) s with coll $coll"
done
hccl_finish
