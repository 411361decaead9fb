"""CPU seconds of every test, the dearest first. Each test runs in a process of its own, one after the other, so that its figure is its
own and other load hardly counts. Arguments: words of names; without any, all tests."""

import json
import os
import resource
import subprocess
import sys

CARGO = os.environ.get("CARGO", "cargo")
BUILD = [CARGO, "test", "--release", "--workspace", "--locked", "--no-run", "--message-format=json"]


def executables():
    """Name, file and folder of each executable of tests."""
    built = subprocess.run(BUILD, stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in built.splitlines():
        message = json.loads(line) if line.startswith("{") else {}
        if message.get("executable") and message["profile"]["test"]:
            yield message["target"]["name"], message["executable"], os.path.dirname(message["manifest_path"])


def spent():
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main():
    words, rows = sys.argv[1:], []
    for name, executable, folder in executables():
        environment = {"CANDLE_NUM_THREADS": "1", **os.environ, "CARGO_MANIFEST_DIR": folder}  # as `make test` has it

        def run(*arguments):
            return subprocess.run([executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True)

        tests = [line.removesuffix(": test") for line in run("--list").stdout.splitlines() if line.endswith(": test")]
        for test in tests:
            if words and not any(word in f"{name} {test}" for word in words):
                continue
            before = spent()
            code = run("--exact", test, "--test-threads", "1").returncode
            rows.append((spent() - before, name, test, "" if code == 0 else f"  exit {code}"))
    for seconds, name, test, end in sorted(rows, reverse=True):
        print(f"{seconds:8.2f}  {name} {test}{end}")
    print(f"{sum(row[0] for row in rows):8.2f}  all {len(rows)} tests")


main()
