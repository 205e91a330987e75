# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# What vm boots: Debian's kernel, downloaded and taken apart but never installed, and an initramfs of
# busybox and the modules that the machine needs. Kept in the cache as DIR/KERNEL-FORMAT/{vmlinux,
# initramfs}. The caller has `here`, and `skip` for what cannot be had.

# To be changed with what follows, so that no old initramfs is used.
roce_format=1
roce_modules=(virtio_pci virtio_console qemu_fw_cfg 9p 9pnet_virtio overlay veth bridge rdma_rxe
    crc32_generic ib_uverbs rdma_ucm sch_netem)

# Beside MPICH's suite, for all clones.
roce_cache=${HCCL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ompi-mca-coll-hccl}/kernel

# Ends with `skip` when something is missing that the machine needs; a kernel aside.
check_machine() {
    local program
    [[ x86_64 == "$(uname -m)" ]] || skip "the machine is an x86-64 one and uses this one's programs"
    for program in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static cpio:cpio xz:xz-utils \
        modprobe:kmod rdma:iproute2 ibv_devinfo:ibverbs-utils setpriv:util-linux; do
        PATH=$PATH:/usr/sbin:/sbin command -v "${program%:*}" >/dev/null ||
            skip "no ${program%:*}: apt-get install ${program#*:}"
    done
    compgen -G '/usr/lib/*/libibverbs/librxe-*.so' >/dev/null ||
        skip "libibverbs does not know rxe: apt-get install ibverbs-providers"
}

# Sets `kernel` to the newest one in the cache; 1: there is none.
find_kernel() {
    local path
    kernel=""
    for path in "$roce_cache"/*-amd64-"$roce_format"; do
        if [[ -f $path/vmlinux && -f $path/initramfs ]]; then
            kernel=$path
        fi
    done
    [[ -n $kernel ]]
}

# Sets `package` to the package of Debian's stock kernel.
check_download() {
    command -v apt-get >/dev/null || skip "no apt-get to download Debian's kernel with"
    command -v dpkg-deb >/dev/null || skip "no dpkg-deb to unpack Debian's kernel with"
    package=$(apt-cache depends linux-image-amd64 2>/dev/null |
        sed -nE 's/^ *Depends: (linux-image-[^ ]*-amd64)$/\1/p' | head -n 1)
    [[ -n $package ]] || skip "apt knows no linux-image-amd64 (apt-get update may help)"
}

# The ELF kernel that boots without a loader's help, or the file as it is.
unpack_kernel() { # VMLINUZ VMLINUX
    local sectors offset length
    sectors=$(od -An -t u1 -j 0x1f1 -N 1 "$1")
    offset=$(od -An -t u4 -j 0x248 -N 4 "$1")
    length=$(od -An -t u4 -j 0x24c -N 4 "$1")
    # The last four bytes of what is compressed are its length.
    if ! dd if="$1" bs=64K iflag=skip_bytes,count_bytes skip="$(((sectors + 1) * 512 + offset))" \
        count="$((length - 4))" status=none | xz -dc >"$2" 2>/dev/null; then
        cp -- "$1" "$2"
    fi
}

# In the order of loading, each behind those that it needs.
pack_modules() { # TREE VERSION TARGET
    local path name
    mkdir -p "$3"
    depmod -b "$1" "$2" 2>/dev/null
    while read -r path; do
        name=${path##*/}
        cp -- "$path" "$3"
        [[ $name != *.xz ]] || xz -d "$3/$name"
        [[ $name != *.zst ]] || zstd -q -d --rm "$3/$name"
        echo "${name%%.*}.ko"
    done < <(for name in "${roce_modules[@]}"; do
        modprobe -d "$1" -S "$2" --show-depends "$name"
    done | awk '"insmod" == $1 && !seen[$2]++ { print $2 }') >"$3/order"
}

# Makes DIR/vmlinux and DIR/initramfs from a kernel's package.
unpack_package() { # PACKAGE DIR
    local tree=$2/tree root=$2/root version
    mkdir -p "$tree" "$root/bin"
    dpkg-deb --fsys-tarfile "$1" |
        tar -x -C "$tree" --wildcards '*/boot/vmlinuz-*' '*/lib/modules/*' || return
    # Where newer releases have it.
    if [[ -d $tree/usr/lib ]]; then
        ln -s usr/lib "$tree/lib"
    fi
    version=$(basename "$(echo "$tree"/lib/modules/*)")
    unpack_kernel "$tree/boot/vmlinuz-$version" "$2/vmlinux"
    pack_modules "$tree" "$version" "$root/modules"
    cp -- "$(command -v busybox)" "$root/bin/"
    cp -- "$here/init" "$root/init"
    (cd "$root" && find . | cpio -o -H newc --quiet) >"$2/initramfs"
    rm -rf "$tree" "$root"
}

# Downloads and unpacks into the cache; what an earlier, ended call left there goes first.
download_kernel() {
    local new=$roce_cache/new log
    check_download
    rm -rf "$new"
    mkdir -p "$new"
    if ! log=$(cd "$new" && apt-get -q -o APT::Sandbox::User=root download "$package" 2>&1); then
        rm -rf "$new"
        skip "$package could not be downloaded: ${log##*$'\n'}"
    fi
    if ! unpack_package "$(echo "$new"/*.deb)" "$new"; then
        rm -rf "$new"
        skip "$package could not be unpacked"
    fi
    rm -f "$new"/*.deb
    rm -rf "$roce_cache"/*-amd64-*
    mv -- "$new" "$roce_cache/${package#linux-image-}-$roce_format"
}

# Sets `kernel` to the directory of one, got first if need be, by one process at a time.
get_kernel() {
    if find_kernel; then
        return
    fi
    mkdir -p "$roce_cache" || skip "no directory $roce_cache for the kernel"
    exec 9>"$roce_cache/lock"
    flock 9
    find_kernel || download_kernel
    exec 9>&-
    find_kernel || skip "the kernel could not be put into $roce_cache"
}
