#!/usr/bin/env bash
# Packs target/dist: for each target an archive grpo-2048-VERSION-TARGET.tar.gz with its .sha256 (the program, completions, manual
# pages, licences), and an install.sh that knows the version and, where RELEASES is set, its address. Needs what `make build` needs, and
# python3 for the list of licences. The same program gives the same archive.
#
#   scripts/release.sh             for this machine and its C library; BIN names a program that is built already
#   scripts/release.sh TARGET ..   for these, such as aarch64-unknown-linux-gnu, and glibc 2.28: the programs of scripts/wheel.sh TARGET ..
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
version=$("$cargo" metadata --format-version 1 --no-deps --locked --offline |
    python3 -c 'import json, sys; print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "grpo-2048"))')
host=$("$cargo" -vV | sed -n 's/^host: //p')
GRPO_2048_COMMIT=$(git describe --always --abbrev=12 --dirty --exclude "*" 2>/dev/null || true)
CARGO_TARGET_DIR=$PWD/target
export GRPO_2048_COMMIT CARGO_TARGET_DIR
epoch=$(git log -1 --format=%ct 2>/dev/null || echo 0)
# The program of this machine says what its completions and manual pages are.
if [ -z "${BIN:-}" ]; then
    "$cargo" build --release --locked
    BIN=target/release/grpo-2048
fi

# pack TARGET PROGRAM
pack() {
    local name=grpo-2048-$version-$1
    local out=target/dist/$name
    rm -rf "$out"
    mkdir -p "$out"/{completions,man/man1,licences}
    install -m 755 "$2" "$out/grpo-2048"
    for shell in bash zsh fish; do
        "$BIN" completions $shell > "$out/completions/grpo-2048.$shell"
    done
    "$BIN" man "$out/man/man1" > /dev/null
    cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$out"
    cp sandbox/artifact/LICENSES "$out/licences/interpreter"
    cp sandbox/compiled/artifact/LICENSES "$out/licences/compiled-tier"
    CARGO=$cargo scripts/third-party.py > "$out/licences/THIRD-PARTY.md"
    tar -C target/dist --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -n -9 > "$out.tar.gz"
    (cd target/dist && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
    # The oldest C library that it starts with.
    echo "$name needs glibc $(readelf -W --version-info "$out/grpo-2048" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | cut -d_ -f2)"
    ls -l "$out.tar.gz"
    cat "$out.tar.gz.sha256"
}

mkdir -p target/dist
# What is published is all that lies there. Whole names are compared: 1.0.0-rc.1 begins as 1.0.0 does.
find target/dist -mindepth 1 -maxdepth 1 -regextype posix-extended -name 'grpo-2048-*' \
    ! -regex "target/dist/grpo-2048-${version//./\\.}-[a-z0-9_]+-[a-z]+-linux-[a-z0-9]+(\.tar\.gz(\.sha256)?)?" -exec rm -rf {} +
if [ $# -eq 0 ]; then
    strip -o target/dist/stripped "$BIN"
    pack "$host" target/dist/stripped
    rm target/dist/stripped
else
    for target; do
        # One program for both: what is in the wheel is in the archive.
        wheel=(target/wheels/*"_${target%%-*}.whl")
        python3 -c 'import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
[program] = [name for name in wheel.namelist() if name.endswith(".data/scripts/grpo-2048")]
sys.stdout.buffer.write(wheel.read(program))' "${wheel[0]}" > target/dist/program
        pack "$target" target/dist/program
        rm target/dist/program
    done
fi
sed -e "s|^version=\$|version=$version|" -e "s|^from=.*|from=\${GRPO_2048_RELEASES:-${RELEASES:-}}|" scripts/install.sh > target/dist/install.sh
chmod +x target/dist/install.sh
