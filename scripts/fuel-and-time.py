#!/usr/bin/env python3
"""How the sandbox's instructions rank programs, beside CPython's own time.

    scripts/fuel-and-time.py target/release/grpo-2048 [CALLS]

Every program of bench/speed/programs.py is judged once by `grpo-2048 judge` in the interpreter, which counts its fuel, and timed here
in this python3: the least CPU time of seven. Both load the program and call it CALLS times (20). Prints, for each task,
Spearman's rank correlation of the two and the programs that are furthest from their rank, then the median over tasks."""

import argparse
import json
import math
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "bench" / "speed"))

from programs import TASKS  # noqa: E402

ROUNDS = 7


def whole(program, arguments, calls):
    """The program with a function that calls it so often."""
    return f"{program}\n\ndef task():\n    for _ in range({calls}):\n        x = f(*{arguments})\n    return x\n"


def seconds(text):
    """The least CPU time of loading the program and calling it."""
    code = compile(text, "program", "exec")

    def once():
        names = {}
        begin = time.process_time()
        exec(code, names)
        names["task"]()
        return time.process_time() - begin

    return min(once() for _ in range(ROUNDS))


def fuel(binary, calls):
    """Fuel of every program, by task."""
    with tempfile.TemporaryDirectory() as folder:
        tasks, completions = Path(folder, "tasks.jsonl"), Path(folder, "completions.jsonl")
        lines = [
            {
                "id": name,
                "prompt": "Write `task()`.",
                "entry_point": "task",
                "inputs": ["()"],
                "reference": whole(programs[0], arguments, calls),
                "shown": 0,
                "seconds": 60,
            }
            for name, (arguments, programs) in TASKS.items()
        ]
        tasks.write_text("".join(json.dumps(line) + "\n" for line in lines))
        lines = [
            {"id": name, "completion": whole(program, arguments, calls)}
            for name, (arguments, programs) in TASKS.items()
            for program in programs
        ]
        completions.write_text("".join(json.dumps(line) + "\n" for line in lines))
        command = [binary, "judge", "--env", tasks, "--set", "sandbox.tier=interpreter", completions]
        judged = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()
    by_task = {name: [] for name in TASKS}
    for line in map(json.loads, judged):
        if line["verdict"] != "succeeded":
            raise SystemExit(f"{line['id']}: {line['verdict']}: {line['reason']}")
        by_task[line["id"]].append(line["fuel"])
    return by_task


def ranks(values):
    """Ranks from 0; equal values share the mean of theirs."""
    return [sum(y < x for y in values) + (sum(y == x for y in values) - 1) / 2 for x in values]


def spearman(first, second):
    first, second = ranks(first), ranks(second)
    middle = (len(first) - 1) / 2
    over = sum((x - middle) * (y - middle) for x, y in zip(first, second))
    return over / math.sqrt(sum((x - middle) ** 2 for x in first) * sum((y - middle) ** 2 for y in second))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("program", help="grpo-2048, as built here")
    parser.add_argument("calls", nargs="?", type=int, default=20, help="calls of each program (20)")
    given = parser.parse_args()
    binary, calls = given.program, given.calls
    by_fuel = fuel(binary, calls)
    correlations, rates = [], []
    print(f"python {sys.version.split()[0]}, {calls} calls\n")
    print("| task | programs | slowest against fastest, in time and in fuel | Spearman | out of rank |")
    print("|---|---|---|---|---|")
    for name, (arguments, programs) in TASKS.items():
        times = [seconds(whole(program, arguments, calls)) for program in programs]
        costs = by_fuel[name]
        correlation = spearman(times, costs)
        correlations.append(correlation)
        rates += [cost / taken for cost, taken in zip(costs, times)]
        apart = [abs(x - y) for x, y in zip(ranks(times), ranks(costs))]
        odd = [
            f"{index + 1}: {times[index] / calls * 1e3:.3f} ms, {costs[index] / calls / 1e6:.2f} M"
            for index in sorted(range(len(apart)), key=lambda i: -apart[i])
            if apart[index] >= 1
        ]
        spread = f"{max(times) / min(times):.1f}, {max(costs) / min(costs):.1f}"
        print(f"| {name} | {len(programs)} | {spread} | {correlation:.2f} | {'; '.join(odd[:2])} |")
    rates.sort()
    print(f"\nmedian over {len(correlations)} tasks {statistics.median(correlations):.3f}, ", end="")
    print(f"mean {statistics.mean(correlations):.3f}, least {min(correlations):.2f}")
    low, middle, high = (rates[int(len(rates) * share)] for share in (0.1, 0.5, 0.9))
    print(f"fuel per second here: {low:.2e}, {middle:.2e}, {high:.2e} (10 %, median, 90 % of programs)")


main()
