#!/bin/sh
# Runs every fuzzer in turn for a time each: those in Go, then our JPEG engine in C against libjpeg.
#
#   scripts/fuzz.sh TIME    as 15s or 10m
#
# What is found is in testdata/fuzz beside a Go fuzzer, and in build/fuzz for the C one: crash-* there is a file that breaks
# a law of compare.c, and corpus what reaches new code.  To keep it as a test: ./jpeg -merge=1 EMPTY corpus, and zip EMPTY
# as tests_py/kernels_jpeg_own/corpus.zip.
set -eu
cd "$(dirname "$0")/.."

# On a busy machine Go's fuzzer may take its own deadline for a failure ("context deadline exceeded", nothing written). Not so
# what it finds: that is in a file, which the tests then run.
fuzz() { # FOLDER NAME TIME
    if said=$(go test "./$1" -run '^$' -fuzz "^$2\$" -fuzztime "$3" 2>&1); then
        printf '%s\n' "$said"
        return
    fi
    printf '%s\n' "$said"
    case $said in
    *"Failing input written"*) return 1 ;;
    *"context deadline exceeded"*) go test "./$1" -run "^$2\$" ;;
    *) return 1 ;;
    esac
}
grep -rlE '^func Fuzz' --include='*_test.go' core tests_go | xargs -n1 dirname | sort -u | while read -r folder; do
    grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$folder"/*_test.go | cut -c6- | sort | while read -r name; do
        fuzz "$folder" "$name" "$1"
    done
done

case $1 in
*h) seconds=$((${1%h} * 3600)) ;;
*m) seconds=$((${1%m} * 60)) ;;
*) seconds=${1%s} ;;
esac
tests=$PWD/tests_py/kernels_jpeg_own
mkdir -p build/fuzz/corpus
.venv/bin/python -m zipfile -e "$tests/corpus.zip" build/fuzz/corpus
cp tests_go/decode/testdata/jpeg* build/fuzz/corpus
build() { # COMPILER FLAGS: the program build/fuzz/jpeg
    "$@" -std=gnu11 -g -O2 -fno-sanitize-recover=all "$tests/compare.c" core/decode/decodetest/collect.c core/decode/jpeg/*.c \
        -ljpeg -o build/fuzz/jpeg
}
if command -v clang >/dev/null && build clang -DFUZZ -fsanitize=fuzzer,address,undefined 2>/dev/null; then
    cd build/fuzz
    ./jpeg -max_total_time="$seconds" -max_len=4096 -verbosity=0 -print_final_stats=1 corpus
else
    echo "no clang with libFuzzer: mutations by compare.c itself, which no coverage guides"
    build cc -fsanitize=address,undefined
    cd build/fuzz
    end=$(($(date +%s) + seconds)) seed=$$
    while [ "$(date +%s)" -lt "$end" ]; do
        ./jpeg $((seed += 1)) 100 4 corpus/*
    done
fi
