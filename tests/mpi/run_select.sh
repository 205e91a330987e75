#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 240
# Who serves the collectives of a job (served.c): without options, with the parameters that switch
# the component or one collective off, with settings that differ between ranks, and with components
# of other versions in the path. Also that ompi_info lists every parameter of the .def lists.
# awk programs stand in single quotes.
# shellcheck disable=SC2016
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp
export HCCL_TEST_TIMEOUT=40

if (($# > 0)); then
    echo "usage: tests/mpi/run_select.sh" >&2
    exit 2
fi
served=$HCCL_BUILD_DIR/tests/mpi/served
if [[ ! -x $served ]]; then
    hccl_not_ok select "no program $served: run make check"
    hccl_finish
fi
out=$HCCL_TMP/out

# job MPIRUN_ARGS...: runs it; $rc and the file $out tell how it went, $HCCL_TMP/table who serves.
job() {
    rc=0
    hccl_mpirun "$@" >"$out" 2>&1 || rc=$?
    grep -aE '^(world|self|inter) [a-z_]+ [a-z?]+$' "$out" >"$HCCL_TMP/table" || true
}

# expect NAME WANT: the job ended well, and the words `COMMUNICATOR COLLECTIVE COMPONENT` of the
# table that awk's condition WANT refuses do not exist.
expect() {
    local name=$1 want=$2 wrong lines
    lines=$(wc -l <"$HCCL_TMP/table")
    wrong=$(awk "!($want)" "$HCCL_TMP/table" | head -n 5)
    if ((rc != 0)); then
        hccl_quote "$(tail -n 20 "$out")"
        hccl_not_ok "$name" "exit code $rc"
    elif ((lines != 180)); then # 67 of the world, 67 of self, 46 of an inter-communicator
        hccl_not_ok "$name" "$lines functions in the table instead of 180"
    elif [[ -n $wrong ]]; then
        hccl_quote "$wrong"
        hccl_not_ok "$name" "not as it should be: ${wrong%%$'\n'*}"
    else
        hccl_ok "$name"
    fi
}

# messages NAME WORDS...: exactly one line of the component in the output, and it holds the words.
messages() {
    local name=$1 lines word
    shift
    lines=$(grep -acE 'coll/hccl (error|warning)' "$out" || true)
    if ((rc == 124 || rc == 137)); then
        hccl_not_ok "$name" "the job hangs"
        return 0
    fi
    if ((lines != 1)); then
        hccl_quote "$(grep -avE '^(world|self|inter) ' "$out" | head -n 20)"
        hccl_not_ok "$name" "$lines messages instead of one"
        return 0
    fi
    for word in "$@"; do
        if ! grep -aE 'coll/hccl (error|warning)' "$out" | grep -qF -- "$word"; then
            hccl_not_ok "$name" "the message does not say '$word'"
            return 0
        fi
    done
    if grep -aqE 'Signal:|Assertion' "$out"; then
        hccl_quote "$(grep -aE 'Signal:|Assertion|^\[' "$out" | head -n 20)"
        hccl_not_ok "$name" "the job crashed"
        return 0
    fi
    hccl_ok "$name"
}

others='$3 != "hccl" && $3 != "none" && $3 != "?"'

job -np 2 "$served"
expect select/no-option '$3 == "hccl"'
job -np 2 --mca coll hccl "$served"
expect select/alone '$3 == "hccl"'
job -np 2 --mca coll_hccl_priority 0 "$served"
expect select/priority-0 "$others"
job -np 2 --mca coll_hccl_priority 0 --mca coll hccl "$served"
expect select/priority-0-alone '$3 == "hccl"'
job -np 2 --mca coll ^hccl "$served"
expect select/excluded "$others"
# Below tuned (30), above libnbc (10).
job -np 2 --mca coll_hccl_priority 25 "$served"
expect select/priority-25 \
    '$1 != "world" || ($2 == "allreduce" ? $3 == "tuned" : $2 != "iallreduce" || $3 == "hccl")'

# One collective of each kind switched off: its three slots go to others, all else stays.
for name in allreduce barrier alltoallw scan neighbor_allgather; do
    job -np 2 --mca "coll_hccl_$name" 0 "$served"
    expect "select/without-$name" \
        "\$2 ~ /^(i$name|$name|${name}_init)\$/ ? $others : \$3 == \"hccl\""
done

# Settings that differ: one message, no hang, and what others can serve is served by them.
one=(-x OMPI_MCA_coll_hccl_slots=16)
job -np 1 "${one[@]}" "$served" : -np 2 "$served"
messages select/other-parameters-first 'rank 1 of communicator MPI_COMM_WORLD' parameters
job -np 2 "$served" : -np 1 "${one[@]}" "$served"
messages select/other-parameters 'rank 2 of communicator MPI_COMM_WORLD' parameters
expect select/other-parameters-served "\$1 == \"self\" ? \$3 == \"hccl\" : $others"
job -np 2 --mca coll hccl "$served" : -np 1 "${one[@]}" "$served"
messages select/other-parameters-alone 'rank 2 of communicator MPI_COMM_WORLD' parameters
job -np 2 "$served" : -np 1 -x OMPI_MCA_coll_hccl_verbose=0 -x OMPI_MCA_coll_hccl_spin=9 "$served"
expect select/own-parameters '$3 == "hccl"'
one=(-x OMPI_MCA_coll=^hccl)
job -np 2 "$served" : -np 1 "${one[@]}" "$served"
messages select/not-on-all-ranks 'rank 2 of communicator MPI_COMM_WORLD' 'does not run coll/hccl'
job -np 1 "${one[@]}" "$served" : -np 2 "$served"
messages select/not-on-first-rank 'rank 0 of communicator MPI_COMM_WORLD' 'does not run coll/hccl'

# A value that is none, of one rank alone: it says so itself, for it is the first one that has it.
job -np 2 "$served" : -np 2 -x HCCL_RETRY_COUNT=3y "$served"
lines=$(grep -acE 'coll/hccl error .*rank 2\]: parameter coll_hccl_retry_count \(HCCL_RETRY_COUNT\): "3y"' "$out" || true)
if ((1 == lines)) && [[ 1 == $(grep -acF '"3y"' "$out") ]]; then
    hccl_ok select/bad-value-elsewhere
else
    hccl_quote "$(grep -a coll/hccl "$out" | head -n 5)"
    hccl_not_ok select/bad-value-elsewhere "$lines lines name it"
fi
expect select/bad-value-elsewhere-served "\$1 == \"self\" ? \$3 == \"hccl\" : $others"

# An empty text, of which Open MPI makes a null pointer.
job --mca coll hccl -x OMPI_MCA_coll_hccl_bcast_algorithm= -np 2 "$served"
messages select/empty-algorithm 'coll_hccl_bcast_algorithm: "" is not accepted; accepted: auto, '

# All that Open MPI would read as another value.
HCCL_TEST_TIMEOUT=60 hccl_mpirun --mca coll hccl -np 1 "$HCCL_BUILD_DIR/tests/mpi/values" 2>&1 |
    grep -aE '^(not )?ok' | tee "$HCCL_TMP/values" || true
if grep -q '^not ok' "$HCCL_TMP/values"; then
    HCCL_FAILED=$((HCCL_FAILED + 1))
elif [[ 4 != $(grep -c '^ok' "$HCCL_TMP/values") ]]; then
    hccl_not_ok select/values "it has not come to its end"
fi

# HAZARDS P46: packed data means nothing to a process of another architecture.
HCCL_TEST_OTHER_ARCH=1 job -np 3 "$served"
expect select/other-architecture "\$1 == \"self\" ? \$3 == \"hccl\" : $others"

# In another Open MPI than it was built for. And components that say of themselves to be for another
# version of its interfaces: Open MPI leaves them out, some with a line of its own.
export HCCL_TEST_LIBRARY_VERSION="Open MPI v5.0.1, package: a test"
job -np 2 "$served"
messages select/other-version 'does not run in Open MPI v5.0.1:' 'built for Open MPI v4.1.x'
expect select/other-version-served "$others"
job -np 2 --mca coll hccl "$served"
messages select/other-version-alone 'does not run in Open MPI v5.0.1:'
unset HCCL_TEST_LIBRARY_VERSION
if hccl_have select/other-interface python3; then
    for what in mca:3.0.0 coll:2.4.0 coll:3.0.0; do
        mkdir "$HCCL_TMP/${what/:/-}"
        if ! python3 "$HCCL_SRC_DIR/tests/mpi/select_version.py" "$what" \
            "$HCCL_PLUGIN_DIR/mca_coll_hccl.so" "$HCCL_TMP/${what/:/-}/mca_coll_hccl.so"; then
            hccl_not_ok "select/other-interface-$what" "the plugin could not be changed"
            continue
        fi
        OMPI_MCA_mca_base_component_path=$HCCL_TMP/${what/:/-}:$OMPI_PKGLIBDIR job -np 2 "$served"
        expect "select/other-interface-$what" "$others"
    done
fi

# ompi_info knows all parameters of the lists.
"$OMPI_INFO" --param coll hccl --level 9 --parsable >"$out" 2>&1 || true
names=$(sed -nE 's/^HCCL_PARAM\(([a-z0-9_]+),.*/\1/p' "$HCCL_SRC_DIR/src/base/params.def")
for name in $(sed -nE 's/^HCCL_COLLECTIVE\([A-Z_0-9]+, ([a-z0-9_]+),.*/\1/p' \
    "$HCCL_SRC_DIR/src/base/collectives.def"); do
    names+=" $name ${name}_algorithm"
done
missing=
count=0
for name in $names; do
    count=$((count + 1))
    if ! grep -q "^mca:coll:hccl:param:coll_hccl_$name:help:." "$out"; then
        missing+=" $name"
    fi
done
hccl_note "select/ompi-info: $count parameters in the lists"
if ((count < 50)); then
    hccl_not_ok select/ompi-info "only $count parameters found in the lists"
elif [[ -n $missing ]]; then
    hccl_not_ok select/ompi-info "ompi_info does not show$missing"
else
    hccl_ok select/ompi-info
fi
hccl_finish
