#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 1500
# Runs the tests of the hazards P01..P86 as HAZARDS.list says. One line per test, see tests/lib.sh.
set -euo pipefail

usage() {
    cat <<'END'
usage: tests/mpi/run_hazards.sh [ID]...
Runs all tests of HAZARDS.list, or those of the ids given (P01, P27b, BAD).
  HCCL_TEST_COLL        coll components to run with (default hccl; others ignore shapes)
  HCCL_CHECK_LONG=1     the long forms too
  HCCL_HAZARD_BIN       directory of the programs (default: tests/mpi in the build tree)
  HCCL_TEST_TIMEOUT     seconds for one job (default 60)
END
}

here=$(cd "$(dirname "$0")" && pwd)
if [[ ${1:-} == -h || ${1:-} == --help ]]; then
    usage
    exit 0
fi
HCCL_TEST_TIMEOUT=${HCCL_TEST_TIMEOUT:-60}
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"
list=$here/HAZARDS.list
bin=${HCCL_HAZARD_BIN:-$HCCL_BUILD_DIR/tests/mpi}
coll=${HCCL_TEST_COLL:-hccl}
for id in "$@"; do
    if ! grep -qE "^$id +\|" "$list"; then
        echo "run_hazards.sh: no hazard '$id' in $list" >&2
        exit 2
    fi
done
wanted=" $* "
hccl_mktemp

# ---- the component's parameters: their names and the text of a shape stand here and nowhere else -

param_topology=coll_hccl_topology
param_inject=coll_hccl_inject
param_algorithm() { echo "coll_hccl_${1}_algorithm"; }

# shape_text SHAPE: 2+1 -> node:2 rank:(2,1); with ~ the ranks are dealt to the nodes in turn.
shape_text() {
    local counts=${1%\~} map=
    [[ $1 == *\~ ]] && map=' map:cyclic'
    local -a per_node
    IFS=+ read -r -a per_node <<<"$counts"
    local joined
    joined=$(IFS=,; echo "${per_node[*]}")
    echo "node:${#per_node[@]} rank:($joined)$map"
}

# What the component says of itself, once.
params_file=$HCCL_TMP/params
"$OMPI_INFO" --parsable --param coll hccl --level 9 >"$params_file" 2>/dev/null || true
have_param() { grep -q ":param:$1:" "$params_file"; }

algorithms_def=$HCCL_SRC_DIR/src/algo/algorithms.def
# algorithms COLLECTIVE: the names in algorithms.def.
algorithms() {
    sed -nE "s/^HCCL_ALGO\(${1^^}, *([a-z0-9_]+),.*/\1/p" "$algorithms_def"
}
collectives_with_algorithms() {
    sed -nE 's/^HCCL_ALGO\(([A-Z_]+), .*/\L\1/p' "$algorithms_def" | sort -u
}

# ---- jobs ----------------------------------------------------------------------------------------

shape_args() {
    shape_arguments=()
    if [[ $1 != flat && $coll == hccl ]]; then
        shape_arguments=(--mca "$param_topology" "$(shape_text "$1")")
    fi
}

# Why a job ended: the first line of what it complained about.
complaint() {
    local rc=$1 file=$2 line
    local words='\*\*\* (MPI_ERR|An error)|Signal:|exited on signal|hazard|assert|hccl'
    line=$(grep -aE "$words" "$file" |
        grep -av 'Process received signal' | head -n 1 || true)
    if ((rc == 124 || rc == 137)); then
        echo "stopped after $HCCL_TEST_TIMEOUT s${line:+; $line}"
    else
        echo "job ended with $rc${line:+: $line}"
    fi
}

# What the special tests change for their jobs: the command that stands for mpirun, the command
# around each rank, more arguments of the program.
job_launcher=(hccl_mpirun)
job_wrapper=()
job_options=()

# hazard_job PROGRAM RANKS LABEL IDS MPIRUN_ARGUMENT...: IDS (separated by commas) in one job; where
# a job dies the rest goes on in another. The last job's standard error is in $HCCL_TMP/err.
hazard_job() {
    local program=$1 ranks=$2 label=$3 ids=$4 out=$HCCL_TMP/out err=$HCCL_TMP/err
    local rc id rest current reported
    shift 4
    while [[ -n $ids ]]; do
        rc=0
        "${job_launcher[@]}" --mca coll "$coll" "$@" -np "$ranks" "${job_wrapper[@]}" \
            "$bin/hazard_$program" -t "$ids" -l "$label" "${job_options[@]}" \
            >"$out" 2>"$err" || rc=$?
        grep -aE '^(ok|not ok|skip|# [^r])' "$out" || true
        HCCL_FAILED=$((HCCL_FAILED + $(grep -acE '^not ok ' "$out" || true)))
        reported=$(sed -nE 's/^(ok|not ok|skip) ([^ ]+).*/\2/p' "$out" | sed 's/:$//')
        current=
        rest=
        for id in ${ids//,/ }; do
            if grep -aqxF "$id$label" <<<"$reported"; then
                continue
            fi
            if [[ -z $current ]]; then
                current=$id
            else
                rest+=${rest:+,}$id
            fi
        done
        if [[ -z $current ]]; then
            if ((rc != 0)) && ! grep -aqE '^not ok ' "$out"; then
                hccl_quote "$(head -n 20 "$err")"
                hccl_not_ok "${ids##*,}$label/finalize" "$(complaint "$rc" "$err")"
            fi
            return 0
        fi
        hccl_quote "$(grep -av '^ *$' "$err" | head -n 12)"
        hccl_not_ok "$current$label" "$(complaint "$rc" "$err")"
        if ! grep -aq "^# run " "$out"; then
            for id in ${rest//,/ }; do
                hccl_not_ok "$id$label" "the job did not start, as above"
            done
            return 0
        fi
        ids=$rest
    done
}

# Once per algorithm number: the k-th algorithm of every collective together.
run_algos() {
    local program=$1 ranks=$2 label=$3 ids=$4 k most=0 name count choice
    shift 4
    local -A names=()
    for name in $(collectives_with_algorithms); do
        if have_param "$(param_algorithm "$name")"; then
            names[$name]=$(algorithms "$name" | tr '\n' ' ')
            count=$(wc -w <<<"${names[$name]}")
            most=$((count > most ? count : most))
        fi
    done
    if ((most == 0)); then
        skip_all "$ids" "$label" "the component lists no algorithms"
        return 0
    fi
    for ((k = 0; k < most; k++)); do
        local -a force=()
        local failed_before=$HCCL_FAILED said=
        for name in "${!names[@]}"; do
            read -r -a choice <<<"${names[$name]}"
            force+=(--mca "$(param_algorithm "$name")" "${choice[k % ${#choice[@]}]}")
            said+=" $name=${choice[k % ${#choice[@]}]}"
        done
        hazard_job "$program" "$ranks" "$label-$k" "$ids" "$@" "${force[@]}"
        if ((HCCL_FAILED > failed_before)); then
            hccl_note "algorithms of the failures above:$said"
        fi
    done
}

run_inject() {
    local program=$1 ranks=$2 label=$3 ids=$4 kind rank
    shift 4
    if ! have_param "$param_inject"; then
        skip_all "$ids" "$label" "the component has no parameter $param_inject"
        return 0
    fi
    for kind in region map cell nomem; do
        for rank in 0 $((ranks - 1)); do
            hazard_job "$program" "$ranks" "$label-$kind-$rank" "$ids" "$@" \
                --mca "$param_inject" "$kind:$rank"
        done
    done
}

skip_all() {
    local id
    for id in ${1//,/ }; do
        hccl_skip "$id$2" "$3"
    done
}

# run_entry PROGRAM RUN IDS
run_entry() {
    local program=$1 run=$2 ids=$3 ranks shape option loop=hazard_job
    local -a options extra=()
    job_options=()
    job_wrapper=()
    IFS=, read -r -a options <<<"${run#*@}"
    ranks=${run%%@*}
    shape=${options[0]}
    for option in "${options[@]:1}"; do
        case $option in
        algos) loop=run_algos ;;
        inject) loop=run_inject ;;
        eager) extra+=(--mca btl_vader_eager_limit 256 --mca btl_tcp_eager_limit 256) ;;
        n=*) job_options+=(-n "${option#n=}") ;;
        long)
            if [[ ${HCCL_CHECK_LONG:-0} != 1 ]]; then
                skip_all "$ids" "/$run" "long: only with HCCL_CHECK_LONG=1"
                return 0
            fi
            ;;
        *)
            echo "HAZARDS.list: unknown option '$option' in '$run'" >&2
            exit 2
            ;;
        esac
    done
    if [[ $coll != hccl && $loop != hazard_job ]]; then
        skip_all "$ids" "/$run" "only with the component hccl"
        return 0
    fi
    shape_args "$shape"
    "$loop" "$program" "$ranks" "/$run" "$ids" "${shape_arguments[@]}" "${extra[@]}"
}

# ---- the list ------------------------------------------------------------------------------------

# shellcheck source=tests/mpi/hazard_faults.sh
. "$here/hazard_faults.sh"
# shellcheck source=tests/mpi/hazard_config.sh
. "$here/hazard_config.sh"

declare -A group_ids=()
groups=()
specials=()
while IFS='|' read -r id program runs remark; do
    id=${id// /}
    program=${program// /}
    remark=$(sed -E 's/^ +| +$//g' <<<"$remark")
    if [[ -z $id || $id == \#* || (-n ${1:-} && $wanted != *" $id "*) ]]; then
        continue
    fi
    case $program in
    -) hccl_skip "$id" "$remark" ;;
    =) hccl_note "$id: $remark" ;;
    @*) specials+=("$id ${program#@}") ;;
    *)
        if [[ ! -x $bin/hazard_$program ]]; then
            hccl_not_ok "$id" "$bin/hazard_$program is not built"
            continue
        fi
        for run in $runs; do
            key="$program $run"
            if [[ -z ${group_ids[$key]:-} ]]; then
                groups+=("$key")
            fi
            group_ids[$key]+=${group_ids[$key]:+,}$id
        done
        ;;
    esac
done <"$list"
for key in "${groups[@]}"; do
    run_entry "${key% *}" "${key#* }" "${group_ids[$key]}"
done
for special in "${specials[@]}"; do
    job_launcher=(hccl_mpirun)
    job_wrapper=()
    job_options=()
    "hazard_${special#* }" "${special% *}"
done
hccl_finish
