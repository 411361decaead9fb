#!/usr/bin/env bash
# Packs what checks and measures the program on a machine with a GPU into target/gpu-check.tar.gz, and runs it here. The
# archive can be carried: gpu-check/run.sh in it needs neither Rust nor a network.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/cuda-env.sh

folder=target/gpu-check
scripts/cuda-build.sh
tests=$("${CARGO:-cargo}" test --release --workspace --locked --features cuda --target-dir target/cuda --test gpu \
    --no-run --message-format json | sed -n 's/.*"executable":"\([^"]*\/gpu-[0-9a-f]*\)".*/\1/p' | tail -n 1)
[ -x "$tests" ] || { echo "error: cargo names no executable of tests/gpu" >&2; exit 1; }

rm -rf "$folder"
mkdir -p "$folder/peers"
cp target/cuda/grpo-2048 target/cuda/grpo-2048-bench "$folder/"
strip -o "$folder/gpu-tests" "$tests"
cp bench/peers/*.py "$folder/peers/"
cp scripts/gpu-check/run.sh scripts/gpu-check/rows.txt "$folder/"
tar -czf "$folder.tar.gz" -C "$(dirname "$folder")" "$(basename "$folder")"
echo "$folder.tar.gz: $(du -sm "$folder.tar.gz" | cut -f 1) MB; unpack it on a machine with a GPU and start gpu-check/run.sh there"
"$folder/run.sh"
