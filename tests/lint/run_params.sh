#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# docs/parameters.md is what the lists of parameters, collectives and algorithms say.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"

if (($# > 0)); then
    echo "usage: tests/lint/run_params.sh" >&2
    exit 2
fi
name="lint/docs/parameters.md is up to date"
tool=$HCCL_BUILD_DIR/tools/hccl_params_doc
if [[ ! -x $tool ]]; then
    hccl_not_ok "$name" "$tool is not built"
elif difference=$("$tool" | diff "$HCCL_SRC_DIR/docs/parameters.md" - 2>&1); then
    hccl_ok "$name"
else
    hccl_quote "$(head -n 10 <<<"$difference")"
    hccl_not_ok "$name" "run \`make params-doc\`"
fi
hccl_finish
