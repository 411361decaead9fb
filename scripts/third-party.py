#!/usr/bin/env python3
"""Prints the libraries that the program is linked from, with their licences and the texts of these, each text once."""

import json
import os
import pathlib
import subprocess

CARGO = os.environ.get("CARGO", "cargo")
NAMES = ("licen", "copying", "notice", "unlicense")


def cargo(*arguments):
    return subprocess.run([CARGO, *arguments], check=True, capture_output=True, text=True).stdout


def linked():
    """Names and versions of what is linked, without what only builds or tests."""
    tree = cargo("tree", "--locked", "--offline", "-p", "grpo-2048", "-e", "normal,no-proc-macro", "--prefix", "none", "-f", "{p}")
    return {tuple(line.split()[:2]) for line in tree.splitlines() if line}


def main():
    packages = json.loads(cargo("metadata", "--format-version", "1", "--locked"))["packages"]
    wanted = linked()
    texts = {}
    print("# What grpo-2048 is linked from\n\n| library | licence | source |\n|---|---|---|")
    for package in sorted(packages, key=lambda package: (package["name"], package["version"])):
        if (package["name"], "v" + package["version"]) not in wanted or package["source"] is None:
            continue
        name = f"{package['name']} {package['version']}"
        print(f"| {name} | {package['license']} | {package['repository'] or ''} |")
        folder = pathlib.Path(package["manifest_path"]).parent
        for path in sorted(folder.iterdir()):
            if path.is_file() and path.name.lower().startswith(NAMES):
                texts.setdefault(path.read_text(errors="replace").strip(), []).append(name)
    for text, names in texts.items():
        print(f"\n## {', '.join(dict.fromkeys(names))}\n\n```text\n{text}\n```")


main()
