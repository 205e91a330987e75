#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bed.sh: several emulated hosts on one machine, one MPI job on them, and nothing left afterwards.
#
#   bed.sh run --hosts 4 --slots 2 [--map MAP] [--rate 100mbit] [--delay 20]
#              [--counters FILE] [--leftovers FILE] -- [MPIRUN OPTIONS] PROGRAM ARGS
#   bed.sh check      says whether a bed can be made here: exit 0, or 77 and `skip: reason`
#
# What a job sees. Each host has its own PID, mount, network, UTS and IPC namespace, hence its own
# host name (h0, h1, ...), /proc, /sys, empty /dev/shm and TMPDIR. Two networks join the hosts:
# interface `data` (10.77.1.0/24: every MPI message, counted, shaped by --rate) and interface `ctl`
# (10.77.2.0/24: Open MPI's own wiring). All names and addresses live in namespaces of this run, so
# any number of beds may run at once.
#
# --slots       ranks per host: one number for all, or one for each (--slots 1,2,3; --hosts may then
#               be left out). The job has as many ranks as there are slots; give no -np.
# --map         slot: ranks in host order (default); node: ranks alternate between the hosts;
#               reverse: in host order, the last host first; random or random:NUMBER: in the order
#               that belongs to the number (which is printed if it is not given).
# --rate        both directions of every data link pass this tc rate (tbf). 100mbit with messages of
#               1 MiB and more can be timed to about 5 %; anything below 64 KiB passes unshaped.
# --delay       every message takes so many milliseconds from host to host, whatever else is on its
#               way: the time of a short operation, divided by it, counts the rounds. For short
#               messages: a program carries them (bed_switch.py).
# --counters    CSV `host,out_bytes,in_bytes`: payload of the whole job on each data link, MPI_Init
#               included. Subtract a job that does all but the measured operations.
# --leftovers   CSV `host,kind,what` written when the job has ended and its hosts still stand: kind
#               shm (an entry of that host's /dev/shm), process (still running 5 s after mpirun's
#               end); and one line `head,ended,MILLISECONDS` (since the epoch) for mpirun's end.
#
# The environment reaches every rank unchanged (no -x needed): OMPI_MCA_*, HCCL_*, everything.
# HCCL_BED_DATA_IF names the data interface for programs that read its counters. MCA parameters of
# the bed are set in the environment, so the command line overrides them (--mca btl self,tcp).
# OMPI_MPIRUN names the mpirun to use (default mpirun.openmpi).
# Open MPI itself may print `plm:rsh: Warning: setpgid(...) failed in parent`: harmless.
# Standard input, output and the exit code are mpirun's. 2: bad arguments; 77: no bed can be made.
#
# Two lines for another script, comparing two components at 100 Mbit/s on four hosts:
#   tests/hosts/bed.sh run --hosts 4 --slots 2 --rate 100mbit -- --mca coll hccl PROGRAM
#   tests/hosts/bed.sh run --hosts 4 --slots 2 --rate 100mbit -- --mca coll ^hccl PROGRAM
#
# A bed that stays up for several jobs: see bed, beside this script.
#
# Removal needs no clean-up code: hosts, networks and file systems exist only inside the namespaces
# of one head process. bed.sh kills the head when it ends or gets a signal; the kernel kills the head
# when bed.sh is killed, and ends bed.sh when its caller is.

set -euo pipefail
me=bed.sh
# shellcheck source=tests/hosts/bed_outside.sh
. "$(dirname "$(realpath -- "$0")")/bed_outside.sh"

usage() {
    sed -n '6,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

parse_slots() { # TEXT
    check_slots "$1" --slots
    IFS=, read -ra slots <<<"$1"
    if [[ -z $hosts ]]; then
        hosts=${#slots[@]}
    fi
    if ((1 == ${#slots[@]})); then
        while ((${#slots[@]} < hosts)); do
            slots+=("${slots[0]}")
        done
    fi
    ((hosts == ${#slots[@]})) || die "--slots names ${#slots[@]} hosts, --hosts says $hosts"
}

parse_run() {
    local slots_text=1
    hosts="" map=slot rate=none delay=none counters="" leftovers=""
    while ((0 < $#)) && [[ -- != "$1" ]]; do
        case $1 in
        --hosts | --slots | --map | --rate | --delay | --counters | --leftovers)
            ((2 <= $#)) || die "$1 wants a value"
            ;;
        *) die "unknown argument '$1' (before --)" ;;
        esac
        case $1 in
        --hosts) check_hosts "$2" --hosts && hosts=$2 ;;
        --slots) slots_text=$2 ;;
        --map) parse_map "$2" ;;
        --rate) check_rate "$2" --rate && rate=$2 ;;
        --delay) check_delay "$2" --delay && delay=$2 ;;
        --counters) counters=$(realpath -m -- "$2") ;;
        --leftovers) leftovers=$(realpath -m -- "$2") ;;
        esac
        shift 2
    done
    ((2 <= $#)) || die "no program given after --"
    shift
    parse_slots "$slots_text"
    command=("$@")
}

end_head() {
    if [[ -n ${!:-} ]]; then
        kill -KILL "$!" 2>/dev/null || true
        wait "$!" 2>/dev/null || true
    fi
    exit 143
}

run_bed() {
    local rc=0 state slots_text
    parse_run "$@"
    check_permission
    state=$(find_state) || { echo "$state"; exit 77; }
    slots_text=$(IFS=,; echo "${slots[*]}")
    trap end_head TERM INT HUP
    # Given explicitly, because the input of a background command would else be /dev/null.
    exec 3<&0
    setpriv --pdeathsig KILL "$BASH" "$script" __below "$$" "${flags[@]}" \
        "$BASH" "$inside" head "$state" "$hosts" "$rate" "$delay" once "$map" "$slots_text" "$counters" \
        "$leftovers" "${command[@]}" <&3 3<&- &
    wait "$!" || rc=$?
    exit "$rc"
}

script=$(realpath -- "$0")
((1 <= $#)) || usage
mode=$1
shift
case $mode in
run)
    command -v setpriv >/dev/null || skip "no program setpriv"
    exec setpriv --pdeathsig TERM "$BASH" "$script" __guarded "$PPID" "$@"
    ;;
check) check_permission ;;
__guarded)
    still_below "$1"
    run_bed "${@:2}"
    ;;
__below)
    still_below "$1"
    exec unshare "${@:2}"
    ;;
*) usage ;;
esac
