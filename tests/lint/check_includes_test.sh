#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# Plants faults in a small tree and expects check_includes.py to name each, and nothing else.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
tmp=$(mktemp -d "${TMPDIR:-/tmp}/hccl-lint.XXXXXX")
trap 'rm -rf "$tmp"' EXIT

# file PATH [LINE]: one file of the small tree.
file() {
    mkdir -p "$tmp/$(dirname "$1")"
    printf '%s\n' "${2:-/* nothing */}" >"$tmp/$1"
}

# expect TEXT: the check must fail and print TEXT; without TEXT it must pass.
expect() {
    local out rc=0
    out=$(python3 "$here/check_includes.py" "$tmp" 2>&1) || rc=$?
    if [[ -z ${1:-} ]]; then
        if ((rc != 0)); then
            echo "a clean tree was refused: $out"
            exit 1
        fi
    elif ((rc == 0)) || [[ $out != *"$1"* ]]; then
        echo "a planted fault was not found (exit code $rc): expected '$1', got '$out'"
        exit 1
    fi
}

# fault PATH LINE TEXT: plants the line, expects TEXT, takes the file out again.
fault() {
    file "$1" "$2"
    expect "$3"
    rm "$tmp/$1"
}

file Makefile.am $'core_x = base/a.c\ncore_x += \\\n\ttopo/t.c\nlibhccl_core_la_SOURCES = $(core_x)'
file base/a.h
file base/a.c '#include "base/a.h"'
file topo/t.h '#include "base/a.h"'
file topo/t.c '#include "topo/t.h"'
file topo/modex.c '#include "ompi/proc/proc.h"'
file compat/c.h '#include "mpi.h"'
file plan/plan.h '#include "topo/t.h"'
file algo/algo.h '#include "plan/plan.h"'
file tier/tier.h '#include "compat/c.h"'
file select/select.h '#include "algo/algo.h"'
file exec/exec.c $'#include "select/select.h"\n#include "tier/tier.h"\n#include <stdlib.h>'
file coll_hccl.h '#include "algo/algo.h"'
expect

fault base/bad.c '#include "topo/t.h"' 'src/base/bad.c:1'
fault topo/bad.c '#include "plan/plan.h"' 'src/topo/bad.c:1'
fault topo/bad.c '#include "../plan/plan.h"' 'src/topo/bad.c:1'
fault plan/bad.c '#include "algo/algo.h"' 'src/plan/bad.c:1'
fault plan/bad.c '#include "compat/c.h"' 'src/plan/bad.c:1'
fault algo/bad.c '#include "tier/tier.h"' 'src/algo/bad.c:1'
fault tier/bad.c '  #  include "algo/algo.h"' 'src/tier/bad.c:1'
fault select/bad.c '#include <tier/tier.h>' 'src/select/bad.c:1'
fault exec/bad.c '#include "algo/not_there_yet.h"' 'src/exec/bad.c:1'
fault kernel/bad.c '#include "plan/plan.h"' 'src/kernel/bad.c:1'
fault tier/bad.c '#include "exec/exec.h"' 'src/tier/bad.c:1'
fault other/bad.c '#include "base/a.h"' 'folder other/'

file base/a.h '#include <mpi.h>'
expect 'src/base/a.h:1'
file base/a.h '#include "opal/class/opal_object.h"'
expect 'src/base/a.h:1'
file base/a.h
file topo/t.c $'#include "topo/t.h"\n#include "compat/c.h"'
expect 'src/topo/t.c:2'
file topo/t.c '#include "coll_hccl.h"'
file coll_hccl.h '#include "ompi_config.h"'
expect 'src/coll_hccl.h:1'
