# Sourced by what builds with CUDA: puts a CUDA compiler into the environment, one that is installed or else the one
# that scripts/cuda-toolkit.sh fetches from PyPI. With CUDA=12 it is an installed one of that version, for drivers from 550 on
# if it is 12.4; PyPI has none before 13.0, which wants drivers from 580 on. The build goes to $cuda_target.

# The release of a compiler, such as 13.0.
release_of() { "$1" --version | sed -n 's/.*release \([0-9.]*\),.*/\1/p'; }

# As the build scripts of the program and of its tensor library look, in this order.
find_nvcc() {
    local candidate
    for candidate in "${NVCC:-}" "$(command -v nvcc || true)" "${CUDA_HOME:-}/bin/nvcc" /usr/local/cuda/bin/nvcc \
        /usr/local/cuda-"${CUDA:-}"*/bin/nvcc; do
        if [ -x "$candidate" ] && [[ -z ${CUDA:-} || "$(release_of "$candidate")." == "$CUDA".* ]]; then
            echo "$candidate"
            return
        fi
    done
    if [[ ${CUDA:-13} != 13 ]]; then
        echo "error: no nvcc of CUDA $CUDA in NVCC, PATH, CUDA_HOME or /usr/local/cuda-$CUDA*, and PyPI has none; CUDA 12.4 is" \
            "NVIDIA's cuda-toolkit-12-4, or nvidia-cuda-toolkit of Debian 13" >&2
        return 2
    fi
    echo "no nvcc in PATH or CUDA_HOME: using the one from PyPI" >&2
    echo "$("$(dirname "${BASH_SOURCE[0]}")/cuda-toolkit.sh")/bin/nvcc"
}

NVCC=$(find_nvcc) || exit
cuda_release=$(release_of "$NVCC")
cuda_target=target/cuda
[[ ${CUDA:-13} = 13 ]] || cuda_target=target/cuda$CUDA
# A folder with all of the toolkit that builds look for, but with scripts/cuda-nvcc.sh as its nvcc.
stand_in_for() {
    local nvcc=$1 home folder part
    # A script that calls another has it already.
    [ ! -e "$(dirname "$nvcc")/nvcc-of-toolkit" ] || nvcc=$(readlink "$(dirname "$nvcc")/nvcc-of-toolkit")
    home=$(dirname "$(dirname "$nvcc")")
    folder=$PWD/$cuda_target/toolkit
    mkdir -p "$folder/bin"
    for part in include lib lib64 targets nvvm bin/ptxas bin/nvdisasm; do
        [ ! -e "$home/$part" ] || ln -sfn "$home/$part" "$folder/$part"
    done
    ln -sfn "$nvcc" "$folder/bin/nvcc-of-toolkit"
    # What is the same keeps its age, or all would be compiled again.
    cmp -s scripts/cuda-nvcc.sh "$folder/bin/nvcc" || cp scripts/cuda-nvcc.sh "$folder/bin/nvcc"
    echo "$folder/bin/nvcc"
}

NVCC=$(stand_in_for "$NVCC")
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
tried=$(mktemp -d)
if echo 'fn main() {}' | rustc $folding -o "$tried/folded" - 2>/dev/null; then
    CARGO_BUILD_RUSTFLAGS="${CARGO_BUILD_RUSTFLAGS:-} $folding"
    export CARGO_BUILD_RUSTFLAGS
fi
rm -rf "$tried"
export CUDAFORGE_THREADS NVCC CUDA_HOME PATH CUDA_COMPUTE_CAP NVCC_APPEND_FLAGS
