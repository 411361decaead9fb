#!/usr/bin/env python3
"""How long this machine's python3 takes for the programs that runs have written.

    scripts/native-seconds.py TASKS RUN ..

Of the last STEPS steps of each run on TASKS, every program that passed all tests is loaded and called on all tests of its task: the
least CPU time of five. Prints the geometric mean with a 95 % interval bootstrapped over programs, and the median. The programs run
outside the sandbox."""

import argparse
import ast
import json
import math
import random
import statistics
import time
from pathlib import Path

STEPS = 5
ROUNDS = 5
DRAWS = 1000


def seconds(source, arguments):
    """The least CPU time of loading the program and calling it on all of these."""
    code = compile(source, "program", "exec")

    def once():
        fresh = [ast.literal_eval(text) for text in arguments]
        begin = time.process_time()
        names = {}
        exec(code, names)
        for values in fresh:
            names["strategy"](*values)
        return time.process_time() - begin

    return min(once() for _ in range(ROUNDS))


def passed(run):
    """Number of programs of the last steps, and task and source of those that passed."""
    files = sorted((run / "completions").glob("step_*.jsonl"))[-STEPS:]
    lines = [json.loads(line) for file in files for line in file.read_text().splitlines()]
    right = [line for line in lines if line["verdict"] == "succeeded"]
    return len(lines), [(line["games"][0]["task"], "def strategy(board" + line["completion"]) for line in right]


def mean(logarithms):
    return math.exp(statistics.fmean(logarithms))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("tasks", type=Path)
    parser.add_argument("runs", type=Path, nargs="+", metavar="RUN")
    given = parser.parse_args()
    tasks = [json.loads(line)["inputs"] for line in given.tasks.read_text().splitlines()]
    chance = random.Random(0)
    for run in given.runs:
        all_programs, right = passed(run)
        if not right:
            parser.error(f"{run}: no program of its last {STEPS} steps passed; expected a run on {given.tasks}")
        times = [math.log(seconds(source, tasks[task])) for task, source in right]
        drawn = sorted(mean(chance.choices(times, k=len(times))) for _ in range(DRAWS))
        low, high = drawn[DRAWS // 40], drawn[-DRAWS // 40]
        print(
            f"{run}: {len(right)} of {all_programs} pass, {1e3 * mean(times):.3f} ms ({1e3 * low:.3f} to {1e3 * high:.3f}), "
            f"median {1e3 * math.exp(statistics.median(times)):.3f} ms"
        )


if __name__ == "__main__":
    main()
