#!/bin/sh
# Installs the program of a release for this user, without sudo:
#
#   curl -fsSL ADDRESS/install.sh | sh
#   sh install.sh [--to DIR] [--from ADDRESS] [--version VERSION]
#
# Fetches grpo-2048-VERSION-TARGET.tar.gz from ADDRESS (https:// or file://), compares its SHA-256 with the one beside it, and puts
# the program into DIR (~/.local/bin), its completions and manual pages under ~/.local/share. Refuses machines it has no archive for.
set -eu

# The release that this copy belongs to; scripts/release.sh writes both.
from=${GRPO_2048_RELEASES:-}
version=

fail() {
    echo "error: $1" >&2
    [ $# -lt 2 ] || echo "hint: $2" >&2
    exit 2
}

# What the words of the command line say: to, share, from and version.
read_words() {
    to=
    while [ $# -gt 0 ]; do
        case $1 in
        --to | --from | --version) [ $# -ge 2 ] || fail "$1: expected a value" ;;
        *) fail "$1: unknown; there are --to DIR, --from ADDRESS, --version VERSION" ;;
        esac
        case $1 in
        --to) to=$2 ;;
        --from) from=$2 ;;
        --version) version=$2 ;;
        esac
        shift 2
    done
    [ -n "$from" ] || fail "--from: no address of a release" "the install.sh of a release knows its own; this one is that of the sources"
    [ -n "$version" ] || fail "--version: no version" "the install.sh of a release knows its own; this one is that of the sources"
    [ -n "$to" ] || [ -n "${HOME:-}" ] || fail "HOME is not set, so there is no ~/.local/bin" "name a directory of yours with --to DIR"
    to=${to:-${HOME:-}/.local/bin}
    share=${XDG_DATA_HOME:-${HOME:+$HOME/.local/share}}
}

# Which archive this machine takes: target.
find_target() {
    system=$(uname -s)
    machine=$(uname -m)
    [ "$system" = Linux ] || fail "there is no archive for $system; expected Linux" "$elsewhere"
    case $machine in
    x86_64 | amd64) target=x86_64-unknown-linux-gnu ;;
    aarch64 | arm64) target=aarch64-unknown-linux-gnu ;;
    *) fail "there is no archive for $machine; expected x86_64 or aarch64" "$elsewhere" ;;
    esac
    libc=$(getconf GNU_LIBC_VERSION 2>/dev/null) || fail "this system has no glibc (is it musl, as Alpine's?); expected glibc 2.28 or newer" "$elsewhere"
    minor=0
    case $libc in
    "glibc 2."*) minor=${libc#glibc 2.} minor=${minor%%.*} ;;
    esac
    [ "$minor" -ge 28 ] ||
        fail "found $libc; expected glibc 2.28 or newer (Debian 10, Ubuntu 20.04, RHEL 8)" "$elsewhere"
}

# How files are fetched and compared: fetch and sum.
find_tools() {
    case $from in
    file://*)
        fetch() { cp "${1#file://}" "$2"; }
        ;;
    https://*)
        if command -v curl >/dev/null; then
            fetch() { curl -fsSL --proto '=https' -o "$2" "$1"; }
        elif command -v wget >/dev/null; then
            fetch() { wget -q -O "$2" "$1"; }
        else
            fail "neither curl nor wget found; one of them is needed"
        fi
        ;;
    *) fail "--from $from: expected an address that begins with https:// or file://" ;;
    esac
    if command -v sha256sum >/dev/null; then
        sum() { sha256sum "$1"; }
    elif command -v shasum >/dev/null; then
        sum() { shasum -a 256 "$1"; }
    else
        fail "neither sha256sum nor shasum found; the archive could not be checked"
    fi
}

install_program() {
    mkdir -p -- "$to" || fail "--to $to: cannot be made" "name a directory of yours"
    # As PATH names it, from anywhere.
    to=$(CDPATH='' cd -- "$to" && pwd)
    # A program that runs is replaced and not written over, and only by one that starts.
    new=$to/.grpo-2048.new
    if ! cp "$scratch/$name/grpo-2048" "$new" || ! chmod 755 "$new"; then
        rm -f "$new"
        fail "--to $to: cannot be written" "name a directory of yours, with room for the program"
    fi
    said=$("$new" --version) || {
        rm -f "$new"
        fail "$to: the program does not start here" "$elsewhere"
    }
    mv "$new" "$to/grpo-2048"
}

install_completions() {
    mkdir -p "$share" &&
        mkdir -p "$share/bash-completion/completions" "$share/zsh/site-functions" "$share/fish/vendor_completions.d" "$share/man/man1" &&
        cp "$scratch/$name/completions/grpo-2048.bash" "$share/bash-completion/completions/grpo-2048" &&
        cp "$scratch/$name/completions/grpo-2048.zsh" "$share/zsh/site-functions/_grpo-2048" &&
        cp "$scratch/$name/completions/grpo-2048.fish" "$share/fish/vendor_completions.d/grpo-2048.fish" &&
        cp "$scratch/$name/man/man1/"*.1 "$share/man/man1/"
}

# All of it is in functions, so that a script that arrives in part does nothing.
main() {
    read_words "$@"
    elsewhere="build it there from the sources: make install PREFIX=~/.local (Rust 1.95 and a C compiler)"
    find_target
    find_tools
    [ ! -d "$to/grpo-2048" ] || fail "--to $to: grpo-2048 is a directory there" "name another directory"

    name=grpo-2048-$version-$target
    scratch=$(mktemp -d)
    trap 'rm -rf "$scratch"' EXIT
    trap 'exit 130' INT TERM
    for file in "$name.tar.gz.sha256" "$name.tar.gz"; do
        fetch "$from/$file" "$scratch/$file" || fail "$from/$file: cannot be fetched" "--from and --version say which release"
    done
    expected=
    read -r expected _ < "$scratch/$name.tar.gz.sha256" || true
    found=$(sum "$scratch/$name.tar.gz")
    found=${found%% *}
    [ "$found" = "$expected" ] || fail "$name.tar.gz: its SHA-256 is $found; expected $expected" "nothing was installed; fetch it again"
    tar -xzf "$scratch/$name.tar.gz" -C "$scratch"

    install_program
    echo "$to/grpo-2048: $said"
    if [ -n "$share" ] && install_completions; then
        echo "zsh looks there with: fpath=($share/zsh/site-functions \$fpath) before compinit"
    else
        echo "warning: completions and manual pages are left out: ${share:-~/.local/share} cannot be written" >&2
        echo "hint: XDG_DATA_HOME names another directory for them" >&2
    fi
    case :$PATH: in
    *:"$to":*) echo "try: grpo-2048 demo" ;;
    *) echo "add it to your PATH: export PATH=\"$to:\$PATH\"; then try: grpo-2048 demo" ;;
    esac
}

main "$@"
