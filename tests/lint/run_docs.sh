#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# docs/parameters.md and docs/algorithms.md are what the lists in src/ say.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

if (($# > 0)); then
    echo "usage: tests/lint/run_docs.sh" >&2
    exit 2
fi

# up_to_date FILE TOOL TARGET: the file is what the tool prints; `make TARGET` makes it so.
up_to_date() {
    local name="lint/docs/$1 is up to date" tool=$HCCL_BUILD_DIR/tools/$2 difference
    if [[ ! -x $tool ]]; then
        hccl_not_ok "$name" "$tool is not built"
    elif difference=$("$tool" | diff "$HCCL_SRC_DIR/docs/$1" - 2>&1); then
        hccl_ok "$name"
    else
        hccl_quote "$(head -n 10 <<<"$difference")"
        hccl_not_ok "$name" "run \`make $3\`"
    fi
}

up_to_date parameters.md hccl_params_doc params-doc
up_to_date algorithms.md hccl_algorithms_doc algorithms-doc
hccl_finish
