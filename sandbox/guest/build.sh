#!/usr/bin/env bash
# Rebuilds sandbox/artifact from the guest sources. Needs Linux on x86-64, python3 with venv, PyPI, cc and xz.
#
# The same sources give the same bytes (frozen.c). Others give another hash order and other fuel, and verdicts are tied to
# both, so the result is committed; rebuild only to change the guest.
set -euo pipefail
cd "$(dirname "$0")"

for tool in python3 xz sha256sum cc; do
    command -v "$tool" >/dev/null || { echo "error: $tool not found; it is needed to rebuild the guest" >&2; exit 2; }
done
[ "$(uname -sm)" = "Linux x86_64" ] || { echo "error: found $(uname -sm); the guest is rebuilt on Linux x86_64" >&2; exit 2; }

# In memory, where directories list their files in the order of creation, the same on every machine.
work=$(mktemp -d -p /dev/shm)
trap 'rm -rf "$work"' EXIT
mkdir "$work/temporary"
cc -shared -fPIC -O1 -o "$work/frozen.so" frozen.c
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet componentize-py==0.25.1

# Clean directories: everything beside the module named is on its path.
componentize() { # DIRECTORY MODULE OUTPUT
    (cd "$1" && env -i PATH=/usr/bin:/bin TMPDIR="$work/temporary" LD_PRELOAD="$work/frozen.so" "$work/venv/bin/componentize-py" \
        --wit-path wit --world program componentize --stub-wasi --python-path . --output "$3" "$2")
}

# The library is compiled by the interpreter that will run it, which leaves library.bin; its component is not used.
mkdir "$work/library" "$work/guest"
cp -r compile_library.py refused.py snapshot.py replacements wit "$work/library"
"$work/venv/bin/pip" install --quiet --no-deps --no-compile --require-hashes --target "$work/library/packages" -r packages.txt
componentize "$work/library" compile_library "$work/library.wasm"

cp -r app.py chance.py clock.py library.py refused.py sizes.py snapshot.py streams.py system.py threads.py values.py wit \
    "$work/library/library.bin" "$work/guest"
componentize "$work/guest" app "$work/program.wasm"

python3 stack.py "$work/program.wasm"
python3 merge.py "$work/program.wasm"

artifact=../artifact
(cd "$work" && sha256sum program.wasm) > "$artifact/program.wasm.sha256"
xz -9e --stdout "$work/program.wasm" > "$artifact/program.wasm.xz"
find . -type f -not -path "*__pycache__*" | LC_ALL=C sort | sed 's|^\./||' | xargs sha256sum > "$artifact/sources.sha256"
ls -l "$artifact"
