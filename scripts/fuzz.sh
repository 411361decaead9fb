#!/usr/bin/env bash
# Runs every fuzz target for a bounded time: scripts/fuzz.sh [SECONDS] [TARGET...]. Needs nightly and cargo-fuzz; the
# property tests of `make test` cover the same entry points without either.
set -euo pipefail
cd "$(dirname "$0")/.."

seconds=${1:-60}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(extraction board guest_message sandbox_source)

[[ $seconds =~ ^[1-9][0-9]*$ ]] || { echo "error: seconds: found '$seconds', expected a whole number of at least 1" >&2; exit 2; }
for target in "${targets[@]}"; do
    [ -f "fuzz/targets/$target.rs" ] || { echo "error: target: found '$target', expected one of: $(cd fuzz/targets && ls | sed 's/\.rs$//' | xargs)" >&2; exit 2; }
done
cargo +nightly --version >/dev/null 2>&1 || {
    echo "error: no nightly toolchain; fuzzing needs its sanitizers: rustup toolchain install nightly" >&2
    exit 2
}
cargo +nightly fuzz --version >/dev/null 2>&1 || {
    echo "error: cargo-fuzz not found: cargo install cargo-fuzz" >&2
    exit 2
}

# One build for all targets, an hour of it on two cores: the address sanitizer lets wasmtime have its faults.
for target in "${targets[@]}"; do
    mkdir -p "fuzz/corpus/$target"
    # Inputs found earlier first: what libFuzzer made, what once failed, and the programs written by hand.
    inputs=("fuzz/corpus/$target")
    [ -d "fuzz/regressions/$target" ] && inputs+=("fuzz/regressions/$target")
    case $target in extraction | sandbox_source) inputs+=(sandbox/tests/hostile) ;; esac
    echo "fuzzing $target for $seconds s"
    cargo +nightly fuzz run --fuzz-dir fuzz "$target" "${inputs[@]}" -- \
        -max_total_time="$seconds" -timeout=60 -max_len=65536 -rss_limit_mb=8192
done
