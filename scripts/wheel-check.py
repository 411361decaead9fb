#!/usr/bin/env python3
"""Checks wheels that this machine may not be able to run: wheel-check.py WHEEL ..

The program is for the processor and the C library that the wheel's name promises, no file of the wheel names a folder of the machine
that built it, the licences are there, and the size is one that PyPI's users put up with. Prints the digest. Needs readelf (binutils).
"""

import hashlib
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import zipfile

MACHINES = {"x86_64": "Advanced Micro Devices X86-64", "aarch64": "AArch64"}
MOST_BYTES = 40_000_000
LICENCES = ["LICENSE-MIT", "LICENSE-APACHE", "LICENSES-interpreter", "LICENSES-compiled-tier", "THIRD-PARTY.md"]


def readelf(flag, path):
    return subprocess.run(["readelf", "-W", flag, path], check=True, capture_output=True, text=True, env={**os.environ, "LC_ALL": "C"}).stdout


def folders():
    """What a build leaves in a program that nobody told to leave it out: the checkout, and where cargo and rustup keep theirs."""
    home = pathlib.Path.home()
    kept = [os.environ.get("CARGO_HOME", home / ".cargo"), os.environ.get("RUSTUP_HOME", home / ".rustup")]
    return [f"{folder}/".encode() for folder in [pathlib.Path(__file__).resolve().parents[1], *kept]]


def faults_of_program(program, processor, minor):
    with tempfile.NamedTemporaryFile() as file:
        file.write(program)
        file.flush()
        machine = re.search(r"Machine: +(.*)", readelf("--file-header", file.name))[1]
        needed = [tuple(map(int, found)) for found in re.findall(r"GLIBC_(\d+)\.(\d+)", readelf("--version-info", file.name))]
        sections = readelf("--section-headers", file.name)
    if machine != MACHINES[processor]:
        yield f"a program for {machine}"
    if not needed or max(needed) > (2, minor):
        yield f"needs glibc {'.'.join(map(str, max(needed, default=())))}"
    if ".symtab" in sections or ".debug_info" in sections:
        yield "not stripped"


def faults(path):
    tag = re.search(r"-manylinux_2_(\d+)_(x86_64|aarch64)\.whl$", path.name)
    if not tag:
        yield "the name promises no C library: expected manylinux_2_MINOR and a processor"
        return
    if path.stat().st_size > MOST_BYTES:
        yield f"{path.stat().st_size} bytes, expected {MOST_BYTES} at most"
    with zipfile.ZipFile(path) as wheel:
        content = {name: wheel.read(name) for name in wheel.namelist()}
    yield from faults_of_program(next(content[name] for name in content if name.endswith("/scripts/grpo-2048")), tag[2], int(tag[1]))
    for name in LICENCES:
        if not any(pathlib.PurePosixPath(found).name == name for found in content):
            yield f"lacks {name}"
    for name, text in content.items():
        yield from (f"{name} names {folder.decode()}" for folder in folders() if folder in text)


wrong = 0
for path in map(pathlib.Path, sys.argv[1:]):
    for fault in faults(path):
        wrong += 1
        print(f"error: {path}: {fault}", file=sys.stderr)
    print(f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.name}  {path.stat().st_size / 1e6:.1f} MB")
sys.exit(wrong > 0)
