#!/usr/bin/env bash
# Rebuilds sandbox/artifact from the guest sources. Needs python3 with venv, PyPI, and zstd.
#
# The build is not reproducible (hash order and fuel differ from build to build), so its result is committed and
# verdicts are tied to it; rebuild only to change the guest.
set -euo pipefail
cd "$(dirname "$0")"

for tool in python3 zstd sha256sum; do
    command -v "$tool" >/dev/null || { echo "error: $tool not found; it is needed to rebuild the guest" >&2; exit 2; }
done

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet componentize-py==0.25.1

# A clean directory: everything beside app.py would be on its path.
mkdir "$work/guest"
cp -r app.py streams.py values.py wit "$work/guest"
(cd "$work/guest" && "$work/venv/bin/componentize-py" --wit-path wit --world program \
    componentize --stub-wasi --python-path . --output "$work/program.wasm" app)

python3 stack.py "$work/program.wasm"

artifact=../artifact
(cd "$work" && sha256sum program.wasm) > "$artifact/program.wasm.sha256"
zstd --quiet --force -19 "$work/program.wasm" -o "$artifact/program.wasm.zst"
sha256sum *.py build.sh wit/program.wit > "$artifact/sources.sha256"
ls -l "$artifact"
