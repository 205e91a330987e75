#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
#
# Fetches the source package of mpich from the package archive this machine is configured for,
# builds the collective programs of its test suite with Open MPI's compiler, and prints the folder
# that holds them. The result is kept in a cache outside the repository: other clones use it too.
#
# It refuses to know the component under test: the programs are plain MPI programs.
# Called by run_mpich.sh, or by hand.
set -euo pipefail

readonly SKIP=77
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
readonly here
readonly names_header="$here/mpi4_names.h"
# Not taken from OMPI_MPICC: once exported, that variable makes the wrapper call itself for ever.
unset OMPI_MPICC
readonly mpicc=${HCCL_MPICC:-mpicc.openmpi}
readonly cflags="-O1 -w -include mpi4_names.h"

usage() {
    cat <<EOF
usage: ${0##*/} [--rebuild]
Prints the folder with the built programs (coll/PROGRAM, coll/testlist*, VERSION).
  --rebuild   build again although the cache holds a sound copy
The cache is \$HCCL_CACHE_DIR, or \${XDG_CACHE_HOME:-~/.cache}/ompi-mca-coll-hccl.
Exit status: 0 built or found, $SKIP something needed is missing (said on stderr), 1 not built.
EOF
}

say() { printf '# mpich: %s\n' "$*" >&2; }

missing() {
    say "$*"
    exit "$SKIP"
}

# One build per (mpich version, Open MPI version, way of building).
cache_key() {
    local version ompi
    version=$(apt-cache policy mpich 2>/dev/null | sed -n 's/^ *Candidate: *//p')
    if [[ -z $version || '(none)' == "$version" ]]; then
        version=$(. /etc/os-release && printf '%s%s' "${ID:-unknown}" "${VERSION_ID:-}")
    fi
    ompi=$("$mpicc" --showme:version 2>&1 | grep -oE '[0-9]+(\.[0-9]+)+[a-z0-9]*' | head -n 1)
    printf 'mpich-%s-ompi-%s-%s' "${version//[^A-Za-z0-9.+-]/_}" "$ompi" \
        "$(cat "${BASH_SOURCE[0]}" "$names_header" | sha256sum | cut -c1-12)"
}

is_sound() { # FOLDER
    [[ -f $1/MANIFEST ]] && (cd "$1" && sha256sum --quiet --strict -c MANIFEST) >/dev/null 2>&1
}

# The system's own archives, asked for sources instead of packages. Both formats of apt are read;
# nothing outside FOLDER changes.
write_source_lists() { # FOLDER
    local list parts file n=0
    list=$(apt-config shell f Dir::Etc::sourcelist/f | sed -n "s/^f='\(.*\)'$/\1/p")
    parts=$(apt-config shell d Dir::Etc::sourceparts/d | sed -n "s/^d='\(.*\)'$/\1/p")
    for file in "$list" "${parts%/}"/*.list; do
        if [[ -f $file ]]; then
            sed -nE 's/^[[:space:]]*deb(-src)?([[:space:]])/deb-src\2/p' "$file" | sort -u \
                >"$1/$((n += 1)).list"
        fi
    done
    for file in "${parts%/}"/*.sources; do
        if [[ -f $file ]]; then
            sed -E 's/^[Tt]ypes:.*/Types: deb-src/' "$file" >"$1/$((n += 1)).sources"
        fi
    done
}

fetch() { # FOLDER: leaves mpich_VERSION.orig.tar.* and mpich_VERSION.dsc in it
    local apt
    mkdir -p "$1/etc" "$1/lists/partial" "$1/cache/archives/partial"
    write_source_lists "$1/etc"
    apt=(timeout 300 apt-get -q -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$1/etc"
        -o Dir::State::lists="$1/lists" -o Dir::Cache="$1/cache" -o APT::Sandbox::User=
        -o Acquire::Languages=none)
    # An archive without sources makes the update complain; only whether mpich was found counts.
    (cd "$1" && { "${apt[@]}" update || true; } &&
        "${apt[@]}" source --only-source --download-only mpich) >"$1/fetch.log" 2>&1 || {
        tail -n 5 "$1/fetch.log" | sed 's/^/#   /' >&2
        missing "the archives of this machine gave no source package of mpich"
    }
}

build() { # FOLDER: unpacks and builds in FOLDER/src, puts what is needed into FOLDER/out
    local top program
    mkdir -p "$1/src" "$1/out/coll"
    tar -xf "$1"/mpich_*.orig.tar.* -C "$1/src" --strip-components=1 --wildcards '*/test/mpi/*'
    top=$1/src/test/mpi
    cp "$names_header" "$top/include/"
    # Two programs keep MPI_Datatype handles in arrays of int, where only MPICH's fit.
    sed -i -E 's/^( *)int (\*(send|recv)types)/\1MPI_Datatype \2/' "$top"/coll/nonblocking[23].c
    (
        cd "$top"
        # Its libtool asks for a C++ preprocessor all the same.
        ./configure CC="$mpicc" --disable-fortran --disable-cxx --enable-strictmpi || exit 1
        for dir in dtpools util; do
            make -j"$(nproc)" -C "$dir" CFLAGS="$cflags -I$top/include" || exit 1
        done
        # Programs that need what this MPI lacks do not build; the runner skips them by name.
        make -k -j"$(nproc)" -C coll CFLAGS="$cflags -I$top/include" || true
    ) >"$1/build.log" 2>&1 || {
        tail -n 20 "$1/build.log" | sed 's/^/#   /' >&2
        return 1
    }
    for program in "$top"/coll/*; do
        if [[ -f $program && -x $program && ELF == "$(head -c 4 "$program" | tail -c 3)" ]]; then
            cp "$program" "$1/out/coll/"
        fi
    done
    [[ -x $1/out/coll/allred ]] || { say "no program was built"; return 1; }
    cp "$top"/coll/testlist "$top"/coll/testlist.dtp "$1/out/coll/"
    # For the runner's skip lines: which names the linker or compiler missed, per program.
    grep -oE '[A-Za-z0-9_]+\.c:.*(undefined reference to|implicit declaration of function).*' \
        "$1/build.log" | sed -E "s/^([A-Za-z0-9_]+)\.c:.*[\`‘']([A-Za-z0-9_]+)['’].*/\1 \2/" |
        sort -u >"$1/out/LACKING" || true
    basename "$1"/mpich_*.dsc .dsc | sed 's/^mpich_//' >"$1/out/VERSION"
    (cd "$1/out" && find . -type f ! -name MANIFEST -exec sha256sum {} + >MANIFEST)
}

main() {
    local rebuild=no cache final tool
    case "${1:-}" in
        '') ;;
        --rebuild) rebuild=yes ;;
        -h | --help) usage; exit 0 ;;
        *) say "unknown argument '$1'; accepted: --rebuild, --help"; exit 2 ;;
    esac
    for tool in apt-get apt-config "$mpicc" make xz flock; do
        command -v "$tool" >/dev/null || missing "$tool is not installed"
    done
    cache=${HCCL_CACHE_DIR:-${XDG_CACHE_HOME:-$HOME/.cache}/ompi-mca-coll-hccl}
    final=$cache/$(cache_key)
    mkdir -p "$cache"
    exec 9>"$final.lock"
    timeout 900 flock 9 || { say "another build holds $final.lock for 15 minutes"; exit 1; }
    if [[ no == "$rebuild" ]] && is_sound "$final"; then
        printf '%s\n' "$final"
        return
    fi
    [[ ! -e $final ]] || say "cached copy in $final is replaced"
    find "$cache" -maxdepth 1 -name 'build.*' -mmin +1440 -exec rm -rf {} +
    work=$(mktemp -d "$cache/build.XXXXXX")
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
    say "fetching and building (once per machine and version)"
    fetch "$work"
    build "$work"
    rm -rf "$final"
    mv "$work/out" "$final"
    say "built $(ls "$final/coll" | grep -vc '^testlist') programs of mpich $(cat "$final/VERSION")"
    printf '%s\n' "$final"
}

main "$@"
