#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Checks the arrows between the folders of src/: check_includes.py SRC_DIR

A folder may include only the folders named here. Files directly in src/ may include all.
What is listed in libhccl_core.la must not reach MPI, Open MPI or compat/ through any chain of
includes. Prints every line at fault; exit code 1 when there is one.
"""
import os
import re
import sys

ALLOWED = {
    "base": {"compat"},
    "compat": {"base"},
    "kernel": {"base", "compat"},
    "topo": {"base", "compat"},
    "plan": {"topo", "base"},
    "algo": {"plan", "topo", "base"},
    "tier": {"plan", "topo", "kernel", "watch", "base", "compat"},
    "select": {"algo", "plan", "topo", "base", "compat"},
    "watch": {"plan", "topo", "base", "compat"},
    "exec": {"select", "tier", "plan", "topo", "kernel", "watch", "base", "compat"},
    "entry": {"exec", "select", "tier", "plan", "topo", "kernel", "watch", "base", "compat"},
}
# Headers directly in src/ that no folder's rule forbids: the module and component structures. The
# core cannot reach them, because they include Open MPI.
TOP_HEADERS = {"hccl_config.h", "coll_hccl.h"}
INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
FOREIGN = re.compile(r"^(mpi\.h|mpi-ext\.h|(ompi|opal|orte|oshmem)[/_].*)$")


def includes(path):
    """Yields (line number, line, name, quoted) for each include of a file."""
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield number, line.strip(), match.group(2), match.group(1) == '"'


def resolve(src, path, name):
    """The file of src/ that an include names, relative to src/, or None."""
    for base in (os.path.dirname(path), ""):
        found = os.path.normpath(os.path.join(base, name))
        if os.path.isfile(os.path.join(src, found)):
            return found
    return None


def folder_of(path):
    return path.split(os.sep)[0] if os.sep in path else ""


def core_sources(src):
    """The files that src/Makefile.am lists for libhccl_core.la."""
    with open(os.path.join(src, "Makefile.am"), encoding="utf-8") as file:
        text = file.read().replace("\\\n", " ")
    variables = {}
    for name, words in re.findall(r"^(\w+)\s*\+?=[ \t]*(.*)$", text, re.M):
        variables[name] = variables.get(name, "") + " " + words
    words = variables.get("libhccl_core_la_SOURCES")
    if words is None:
        sys.exit("src/Makefile.am does not set libhccl_core_la_SOURCES")
    while "$(" in words:
        words = re.sub(r"\$\((\w+)\)", lambda m: variables.get(m.group(1), ""), words)
    return words.split()


def check_arrows(src, files):
    for path in files:
        own = folder_of(path)
        if own == "":
            continue
        if own not in ALLOWED:
            yield f"src/{path}: folder {own}/ is not in the list of {os.path.basename(__file__)}"
            continue
        for number, line, name, quoted in includes(os.path.join(src, path)):
            target = resolve(src, path, name)
            # A name that is not there yet still tells its folder.
            other = folder_of(os.path.normpath(target or name))
            if target is None and other not in ALLOWED:
                continue
            if other == "":
                good = target in TOP_HEADERS
            else:
                good = other == own or other in ALLOWED[own]
            if not good:
                yield f"src/{path}:{number}: {line}   ({own}/ must not include {other or 'src'}/)"


def check_core(src, sources):
    """Follows the includes of every core source; yields what leads out of the core."""
    seen = set()
    todo = [(path, path) for path in sources if os.path.isfile(os.path.join(src, path))]
    while todo:
        path, chain = todo.pop()
        if path in seen:
            continue
        seen.add(path)
        for number, line, name, quoted in includes(os.path.join(src, path)):
            target = resolve(src, path, name)
            outside = FOREIGN.match(name) or (target and folder_of(target) == "compat")
            if outside:
                yield f"src/{path}:{number}: {line}   (the core needs no MPI; reached by {chain})"
            elif target:
                todo.append((target, f"{chain} > {target}"))


def main():
    if len(sys.argv) != 2 or not os.path.isdir(sys.argv[1]):
        sys.exit("usage: check_includes.py SRC_DIR")
    src = sys.argv[1]
    files = []
    for where, _, names in os.walk(src):
        files += [os.path.relpath(os.path.join(where, n), src) for n in names]
    # compat/fortran stands in for Open MPI's own header.
    files = sorted(f for f in files
                   if f.endswith((".c", ".h", ".def")) and not f.startswith("compat/fortran/"))
    faults = list(check_arrows(src, files)) + list(check_core(src, core_sources(src)))
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


main()
