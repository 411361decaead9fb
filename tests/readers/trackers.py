"""examples/trackers/log_run.py with stand-ins for the trackers' packages: every number arrives, also of a run that goes on."""

import contextlib
import fcntl
import importlib.util
import json
import os
import pathlib
import posixpath
import re
import shutil
import sys
import tempfile
import threading
import time
import types

spec = importlib.util.spec_from_file_location("log_run", "examples/trackers/log_run.py")
log_run = importlib.util.module_from_spec(spec)
spec.loader.exec_module(log_run)
finished = pathlib.Path(sys.argv[1])
text = (finished / "metrics.jsonl").read_text()
expected = []
for line in text.splitlines():
    record = json.loads(line)
    expected.append((record.pop("step"), {key: value for key, value in record.items() if isinstance(value, (int, float))}))
assert sum(len(numbers) for _, numbers in expected) > 500

logged, begun = [], []


class Logged(contextlib.nullcontext):
    def log(self, numbers, step):
        logged.append((step, numbers))


def init(project, name, config):
    begun.append((project, name, config["train.max_steps"]))
    logging = Logged()
    logging.enter_result = logging
    return logging


sys.modules["wandb"] = types.SimpleNamespace(init=init)
log_run.to_wandb(finished, "project", follow=False)
assert logged == expected and begun[0][:2] == ("project", finished.name)
here = os.getcwd()
os.chdir(finished)
log_run.to_wandb(pathlib.Path("."), "project", follow=False)
assert begun[1][1] == pathlib.Path.cwd().name != ""
os.chdir(here)


def check_names(names):
    for name in names:
        # What MLflow refuses, as its mlflow/utils/validation.py has it.
        assert re.match(r"^[/\w.\- ]*$", name) and posixpath.normpath(name) == name and name[0] not in "./", name


def log_metrics(numbers, step):
    check_names(numbers)
    logged.append((step, numbers))


mlflow = types.SimpleNamespace(set_experiment=begun.append, start_run=lambda run_name: contextlib.nullcontext())
mlflow.log_params, mlflow.log_metrics = check_names, log_metrics
sys.modules["mlflow"] = mlflow
logged.clear()
log_run.to_mlflow(finished, "project", follow=False)
assert logged == expected
with tempfile.TemporaryDirectory() as place:
    named = pathlib.Path(shutil.copytree(finished, pathlib.Path(place) / "run"))
    config = named / "config.toml"
    config.write_text(config.read_text() + '\n[names]\n"contents of /a/moves (v2).jsonl" = "digest"\n')
    log_run.to_mlflow(named, "project", follow=False)


@contextlib.contextmanager
def begun_run(metrics):
    """A directory with these metrics, and the lock that a process holds while it works on the run."""
    with tempfile.TemporaryDirectory() as place, open(pathlib.Path(place) / ".lock", "w") as lock:
        run = pathlib.Path(place)
        fcntl.flock(lock, fcntl.LOCK_EX)
        shutil.copy(finished / "config.toml", run)
        (run / "launches.jsonl").write_text((finished / "launches.jsonl").read_text().splitlines(keepends=True)[0])
        (run / "metrics.jsonl").write_text(metrics)
        logged.clear()
        yield run, lock


def followed(run, whole_lines):
    """A thread that follows the run and has logged what is there."""
    follower = threading.Thread(target=log_run.to_wandb, args=(run, "project", True), daemon=True)
    follower.start()
    begin = time.monotonic()
    while len(logged) < whole_lines:
        assert follower.is_alive() and time.monotonic() - begin < 60, logged
        time.sleep(0.01)
    assert follower.is_alive() and logged == expected[: len(logged)] and len(logged) < len(expected)
    return follower


def has_ended(follower):
    follower.join(60)
    return not follower.is_alive()


# A run that is written while it is followed, with a line that is torn for a moment.
half = len(text) // 2
with begun_run(text[:half]) as (run, lock):
    follower = followed(run, text[:half].count("\n"))
    with open(run / "metrics.jsonl", "a") as file:
        file.write(text[half:])
    lock.close()
    assert has_ended(follower) and logged == expected

# A run that is killed and goes on from an earlier step: its metrics are replaced by those up to there, and written on.
lines = text.splitlines(keepends=True)
with begun_run("".join(lines[:13]) + lines[13][:40]) as (run, lock):
    follower = followed(run, 13)
    (run / ".partial-metrics").write_text("".join(lines[:11]))
    os.replace(run / ".partial-metrics", run / "metrics.jsonl")
    with open(run / "metrics.jsonl", "a") as file:
        file.write("".join(lines[11:]))
    lock.close()
    assert has_ended(follower) and logged == expected, logged

# A run that was killed: its last launch has begun, which nothing followed, and the record of the end is torn.
with begun_run("".join(lines[:13])) as (run, lock):
    with open(run / "launches.jsonl", "a") as file:
        file.write('{"event":"en')
    lock.close()
    follower = threading.Thread(target=log_run.to_wandb, args=(run, "project", True), daemon=True)
    follower.start()
    assert has_ended(follower) and logged == expected[:13]

# A run that begins after who follows it, and one that nobody waits for.
with begun_run(text) as (run, lock):
    later = run.with_name(f"{run.name}-later")
    follower = threading.Thread(target=log_run.to_wandb, args=(later, "project", True), daemon=True)
    follower.start()
    follower.join(0.1)
    assert follower.is_alive() and not logged
    later.symlink_to(run)
    lock.close()
    assert has_ended(follower) and logged == expected and begun[-1][1] == later.name
    later.unlink()
    try:
        log_run.to_wandb(later, "project", False)
        raise AssertionError("it is not there")
    except SystemExit as told:
        assert "config.toml: no such file; --follow" in str(told), told

# Tasks whose ids are no names of MLflow's.
ids = ["HumanEval/0", "a:b", "what?", "../up", "twice//", "größe", "a b", "."]
keys = [f"eval_style/{task}" for task in ids] + ["honeypot/passed/x[1]"]
with begun_run(json.dumps({"step": 1} | dict.fromkeys(keys, 0.5)) + "\n") as (run, lock):
    log_run.to_mlflow(run, "project", follow=False)
names = ["HumanEval/0", "a_b", "what_", "_/up", "twice/_/_", "größe", "a b", "_"]
assert logged == [(1, dict.fromkeys([f"eval_style/{name}" for name in names] + ["honeypot/passed/x_1_"], 0.5))], logged
print("trackers get every number of a run, and of one that goes on, is resumed or was killed")
