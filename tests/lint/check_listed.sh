#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# check_listed.sh ROOT: every .c and .h of src/ is named in src/Makefile.am, so that `make dist`
# packs it and no file lies there unused.
set -euo pipefail
src=${1:?usage: check_listed.sh ROOT}/src
missing=$(cd "$src" && find . -name '*.[ch]' -o -name '*.def' | sed 's|^\./||' | sort |
    while read -r file; do
        grep -qE "(^|[[:space:]])${file//./\\.}([[:space:]\\]|\$)" Makefile.am || echo "$file"
    done)
if [[ -n $missing ]]; then
    echo "not in src/Makefile.am: ${missing//$'\n'/ }"
    exit 1
fi
