#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# All set-up on a Debian 12 machine, in one script that asks nothing and may be run again.
set -euo pipefail

root=$(cd "$(dirname "$0")" && pwd)
build=$root/build

# What the build, the tests and the benchmark use.
packages=(
    autoconf automake libtool pkg-config gcc g++ make
    libopenmpi-dev openmpi-bin libhwloc-dev libibverbs-dev
    libcmocka-dev python3 python3-mpi4py python3-numpy hpcc
    iproute2 util-linux valgrind strace clang-format dpkg-dev
    gnuplot-nox spin
)
# Only the benchmark uses these, to compare with MPICH; it does without.
optional=(mpich libmpich-dev)
# What the virtual machine with RoCE devices is made of (tests/roce); its tests are skipped without.
machine=(qemu-system-x86 busybox-static ibverbs-providers ibverbs-utils kmod cpio xz-utils)

usage() {
    cat <<EOF
usage: ./setup.sh COMMAND
  deps      install the Debian packages that are missing
  build     configure and build in build/ (incremental)
  demo      deps, build, then the benchmark: hccl beside Open MPI's default
  check     deps, build, then all tests
  install   build, then copy the component into Open MPI's component directory
Variable HCCL_CONFIGURE_ARGS: options for configure, e.g. "--enable-debug".
EOF
}

say() { echo "setup.sh: $*"; }
die() {
    echo "setup.sh: $*" >&2
    exit 1
}

# as_root COMMAND...: directly as root, else through sudo, which must not ask.
as_root() {
    if [[ $(id -u) == 0 ]]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo -n -E "$@" || die "'$*' failed; it needs root, or sudo without a password"
    else
        die "'$*' needs root, and sudo is not installed"
    fi
}

# missing_packages PACKAGE...: prints those that are not installed.
missing_packages() {
    local package status
    for package in "$@"; do
        status=$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null || true)
        if [[ $status != installed ]]; then
            echo "$package"
        fi
    done
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get install -y -q --no-install-recommends "$@"
}

# install_optional WITHOUT PACKAGE...: installs those that are missing, or says what will be missed.
# MPICH stands behind Open MPI in Debian's alternatives, so mpicc and mpirun stay what they are.
install_optional() {
    local without=$1
    local -a missing
    mapfile -t missing < <(missing_packages "${@:2}")
    if ((${#missing[@]} > 0)) && ! (apt_install "${missing[@]}") >/dev/null 2>&1; then
        say "going on without ${missing[*]}: $without"
    fi
}

# The kernel of that machine is downloaded and unpacked, not installed.
do_machine() {
    local why
    if [[ x86_64 != "$(uname -m)" ]]; then
        return 0
    fi
    install_optional "the tests with RoCE devices will be skipped" "${machine[@]}"
    if ! why=$("$root/tests/roce/vm" --fetch); then
        (as_root apt-get update -q) >/dev/null 2>&1 || true
        why=$("$root/tests/roce/vm" --fetch) ||
            say "the tests with RoCE devices will be skipped: ${why#skip: }"
    fi
}

install_needed() {
    local -a missing
    mapfile -t missing < <(missing_packages "${packages[@]}")
    if ((0 == ${#missing[@]})); then
        return 0
    fi
    say "installing: ${missing[*]}"
    if ! apt_install "${missing[@]}"; then
        say "trying again with fresh package lists"
        as_root apt-get update -q || die "apt-get update failed"
        if ! apt_install "${missing[@]}"; then
            # One by one, to name what is at fault.
            local package
            local -a failed=()
            for package in "${missing[@]}"; do
                apt_install "$package" >/dev/null || failed+=("$package")
            done
            if ((${#failed[@]} > 0)); then
                die "could not install: ${failed[*]}"
            fi
        fi
    fi
}

do_deps() {
    command -v dpkg-query >/dev/null || die "deps knows Debian only; install by hand: ${packages[*]}"
    install_needed
    install_optional "the benchmark will not show MPICH" "${optional[@]}"
}

do_build() {
    local -a args
    read -r -a args <<<"${HCCL_CONFIGURE_ARGS:-}"
    cd "$root"
    if [[ ! -x configure || ! -f Makefile.in ]]; then
        say "creating configure"
        ./autogen.sh >autogen.log 2>&1 || {
            cat autogen.log >&2
            die "autogen.sh failed"
        }
        rm -f autogen.log
    fi
    mkdir -p "$build"
    cd "$build"
    # A configure that failed leaves no Makefile; other options need a new run too.
    if [[ ! -f Makefile || "$(cat configure.args 2>/dev/null)" != "${args[*]}" ]]; then
        say "configuring in build/"
        ../configure "${args[@]}" >configure.log 2>&1 || {
            tail -n 5 configure.log >&2
            die "configure failed; all it said is in build/configure.log"
        }
        echo "${args[*]}" >configure.args
        sed -n '/^  Open MPI /,$p' configure.log
    fi
    make -j"$(nproc)" --no-print-directory
}

do_demo() {
    do_deps
    do_build
    exec "$root/bench/demo.sh"
}

do_check() {
    do_deps
    do_machine
    do_build
    make -C "$build/tests" -j"$(nproc)" --no-print-directory check-programs
    # Not through make, whose message about a failure would follow the tests' last line.
    export HCCL_BUILD_DIR=$build
    exec "$root/tests/run_all.sh"
}

do_install() {
    do_build
    as_root make -C "$build" --no-print-directory install
    say "the component is in $(sed -n 's/^plugindir = //p' "$build/Makefile")"
}

if ((1 != $#)); then
    usage >&2
    exit 2
fi
case $1 in
    deps)
        do_deps
        do_machine
        ;;
    build) do_build ;;
    demo) do_demo ;;
    check) do_check ;;
    install) do_install ;;
    -h | --help | help) usage ;;
    *)
        echo "setup.sh: unknown command '$1'" >&2
        usage >&2
        exit 2
        ;;
esac
