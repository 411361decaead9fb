"""Compares the runs of 2048 that documents show with what `grpo-2048 demo` prints: shown.py OUTPUT_OF_DEMO STEPS

A run shows other numbers with another seed or number of steps, and ends with another program, so lines are compared without them:
every line that is shown must have been printed, in that order, with other digits at most. A line of dots stands for any lines. The
curve of README is that of `demo`. `make train` checks its reward before it begins, which `demo` does not.

The means of README are those of all forty steps of `demo`, up to what another kind of processor rounds: each lies in the interval that
is printed.
"""

import pathlib
import re
import sys

from documents import block

NOT_OF_DEMO = ("$ make train", "reward check: 10 reference players in order")


def bare(line):
    """The line without numbers, times, spaces, the bars of a curve, names of runs and the program that was written."""
    line = re.sub(r"^( *\d+ \|).*", r"\1", line)
    line = re.sub(r"runs/\w+-\d+", "runs/RUN", line)
    line = re.sub(r"[▁▂▃▄▅▆▇█]+", "▁", line)
    line = re.sub(r"\d+(:\d+)+|\d+(\.\d+)? s\b", "TIME", line)  # A faster machine has `59 s` left where another has `4:25`.
    line = re.sub(r"\d+(\.\d+)?", "0", line)
    return re.sub(r"\s+", " ", line).strip()


def compare(path, shown, printed):
    """Ends with an error at the first line that was not printed."""
    left = iter(printed)
    for line in shown:
        if line.strip() in ("", "...") or line.startswith(NOT_OF_DEMO):
            continue
        if not any(bare(line) == other for other in left):
            sys.exit(f"error: {path} shows a line that `grpo-2048 demo` does not print, or not in that order:\n{line}")


def means_hold(shown, printed):
    """Ends with an error at a mean of held-out games that is outside of what was printed: it is of another model."""
    intervals = re.findall(r"held out, after step \d+: score \d+ \((\d+) to (\d+)\)", printed)
    means = re.search(r"^mean score +(\d+) +(\d+) ", shown, re.MULTILINE).groups()
    for mean, (low, high) in zip(means, (intervals[0], intervals[-1]), strict=True):
        if not int(low) <= int(mean) <= int(high):
            sys.exit(f"error: README.md shows a mean score of {mean}; `grpo-2048 demo` found {low} to {high}")


output = pathlib.Path(sys.argv[1]).read_text(encoding="utf-8")
if sys.argv[2] == "40":
    means_hold(block("README.md", "held out, after step 0"), output)
printed = [bare(line) for line in output.splitlines()]
for path, start in [("README.md", "held out, after step 0"), ("docs/using.md", "$ make train TRAIN_FLAGS")]:
    compare(path, block(path, start).splitlines(), printed)
print("README.md and docs/using.md show lines that a run prints")
