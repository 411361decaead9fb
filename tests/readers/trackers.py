"""examples/trackers/log_run.py with stand-ins for the trackers' packages: every number arrives, also of a run that goes on."""

import contextlib
import importlib.util
import json
import pathlib
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

mlflow = types.SimpleNamespace(set_experiment=begun.append, start_run=lambda run_name: contextlib.nullcontext(), log_params=begun.append)
mlflow.log_metrics = lambda numbers, step: logged.append((step, numbers))
sys.modules["mlflow"] = mlflow
logged.clear()
log_run.to_mlflow(finished, "project", follow=False)
assert logged == expected

# A run that is written while it is followed, with a line that is torn for a moment.
with tempfile.TemporaryDirectory() as place:
    run = pathlib.Path(place)
    shutil.copy(finished / "config.toml", run)
    launches = (finished / "launches.jsonl").read_text().splitlines(keepends=True)
    (run / "launches.jsonl").write_text(launches[0])
    half = len(text) // 2
    (run / "metrics.jsonl").write_text(text[:half])
    logged.clear()
    follower = threading.Thread(target=log_run.to_wandb, args=(run, "project", True))
    follower.start()
    while len(logged) < text[:half].count("\n"):
        time.sleep(0.01)
    assert follower.is_alive() and logged == expected[: len(logged)] and len(logged) < len(expected)
    with open(run / "metrics.jsonl", "a") as file:
        file.write(text[half:])
    (run / "launches.jsonl").write_text("".join(launches))
    follower.join(60)
    assert not follower.is_alive() and logged == expected
print("trackers get every number of a run, and of one that goes on")
