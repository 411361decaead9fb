#!/usr/bin/env python3
"""Plants each mutant of sandbox/compiled/tests/mutants.txt in the compiled tier and prints which test catches it.

All mutants are built into one copy of the sources, below target/tier-mutants, and one of them is chosen when a test runs: building
costs once what a change of one file costs. Exits with 1 if a mutant survives that is not said to be harmless.

Usage: scripts/tier-mutants.py [NUMBER ..]      only these mutants
"""

import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
COPY = ROOT / "target" / "tier-mutants"
# Apart from the other builds, whose files have the same names.
TARGET = Path(os.environ.get("TIER_MUTANTS_TARGET", COPY / "target"))
LIST = ROOT / "sandbox" / "compiled" / "tests" / "mutants.txt"

# The cheapest first: a package, a test target and the names that a test must have to run.
TESTS = [
    ("grpo-sandbox", "tiers", "what_a_missing_key"),
    ("grpo-sandbox", "tiers", "suites::"),
    ("grpo-sandbox-compiled", "same_answers", ""),
    ("grpo-sandbox", "tiers", "ways_out::"),
    ("grpo-sandbox", "tiers", "boundaries::"),
    ("grpo-sandbox", "tiers", "no_hard_case"),
    ("grpo-sandbox-compiled", "order", ""),
    ("grpo-sandbox", "tiers", "no_generated"),
    ("grpo-sandbox", "tiers", "no_mutant"),
    ("grpo-sandbox-compiled", "promises", ""),
]

# By file, the test that most likely catches a mutant and so runs before the others.
LIKELY = {
    "emit/iteration.rs": "gone_through::what_changes_rows",
    "emit/reduce.rs": "gone_through::what_changes_rows",
    "emit/extreme.rs": "gone_through::what_changes_rows",
    "emit/arithmetic.rs": "boundaries::every_operator_with",
    "emit/condition.rs": "boundaries::every_operator_on",
    "emit/kind.rs": "boundaries::every_operator_on",
    "emit/pool.rs": "boundaries::every_operator_with",
    "emit/iterable.rs": "boundaries::every_operator_at_every",
    "emit/exceptions.rs": "ways_out::",
    "emit/statement.rs": "ways_out::",
    "emit/variable.rs": "ways_out::",
    "emit/expression.rs": "ways_out::",
}

CHOICE = """
/// The mutant that this run is of.
pub(crate) fn mutant() -> u32 {
    static MUTANT: std::sync::LazyLock<u32> =
        std::sync::LazyLock::new(|| std::env::var("TIER_MUTANT").map_or(0, |number| number.parse().unwrap()));
    *MUTANT
}
"""


def read_mutants():
    """The mutants: file, old expression, new expression, and why it is harmless, if it is."""
    mutants, file, old, harmless = [], None, None, None
    for number, line in enumerate(LIST.read_text().splitlines(), 1):
        kind, text = line[:2], line[2:]
        if line.startswith("#") or not line.strip():
            continue
        if kind == "@ ":
            file = text
        elif kind == "- ":
            old = text
        elif kind == "= ":
            harmless = text
        elif kind == "+ ":
            mutants.append((file, old, text, harmless))
            harmless = None
        else:
            sys.exit(f"{LIST}:{number}: begins with neither `@ `, `- `, `+ ` nor `= `")
    return mutants


def sources(root):
    """The files below a folder, relative to it, but for builds, runs and the history."""
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name not in ("target", ".git", "runs")]
        yield from (Path(folder, name).relative_to(root) for name in names)


def copy_sources():
    """Makes the copy what the sources are: a file that is left of earlier ones would be built with them."""
    there = set(sources(ROOT))
    for path in there:
        source, copy = ROOT / path, COPY / path
        copy.parent.mkdir(parents=True, exist_ok=True)
        if not copy.is_file() or copy.read_bytes() != source.read_bytes():
            shutil.copyfile(source, copy)
    for path in set(sources(COPY)) - there:
        (COPY / path).unlink()


def plant(mutants):
    """Writes the copy of the sources in which every mutant waits."""
    copy_sources()
    changed = {}
    for file in sorted({file for file, *_ in mutants} | {"lib.rs"}):
        changed[file] = (ROOT / "sandbox/compiled/src" / file).read_text()
    arms = {}
    for number, (file, old, new, _) in enumerate(mutants, 1):
        arms.setdefault((file, old), []).append(f"{number} => {{ {new} }}")
    for (file, old), choices in arms.items():
        before, expression, after = re.fullmatch(r"(?:(.*)⟦)?(.*?)(?:⟧(.*))?", old).groups(default="")
        written = [r"\s+".join(map(re.escape, part.split())) for part in (before, expression, after)]
        found = list(re.finditer(r"({})\s*({})\s*({})".format(*written), changed[file]))
        if len(found) != 1:
            sys.exit(f"{file}: {len(found)} places with {old!r}; a mutant needs one")
        start, end = found[0].span(2)
        text = changed[file]
        choice = f"(match crate::mutant() {{ {', '.join(choices)}, _ => {{ {text[start:end]} }} }})"
        changed[file] = text[:start] + choice + text[end:]
    changed["lib.rs"] = changed["lib.rs"].replace("#![warn(missing_docs)]", "#![allow(warnings)]") + CHOICE
    for file, text in changed.items():
        path = COPY / "sandbox/compiled/src" / file
        if path.read_text() != text:
            path.write_text(text)


def build():
    """The built tests by their targets."""
    named = [word for target in sorted({target for _, target, _ in TESTS}) for word in ("--test", target)]
    # The whole workspace chooses the features of libraries, so that a folder of builds that is at hand can be used.
    command = [os.environ.get("CARGO", "cargo"), "test", "--release", "--locked", "--no-run", "--message-format=json", "--workspace", *named]
    environment = {**os.environ, "CARGO_TARGET_DIR": str(TARGET), "CARGO_INCREMENTAL": "1"}
    told = subprocess.run(command, cwd=COPY, env=environment, stdout=subprocess.PIPE, text=True)
    if told.returncode:
        sys.exit("the mutants do not build")
    messages = map(json.loads, told.stdout.splitlines())
    return {message["target"]["name"]: message["executable"] for message in messages if message.get("executable")}


def run(built, test, mutant):
    """Whether a test fails, by the name of the first that does."""
    package, target, name = test
    environment = {**os.environ, "TIER_MUTANT": str(mutant)}
    folder = COPY / "sandbox" / ("compiled" if package.endswith("compiled") else "")
    # By day `order` tries a part of what it has.
    whole = ["--include-ignored"] if target == "order" else []
    command = [built[target], "--test-threads=1", *whole, *([name] if name else [])]
    try:
        told = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=900)
    except subprocess.TimeoutExpired:
        return f"{target}: does not end"
    if told.returncode == 0:
        return None
    failed = re.search(r"^test (\S+) \.\.\. FAILED", told.stdout, re.MULTILINE)
    return failed.group(1) if failed else f"{target}: ends with {told.returncode}"


def main():
    mutants = read_mutants()
    chosen = [int(word) for word in sys.argv[1:]] or range(len(mutants) + 1)
    plant(mutants)
    built = build()
    survivors, caught = [], 0
    for number in chosen:
        begun = time.monotonic()
        likely = [("grpo-sandbox", "tiers", LIKELY[file])] if number and (file := mutants[number - 1][0]) in LIKELY else []
        found = next((words for test in likely + TESTS if (words := run(built, test, number))), None)
        seconds = time.monotonic() - begun
        if number == 0:
            if found:
                sys.exit(f"{found} fails without a mutant")
            continue
        file, old, new, harmless = mutants[number - 1]
        outcome = found or (f"harmless: {harmless}" if harmless else "SURVIVES")
        print(f"| {number} | {file} | `{old}` -> `{new}` | {outcome} | {seconds:.0f} s |", flush=True)
        caught += found is not None
        survivors += [number] if not found and not harmless else []
    print(f"{caught} caught, {len(survivors)} survive: {survivors}")
    sys.exit(1 if survivors else 0)


if __name__ == "__main__":
    main()
