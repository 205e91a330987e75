# shellcheck shell=bash
# SPDX-License-Identifier: BSD-3-Clause
#
# hazard_faults.sh: the hazards that need something done to a job from outside: a killed rank,
# shared memory that is too small or cannot be mapped, valgrind. Sourced by run_hazards.sh; each
# function gets the id that it reports.

export -f hccl_mpirun hccl_limit
export OMPI_MPIRUN HCCL_SANITIZERS HCCL_CC

# in_private_shm SIZE COMMAND...: with an empty /dev/shm of that size that nobody else sees; what is
# left in it when the command ends is listed in $HCCL_TMP/shm_left.
in_private_shm() {
    # shellcheck disable=SC2016
    HCCL_LEFT=$HCCL_TMP/shm_left unshare --mount bash -c '
        mount -t tmpfs -o size="$1" hazard-shm /dev/shm || exit 125
        shift
        rc=0
        "$@" || rc=$?
        ls -A /dev/shm >"$HCCL_LEFT"
        exit "$rc"' hazard "$@"
}

can_unshare() {
    if ! in_private_shm 64k true 2>/dev/null; then
        hccl_skip "$1" "no private mount namespace can be had here"
        return 1
    fi
}

# Names in /dev/shm that Open MPI's own transport leaves there or has there while it runs.
not_ours='^(vader_segment\.|sm_segment\.|open_mpi\.|osc_rdma\.)'
perhaps_ours() { grep -vE "$not_ours" | tr '\n' ' ' || true; }

# kill_rank RANKS SHAPE: starts P86's victims, kills rank 1 in the middle. Sets kill_problem (the
# job could not be brought so far), kill_ended (seconds to the end of the job, or nothing) and
# kill_alive (processes that stayed).
kill_rank() {
    local ranks=$1 out=$HCCL_TMP/kill job victim start pid
    kill_problem='' kill_ended='' kill_alive=''
    rm -f "$HCCL_TMP/shm_left"
    : >"$HCCL_TMP/shm_during"
    : >"$out"
    shape_args "$2"
    HCCL_TEST_TIMEOUT=70 in_private_shm 512m hccl_mpirun --mca coll "$coll" \
        "${shape_arguments[@]}" -np "$ranks" "$bin/hazard_errors" -t P86 >"$out" 2>&1 &
    job=$!
    start=$SECONDS
    while (($(grep -ac '^# rank ' "$out" || true) < ranks)); do
        if ((SECONDS - start > 30)) || ! kill -0 "$job" 2>/dev/null; then
            kill_problem="the victims did not start: $(tail -n 1 "$out")"
            kill "$job" 2>/dev/null || true
            wait "$job" 2>/dev/null || true
            return 0
        fi
        sleep 0.1
    done
    sleep 0.5
    victim=$(sed -nE 's/^# rank 1 is process ([0-9]+)$/\1/p' "$out")
    ls -A "/proc/$victim/root/dev/shm" >"$HCCL_TMP/shm_during" 2>/dev/null || true
    kill -KILL "$victim"
    start=$SECONDS
    while kill -0 "$job" 2>/dev/null && ((SECONDS - start < 40)); do
        sleep 0.1
    done
    if ! kill -0 "$job" 2>/dev/null; then
        kill_ended=$((SECONDS - start))
    fi
    wait "$job" 2>/dev/null || true
    sleep 0.3
    for pid in $(sed -nE 's/^# rank [0-9]+ is process ([0-9]+)$/\1/p' "$out"); do
        # A zombie that nobody has waited for is dead enough.
        if grep -qsE '^State:\s+[^ZX]' "/proc/$pid/status"; then
            kill_alive+="$pid "
            kill -KILL "$pid" 2>/dev/null || true
        fi
    done
}

# P86: one rank killed, the others wait for it in a collective: the job must end within 10 seconds.
hazard_kill() {
    local shape name
    can_unshare "$1" || return 0
    for shape in flat 2+1; do
        name=$1/3@$shape
        kill_rank 3 "$shape"
        if [[ -n $kill_problem ]]; then
            hccl_not_ok "$name" "$kill_problem"
        elif [[ -z $kill_ended ]] || ((kill_ended > 10)); then
            hccl_not_ok "$name" "the job ended ${kill_ended:-not within 40} s after the kill"
        elif [[ -n $kill_alive ]]; then
            hccl_not_ok "$name" "processes stayed alive: $kill_alive"
        else
            hccl_ok "$name"
        fi
    done
}

# P82: one rank has no memory in the middle of an operation. It cannot tell the others, so the job ends,
# and says why; nobody goes on with a wrong result, and nobody waits for ever.
hazard_no_memory() {
    local what land rc out=$HCCL_TMP/no_memory program=$HCCL_BUILD_DIR/tests/mpi/memory
    if [[ $coll != hccl || $HCCL_SANITIZERS == 1 ]]; then
        hccl_skip "$1" "only with the component hccl, and with the C library's allocator"
        return 0
    fi
    for what in fold stage borrow; do
        land=never
        if [[ $what == borrow ]]; then
            land=always
        fi
        rc=0
        HCCL_TEST_TIMEOUT=15 hccl_mpirun --mca coll hccl --mca coll_hccl_topology node:4 \
            --mca coll_hccl_allgatherv_algorithm nb --mca coll_hccl_land "$land" -np 4 \
            "$program" "${what/borrow/stage}" >"$out" 2>&1 || rc=$?
        if grep -aq '^not right' "$out"; then
            hccl_not_ok "$1/$what" "$(grep -am1 '^not right' "$out")"
        elif [[ 1 != $(grep -acE 'coll/hccl error .*no memory' "$out") ]]; then
            hccl_quote "$(head -n 20 "$out")"
            hccl_not_ok "$1/$what" "no line, or several, say that there is no memory (exit code $rc)"
        elif ! grep -aq 'process rank 1 .*exited on signal' "$out"; then
            # Not by the exit code: one mpirun in thirty says this, and does not end.
            hccl_not_ok "$1/$what" "the job hangs"
        else
            hccl_ok "$1/$what"
        fi
    done
}

# await_lines FILE JOB PATTERN COUNT: until the file has so many lines of this kind; 1: not within 20 seconds, or the
# job has ended.
await_lines() {
    local tries
    for ((tries = 0; tries < 200; tries++)); do
        if (($(grep -acE "$3" "$1" || true) >= $4)); then
            return 0
        fi
        kill -0 "$2" 2>/dev/null || return 1
        sleep 0.1
    done
    return 1
}

# alive_in FILE: the processes of the victims named there that live.
alive_in() {
    local pid
    for pid in $(sed -nE 's/^# rank [0-9]+ is process ([0-9]+)$/\1/p' "$1"); do
        if grep -qsE '^State:\s+[^ZX]' "/proc/$pid/status"; then
            echo "$pid"
        fi
    done
}

# one_deed ID DEED FAMILY: a job of a deed that ends it is over within 20 s, as a failure, and leaves nothing; a rank
# that has stopped goes on, and results are right.
one_deed() {
    local name=$1/$2-$3 deed=$2 out=$HCCL_TMP/deed job start victim rc=0 ended alive pid left
    local -x HCCL_HAZARD_DEED="$2 $3"
    rm -f "$HCCL_TMP/shm_left"
    : >"$out"
    start=$SECONDS
    HCCL_TEST_TIMEOUT=40 in_private_shm 512m hccl_mpirun --mca coll "$coll" -x HCCL_HAZARD_DEED -np 3 \
        "$bin/hazard_deeds" -t P86b >"$out" 2>&1 &
    job=$!
    if [[ $deed == stop ]]; then
        if await_lines "$out" "$job" '^# rank 1 is process' 1; then
            victim=$(sed -nE 's/^# rank 1 is process ([0-9]+)$/\1/p' "$out")
            until grep -qsE '^State:\s+T' "/proc/$victim/status" || ! kill -0 "$job" 2>/dev/null; do
                sleep 0.1
            done
            sleep 1
            kill -CONT "$victim" 2>/dev/null || true
        fi
    fi
    wait "$job" || rc=$?
    ended=$((SECONDS - start))
    sleep 0.3
    alive=$(alive_in "$out" | tr '\n' ' ')
    for pid in $alive; do
        kill -KILL "$pid" 2>/dev/null || true
    done
    left=$(perhaps_ours <"$HCCL_TMP/shm_left")
    if [[ -n $alive ]]; then
        hccl_not_ok "$name" "processes stayed alive: $alive"
    elif [[ -n $left ]]; then
        hccl_not_ok "$name" "left in /dev/shm: $left"
    elif ((ended > 20)); then
        hccl_not_ok "$name" "the job ended after $ended s"
    elif grep -aqE 'Signal:|^not ok' "$out"; then
        hccl_not_ok "$name" "$(grep -aE 'Signal:|^not ok' "$out" | head -n 1)"
    elif [[ $deed == stop ]] && ! { ((rc == 0)) && grep -aq '^ok P86b' "$out"; }; then
        hccl_not_ok "$name" "the job ended with $rc"
    elif [[ $deed != stop ]] && ((rc == 0)); then
        hccl_not_ok "$name" "the job ended well"
    else
        hccl_ok "$name"
    fi
}

# P86b: what a rank does to itself, in the middle of operations of each family.
hazard_deeds() {
    local one
    can_unshare "$1" || return 0
    for one in kill:nonblocking kill:persistent kill:duplicate exit:slots exit:duplicate \
        abort:persistent stop:slots stop:long stop:nonblocking stop:duplicate; do
        one_deed "$1" "${one%:*}" "${one#*:}"
    done
}

# P64: nothing of ours in /dev/shm, neither while the job runs nor after the kill.
hazard_kill_shm() {
    local shape name during left
    can_unshare "$1" || return 0
    for shape in flat 2+1; do
        name=$1/3@$shape
        kill_rank 3 "$shape"
        during=$(perhaps_ours <"$HCCL_TMP/shm_during")
        if [[ -n $kill_problem ]]; then
            hccl_not_ok "$name" "$kill_problem"
            continue
        elif [[ ! -f $HCCL_TMP/shm_left ]]; then
            hccl_not_ok "$name" "the job did not end"
            continue
        fi
        left=$(perhaps_ours <"$HCCL_TMP/shm_left")
        if [[ -n $during ]]; then
            hccl_not_ok "$name" "names in /dev/shm while the job runs: $during"
        elif [[ -n $left ]]; then
            hccl_not_ok "$name" "left in /dev/shm: $left"
        else
            hccl_ok "$name"
        fi
    done
}

# said_once NAME: the component said something, in one line, in the job that just ended.
said_once() {
    local lines
    if [[ $coll != hccl ]]; then
        return 0
    fi
    lines=$(grep -aciE 'hccl' "$HCCL_TMP/err" || true)
    if ((lines == 1)); then
        hccl_ok "$1"
    else
        hccl_quote "$(head -n 12 "$HCCL_TMP/err")"
        hccl_not_ok "$1" "$lines lines about it instead of one"
    fi
}

# rank_limited: a command around each rank that sets a file size limit of 16 KiB (regions are files
# too) on the ranks that match the pattern $1. The signal is ignored, as a batch system would do it.
rank_limited() {
    # shellcheck disable=SC2016
    job_wrapper=(bash -c '
        if [[ $OMPI_COMM_WORLD_RANK == $0 ]]; then
            trap "" XFSZ
            ulimit -f 16
        fi
        exec "$@"' "$1")
}

# under_limit SET PATTERN: a command around each rank that runs `ulimit SET` on the ranks that match.
under_limit() {
    # shellcheck disable=SC2016
    job_wrapper=(bash -c '
        if [[ $OMPI_COMM_WORLD_RANK == $1 ]]; then
            ulimit $0
        fi
        shift
        exec "$@"' "$1" "$2")
}

# said_nothing NAME: the component had nothing to say in the job that just ended.
said_nothing() {
    if grep -aqiE 'hccl' "$HCCL_TMP/err"; then
        hccl_quote "$(head -n 12 "$HCCL_TMP/err")"
        hccl_not_ok "$1" "there was something to say"
    else
        hccl_ok "$1"
    fi
}

# P65b: limits of a process. Address space that has room for the programs but not for regions and heaps
# as they are: they are made smaller. What too little of it, or few open files, allows.
hazard_limits() {
    local kib
    if [[ $HCCL_SANITIZERS == 1 ]]; then
        hccl_skip "$1" "sanitizers need more addresses than any limit leaves"
        return 0
    fi
    for kib in 20000000 2200000; do
        under_limit "-v $kib" '*'
        hazard_job resources 3 "/in-$1-$kib-KiB" P66
        said_nothing "$1/$kib-KiB-is-enough"
    done
    under_limit "-v 1200000" 1
    hazard_job resources 3 "/in-$1-address-space-rank-1" P66,P81
    said_once "$1/address-space-rank-1-says-so"
    under_limit "-n 28" '*'
    hazard_job resources 3 "/in-$1-28-files" P66
    said_nothing "$1/28-files-are-enough"
}

# P65: /dev/shm of 64 KiB; a limit on files on all ranks, on one rank.
hazard_small_shm() {
    local -a plain=(--mca btl_vader_backing_directory "$HCCL_TMP")
    local ids=P66,P81
    if can_unshare "$1"; then
        job_launcher=(in_private_shm 64k hccl_mpirun)
        hazard_job resources 3 "/in-$1-shm-64k" "$ids" "${plain[@]}"
        job_launcher=(hccl_mpirun)
    fi
    rank_limited '*'
    hazard_job resources 3 "/in-$1-limit-all" "$ids" --mca btl self,tcp
    said_once "$1/limit-all-says-so"
    rank_limited 1
    hazard_job resources 3 "/in-$1-limit-rank-1" "$ids" --mca btl self,tcp
    said_once "$1/limit-rank-1-says-so"
}

# P78: memory of a peer that cannot be mapped, in one direction or both: all ranks fall back alike.
hazard_foreign() {
    local -a plain=(--mca btl_vader_single_copy_mechanism none)
    local -a alone=(unshare --pid --fork --mount-proc)
    if "${alone[@]}" true 2>/dev/null; then
        # shellcheck disable=SC2016
        job_wrapper=(bash -c 'if [[ $OMPI_COMM_WORLD_RANK == 1 ]]; then
            exec '"${alone[*]}"' "$@"; fi
            exec "$@"' hazard)
        hazard_job resources 3 "/in-$1-pid-namespace" P66 "${plain[@]}"
    else
        hccl_skip "$1/pid-namespace" "no PID namespace can be had here"
    fi
    if ((EUID == 0)) && hccl_have "$1/no-capabilities" setpriv; then
        # A process without capabilities may not open what belongs to one that has some.
        # shellcheck disable=SC2016
        job_wrapper=(bash -c 'if [[ $OMPI_COMM_WORLD_RANK == 0 ]]; then
            exec setpriv --bounding-set=-all --inh-caps=-all "$@"; fi
            exec "$@"' hazard)
        hazard_job resources 3 "/in-$1-no-capabilities" P66 "${plain[@]}"
    else
        hccl_skip "$1/no-capabilities" "needs root and setpriv"
    fi
}

# under_memcheck ID LABEL IDS ARGS...: the hazards IDS on two ranks; errors and lost blocks in which a
# function of the component takes part are failures.
under_memcheck() {
    local id=$1 label=$2 ids=$3 bad share
    shift 3
    hccl_have "$id" valgrind || return 0
    if [[ $HCCL_SANITIZERS == 1 ]]; then
        hccl_skip "$id" "valgrind and sanitizers do not go together"
        return 0
    fi
    share=$("$OMPI_INFO" --parsable --path pkgdatadir | cut -d: -f3)
    rm -f "$HCCL_TMP"/vg.*
    job_wrapper=(valgrind -q --leak-check=full --show-leak-kinds=definite --keep-debuginfo=yes
        --num-callers=25 "--log-file=$HCCL_TMP/vg.%p")
    if [[ -f $share/openmpi-valgrind.supp ]]; then
        job_wrapper+=("--suppressions=$share/openmpi-valgrind.supp")
    fi
    HCCL_TEST_TIMEOUT=180 hazard_job resources 2 "/in-$id-$label" "$ids" "$@"
    bad=$(awk -v RS='==[0-9]+== \n' \
        '/hccl_/ && /Invalid|uninitialised|definitely lost|overlap|free\(\)/' \
        "$HCCL_TMP"/vg.* | head -n 40)
    if [[ -n $bad ]]; then
        hccl_quote "$bad"
        hccl_not_ok "$id/memcheck" "errors in the component, see above"
    else
        hccl_ok "$id/memcheck"
    fi
}

# P67: communicators made, used, freed or left.
hazard_valgrind() {
    under_memcheck "$1" valgrind P67,P63
}

# P69: what a file says is given back when the component closes.
hazard_topo_file() {
    if [[ $coll != hccl ]]; then
        hccl_skip "$1" "only with the component hccl"
        return 0
    fi
    printf '%s\n' 'topology node:2' 'host a b' 'link a b cost=2' 'port 0-1 mlx5_0' >"$HCCL_TMP/topo"
    under_memcheck "$1" topo-file P63 --mca coll_hccl_topo_file "$HCCL_TMP/topo"
}
