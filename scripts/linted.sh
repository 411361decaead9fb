#!/usr/bin/env bash
# Compiles a crate of this repository, then holds it to what `make check` holds it to: clippy's lints, and pages without warnings, of libraries.
# Cargo calls it in place of rustc where RUSTC_WORKSPACE_WRAPPER names it, with rustc and its arguments. CI compiles everything with
# it, because `cargo clippy` and `cargo doc` alone would first make metadata of every library once more. Cargo does not know
# clippy.toml: what is compiled already is not linted again when only that has changed.
set -euo pipefail

"$@"

is_compiled='' is_library='' arguments=()
shift
while [ $# -gt 0 ]; do
    case $1 in
    # Cargo also asks rustc what it knows.
    --emit=*) is_compiled=1 ;;
    --out-dir) shift ;;
    # Cargo takes the message that metadata are written for leave to compile what uses them.
    --json=*) arguments+=(--json=diagnostic-rendered-ansi) ;;
    --crate-type)
        [ "$2" != lib ] || is_library=1
        arguments+=("$1" "$2")
        shift
        ;;
    *) arguments+=("$1") ;;
    esac
    shift
done
[ -n "$is_compiled" ] || exit 0

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
clippy-driver rustc "${arguments[@]}" --emit=metadata --out-dir "$out" -D warnings
# With `--test` there is no crate type.
if [ -n "$is_library" ]; then
    rustdoc "${arguments[@]}" --out-dir "$out/pages" -D warnings
fi
