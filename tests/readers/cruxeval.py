"""Judges generations that CRUXEval's own grader has judged, and names those on which we differ: cruxeval.py REPOSITORY TASKS MODE

REPOSITORY is a checkout of github.com/facebookresearch/cruxeval, whose samples have 8,000 generations of CodeLlama 7B and their
verdicts; TASKS is what `grpo-2048 tasks convert data/cruxeval.jsonl --suite cruxeval` (`cruxeval-i`) wrote, and MODE output (input).
"""

import ast
import collections
import json
import pathlib
import subprocess
import sys

repository, tasks, mode = pathlib.Path(sys.argv[1]), sys.argv[2], sys.argv[3]
[scored] = (repository / "samples/evaluation_results").glob(f"*_{mode}.json")
scored = json.loads(scored.read_text())
rows = {row["id"]: row for row in map(json.loads, (repository / "data/cruxeval.jsonl").read_text().splitlines())}


def is_tried(text, row):
    """Whether their grader runs a generation: the others are in none of its shares, unless all of a task fail."""
    return "f(" in text if mode == "input" else f"f({row['input']})" not in text


def program(text):
    """The answer as we ask for it; None where a list of arguments cannot say it."""
    if mode == "output":
        return f"def output():\n    return {text.strip()}\n"
    try:
        call = ast.parse(text.strip(), mode="eval").body
    except SyntaxError:
        return "def arguments():\n    return (\n"
    if not isinstance(call, ast.Call) or getattr(call.func, "id", "") != "f":
        return None
    if call.keywords:
        return None
    return f"def arguments():\n    return [{', '.join(ast.unparse(argument) for argument in call.args)}]\n"


programs, verdicts, unsaid = {}, {}, 0
for id, generations in scored["raw_generations"].items():
    tried = [text for text in generations if is_tried(text, rows[id])]
    judged = scored["raw_scored_generations"][id]
    for text, verdict in zip(tried, judged if len(judged) == len(tried) else [False] * len(tried)):
        source = program(text)
        unsaid += source is None
        if source is not None:
            programs[id, text], verdicts[id, text] = source, verdict

lines = "".join(json.dumps({"id": id, "completion": source}) + "\n" for (id, _), source in programs.items())
judge = ["grpo-2048", "judge", "--env", tasks, "--set", "reward.tests=all", "--set", "sandbox.game_seconds=3"]
answers = subprocess.run(judge, input=lines, capture_output=True, text=True, check=True).stdout.splitlines()
found = collections.Counter()
for (key, their), our in zip(verdicts.items(), map(json.loads, answers), strict=True):
    passes = our["verdict"] == "succeeded"
    found[their, passes] += 1
    if passes != their:
        print(f"{key[0]}: `{key[1]}`: CRUXEval {their}, ours {our['verdict']} {our.get('reason')!r}; expected {rows[key[0]]['output']}")
print(f"{len(programs)} distinct generations of {len(rows)} tasks, {unsaid} more by keywords or no call")
for (their, passes), count in sorted(found.items()):
    print(f"CRUXEval {their}, ours {passes}: {count}")
