#!/usr/bin/env bash
# Runs the CUDA build on a GPU in software (tensor/emulator): the GPU tests, those that hold the program to torch and PEFT,
# two steps of training, then a rehearsal of scripts/gpu-check.sh from its first part to its table. Needs no GPU, and takes
# minutes; it finds what a GPU would trip over, and measures nothing.
# scripts/gpu-emulated.sh NAME runs the GPU tests of that name alone; with CUDA=12 it is the build for older drivers that runs.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/cuda-env.sh

cargo=${CARGO:-cargo}
folder=$cuda_target/gpu-emulator
build=(--release --workspace --locked --features cuda --target-dir "$cuda_target")
emulator=(--release --locked --manifest-path tensor/emulator/Cargo.toml --target-dir target/emulator)
"$cargo" build "${build[@]}"
"$cargo" test "${emulator[@]}"
"$cargo" build "${emulator[@]}"
mkdir -p "$folder"
# One library in the place of several.
major=${cuda_release%%.*}
for library in libcuda.so.1 libcublas{,Lt}.so."$major" libcurand.so.10 libnvrtc.so."$major" libnccl.so.2; do
    ln -sf "$PWD/target/emulator/release/libgpu_emulator.so" "$folder/$library"
done
export GRPO_2048_CUDA_LIBS=$PWD/$folder GPU_CHECK=1 GPU_EMULATOR_CUDA=$cuda_release

"$cargo" test "${build[@]}" --test gpu -- --test-threads 1 "$@"
[ $# -eq 0 ] || exit 0
"$cargo" test "${build[@]}" --test lazy_libraries
GRPO_2048_TEST_DEVICE=cuda "$cargo" test "${build[@]}" --test numbers goldens:: -- --test-threads 1 \
    --skip smollm2
"$cargo" test "${build[@]}" --test it -- nccl faulty_gpu
echo "== two steps of training"
run=$(mktemp -d)
trap 'rm -rf "$run"' EXIT
GPU_EMULATOR_COUNTS=1 "$cuda_target"/release/grpo-2048 train --device cuda --output-dir "$run/run" --steps 2 --groups 1 \
    --num-generations 2 --set train.eval_samples=0 --set train.preflight=false
echo "== a rehearsal of the first minutes on a GPU"
tests=$("$cargo" test "${build[@]}" --test gpu --no-run --message-format json |
    sed -n 's/.*"executable":"\([^"]*\/gpu-[0-9a-f]*\)".*/\1/p' | tail -n 1)
mkdir "$run/check"
cp scripts/gpu-check/run.sh scripts/gpu-check/rows.txt "$run/check/"
ln -s "$PWD/$cuda_target/release/grpo-2048" "$PWD/$cuda_target/release/grpo-2048-bench" "$run/check/"
ln -s "$tests" "$run/check/gpu-tests"
GPU_CHECK_SMALL=1 PART_SECONDS=1800 "$run/check/run.sh"
