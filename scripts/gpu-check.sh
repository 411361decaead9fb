#!/usr/bin/env bash
# Packs what checks and measures the program on a machine with a GPU into target/gpu-check.tar.xz, and runs it here:
# scripts/gpu-check.sh [PART ..], the parts of scripts/gpu-check/run.sh. The archive can be carried: gpu-check/run.sh in it
# needs neither Rust nor a network. GPU_CHECK_OLD names a grpo-2048-bench of an earlier build, to measure both side by side;
# CUDA=12 packs a build for drivers from 550 on.
set -euo pipefail
# Paths are those of the folder that this is started in, as for run.sh.
started=$PWD
if [ -n "${GPU_CHECK_OLD:-}" ]; then
    [ -f "$GPU_CHECK_OLD" ] || { echo "error: GPU_CHECK_OLD: found no $GPU_CHECK_OLD, expected a grpo-2048-bench" >&2; exit 2; }
    GPU_CHECK_OLD=$(realpath "$GPU_CHECK_OLD")
fi
cd "$(dirname "$0")/.."
source scripts/cuda-env.sh

folder=$PWD/target/gpu-check
most_mib=60
scripts/cuda-build.sh
tests=$("${CARGO:-cargo}" test --release --workspace --locked --features cuda --target-dir "$cuda_target" --test gpu \
    --no-run --message-format json | sed -n 's/.*"executable":"\([^"]*\/gpu-[0-9a-f]*\)".*/\1/p' | tail -n 1)
[ -x "$tests" ] || { echo "error: cargo names no executable of tests/gpu" >&2; exit 1; }

rm -rf "$folder"
mkdir -p "$folder"
cp "$cuda_target/grpo-2048" "$cuda_target/grpo-2048-bench" "$folder/"
strip -o "$folder/gpu-tests" "$tests"
cp scripts/gpu-check/run.sh scripts/gpu-check/rows.txt "$folder/"
if [ -n "${GPU_CHECK_OLD:-}" ]; then
    mkdir "$folder/old"
    cp "$GPU_CHECK_OLD" "$folder/old/grpo-2048-bench"
fi
# The programs hold the same sandbox and the same kernels, which a dictionary of this size sees again.
tar -C "$(dirname "$folder")" -c "$(basename "$folder")" | xz --lzma2=preset=6,dict=192MiB >"$folder.tar.xz"
size=$(($(stat -c %s "$folder.tar.xz") / 1048576))
[ "$size" -lt "$most_mib" ] || { echo "error: $folder.tar.xz: found $size MiB, expected less than $most_mib" >&2; exit 1; }
echo "$folder.tar.xz: $size MiB; unpack it on a machine with a GPU and start gpu-check/run.sh there, part by part"
cd "$started"
"$folder/run.sh" "$@"
