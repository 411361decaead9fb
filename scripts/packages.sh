#!/bin/sh
# Packs the libraries that stand alone, as `cargo publish` would, and builds each from its archive alone, as who takes it from a
# registry does. Nothing is published.
set -eu
cd "$(dirname "$0")/.."
packages="grpo-base grpo-config grpo-sandbox-numpy grpo-sandbox-compiled grpo-sandbox grpo-environment grpo-verify grpo-check grpo-tensor grpo-decoder"
# What crates.io takes.
most=10485760
unpacked=target/packages
names=$(for package in $packages; do printf ' -p %s' "$package"; done)
rm -rf "$unpacked" target/package/*.crate
mkdir -p "$unpacked"
# shellcheck disable=SC2086
"${CARGO:-cargo}" package --quiet --locked --allow-dirty --no-verify $names
for package in $packages; do
    archive=$(ls target/package/"$package"-[0-9]*.crate)
    bytes=$(wc -c <"$archive")
    echo "$package: $bytes bytes"
    [ "$bytes" -le "$most" ] || { echo "$archive: expected at most $most bytes" >&2; exit 1; }
    tar -xf "$archive" -C "$unpacked"
done
# A program outside of this repository, which depends on one of them alone.
program=$unpacked/grpo-outside
mkdir -p "$program/src"
cp crates/verify/examples/reward_part.rs "$program/src/main.rs"
printf '[package]\nname = "grpo-outside"\nedition = "2024"\n[dependencies]\ngrpo-verify = "0.1"\n' >"$program/Cargo.toml"
# One workspace, with the archives in place of what a registry would have, and the profile under which all else is built already.
{
    echo '[workspace]'
    echo 'members = ["grpo-*"]'
    echo 'resolver = "3"'
    echo '[patch.crates-io]'
    for package in $packages; do
        echo "$package = { path = \"$(basename "$(ls -d "$unpacked/$package"-[0-9]*)")\" }"
    done
    sed -n '/^\[profile.release\]/,$p' Cargo.toml
} >"$unpacked/Cargo.toml"
cp Cargo.lock "$unpacked/Cargo.lock"
for package in $packages grpo-outside; do
    CARGO_TARGET_DIR=target "${CARGO:-cargo}" build --quiet --release --manifest-path "$unpacked/Cargo.toml" -p "$package"
    echo "$package: built"
done
