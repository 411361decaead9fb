# Sourced by what builds with CUDA: puts a CUDA compiler into the environment, one that is installed or else the one
# that scripts/cuda-toolkit.sh fetches from PyPI.

# As the build scripts of the program and of its tensor library look, in this order.
find_nvcc() {
    local candidate
    for candidate in "${NVCC:-}" "$(command -v nvcc || true)" "${CUDA_HOME:-}/bin/nvcc" /usr/local/cuda/bin/nvcc; do
        if [ -x "$candidate" ]; then
            echo "$candidate"
            return
        fi
    done
    echo "no nvcc in PATH or CUDA_HOME: using the one from PyPI" >&2
    echo "$("$(dirname "${BASH_SOURCE[0]}")/cuda-toolkit.sh")/bin/nvcc"
}

NVCC=$(find_nvcc)
CUDA_HOME=$(dirname "$(dirname "$NVCC")")
PATH=$CUDA_HOME/bin:$PATH
# Kernels are translated by the driver for GPUs of this compute capability and above; 8.0 is the first with bf16.
CUDA_COMPUTE_CAP=${CUDA_COMPUTE_CAP:-80}
# A quarter of the size, where the compiler can.
if "$NVCC" --help | grep -q -- --compress-mode; then
    NVCC_APPEND_FLAGS="${NVCC_APPEND_FLAGS:-} --compress-mode=size"
fi
# All cores; half of them is what the build script of the kernels takes by itself.
CUDAFORGE_THREADS=${CUDAFORGE_THREADS:-$(nproc)}
# Links equal functions once, where the linker knows how to: Rust promises none an address of its own. Not for machine code
# of GPUs, where an address on the host names a kernel; none of that is linked.
folding='-C link-arg=-Wl,--icf=all'
if echo 'fn main() {}' | rustc $folding -o "$(mktemp -d)/folded" - 2>/dev/null; then
    CARGO_BUILD_RUSTFLAGS="${CARGO_BUILD_RUSTFLAGS:-} $folding"
    export CARGO_BUILD_RUSTFLAGS
fi
export CUDAFORGE_THREADS NVCC CUDA_HOME PATH CUDA_COMPUTE_CAP NVCC_APPEND_FLAGS
