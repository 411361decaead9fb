#!/usr/bin/env bash
# Packs target/wheels/grpo_2048-*.whl: the program, its completions and manual pages, and the Python module grpo_sandbox, for every
# Python from 3.9 on. Needs python3 and PyPI.
#
#   scripts/wheel.sh             for this machine and its C library
#   scripts/wheel.sh TARGET ..   for these, such as aarch64-unknown-linux-gnu, and glibc 2.28 (manylinux_2_28): zig links, from PyPI
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
tools=target/wheel/bin
GRPO_2048_COMMIT=$(git describe --always --abbrev=12 --dirty --exclude "*" 2>/dev/null || true)
CARGO_TARGET_DIR=$PWD/target
export GRPO_2048_COMMIT CARGO_TARGET_DIR

# The program of this machine says what its completions and manual pages are.
"$cargo" build --release --locked
share=python/data/data/share
rm -rf target/wheels python/data
mkdir -p "$share/doc/grpo-2048"
make --silent install-completions DATA_DIR="$PWD/$share" > /dev/null
cp sandbox/artifact/LICENSES "$share/doc/grpo-2048/LICENSES-interpreter"
cp sandbox/compiled/artifact/LICENSES "$share/doc/grpo-2048/LICENSES-compiled-tier"
CARGO=$cargo scripts/third-party.py > "$share/doc/grpo-2048/THIRD-PARTY.md"

# pack FLAG ..: the compiler leaves symbols out of the program, which is linked anew for that.
pack() {
    (cd python && "../$tools/maturin" build --release --locked --strip --compression-level 9 --out ../target/wheels "$@")
}

if [ $# -eq 0 ]; then
    pack
else
    # The times of files in the wheel. Libraries in C are built anew when it changes, so that it is not set above.
    SOURCE_DATE_EPOCH=$(git log -1 --format=%ct 2>/dev/null || echo 315532800)
    # No folder of this machine in messages: the same commit gives the same program wherever it is built.
    RUSTFLAGS="--remap-path-prefix=$PWD=grpo-2048 --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=cargo"
    CFLAGS="-ffile-prefix-map=$PWD=grpo-2048 -ffile-prefix-map=${CARGO_HOME:-$HOME/.cargo}=cargo"
    export SOURCE_DATE_EPOCH PATH=$PWD/$tools:$PATH RUSTFLAGS CFLAGS CXXFLAGS=$CFLAGS
    for target; do
        rustup target add "$target" > /dev/null
        pack --zig --target "$target" --compatibility manylinux_2_28
    done
    scripts/wheel-check.py target/wheels/*.whl
fi
ls -l target/wheels
