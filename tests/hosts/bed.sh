#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bed.sh: several emulated hosts on one machine, one MPI job on them, and nothing left afterwards.
#
#   bed.sh run --hosts 4 --slots 2 [--map slot|node] [--rate 100mbit]
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
# --map         slot: ranks in host order (default); node: ranks alternate between the hosts.
# --rate        both directions of every data link pass this tc rate (tbf). 100mbit with messages of
#               1 MiB and more can be timed to about 5 %; anything below 64 KiB passes unshaped.
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
# Removal needs no clean-up code: hosts, networks and file systems exist only inside the namespaces
# of one head process. bed.sh kills the head when it ends or gets a signal; the kernel kills the head
# when bed.sh is killed, and ends bed.sh when its caller is.

set -euo pipefail

die() {
    echo "bed.sh: $*" >&2
    exit 2
}

skip() {
    echo "skip: $*"
    exit 77
}

usage() {
    sed -n '5,8s/^# \{0,1\}//p' "$0" >&2
    exit 2
}

# --- inside a host: process 1 of its namespaces ------------------------------------------------------

# Writes a value to a setting of this network namespace; a kernel without it lacks the effect too.
host_sysctl() {
    if [[ -w /proc/sys/net/$1 ]]; then
        echo "$2" >"/proc/sys/net/$1"
    fi
}

# Resending must not happen on links that lose nothing: then bytes repeat exactly. (host_network
# adds a long timeout: on busy cores an answer can take longer than TCP's usual 0.2 s.)
host_quiet_tcp() {
    host_sysctl ipv6/conf/all/disable_ipv6 1
    host_sysctl ipv6/conf/default/disable_ipv6 1
    host_sysctl ipv4/tcp_congestion_control reno
    host_sysctl ipv4/tcp_recovery 0
    host_sysctl ipv4/tcp_early_retrans 0
    host_sysctl ipv4/tcp_reordering 127
}

mac() { # NET HOST
    printf '02:77:00:00:%02x:%02x' "$1" "$2"
}

host_network() { # HOST HOSTS
    local peer
    {
        echo "link set lo up"
        echo "addr add 10.77.1.$((1 + $1))/24 dev data"
        echo "addr add 10.77.2.$((1 + $1))/24 dev ctl"
        echo "link set data up"
        echo "link set ctl up"
        echo "route change 10.77.1.0/24 dev data src 10.77.1.$((1 + $1)) rto_min 3s"
        for ((peer = 0; peer < $2; peer++)); do
            if ((peer != $1)); then
                echo "neigh replace 10.77.1.$((1 + peer)) lladdr $(mac 1 "$peer") dev data nud permanent"
            fi
        done
    } | ip -batch -
}

shape() { # INTERFACE
    ip link set dev "$1" gso_max_size 16384
    tc qdisc replace dev "$1" root tbf rate "$rate" burst 65536 limit 256mb
}

# Names what is still on this host, without starting a process that would be found as well.
host_leftovers() { # HOST
    local path comm
    for path in /dev/shm/* /dev/shm/.[!.]*; do
        if [[ -e $path ]]; then
            echo "h$1,shm,${path##*/}"
        fi
    done
    for path in /proc/[0-9]*; do
        if [[ ${path##*/} != 1 ]] && read -r comm 2>/dev/null <"$path/comm"; then
            echo "h$1,process,${path##*/} $comm"
        fi
    done
}

host_main() { # STATE HOST HOSTS RATE
    local state=$1 host=$2 hosts=$3 command head_pid
    rate=$4
    # /proc is still the head's here, so this is the number by which the head knows this process.
    read -r head_pid _ </proc/self/stat
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t tmpfs tmpfs /dev/shm
    mount -t tmpfs tmpfs "$state/tmp"
    hostname "h$host"
    host_quiet_tcp
    exec 8>"$state/answers" 9<>"$state/h$host.commands"
    echo "$head_pid" >"$state/h$host.pid"
    echo up >&8
    # Reading for ever also lets bash reap the orphans that Open MPI's daemons become.
    while read -r command <&9; do
        case $command in
        network)
            host_network "$host" "$hosts"
            if [[ none != "$rate" ]]; then
                shape data
            fi
            ;;
        leftovers) host_leftovers "$host" >"$state/h$host.left" ;;
        esac
        echo "$command" >&8
    done
}

# --- the head: process 1 of the bed's namespaces -----------------------------------------------------

# Sends one word to every host and waits until each has done it.
head_command() {
    local host
    for ((host = 0; host < hosts; host++)); do
        echo "$1" >"$state/h$host.commands"
    done
    head_wait "$1"
}

head_wait() {
    local answer left=$hosts
    while ((0 < left)); do
        read -r -t 60 answer <&8 || die "a host did not answer to '$1'"
        if [[ $1 == "$answer" ]]; then
            left=$((left - 1))
        fi
    done
}

head_bridges() {
    local net
    ip link set lo up
    for net in 1 2; do
        ip link add "net$net" type bridge stp_state 0 mcast_snooping 0
        ip addr add "10.77.$net.254/24" dev "net$net"
        ip link set "net$net" up
    done
}

head_links() { # HOST
    local pid net name
    pid=$(<"$state/h$1.pid")
    for net in 1 2; do
        name=data
        if ((2 == net)); then
            name=ctl
        fi
        ip link add "$name$1" type veth peer name "$name" address "$(mac "$net" "$1")" netns "$pid"
        ip link set "$name$1" master "net$net" up
    done
    # A bridge floods what it has not learnt yet: the other hosts would count these bytes.
    bridge fdb replace "$(mac 1 "$1")" dev "data$1" master static
    if [[ none != "$rate" ]]; then
        shape "data$1"
    fi
}

# Everything below runs as process 1, so an error here ends the whole bed.
head_up() {
    local host
    mount -t tmpfs tmpfs "$state"
    mount -t proc proc /proc
    mount -t sysfs sysfs /sys
    mount -t tmpfs tmpfs /dev/shm
    hostname head
    host_quiet_tcp
    mkdir "$state/tmp"
    mkfifo "$state/answers"
    exec 8<>"$state/answers"
    echo "127.0.0.1 localhost head" >"$state/hosts"
    for ((host = 0; host < hosts; host++)); do
        echo "10.77.2.$((1 + host)) h$host" >>"$state/hosts"
        echo "h$host slots=${slots[host]}" >>"$state/hostfile"
        mkfifo "$state/h$host.commands"
    done
    mount --bind "$state/hosts" /etc/hosts
    head_bridges
    for ((host = 0; host < hosts; host++)); do
        unshare --pid --mount --net --uts --ipc --fork --kill-child \
            "$BASH" "$script" __host "$state" "$host" "$hosts" "$rate" </dev/null 8>&- &
    done
    head_wait up
    for ((host = 0; host < hosts; host++)); do
        head_links "$host"
    done
    head_command network
    # Open MPI starts its daemon on a host through this instead of through ssh.
    cat >"$state/agent" <<END
#!/bin/sh
host=\$1
shift
exec nsenter --target "\$(cat "$state/\$host.pid")" --mount --uts --ipc --net --pid \\
    /bin/sh -c "\$*"
END
    chmod +x "$state/agent"
}

# Prints `host out in`, in payload bytes: 66 are Ethernet, IP and TCP headers of one packet.
head_counters() {
    local host stat out in packets_out packets_in
    for ((host = 0; host < hosts; host++)); do
        stat=/sys/class/net/data$host/statistics
        read -r out <"$stat/rx_bytes"
        read -r packets_out <"$stat/rx_packets"
        read -r in <"$stat/tx_bytes"
        read -r packets_in <"$stat/tx_packets"
        echo "h$host $((out - 66 * packets_out)) $((in - 66 * packets_in))"
    done
}

head_write_counters() { # FILE BEFORE AFTER
    {
        echo "host,out_bytes,in_bytes"
        paste -d ' ' <(echo "$2") <(echo "$3") |
            while read -r host out_before in_before _ out_after in_after; do
                echo "$host,$((out_after - out_before)),$((in_after - in_before))"
            done
    } >"$1"
}

head_write_leftovers() { # FILE ENDED
    local tries
    for ((tries = 0; tries < 25; tries++)); do
        head_command leftovers
        if ! grep -q ,process, "$state"/h*.left; then
            break
        fi
        sleep 0.2
    done
    {
        echo "host,kind,what"
        cat "$state"/h*.left
        echo "head,ended,$2"
    } >"$1"
}

# The bed's MCA parameters, left alone where the caller has set his own in the environment.
head_environment() {
    export TMPDIR=$state/tmp HCCL_BED_DATA_IF=data
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export OMPI_MCA_plm=rsh OMPI_MCA_plm_rsh_agent=$state/agent OMPI_MCA_plm_rsh_no_tree_spawn=1
    export OMPI_MCA_oob_tcp_if_include=10.77.2.0/24
    export OMPI_MCA_btl_tcp_if_include=data
    export OMPI_MCA_pml=${OMPI_MCA_pml:-ob1} OMPI_MCA_btl=${OMPI_MCA_btl:-self,vader,tcp}
    export OMPI_MCA_mpi_yield_when_idle=${OMPI_MCA_mpi_yield_when_idle:-1}
}

head_main() { # STATE HOSTS SLOTS MAP RATE COUNTERS LEFTOVERS COMMAND...
    state=$1 hosts=$2 map=$4 rate=$5 counters=$6 leftovers=$7
    local before after ended rc=0 ranks=0 count
    IFS=, read -ra slots <<<"$3"
    shift 7
    for count in "${slots[@]}"; do
        ranks=$((ranks + count))
    done
    head_up
    head_environment
    before=$(head_counters)
    "$mpirun" --hostfile "$state/hostfile" -np "$ranks" --map-by "$map" --bind-to none \
        "$@" 8>&- || rc=$?
    ended=$(date +%s%3N)
    after=$(head_counters)
    if [[ -n $counters ]]; then
        head_write_counters "$counters" "$before" "$after"
    fi
    if [[ -n $leftovers ]]; then
        head_write_leftovers "$leftovers" "$ended"
    fi
    exit "$rc"
}

# --- outside: arguments, permission, the head's life -------------------------------------------------

# A directory that the bed may cover with its own file system, in its own mount namespace only.
find_state() {
    local dir
    for dir in /media /mnt /srv /opt; do
        if [[ -d $dir && -z $(ls -A "$dir") ]]; then
            echo "$dir"
            return
        fi
    done
    skip "none of /media, /mnt, /srv, /opt is an empty directory"
}

# An ordinary user gets the same rights over his own namespaces as root has, where that is allowed.
unshare_flags() {
    flags=(--pid --mount --net --uts --ipc --fork --kill-child)
    if ((0 != EUID)); then
        flags+=(--user --map-root-user)
    fi
}

check_permission() {
    local tool message
    for tool in unshare nsenter setpriv ip bridge tc "$mpirun"; do
        command -v "$tool" >/dev/null || skip "no program $tool"
    done
    unshare_flags
    message=$(timeout 20 unshare "${flags[@]}" /bin/sh -ec '
        mount -t tmpfs tmpfs /dev/shm
        mount -t sysfs sysfs /sys
        mount -t proc proc /proc
        hostname probe
        ip link add bed0 type bridge
        ip link add bed1 type veth peer name bed2
        tc qdisc add dev bed1 root tbf rate 1mbit burst 65536 limit 1mb' 2>&1) ||
        skip "cannot make emulated hosts: ${message//$'\n'/; }"
}

parse_slots() { # TEXT
    local number
    IFS=, read -ra slots <<<"$1"
    for number in "${slots[@]}"; do
        [[ $number =~ ^[1-9][0-9]?$ ]] || die "--slots wants numbers from 1 to 99, not '$1'"
    done
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
    hosts="" map=slot rate=none counters="" leftovers=""
    while ((0 < $#)) && [[ -- != "$1" ]]; do
        case $1 in
        --hosts | --slots | --map | --rate | --counters | --leftovers)
            ((2 <= $#)) || die "$1 wants a value"
            ;;
        *) die "unknown argument '$1' (before --)" ;;
        esac
        case $1 in
        --hosts) hosts=$2 ;;
        --slots) slots_text=$2 ;;
        --map) map=$2 ;;
        --rate) rate=$2 ;;
        --counters) counters=$(realpath -m -- "$2") ;;
        --leftovers) leftovers=$(realpath -m -- "$2") ;;
        esac
        shift 2
    done
    ((2 <= $#)) || die "no program given after --"
    shift
    [[ -z $hosts || $hosts =~ ^[1-9][0-9]?$ ]] || die "--hosts wants a number from 1 to 99"
    [[ slot == "$map" || node == "$map" ]] || die "--map is slot or node, not '$map'"
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
        "$BASH" "$script" __head "$state" "$hosts" "$slots_text" "$map" "$rate" "$counters" \
        "$leftovers" "${command[@]}" <&3 3<&- &
    wait "$!" || rc=$?
    exit "$rc"
}

# The kernel signals only a parent's later death: who finds his parent gone already must end himself.
still_below() { # PARENT
    if (($1 != PPID)); then
        exit 143
    fi
}

script=$(realpath -- "$0")
mpirun=${OMPI_MPIRUN:-mpirun.openmpi}
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
__head) head_main "$@" ;;
__host) host_main "$@" ;;
*) usage ;;
esac
