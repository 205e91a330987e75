#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Picks our own faults out of what sanitizers and valgrind wrote: report.py OWN FILE...

OWN is a regular expression for stack frames of the code under test. Prints, and then exits with 1:
every error of AddressSanitizer; every line of UBSan (only our code is instrumented); leaks and
errors of valgrind whose stack has a frame of ours. Open MPI's own leaks have none.
"""
import re
import sys

LEAK = re.compile(r"^(Direct|Indirect) leak of \d+ byte")
FRAME = re.compile(r"^\s+#\d+ ")
VALGRIND = re.compile(r"^==\d+== ?")


def sanitizer_faults(lines, own):
    """Yields each fault as its lines."""
    block = []
    kind = None
    for line in lines + [""]:
        if "runtime error:" in line:
            yield [line]
            continue
        if "ERROR: AddressSanitizer" in line:
            block, kind = [line], "error"
        elif LEAK.match(line):
            block, kind = [line], "leak"
        elif kind and FRAME.match(line):
            block.append(line)
        elif kind == "error" and line.strip() and not any(map(FRAME.match, block)):
            block.append(line)
        elif kind:
            if kind == "error" or any(own.search(frame) for frame in block[1:]):
                yield block
            block, kind = [], None


def valgrind_faults(lines, own):
    """Valgrind's errors are separated by lines with its prefix alone."""
    block = []
    for line in lines + ["==0=="]:
        if not VALGRIND.match(line):
            continue
        text = VALGRIND.sub("", line)
        if text.strip():
            block.append(text)
            continue
        if any(re.match(r"\s+(at|by) 0x", frame) and own.search(frame) for frame in block):
            yield block
        block = []


def main():
    if len(sys.argv) < 3:
        sys.exit("usage: report.py OWN FILE...")
    own = re.compile(sys.argv[1])
    seen = set()
    for path in sys.argv[2:]:
        with open(path, encoding="utf-8", errors="replace") as file:
            lines = file.read().split("\n")
        for find in (sanitizer_faults, valgrind_faults):
            for block in find(lines, own):
                key = re.sub(r"0x[0-9a-f]+|==\d+==|\b\d+ byte\(s\)", "", "".join(block[:6]))
                if key not in seen:
                    seen.add(key)
                    print("\n".join(block[:16]))
                    print()
    sys.exit(1 if seen else 0)


main()
