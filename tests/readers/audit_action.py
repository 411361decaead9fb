"""Runs the step of .github/actions/audit with a wheel: an honest environment passes, a grader that everything pleases fails it."""

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


def audited(folder, grader):
    given = {"AUDIT_ENV": "tasks.jsonl", "AUDIT_GRADER": grader, "AUDIT_FLAGS": "", "AUDIT_PACKAGE": str(wheel)}
    given |= {"RUNNER_TEMP": str(folder), "GITHUB_STEP_SUMMARY": str(folder / "summary.md")}
    script = folder / "step.sh"
    script.write_text(step)
    # As GitHub starts `shell: bash`.
    command = ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)]
    done = subprocess.run(command, cwd=folder, env=os.environ | given, capture_output=True, text=True)
    return done.returncode, (folder / "summary.md").read_text() + done.stderr


with tempfile.TemporaryDirectory() as place:
    folder = Path(place)
    (folder / "tasks.jsonl").write_text(TASK)
    (folder / "pleased.py").write_text(PLEASED)
    code, said = audited(folder, "")
    assert code == 0, said
    code, said = audited(folder, "pleased.py:reward")
    assert code == 2 and "add" in said, (code, said)
print("the action's step passes an honest environment and fails one whose grader is pleased with anything")
