#!/usr/bin/env bash
# Packs target/dist/grpo-2048-VERSION-TARGET.tar.gz and its .sha256: the program, completions, manual pages, licences.
# Needs what `make build` needs, and python3 for the list of licences. The same commit gives the same archive where compiler and
# folder are the same. BIN names a program that is built already.
set -euo pipefail
cd "$(dirname "$0")/.."

cargo=${CARGO:-cargo}
version=$("$cargo" metadata --format-version 1 --no-deps --locked --offline |
    python3 -c 'import json, sys; print(next(p["version"] for p in json.load(sys.stdin)["packages"] if p["name"] == "grpo-2048"))')
target=$("$cargo" -vV | sed -n 's/^host: //p')
name=grpo-2048-$version-$target

if [ -z "${BIN:-}" ]; then
    GRPO_2048_COMMIT=$(git describe --always --dirty --exclude "*" 2>/dev/null || true)
    export GRPO_2048_COMMIT
    "$cargo" build --release --locked
    BIN=target/release/grpo-2048
fi

rm -rf "target/dist/$name"
mkdir -p "target/dist/$name"/{completions,man/man1,licences}
out=target/dist/$name
install -m 755 "$BIN" "$out/grpo-2048"
strip "$out/grpo-2048"
for shell in bash zsh fish; do
    "$out/grpo-2048" completions $shell > "$out/completions/grpo-2048.$shell"
done
"$out/grpo-2048" man "$out/man/man1" > /dev/null
cp README.md CHANGELOG.md LICENSE-MIT LICENSE-APACHE "$out"
cp sandbox/artifact/LICENSES "$out/licences/interpreter"
cp sandbox/compiled/artifact/LICENSES "$out/licences/compiled-tier"
CARGO=$cargo scripts/third-party.py > "$out/licences/THIRD-PARTY.md"

# The oldest C library that it starts with.
echo "needs glibc $(objdump -T "$out/grpo-2048" | grep -o 'GLIBC_[0-9.]*' | sort -uV | tail -n 1 | cut -d_ -f2)"

epoch=$(git log -1 --format=%ct 2>/dev/null || echo 0)
tar -C target/dist --sort=name --mtime="@$epoch" --owner=0 --group=0 --numeric-owner -cf - "$name" | gzip -n -9 > "$out.tar.gz"
(cd target/dist && sha256sum "$name.tar.gz" > "$name.tar.gz.sha256")
ls -l "$out.tar.gz"
cat "$out.tar.gz.sha256"
