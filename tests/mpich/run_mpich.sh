#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 3600
#
# Runs the collective programs of MPICH's test suite with `--mca coll hccl` alone and judges each by
# the suite's own rule: exit status 0 and nothing printed but " No Errors". What Open MPI's own
# components fail as well stands in known_failures.list.
#
# It refuses to know how the component works. Called by tests/run_all.sh, or by hand.
set -euo pipefail

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"

readonly known_list="$here/known_failures.list"
readonly jobs="${HCCL_TEST_JOBS:-$(nproc)}"
readonly default_limit=120

usage() {
    cat <<EOF
usage: ${0##*/} [--baseline] [--list] [PROGRAM...]
Runs each program of MPICH's collective test lists once, with the rank count of the list.
  PROGRAM     only these programs; PROGRAM-RANKS: with so many ranks instead
  --list      print what would run, run nothing
  --baseline  run Open MPI's default components instead, ignore known_failures.list and print each
              failure in that list's format
Environment: HCCL_CHECK_LONG=1 runs everything on 2, 3, 4, 5 and 8 ranks too; HCCL_TEST_COLL names
the coll components (default hccl; "default": Open MPI's choice); HCCL_TEST_JOBS programs run at a
time (default: the number of cores).
EOF
}

# Reads the test lists of FOLDER, prints one line per run:
#   PROGRAM|RANKS|LIMIT|MEMORY_GB|ENV...|ARG...|SKIP_REASON
# A list entry is "PROGRAM RANKS key=value...", see the suite's README. `strict` only says that a
# program needs more than the MPI standard the suite was written for: whether it builds decides.
# The time limits of the list are for a machine of its own; they are doubled.
list_runs() { # FOLDER PROGRAM...
    awk -v long="${HCCL_CHECK_LONG:-0}" -v wanted="${*:2}" '
        BEGIN {
            n = split(wanted, words, " ")
            for (i = 1; i <= n; i++) {
                named[words[i]] = 1
                if (match(words[i], /-[0-9]+$/)) {
                    program = substr(words[i], 1, RSTART - 1)
                    of[program] = of[program] substr(words[i], RSTART + 1) " "
                }
            }
        }
        /^[[:space:]]*(#|$)/ { next }
        {
            program = $1; ranks = $2; result = "NoErrors"
            if (wanted != "" && !(program in named) && !(program in of)) { next }
            limit = memory = args = env = skip = ""
            for (i = 3; i <= NF; i++) {
                key = value = $i
                sub(/=.*/, "", key); sub(/^[^=]*=/, "", value)
                if (key == "arg") { args = args (args == "" ? "" : " ") value }
                else if (key == "env") { env = env (env == "" ? "" : " ") value }
                else if (key == "timeLimit") { limit = 2 * value }
                else if (key == "mem") { memory = value }
                else if (key == "resultTest") { result = value }
                else if (key == "mpiversion" && value + 0 > 3.1) { skip = "needs MPI " value }
                else if (key != "mpiversion" && key != "strict" && key != "xfail") {
                    skip = "unknown attribute " key " in the list"
                }
            }
            if (result != "NoErrors") { skip = "unknown resultTest " result " in the list" }
            slow = limit + 0 > 400
            if (slow && long != 1) { skip = "takes minutes; part of make check-long" }
            all = long == 1 && !slow ? ranks " 2 3 4 5 8" : ranks
            n = split(program in of ? of[program] : all, counts, " ")
            for (i = 1; i <= n; i++) {
                line = program "|" counts[i] "|" limit "|" memory "|" env "|" args "|" skip
                if (!(line in seen)) { seen[line] = 1; print line }
            }
        }' "$1/coll/testlist" "$1/coll/testlist.dtp"
}

known_failure() { # PROGRAM RANKS ARGS: prints "OPTIONS|REASON" if known_failures.list has it
    [[ no == "$baseline" ]] || return 0
    awk -v program="$1" -v ranks="$2" -v args="$3" -F'|' '
        /^[[:space:]]*(#|$)/ { next }
        {
            for (i = 1; i <= 5; i++) { gsub(/^[[:space:]]+|[[:space:]]+$/, "", $i) }
            here = $1 == program && ($2 == "*" || index(" " $2 " ", " " ranks " "))
            if (here && ($3 == "*" || $3 == args)) {
                print $4 "|" $5
                exit
            }
        }' "$known_list"
}

why_failed() { # STATUS OUTPUT_FILE LIMIT: empty when the program passed
    local line
    if (( 124 == $1 || 137 == $1 )); then
        printf 'no end within %s s' "$3"
        return
    fi
    grep -vE '^[[:space:]]*(No [Ee]rrors|Test Passed)?[[:space:]]*$' "$2" >"$2.unexpected" || true
    line=$(grep -vE -m 1 '^-+$|ORTE_ERROR_LOG' "$2.unexpected" || head -n 1 "$2.unexpected")
    if [[ -n $line ]]; then
        printf 'exit status %s, printed: %s' "$1" "${line:0:160}"
    elif (( 0 != $1 )); then
        printf 'exit status %s' "$1"
    elif ! grep -qE '^[[:space:]]*No [Ee]rrors[[:space:]]*$' "$2"; then
        printf 'ended without " No Errors"'
    fi
}

launch() { # OUTPUT_FILE PROGRAM RANKS LIMIT ENV ARGS [MPIRUN_OPTION...]: prints why it failed
    local out=$1 program=$2 ranks=$3 limit=$4 env=$5 args=$6 status=0
    shift 6
    # shellcheck disable=SC2086,SC2163  # the lists separate settings and arguments by blanks
    (
        cd "$work"
        export HCCL_TEST_TIMEOUT=$limit
        [[ -z $env ]] || export $env
        hccl_mpirun "${selection[@]}" "$@" -np "$ranks" "$suite/coll/$program" $args
    ) >"$out" 2>&1 </dev/null || status=$?
    why_failed "$status" "$out" "$limit"
}

run_one() { # INDEX PROGRAM RANKS LIMIT MEMORY ENV ARGS SKIP: prints the test's line
    local program=$2 ranks=$3 limit=${4:-$default_limit} memory=$5 env=$6 args=$7 skip=$8
    local name="mpich/$program-$ranks${args:+ $args}" out="$work/$1.out" why known options begin
    if [[ -z $skip && ! -x $suite/coll/$program ]]; then
        skip="this MPI has no $(sed -n "s/^$program //p" "$suite/LACKING" | head -n 1)"
    elif [[ -n $memory ]] && (( ${memory%.*} + 1 > free_gb )); then
        skip="needs $memory GB of memory, $free_gb are free"
    fi
    if [[ -n $skip ]]; then
        printf 'skip %s: %s\n' "$name" "$skip" | tee -a "$work/results"
        return
    fi
    known=$(known_failure "$program" "$ranks" "$args")
    begin=$EPOCHREALTIME
    why=$(launch "$out" "$program" "$ranks" "$limit" "$env" "$args")
    awk -v a="$begin" -v b="$EPOCHREALTIME" -v n="$name" 'BEGIN { printf "%.2f %s\n", b - a, n }' \
        >>"$work/times"
    if [[ -z $why ]]; then
        [[ -z $known ]] || printf '# %s passes although known_failures.list has it\n' "$name"
        printf 'ok %s\n' "$name" | tee -a "$work/results"
        return
    elif [[ yes == "$baseline" ]]; then
        printf 'FAILS %s | %s | %s | %s\n' "$program" "$ranks" "$args" "$why" |
            tee -a "$work/results"
        return
    fi
    options=${known%%|*}
    if [[ -n $options ]]; then
        # shellcheck disable=SC2086  # the options are separated by blanks
        why=$(launch "$out" "$program" "$ranks" "$limit" "$env" "$args" $options)
        [[ -z $why ]] || { known="" why="with $options: $why"; }
    fi
    if [[ -n $known ]]; then
        printf 'skip %s: fails with Open MPI'\''s own components as well%s: %s\n' "$name" \
            "${options:+ (and passes with $options)}" "${known#*|}" | tee -a "$work/results"
    else
        printf 'not ok %s: %s\n' "$name" "$why" | tee -a "$work/results"
        head -n 8 "$out" | sed 's/^/#   /'
    fi
}

run_all() { # PROGRAM...
    local program ranks limit memory env args skip index=0
    while IFS='|' read -r program ranks limit memory env args skip; do
        index=$((index + 1))
        if [[ yes == "$only_list" ]]; then
            printf '%s -np %s %s%s\n' "$program" "$ranks" "${env:+$env }" "$args"
            continue
        fi
        while (( $(jobs -rp | wc -l) >= jobs )); do
            wait -n || true
        done
        run_one "$index" "$program" "$ranks" "$limit" "$memory" "$env" "$args" "$skip" &
    done < <(list_runs "$suite" "$@")
    wait
    (( 0 < index )) || { printf 'no program of the suite is called %s\n' "$*" >&2; exit 2; }
}

stop() { # ends this script's own runs, each of which ends its ranks
    local pid
    for pid in $(jobs -rp); do
        kill "$pid" 2>/dev/null || true
    done
    wait
    rm -rf "$work"
}

only_list=no baseline=no
while (( 0 < $# )); do
    case "$1" in
        --baseline) baseline=yes ;;
        --list) only_list=yes ;;
        -h | --help) usage; exit 0 ;;
        -*) printf "unknown option '%s'; accepted: --baseline, --list, --help\n" "$1" >&2; exit 2 ;;
        *) break ;;
    esac
    shift
done
readonly only_list baseline
[[ no == "$baseline" ]] && coll=${HCCL_TEST_COLL:-hccl} || coll=default
readonly coll
if [[ default == "$coll" ]]; then
    selection=(--mca coll ^hccl)
else
    selection=(--mca coll "$coll")
fi
readonly selection

work=$(mktemp -d)
trap stop EXIT
trap 'exit 130' INT TERM
status=0
suite=$(HCCL_MPICC=$HCCL_MPICC "$here/build.sh" 2>"$work/build.err") || status=$?
cat "$work/build.err"
if (( 77 == status )); then
    printf 'skip mpich: %s\n' "$(sed -n 's/^# mpich: //p' "$work/build.err" | tail -n 1)"
    exit 0
elif (( 0 != status )); then
    printf 'not ok mpich: the suite did not build\n'
    exit 1
fi
free_gb=$(awk '/^MemAvailable:/ { printf "%d", $2 / 1048576 }' /proc/meminfo)
readonly suite free_gb
touch "$work/results" "$work/times"
run_all "$@"
if [[ no == "$only_list" ]]; then
    printf '# mpich: %s passed, %s failed, %s skipped in %s s with coll %s; slowest: %s\n' \
        "$(grep -c '^ok ' "$work/results")" "$(grep -cE '^(not ok|FAILS) ' "$work/results")" \
        "$(grep -c '^skip ' "$work/results")" "$SECONDS" "$coll" \
        "$(sort -rn "$work/times" | head -n 3 | paste -sd, | sed 's/,/, /g')"
fi
! grep -q '^not ok ' "$work/results"
