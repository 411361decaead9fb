#!/usr/bin/env bash
# Packs the wheels of target/wheels once more, from a clone of the same commit in another folder, and compares the bytes: whoever has a
# commit can say whether a wheel was made of it. A second build of everything: wheels-again.sh TARGET ..
set -euo pipefail
cd "$(dirname "$0")/.."

git diff --quiet HEAD || { echo "error: there are changes that no commit has; a clone would build something else" >&2; exit 2; }
again=$(mktemp -d "${TMPDIR:-/tmp}/wheels-again-XXXXXX")
trap 'rm -rf "$again"' EXIT
git clone --quiet . "$again"
# The tools are no part of what is compared.
mkdir "$again/target"
ln -s "$PWD/target/wheel" "$again/target/wheel"
"$again/scripts/wheel.sh" "$@"
for wheel in "$again"/target/wheels/*.whl; do
    cmp "$wheel" "target/wheels/$(basename "$wheel")"
    sha256sum "target/wheels/$(basename "$wheel")"
done
