#!/usr/bin/env bash
# Makes a CUDA toolkit that builds this program, out of NVIDIA's wheels on PyPI: scripts/cuda-toolkit.sh [DIR]. Needs no
# GPU and no root; takes 100 MB to fetch and 350 MB on disk. What is there already is left alone. Prints DIR, which is
# what CUDA_HOME wants.
set -euo pipefail

refuse() {
    echo "error: $1" >&2
    exit 2
}

here=$(cd "$(dirname "$0")" && pwd)
list=$here/cuda-toolkit.txt
target=${1:-$here/../target/cuda-toolkit}
[ $# -le 1 ] || refuse "usage: scripts/cuda-toolkit.sh [DIR]"

# The list it was made from: another list makes it anew.
made_from=$(cksum <"$list")
if [ -x "$target/bin/nvcc" ] && [ "$(cat "$target/.made-from" 2>/dev/null)" = "$made_from" ]; then
    (cd "$target" && pwd)
    exit 0
fi
if [ -e "$target" ] && [ ! -e "$target/.made-from" ]; then
    refuse "$target exists and was not made by this script; name another directory"
fi

case "$(uname -s)-$(uname -m)" in
    Linux-x86_64 | Linux-aarch64) ;;
    *) refuse "found $(uname -s) on $(uname -m); NVIDIA's wheels are for Linux on x86_64 and aarch64" ;;
esac
command -v python3 >/dev/null || refuse "python3 not found; it fetches wheels from PyPI (Debian, Ubuntu: apt install python3-pip)"
python3 -m pip --version >/dev/null 2>&1 || refuse "python3 has no pip (Debian, Ubuntu: apt install python3-pip)"
parent=$(dirname "$target")
mkdir -p "$parent" || refuse "$parent cannot be made; name another directory"
free=$(df -Pk "$parent" | awk 'NR == 2 { print int($4 / 1024) }')
[ "$free" -ge 800 ] || refuse "$free MB are free in $parent, 800 are needed while wheels are unpacked; name another directory"

# Beside the target, so that it appears by rename, whole or not at all.
partial=$(mktemp -d "$parent/.cuda-toolkit-XXXXXX")
trap 'rm -rf "$partial"' EXIT
echo "fetching the CUDA compiler from PyPI, 100 MB" >&2
TMPDIR=$partial python3 -m pip install --quiet --disable-pip-version-check --no-input --no-cache-dir --no-deps --no-compile \
    --only-binary :all: --require-hashes --requirement "$list" --target "$partial/wheels" >"$partial/log" 2>&1 || {
    tail -n 20 "$partial/log" >&2
    refuse "pip could not fetch what $list names; a machine with PyPI in reach can make $target for this one"
}
toolkit=$partial/wheels/nvidia/cu13
# Where compilers other than the one in bin look.
ln -s lib "$toolkit/lib64"
"$toolkit/bin/nvcc" --version >"$partial/log" 2>&1 || {
    cat "$partial/log" >&2
    refuse "the fetched nvcc does not start on this machine"
}
echo "$made_from" >"$toolkit/.made-from"
rm -rf "$target"
mv "$toolkit" "$target"
(cd "$target" && pwd)
