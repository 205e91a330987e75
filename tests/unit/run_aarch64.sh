#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# The reduction kernels for 64-bit Arm on an emulated processor: NEON, and SVE with vectors of several
# lengths. Needs Debian's gcc-aarch64-linux-gnu and qemu-user-static, about 500 MB, which setup.sh does
# not install.
set -euo pipefail
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
hccl_mktemp

if (($# > 0)); then
    echo "usage: tests/unit/run_aarch64.sh" >&2
    exit 2
fi
compiler=aarch64-linux-gnu-gcc
emulator=qemu-aarch64-static
if ! command -v "$emulator" >/dev/null; then
    emulator=qemu-aarch64
fi
hccl_have aarch64 "$compiler" "$emulator" || hccl_finish

program=$HCCL_TMP/kernel_fold
src=$HCCL_SRC_DIR
if ! out=$("$compiler" -std=gnu11 -D_GNU_SOURCE -g -O2 -ffp-contract=off -Wall -Wextra -Werror -static \
    -I"$src/src" -I"$src/tests/unit/aarch64" -I"$src/tests/unit" -o "$program" \
    "$src"/src/kernel/*.c "$src/tests/unit/kernel_fold.c" -lm 2>&1); then
    hccl_quote "$(tail -n 20 <<<"$out")"
    hccl_not_ok aarch64/build "the kernels do not compile"
    hccl_finish
fi

# emulated NAME PROCESSOR STRIDE SETS: all tests pass, and the processor has these sets of kernels.
emulated() {
    local name=$1 rc=0 out sets
    out=$(hccl_limit 120 "$emulator" -cpu "$2" "$program" "$3" 2>&1) || rc=$?
    sets=$(sed -n 's/^instruction set: //p' <<<"$out" | paste -sd' ')
    if ((rc != 0)); then
        hccl_quote "$(tail -n 5 <<<"$out")"
        hccl_not_ok "$name" "exit code $rc"
    elif [[ $sets != "$4" ]]; then
        hccl_not_ok "$name" "instruction sets: $sets; instead of: $4"
    else
        hccl_ok "$name"
    fi
}

emulated aarch64/neon cortex-a57 16 "base"
emulated aarch64/sve-128 max,sve-max-vq=1 16 "sve base"
emulated aarch64/sve-512 max,sve-max-vq=4 8 "sve base"
emulated aarch64/sve-2048 max,sve-max-vq=16 16 "sve base"
hccl_finish
