#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 900
# Builds everything with the address, leak and undefined-behaviour sanitizers, in sanitize/ of the
# build tree, and runs it once: unit and model programs, and MPI programs with the component alone.
# Then a small job under valgrind's memcheck, with the ordinary build. Only faults with a frame of
# ours count (report.py): Open MPI leaks and is not built with sanitizers.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp

if (($# > 0)); then
    echo "usage: tests/sanitize/run_sanitize.sh" >&2
    exit 2
fi
here=$HCCL_SRC_DIR/tests/sanitize
build=$HCCL_BUILD_DIR/sanitize
cases=300
if [[ ${HCCL_CHECK_LONG:-0} == 1 ]]; then
    cases=3000
fi
own='(in|0x[0-9A-Fa-f]+:) (mca_coll_)?hccl_|mca_coll_hccl\.so|coll_hccl_[a-z]+\.c'
own+='|/src/[a-z]+/[a-z_]+\.c'
asan=detect_leaks=1:fast_unwind_on_malloc=0:malloc_context_size=24:exitcode=0
asan+=:allocator_may_return_null=1
ubsan=print_stacktrace=1

# MPI_BOTTOM is a null pointer, to which MPI has us add: no check of pointer arithmetic. Sanitizers
# bring false warnings: no -Werror. Configured again when the ordinary build was.
build_all() {
    local made=$build/Makefile
    mkdir -p "$build"
    if [[ ! -f $made || $HCCL_BUILD_DIR/tests/env.sh -nt $made ]]; then
        (cd "$build" && "$HCCL_SRC_DIR/configure" --enable-sanitizers --disable-werror \
            --with-ompi-info="$OMPI_INFO" \
            CFLAGS="-O1 -g -fno-sanitize=pointer-overflow") || return 1
    fi
    make -C "$build" -j"$(nproc)" --no-print-directory \
        && make -C "$build/tests" -j"$(nproc)" --no-print-directory check-programs
}

# judge NAME RC FILE...: what a run left behind.
judge() {
    local name=$1 rc=$2 faults
    shift 2
    if ! faults=$(python3 "$here/report.py" "$own" "$@"); then
        hccl_quote "$faults"
        hccl_not_ok "$name" "${faults%%$'\n'*}"
    elif ((rc == 124 || rc == 137)); then
        hccl_not_ok "$name" "stopped after its time limit"
    elif ((rc != 0)); then
        hccl_quote "$(tail -n 15 "$HCCL_TMP/out")"
        hccl_not_ok "$name" "exit code $rc"
    else
        hccl_ok "$name"
    fi
}

# alone NAME PROGRAM ARGS...: a program without MPI.
alone() {
    local name=$1 rc=0
    shift
    ASAN_OPTIONS=$asan UBSAN_OPTIONS=$ubsan hccl_limit 120 "$@" >"$HCCL_TMP/out" 2>&1 \
        </dev/null || rc=$?
    judge "$name" "$rc" "$HCCL_TMP/out"
}

# job NAME MPIRUN_ARGS...: with the sanitized component. The reports of each process
# are in files of their own; UBSan's are in the output.
job() {
    local name=$1 rc=0
    shift
    rm -rf "$HCCL_TMP/logs"
    mkdir "$HCCL_TMP/logs"
    hccl_limit 200 "$OMPI_MPIRUN" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        -x "LD_PRELOAD=$libraries" -x "UBSAN_OPTIONS=$ubsan" \
        -x "ASAN_OPTIONS=$asan:log_path=$HCCL_TMP/logs/log" "$@" \
        >"$HCCL_TMP/out" 2>&1 </dev/null || rc=$?
    shopt -s nullglob
    judge "$name" "$rc" "$HCCL_TMP/out" "$HCCL_TMP"/logs/*
    shopt -u nullglob
}

# planted WHAT COMMAND...: the command's fault must be reported.
planted() {
    local what=$1 out=$HCCL_TMP/planted.out
    shift
    ASAN_OPTIONS=$asan UBSAN_OPTIONS=$ubsan hccl_limit 60 "$@" "$what" >"$out" 2>&1 || true
    if python3 "$here/report.py" "$own" "$out" >"$HCCL_TMP/out"; then
        hccl_quote "$(head -n 20 "$out")"
        hccl_not_ok "sanitize/planted-$what" "not reported"
    else
        hccl_ok "sanitize/planted-$what"
    fi
}

memcheck() {
    local name=sanitize/memcheck rc=0 supp=/usr/share/openmpi/openmpi-valgrind.supp
    local -a options=(--quiet --leak-check=full --keep-debuginfo=yes --num-callers=24)
    hccl_have "$name" valgrind || return 0
    "$HCCL_CC" -O0 -g -o "$HCCL_TMP/plain" "$here/planted.c"
    planted uninitialized valgrind "${options[@]}" "$HCCL_TMP/plain"
    if [[ -f $supp ]]; then
        options+=("--suppressions=$supp")
    fi
    mkdir "$HCCL_TMP/memcheck"
    hccl_limit 200 "$OMPI_MPIRUN" --oversubscribe --bind-to none --mca mpi_yield_when_idle 1 \
        --mca coll hccl -np 2 valgrind "${options[@]}" "--log-file=$HCCL_TMP/memcheck/log.%p" \
        "$HCCL_BUILD_DIR/bench/hccl_test" all -m blocking,nonblocking,persistent \
        -b 8 -e 8K -f 100 -n 2 -w 1 >"$HCCL_TMP/out" 2>&1 </dev/null || rc=$?
    judge "$name" "$rc" "$HCCL_TMP"/memcheck/*
}

if [[ $HCCL_SANITIZERS == 1 ]]; then
    hccl_skip sanitize "this build has the sanitizers already"
    hccl_finish
fi
hccl_have sanitize python3 || hccl_finish
libraries=
for library in libasan.so libubsan.so; do
    path=$("$HCCL_CC" -print-file-name=$library)
    if [[ $path != /* ]]; then
        hccl_skip sanitize "the compiler has no $library"
        hccl_finish
    fi
    libraries+=$path:
done
if ! build_all >"$HCCL_TMP/build.log" 2>&1; then
    hccl_quote "$(tail -n 30 "$HCCL_TMP/build.log")"
    hccl_not_ok sanitize/build "configure or make failed"
    hccl_finish
fi
hccl_note "built in $SECONDS s"
"$HCCL_CC" -shared -fPIC -o "$HCCL_TMP/keep.so" "$here/keep.c"
libraries+=$HCCL_TMP/keep.so
"$HCCL_CC" -O0 -g -fsanitize=address,undefined -o "$HCCL_TMP/planted" "$here/planted.c"
export OMPI_MCA_mca_base_component_path=$build/plugin:$OMPI_PKGLIBDIR

for what in leak overflow shift; do
    planted "$what" "$HCCL_TMP/planted"
done
for source in "$HCCL_SRC_DIR"/tests/unit/*.c; do
    program=$build/tests/unit/$(basename "$source" .c)
    if [[ -x $program && $HCCL_HAVE_CMOCKA == 1 ]]; then
        alone "sanitize/$(basename "$program")" "$program"
    fi
done
alone sanitize/prove "$build/tests/model/prove" --part 0/20
alone sanitize/mutate "$build/tests/model/mutate" --part 0/20

bin=$build/tests/mpi
alone=(--mca coll hccl)
two=(--mca coll hccl --mca coll_hccl_topology "node:2 core:2")
job sanitize/fuzz-3 -np 3 "${alone[@]}" "$bin/fuzz" -n "$cases" -t 100
job sanitize/fuzz-2x2 -np 4 "${two[@]}" "$bin/fuzz" -s 2 -n "$cases" -t 100
job sanitize/fuzz-network -np 3 "${alone[@]}" --mca coll_hccl_shared_memory 0 \
    "$bin/fuzz" -s 3 -n $((cases / 3)) -t 100
job sanitize/bench-3 -np 3 "${alone[@]}" "$build/bench/hccl_test" all \
    -m blocking,nonblocking,persistent -b 0 -e 200K -f 100 -n 3 -w 1
job sanitize/bench-2x2 -np 4 "${two[@]}" "$build/bench/hccl_test" all -b 0 -e 2M -f 100 -n 3 -w 1
job sanitize/determinism -np 3 "${alone[@]}" "$bin/determinism" -l 7001
job sanitize/refused-parameter -np 2 --mca coll_hccl_slots 12 "$bin/served"
for hazard in concurrency inplace inter order sizes spelling threads types; do
    job "sanitize/hazard-$hazard" -np 3 "${alone[@]}" "$bin/hazard_$hazard"
done

export OMPI_MCA_mca_base_component_path=$HCCL_PLUGIN_DIR:$OMPI_PKGLIBDIR
memcheck
hccl_finish
