#!/usr/bin/env bash
# Rebuilds sandbox/compiled/artifact from these sources. Needs python3 with venv, and PyPI, which has zig: a C compiler
# with the library of WASI, in one package.
#
# The same sources give the same bytes. Gas is part of what a score is, so the result is committed.
set -euo pipefail
cd "$(dirname "$0")"

for tool in python3 sha256sum; do
    command -v "$tool" >/dev/null || { echo "error: $tool not found; it is needed to rebuild the runtime" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet ziglang==0.15.1

# A reactor without a start: every function that is exported is called from outside. The two counters and the reason are
# globals of WebAssembly. Nothing may be imported.
"$work/venv/bin/python" -m ziglang cc -target wasm32-wasi -mexec-model=reactor -O3 -Wall -Werror \
    -mcpu=generic+bulk_memory+sign_ext+nontrapping_fptoint+mutable_globals -fno-builtin-pow \
    -Wl,--no-entry -Wl,--export=__heap_base -Wl,--export=gas_left -Wl,--export=depth -Wl,--export=reason \
    -Wl,-z,stack-size=65536 -Wl,--initial-memory=20971520 -Wl,--strip-all \
    -o "$work/runtime.wasm" runtime.c -lm
rm -f "$work/runtime.wasm.o"

artifact=../artifact
mkdir -p "$artifact"
install -m 644 "$work/runtime.wasm" "$artifact/runtime.wasm"
(cd "$artifact" && sha256sum runtime.wasm) > "$artifact/runtime.wasm.sha256"
sha256sum *.c *.h build.sh > "$artifact/sources.sha256"
ls -l "$artifact"
