#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")"
"${ZIG:-zig}" cc -target wasm32-wasi -mexec-model=reactor -nostartfiles -O3 \
    -mcpu=generic+bulk_memory+sign_ext+nontrapping_fptoint+mutable_globals -fno-builtin-pow \
    -Wl,--no-entry -Wl,--export=__heap_base -Wl,--export=gas_left -Wl,--export=depth -Wl,--export=reason \
    -Wl,-z,stack-size=65536 -Wl,--initial-memory=20971520 -Wl,--strip-all -o ../artifact/runtime.wasm runtime.c -lm
