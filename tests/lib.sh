# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
# Shell functions for test drivers; source it from bash:  . "$(dirname "$0")/../lib.sh"
#
# A driver prints one line per test on stdout, `ok NAME`, `not ok NAME: why` or `skip NAME: why`,
# progress as `# ...`, and exits 0 when nothing failed. Sets, unless they are set already:
#   HCCL_SRC_DIR      the source tree
#   HCCL_BUILD_DIR    the build tree (default: build/ in the source tree)
#   HCCL_PLUGIN_DIR   a directory with mca_coll_hccl.so alone (default: plugin/ in the build tree)
# and what configure found (tests/env.sh in the build tree): OMPI_MPIRUN, HCCL_MPICC, ...

HCCL_SRC_DIR=${HCCL_SRC_DIR:-$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}
HCCL_BUILD_DIR=${HCCL_BUILD_DIR:-$HCCL_SRC_DIR/build}
HCCL_PLUGIN_DIR=${HCCL_PLUGIN_DIR:-$HCCL_BUILD_DIR/plugin}
export HCCL_SRC_DIR HCCL_BUILD_DIR HCCL_PLUGIN_DIR

if [[ ! -f $HCCL_BUILD_DIR/tests/env.sh ]]; then
    echo "tests/lib.sh: no configured build in $HCCL_BUILD_DIR: run ./setup.sh build" >&2
    exit 2
fi
# shellcheck source=/dev/null
. "$HCCL_BUILD_DIR/tests/env.sh"

# Exported, not given on the command line: mpirun itself must find its components too.
export OMPI_MCA_mca_base_component_path=$HCCL_PLUGIN_DIR:$OMPI_PKGLIBDIR
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# What the component measures of this machine is kept here, not in the user's home.
export OMPI_MCA_coll_hccl_cache_dir=${OMPI_MCA_coll_hccl_cache_dir:-$HCCL_BUILD_DIR/cache}

# Failures of this driver so far.
HCCL_FAILED=0

hccl_note() { printf '# %s\n' "$*"; }
hccl_ok() { printf 'ok %s\n' "$1"; }
hccl_skip() { printf 'skip %s: %s\n' "$1" "${2:-no reason given}"; }
hccl_not_ok() {
    printf 'not ok %s: %s\n' "$1" "${2:-failed}"
    HCCL_FAILED=$((HCCL_FAILED + 1))
}

# hccl_quote TEXT: each of its lines as a progress line.
hccl_quote() { printf '#   %s\n' "${1//$'\n'/$'\n#   '}"; }

# The last line of a driver: exit with the right code.
hccl_finish() {
    if ((HCCL_FAILED > 0)); then
        exit 1
    fi
    exit 0
}

# hccl_have NAME COMMAND...: 0 when all commands exist; else prints the skip line of test NAME.
hccl_have() {
    local name=$1 command
    shift
    for command in "$@"; do
        if ! command -v "$command" >/dev/null 2>&1; then
            hccl_skip "$name" "$command is not installed"
            return 1
        fi
    done
}

# hccl_mktemp: sets HCCL_TMP to a fresh directory that goes away when the driver ends.
hccl_mktemp() {
    HCCL_TMP=$(mktemp -d "${TMPDIR:-/tmp}/hccl-test.XXXXXX")
    trap 'rm -rf "$HCCL_TMP"' EXIT
}

# hccl_limit SECONDS COMMAND...: runs the command with a hard time limit (exit code 124 or 137 then).
# `timeout` leads a process group of its own, which a signal to the caller's group does not reach;
# so it is told to end when the caller ends.
hccl_limit() {
    local seconds=$1
    shift
    setpriv --pdeathsig TERM timeout --kill-after=10 "$seconds" "$@"
}

# hccl_mpirun ARGS...: Open MPI's mpirun for more ranks than cores, with a hard time limit of
# HCCL_TEST_TIMEOUT seconds (default 120). Selects no component: add `--mca coll hccl`.
# Standard input is empty, so that a loop around it keeps its own.
hccl_mpirun() {
    local -a preload=()
    if [[ $HCCL_SANITIZERS == 1 ]]; then
        # The component is opened by a program that was not built with the sanitizers.
        preload=(-x "LD_PRELOAD=$($HCCL_CC -print-file-name=libasan.so)" -x ASAN_OPTIONS=detect_leaks=0)
    fi
    hccl_limit "${HCCL_TEST_TIMEOUT:-120}" \
        "$OMPI_MPIRUN" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        "${preload[@]}" "$@" </dev/null
}

# hccl_try NAME COMMAND...: runs the command; ok when it exits 0, else not ok with the last line it
# printed, and its whole output as progress lines.
hccl_try() {
    local name=$1 out rc=0
    shift
    out=$("$@" 2>&1) || rc=$?
    if ((rc == 0)); then
        hccl_ok "$name"
        return 0
    fi
    if [[ -n $out ]]; then
        hccl_quote "$out"
    fi
    if ((rc == 124 || rc == 137)); then
        hccl_not_ok "$name" "stopped after its time limit"
    else
        hccl_not_ok "$name" "exit code $rc${out:+: ${out##*$'\n'}}"
    fi
    return 0
}

# hccl_cmocka PROGRAM: runs a cmocka program; one line per test function, named PROGRAM/FUNCTION.
hccl_cmocka() {
    local program=$1 name out rc=0 found
    name=$(basename "$program")
    out=$(CMOCKA_MESSAGE_OUTPUT=TAP hccl_limit "${HCCL_TEST_TIMEOUT:-120}" "$program" \
        2>&1 </dev/null) || rc=$?
    found=$(sed -nE \
        -e "s|^ok [0-9]+ - ([^ ]+).*# SKIP.*|skip $name/\1: skipped by the test|p;t" \
        -e "s|^ok [0-9]+ - (.*)|ok $name/\1|p" \
        -e "s|^not ok [0-9]+ - (.*)|not ok $name/\1: see the lines above|p" <<<"$out")
    if ((rc != 0)); then
        hccl_quote "$out"
        HCCL_FAILED=$((HCCL_FAILED + 1))
        if ! grep -q '^not ok ' <<<"$found"; then
            found+=$'\n'"not ok $name: exit code $rc"
        fi
    elif [[ -z $found ]]; then
        hccl_not_ok "$name" "printed no test"
    fi
    grep -v '^$' <<<"$found" || true
}
