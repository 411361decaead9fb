#!/usr/bin/env bash
# Builds for NVIDIA GPUs, into a target folder of its own: target/cuda/grpo-2048, and beside it grpo-2048-bench;
# with CUDA=12, for older drivers, target/cuda12. Needs no GPU,
# and where there is no nvcc it fetches one. What it leaves is looked at: small enough to carry, and starting where there is no NVIDIA library.
set -euo pipefail
cd "$(dirname "$0")/.."
source scripts/cuda-env.sh

binary=$cuda_target/grpo-2048
# Half of it are the interpreters of the sandbox, and a twelfth the kernels; packed by gpu-check.sh it is a third.
most_mib=110

# What the compiler makes of the kernels, against the table that is kept; seconds, so it comes first.
python3 scripts/gpu-census.py "$NVCC"

"${CARGO:-cargo}" build --release --workspace --locked --features cuda --target-dir "$cuda_target"
strip -o "$binary" "$cuda_target/release/grpo-2048"
strip -o "$binary-bench" "$cuda_target/release/grpo-2048-bench"

size=$(($(stat -c %s "$binary") / 1048576))
[ "$size" -lt "$most_mib" ] || { echo "error: $binary: found $size MiB, expected less than $most_mib" >&2; exit 1; }
needed=$(readelf --dynamic "$binary" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p')
nvidia=$(grep -E '^lib(cuda|cudart|cublas|cublasLt|curand|nvrtc|nvidia-ml)\.so' <<<"$needed" || true)
[ -z "$nvidia" ] || { echo "error: $binary does not start without $(xargs <<<"$nvidia")" >&2; exit 1; }
"$binary" --version >/dev/null
echo "$binary: $size MiB, for drivers that run CUDA $cuda_release, starts with $(xargs <<<"$needed")"
