#!/bin/sh
# Runs every Go fuzzer in turn for a time each.
#
#   scripts/fuzz.sh TIME    as 15s or 10m
set -eu
cd "$(dirname "$0")/.."
grep -rlE '^func Fuzz' --include='*_test.go' core tests_go | xargs -n1 dirname | sort -u | while read -r folder; do
    grep -hoE '^func Fuzz[A-Za-z0-9_]*' "$folder"/*_test.go | cut -c6- | sort | while read -r name; do
        go test "./$folder" -run '^$' -fuzz "^$name\$" -fuzztime "$1"
    done
done
