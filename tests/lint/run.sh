#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# hccl-timeout: 300
# Checks of the text of the project: the arrows between folders, the style, the symbols the
# component exports, words that must not be there.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/lib.sh
. "$here/../lib.sh"

name_files() { find "$HCCL_SRC_DIR"/{src,tests,bench,tools} -name '*.[ch]' -print0 | sort -z; }

# --- Arrows between folders, and the proof that the check can fail ------------------------------
hccl_try "lint/include arrows" python3 "$here/check_includes.py" "$HCCL_SRC_DIR/src"
hccl_try "lint/include arrows: planted faults are found" bash "$here/check_includes_test.sh"
hccl_try "lint/every source is in a Makefile.am" bash "$here/check_listed.sh" "$HCCL_SRC_DIR"

# --- Style --------------------------------------------------------------------------------------
if [[ -z $HCCL_CLANG_FORMAT ]]; then
    hccl_skip "lint/clang-format" "clang-format was not there when configure ran"
elif ! "$HCCL_CLANG_FORMAT" --version | grep -q 'version 14\.'; then
    hccl_skip "lint/clang-format" "the style is defined for clang-format 14"
else
    format_out=$(name_files | xargs -0 -r "$HCCL_CLANG_FORMAT" --dry-run -Werror 2>&1 || true)
    unformatted=$(sed -nE "s|^$HCCL_SRC_DIR/([^:]+):([0-9]+):.*|\1|p" <<<"$format_out" | sort -u)
    if [[ -z $format_out ]]; then
        hccl_ok "lint/clang-format"
    else
        hccl_quote "$(head -n 20 <<<"$format_out")"
        hccl_not_ok "lint/clang-format" "run \`make format\` for: ${unformatted//$'\n'/ }"
    fi
fi

# --- Exported symbols -----------------------------------------------------------------------------
component=$HCCL_PLUGIN_DIR/mca_coll_hccl.so
if [[ ! -f $component ]]; then
    hccl_not_ok "lint/exported symbols" "$component is not built"
else
    exported=$(nm -D --defined-only "$component" | awk '{ print $NF }' | sort | tr '\n' ' ')
    if [[ $exported == "mca_coll_hccl_component " ]]; then
        hccl_ok "lint/exported symbols"
    else
        hccl_not_ok "lint/exported symbols" "expected mca_coll_hccl_component alone, got: $exported"
    fi
fi

# --- Words ----------------------------------------------------------------------------------------
# check_words NAME REGEX [EXCEPT]: no text file may hold a line that matches REGEX and not EXCEPT.
check_words() {
    local name=$1 regex=$2 except=${3:-^$} found
    found=$(source_list | xargs -0 -r grep -InE "$regex" -- 2>/dev/null |
        grep -vE "$except" || true)
    if [[ -z $found ]]; then
        hccl_ok "lint/$name"
    else
        hccl_quote "$found"
        hccl_not_ok "lint/$name" "$(head -n 1 <<<"$found")"
    fi
}

# Files that people wrote: not what autotools, make or git put beside them.
source_list() {
    cd "$HCCL_SRC_DIR"
    find . -maxdepth 1 -type f \( -name '*.a[cm]' -o -name autogen.sh -o -name setup.sh \
        -o -name '*.md' -o -name NEWS -o -name LICENSE -o -name .gitignore -o -name .clang-format \) -print0
    find src tests bench tools .ci docs -type f ! -name Makefile.in ! -path '*/.deps/*' \
        ! -path '*/__pycache__/*' -print0 2>/dev/null || true
}

# The brackets keep these very lines from matching.
open_work='\b(TOD[O]|FIXM[E])\b'
workplace='(^|[^A-Za-z0-9_.])/wor[k]/'
check_words "open work names its issue" "$open_work" 'TOD[O] #[0-9]+'
check_words "no path of one workplace" "$workplace"

# The expressions find what they are for.
either="$open_work|$workplace"
planted=$(printf '%s\n' '/* TO''DO: later */' 'cd /wo''rk/tree' | grep -cE "$either" || true)
if ((2 == planted)) && ! grep -qE "$either" <<<"network/a TODOS ../work/b"; then
    hccl_ok "lint/planted words are found"
else
    hccl_not_ok "lint/planted words are found" "the expressions match $planted of 2 planted lines"
fi
hccl_finish
