"""Compares the run of 2048 that README.md shows with what `grpo-2048 demo` prints: shown.py OUTPUT_OF_DEMO

A run shows other numbers with another seed or number of steps, so lines are compared without them: every line that is shown must
have been printed, in that order, with other digits at most. A line of dots stands for any lines. The curve of README is that of `demo`.
"""

import pathlib
import re
import sys

from documents import block


def bare(line):
    """The line without numbers, times, spaces and the bars of a curve."""
    line = re.sub(r"[▁▂▃▄▅▆▇█]+", "▁", line)
    line = re.sub(r"\d+(:\d+)+|\d+(\.\d+)?", "0", line)
    return re.sub(r"\s+", " ", line).strip()


def compare(path, shown, printed):
    """Ends with an error at the first line that was not printed."""
    left = iter(printed)
    for line in shown:
        if line.strip() == "...":
            continue
        if line.strip() and not any(bare(line) == other for other in left):
            sys.exit(f"error: {path} shows a line that `grpo-2048 demo` does not print, or not in that order:\n{line}")


printed = [bare(line) for line in pathlib.Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()]
compare("README.md", block("README.md", "held out, after step 0").splitlines(), printed)
print("README.md shows lines that a run prints")
