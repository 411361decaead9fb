"""Puts a run into Weights & Biases or MLflow: log_run.py wandb RUN_DIRECTORY [PROJECT] [--follow], or log_run.py mlflow ...

With --follow it goes on while the run does, and ends with it. Where to is theirs to say: WANDB_MODE=offline keeps it on this machine,
MLFLOW_TRACKING_URI names a server.
"""

import json
import sys
import time
import tomllib
from pathlib import Path


def has_ended(run):
    """Whether no process works on the run any more, by its own account."""
    launches = (run / "launches.jsonl").read_text().splitlines()
    return json.loads(launches[-1])["event"] == "ended"


def lines(run, follow, seconds=2):
    """The lines of metrics.jsonl; with `follow` those to come as well, each as soon as it is whole."""
    with open(run / "metrics.jsonl") as file:
        line, is_over = "", not follow
        while True:
            line += file.readline()
            if line.endswith("\n"):
                yield line
                line = ""
            elif is_over:
                return
            else:
                # What was written before the end is read once more.
                is_over = has_ended(run)
                if not is_over:
                    time.sleep(seconds)


def records(run, follow):
    """Steps and numbers; an evaluation has the number of the step that it was made after."""
    for line in lines(run, follow):
        record = json.loads(line)
        yield record.pop("step"), {key: value for key, value in record.items() if isinstance(value, (int, float))}


def settings(run):
    tables = tomllib.loads((run / "config.toml").read_text())
    return {f"{section}.{key}": value for section, keys in tables.items() for key, value in keys.items()}


def to_wandb(run, project, follow):
    import wandb

    with wandb.init(project=project, name=run.name, config=settings(run)) as logged:
        for step, numbers in records(run, follow):
            logged.log(numbers, step=step)


def to_mlflow(run, project, follow):
    import mlflow

    mlflow.set_experiment(project)
    with mlflow.start_run(run_name=run.name):
        mlflow.log_params(settings(run))
        for step, numbers in records(run, follow):
            mlflow.log_metrics(numbers, step=step)


if __name__ == "__main__":
    trackers = {"wandb": to_wandb, "mlflow": to_mlflow}
    follow = "--follow" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--follow"]
    if len(words) not in (2, 3) or words[0] not in trackers:
        sys.exit(__doc__)
    trackers[words[0]](Path(words[1]), words[2] if len(words) == 3 else "grpo-2048", follow)
