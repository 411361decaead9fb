#!/usr/bin/env bash
# Rebuilds sandbox/artifact from the guest sources. Needs python3 with venv, PyPI, and xz.
#
# The build is not reproducible (hash order and fuel differ from build to build), so its result is committed and
# verdicts are tied to it; rebuild only to change the guest.
set -euo pipefail
cd "$(dirname "$0")"

for tool in python3 xz sha256sum; do
    command -v "$tool" >/dev/null || { echo "error: $tool not found; it is needed to rebuild the guest" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet componentize-py==0.25.1

# Clean directories: everything beside the module named is on its path.
componentize() { # DIRECTORY MODULE OUTPUT
    (cd "$1" && "$work/venv/bin/componentize-py" --wit-path wit --world program \
        componentize --stub-wasi --python-path . --output "$3" "$2")
}

# The library is compiled by the interpreter that will run it, which leaves library.bin; its component is not used.
mkdir "$work/library" "$work/guest"
cp -r compile_library.py refused.py snapshot.py replacements wit "$work/library"
"$work/venv/bin/pip" install --quiet --no-deps --no-compile --require-hashes --target "$work/library/packages" -r packages.txt
componentize "$work/library" compile_library "$work/library.wasm"

cp -r app.py chance.py clock.py library.py refused.py snapshot.py streams.py values.py wit "$work/library/library.bin" \
    "$work/guest"
componentize "$work/guest" app "$work/program.wasm"

python3 stack.py "$work/program.wasm"

artifact=../artifact
(cd "$work" && sha256sum program.wasm) > "$artifact/program.wasm.sha256"
xz -9e --stdout "$work/program.wasm" > "$artifact/program.wasm.xz"
find . -type f -not -path "*__pycache__*" | LC_ALL=C sort | sed 's|^\./||' | xargs sha256sum > "$artifact/sources.sha256"
ls -l "$artifact"
