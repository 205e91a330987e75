# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Shell functions of bed.sh and bed for what is done outside a bed: whether one can be made here, and
# the arguments that both take. The script that sources it sets `me`, the name that begins messages.
# Knows nothing of what happens inside (bed_inside.sh).

inside=$(dirname "$(realpath -- "${BASH_SOURCE[0]}")")/bed_inside.sh
mpirun=${OMPI_MPIRUN:-mpirun.openmpi}

die() {
    echo "$me: $*" >&2
    exit 2
}

skip() {
    echo "skip: $*"
    exit 77
}

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
    for tool in unshare nsenter setpriv flock ip bridge tc "$mpirun"; do
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

check_hosts() { # TEXT WHAT
    [[ $1 =~ ^[1-9][0-9]?$ ]] || die "$2 wants a number from 1 to 99, not '$1'"
}

check_slots() { # TEXT WHAT
    [[ $1 =~ ^[1-9][0-9]?(,[1-9][0-9]?)*$ ]] ||
        die "$2 wants numbers from 1 to 99 separated by commas, not '$1'"
}

# In tc's units, as far as they are sensible here; none: not shaped.
check_rate() { # TEXT WHAT
    [[ $1 =~ ^(none|[1-9][0-9]{0,5}[kmg]bit)$ ]] ||
        die "$2 wants none, or a number with kbit, mbit or gbit (100mbit), not '$1'"
}

# Milliseconds; none: as the bridge is.
check_delay() { # TEXT WHAT
    [[ $1 =~ ^(none|[1-9][0-9]{0,3})$ ]] ||
        die "$2 wants none, or milliseconds from 1 to 9999, not '$1'"
    [[ none == "$1" ]] || command -v python3 >/dev/null || skip "no program python3"
}

# Sets `map`; a random order gets its number here, so that it can be had again.
parse_map() { # TEXT
    map=$1
    if [[ random == "$map" ]]; then
        map=random:$RANDOM
        echo "$me: --map $map" >&2
    fi
    [[ $map =~ ^(slot|node|reverse|random:(0|[1-9][0-9]{0,4}))$ ]] ||
        die "--map is slot, node, reverse, random or random:NUMBER (up to 99999), not '$1'"
}

# The kernel signals only a parent's later death: who finds his parent gone already must end himself.
still_below() { # PARENT
    if (($1 != PPID)); then
        exit 143
    fi
}
