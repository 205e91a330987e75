# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What the first process of the machine does once the caller's files are mounted: makes the devices,
# runs the command, sends its exit code and ends the machine. vm sets roce_devices, roce_writable,
# roce_directory and roce_command.
# shellcheck disable=SC2154

roce_ports=/run/hccl/ports

# The channels to vm, by name.
open_ports() {
    local port
    mkdir -p "$roce_ports"
    for port in /sys/class/virtio-ports/*; do
        ln -s "/dev/${port##*/}" "$roce_ports/$(<"$port/name")"
    done
}

mount_all() {
    local i
    ln -s /proc/self/fd /dev/fd
    ln -s fd/0 /dev/stdin
    ln -s fd/1 /dev/stdout
    ln -s fd/2 /dev/stderr
    mkdir -p /dev/shm /dev/pts
    mount -t tmpfs -o mode=1777 shm /dev/shm
    mount -t devpts pts /dev/pts
    mkdir -m 1777 /run/hccl/tmp
    for i in "${!roce_writable[@]}"; do
        mount -t 9p -o trans=virtio,version=9p2000.L,msize=512000 "w$i" "${roce_writable[i]}" || return
    done
    hostname roce
    echo '127.0.0.1 localhost roce' >/etc/hosts
}

# One interface on the bridge with a RoCE device on it. What its address sends to the others' leaves
# through it, whoever asks for the route: they are local too, and would be reached without the wire.
make_device() { # NUMBER
    local name=roce$1 address=10.78.0.$(($1 + 1)) table=$((100 + $1)) i
    ip link add "$name" mtu 9000 address "02:00:00:78:00:0$1" type veth peer name "port$1" mtu 9000
    ip link set "port$1" master wire up
    sysctl -q -w "net.ipv6.conf.$name.accept_dad=0" "net.ipv4.conf.$name.accept_local=1" \
        "net.ipv4.conf.$name.rp_filter=0" "net.ipv4.conf.$name.arp_ignore=1" \
        "net.ipv4.conf.$name.arp_announce=2"
    ip address add "$address/24" dev "$name" noprefixroute
    ip link set "$name" up
    # Packets steered to one processor stay in order.
    echo 1 >"/sys/class/net/$name/queues/rx-0/rps_cpus"
    echo 1 >"/sys/class/net/port$1/queues/rx-0/rps_cpus"
    ip route add 10.78.0.0/24 dev "$name" src "$address" table "$table"
    for ((i = 0; i < roce_devices; i++)); do
        ip neighbour replace "10.78.0.$((i + 1))" lladdr "02:00:00:78:00:0$i" dev "$name"
    done
    ip rule add priority 5 iif lo from "$address" to "$address" lookup local
    ip rule add priority 10 iif lo from "$address" to 10.78.0.0/24 lookup "$table"
    rdma link add "rxe$1" type rxe netdev "$name"
}

# Waits until the device has the GID that belongs to its IPv4 address.
await_gid() { # NUMBER
    local tries gid
    for ((tries = 0; tries < 100; tries++)); do
        for gid in "/sys/class/infiniband/rxe$1/ports/1/gids"/*; do
            if [[ $(<"$gid") == 0000:0000:0000:0000:0000:ffff:0a4e:* ]]; then
                return 0
            fi
        done
        sleep 0.05
    done
    return 1
}

make_devices() {
    local i
    ip link set lo up
    ip link add wire mtu 9000 type bridge forward_delay 0 mcast_snooping 0
    ip link set wire up
    # The table of local addresses is asked behind the rules of the devices.
    ip rule add priority 100 lookup local
    ip rule delete priority 0
    HCCL_ROCE_DEVICES=""
    for ((i = 0; i < roce_devices; i++)); do
        make_device "$i" || return
        HCCL_ROCE_DEVICES+=" rxe$i"
    done
    for ((i = 0; i < roce_devices; i++)); do
        await_gid "$i" || return
    done
    export HCCL_ROCE_DEVICES=${HCCL_ROCE_DEVICES# }
}

# Nothing is fast here, so no library is loaded that cannot be of use: libibverbs would try the drivers of
# all hardware, hwloc would ask graphics cards.
load_little() {
    find /etc/libibverbs.d -name '*.driver' ! -name rxe.driver -delete
    export HWLOC_PLUGINS_PATH=/run/hccl
}

# Through pipes and cat, because a channel can be opened once only.
run_command() {
    local code=0 tries
    mkfifo /run/hccl/out /run/hccl/err
    cat </run/hccl/out >"$roce_ports/out" &
    cat </run/hccl/err >"$roce_ports/err" &
    "${roce_command[@]}" >/run/hccl/out 2>/run/hccl/err </dev/null || code=$?
    # Processes that the command left behind may keep the pipes open: they aren't waited for.
    for ((tries = 0; tries < 20; tries++)); do
        [[ -n $(jobs -pr) ]] || break
        sleep 0.05
    done
    return "$code"
}

export PATH=${PATH:-/usr/bin}:/usr/local/sbin:/usr/sbin:/sbin
export TMPDIR=/run/hccl/tmp
export OMPI_MCA_pml=${OMPI_MCA_pml-ob1} OMPI_MCA_btl=${OMPI_MCA_btl-self,vader,tcp}
unset XDG_RUNTIME_DIR
open_ports
code=failed
if mount_all && make_devices && cd -- "$roce_directory"; then
    load_little
    ulimit -n 65536 -l unlimited -c 0
    code=0
    run_command || code=$?
fi
echo "$code" >"$roce_ports/code"
# Every file that matters is on the caller's machine.
echo b >/proc/sysrq-trigger
sleep 60
