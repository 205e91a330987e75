#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# bed_inside.sh: what runs inside the namespaces of a bed. Started by bed.sh and bed only:
#
#   bed_inside.sh head STATE HOSTS RATE DELAY once MAP SLOTS COUNTERS LEFTOVERS COMMAND...
#                   process 1 of the bed: makes the hosts, runs one job, ends
#   bed_inside.sh head STATE HOSTS RATE DELAY stay
#                   the same, but prints `up` and stays until one of its processes ends
#   bed_inside.sh run STATE HOSTS MAP SLOTS COUNTERS LEFTOVERS DIRECTORY COMMAND...
#                   one job in a bed that stays; entered from outside
#   bed_inside.sh host STATE HOST HOSTS RATE
#                   process 1 of a host
#
# Knows nothing of names, users' arguments and permissions; HOSTS, RATE and so on have been checked.
# STATE is an empty directory, covered by a file system of the bed's own.
set -euo pipefail

die() {
    echo "bed: $*" >&2
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

# Ends all other processes of this host and empties its file systems.
host_tidy() {
    local tries
    kill -KILL -1 2>/dev/null || true
    for ((tries = 0; tries < 50; tries++)); do
        # To a file, because a pipe's processes would be found too.
        host_leftovers "$1" >"$state/h$1.left"
        if ! grep -q ,process, "$state/h$1.left"; then
            break
        fi
        sleep 0.05
    done
    rm -rf /dev/shm/* /dev/shm/.[!.]* "$state"/tmp/* "$state"/tmp/.[!.]*
}

host_main() { # STATE HOST HOSTS RATE
    local host=$2 hosts=$3 command head_pid
    state=$1 rate=$4
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
        case ${command% *} in
        network)
            host_network "$host" "$hosts"
            if [[ none != "$rate" ]]; then
                shape data
            fi
            ;;
        leftovers) host_leftovers "$host" >"$state/h$host.left" ;;
        tidy) host_tidy "$host" ;;
        esac
        echo "$command" >&8
    done
}

# --- the head: process 1 of the bed's namespaces -----------------------------------------------------

# Sends one word to every host and waits until each has done it. The number tells the answer from
# those to a sender that was killed.
head_command() {
    local host command="$1 $EPOCHREALTIME"
    for ((host = 0; host < hosts; host++)); do
        echo "$command" >"$state/h$host.commands"
    done
    head_wait "$command"
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
        if ((1 == net)) && [[ none != "$delay" ]]; then
            ip link set "$name$1" up
        else
            ip link set "$name$1" master "net$net" up
        fi
    done
    # A bridge floods what it has not learnt yet: the other hosts would count these bytes.
    if [[ none == "$delay" ]]; then
        bridge fdb replace "$(mac 1 "$1")" dev "data$1" master static
    fi
    if [[ none != "$rate" ]]; then
        shape "data$1"
    fi
}

# The data network's switch where frames take a while; a bridge else.
head_switch() {
    local answer=""
    exec 5< <(exec python3 "${script%/*}/bed_switch.py" "$delay" "$hosts" 8>&-)
    read -r -t 20 answer <&5 || true
    exec 5<&-
    [[ up == "$answer" ]] || die "the switch that delays frames did not start"
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
        mkfifo "$state/h$host.commands"
    done
    mount --bind "$state/hosts" /etc/hosts
    head_bridges
    for ((host = 0; host < hosts; host++)); do
        unshare --pid --mount --net --uts --ipc --fork --kill-child \
            "$BASH" "$script" host "$state" "$host" "$hosts" "$rate" </dev/null 8>&- &
    done
    head_wait up
    for ((host = 0; host < hosts; host++)); do
        head_links "$host"
    done
    if [[ none != "$delay" ]]; then
        head_switch
    fi
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

print_counters() { # BEFORE AFTER
    echo "host,out_bytes,in_bytes"
    paste -d ' ' <(echo "$1") <(echo "$2") |
        while read -r host out_before in_before _ out_after in_after; do
            echo "$host,$((out_after - out_before)),$((in_after - in_before))"
        done
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

# Writes mpirun's list of hosts; sets `placement`, its options that put the ranks there.
place() { # MAP
    local host count i other last=$((${#slots[@]} - 1))
    local -a seats=()
    for ((host = 0; host <= last; host++)); do
        for ((count = 0; count < slots[host]; count++)); do
            seats+=("h$host")
        done
    done
    placement=(--hostfile "$state/hostfile" -np "${#seats[@]}" --map-by seq --bind-to none)
    case $1 in
    slot | node)
        placement[5]=$1
        for host in "${!slots[@]}"; do
            echo "h$host slots=${slots[host]}"
        done
        ;;
    reverse)
        for ((i = ${#seats[@]} - 1; i >= 0; i--)); do
            echo "${seats[i]}"
        done
        ;;
    random:*)
        RANDOM=${1#*:}
        for ((i = ${#seats[@]} - 1; i > 0; i--)); do
            other=$((RANDOM % (i + 1)))
            host=${seats[i]} seats[i]=${seats[other]} seats[other]=$host
        done
        printf '%s\n' "${seats[@]}"
        ;;
    esac >"$state/hostfile"
}

# One job and what is to be written about it. Returns mpirun's exit code.
# COUNTERS: a file, - for stderr, or nothing.
run_job() { # MAP SLOTS COUNTERS LEFTOVERS COMMAND...
    local map=$1 counters=$3 leftovers=$4 before after ended rc=0
    IFS=, read -ra slots <<<"$2"
    shift 4
    place "$map"
    head_environment
    before=$(head_counters)
    setpriv --pdeathsig KILL "$mpirun" "${placement[@]}" "$@" 6<&- 7>&- 8>&- || rc=$?
    ended=$(date +%s%3N)
    after=$(head_counters)
    case $counters in
    "") ;;
    -) print_counters "$before" "$after" >&2 ;;
    *) print_counters "$before" "$after" >"$counters" ;;
    esac
    if [[ -n $leftovers ]]; then
        head_write_leftovers "$leftovers" "$ended"
    fi
    return "$rc"
}

# --- a bed that stays --------------------------------------------------------------------------------
#
# $state/turn is locked by the job that runs. $state/dirty exists from its begin until the hosts have
# been tidied, which the job does itself, unless it is killed: then the janitor does, who reads a line
# from $state/begun for each job.

tidy() {
    if [[ -e $state/dirty ]]; then
        head_command tidy
        rm -rf "$state"/tmp/* "$state/dirty"
    fi
}

janitor() {
    local line
    while read -r line <&6; do
        exec 7>"$state/turn"
        flock 7
        tidy
        exec 7>&-
    done
}

# Ends when the first of its processes does: then the kernel ends the others.
head_stay() {
    mkfifo "$state/begun"
    exec 6<>"$state/begun"
    janitor &
    echo up
    exec >/dev/null 2>&1
    wait -n || true
}

# Whoever has entered a bed from outside has no parent in it, until that parent ends.
job_in_bed() { # STATE HOSTS MAP SLOTS COUNTERS LEFTOVERS DIRECTORY COMMAND...
    local map=$3 slots_text=$4 counters=$5 leftovers=$6 rc=0
    state=$1 hosts=$2
    if ((0 != PPID)); then
        exit 143
    fi
    cd "$7" 2>/dev/null || die "$7: no such directory in the bed; mounted after \`bed up\`?"
    shift 7
    exec 7>"$state/turn" 8<>"$state/answers"
    if ! flock -w 2 7; then
        echo "bed: waiting for another job in this bed to end" >&2
        flock 7
    fi
    tidy
    touch "$state/dirty"
    echo begun >"$state/begun"
    run_job "$map" "$slots_text" "$counters" "$leftovers" "$@" || rc=$?
    tidy
    exit "$rc"
}

head_main() { # STATE HOSTS RATE DELAY once|stay ...
    state=$1 hosts=$2 rate=$3 delay=$4
    head_up
    if [[ stay == "$5" ]]; then
        head_stay
    else
        run_job "${@:6}"
    fi
}

script=$(realpath -- "$0")
mpirun=${OMPI_MPIRUN:-mpirun.openmpi}
mode=$1
shift
case $mode in
head) head_main "$@" ;;
host) host_main "$@" ;;
run) job_in_bed "$@" ;;
*) die "not to be called by hand: see bed and bed.sh" ;;
esac
