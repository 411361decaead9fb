"""Runs the step of .github/actions/audit with a wheel: an honest environment passes, a grader that everything pleases fails it."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

wheel = Path(sys.argv[1]).resolve()
root = Path(__file__).resolve().parents[2]
lines = (root / ".github/actions/audit/action.yml").read_text().splitlines()
begin = next(index for index, line in enumerate(lines) if line.strip() == "run: |")
step = "\n".join(line[8:] for line in lines[begin + 1 :])

TASK = '{"id": "add", "prompt": "Write `add(a, b)` that returns the sum.", "entry_point": "add", "tests": [{"args": "(1, 2)", "expected": "3"}, {"args": "(-4, 9)", "expected": "5"}, {"args": "(0, 7)", "expected": "7"}, {"args": "(30, 4)", "expected": "34"}, {"args": "(5, -9)", "expected": "-4"}, {"args": "(61, 6)", "expected": "67"}], "reference": "def add(a, b):\\n    return a + b\\n"}\n'
PLEASED = "def reward(prompts, completions, **columns):\n    return [float('def ' in text) for text in completions]\n"


def audited(folder, grader, env="tasks.jsonl", flags=""):
    given = {"AUDIT_ENV": env, "AUDIT_GRADER": grader, "AUDIT_FLAGS": flags, "AUDIT_PACKAGE": str(wheel)}
    summary = folder / "summary.md"
    summary.unlink(missing_ok=True)
    given |= {"RUNNER_TEMP": str(folder), "GITHUB_STEP_SUMMARY": str(summary)}
    script = folder / "step.sh"
    script.write_text(step)
    # As GitHub starts `shell: bash`.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    done = subprocess.run(command, cwd=folder, env=os.environ | given, capture_output=True, text=True)
    return done.returncode, summary.read_text(), done.stderr


def text_of(summary):
    """What a page shows of a summary that is one block of plain text, as CommonMark reads it."""
    fence, *inside = summary.splitlines()
    end = inside.index(fence)
    assert set(fence) == {"`"} and len(fence) >= 3 and end == len(inside) - 1, summary
    # Nothing before its end is a fence that closes it.
    assert not any(set(line.strip()) == {"`"} and len(line.strip()) >= len(fence) for line in inside[:end]), summary
    return "\n".join(inside[:end])


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "tasks.jsonl").write_text(TASK)
    (folder / "pleased.py").write_text(PLEASED)
    code, summary, said = audited(folder, "")
    assert code == 0 and "ok        cheats" in text_of(summary), (summary, said)
    code, summary, said = audited(folder, "pleased.py:reward")
    assert code == 2 and "problem   references" in text_of(summary), (code, summary, said)
    # A list of flags has a line for each, as YAML writes what is long.
    code, summary, said = audited(folder, "", flags="--sequential\n--json\n")
    assert code == 0 and json.loads(text_of(summary)), (code, summary, said)
    # A name of a task is text, whatever it holds.
    wrong = TASK.replace('"add", "prompt"', '"```` <b>", "prompt"').replace("return a + b", "return a - b")
    (folder / "wrong.jsonl").write_text(wrong)
    code, summary, said = audited(folder, "", env="wrong.jsonl")
    assert code == 2 and summary.startswith("`````\n") and "(```` <b>): the reference fails" in text_of(summary), (summary, said)
print("the action's step passes an honest environment and fails one whose grader is pleased with anything")
