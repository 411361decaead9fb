"""Puts a run into Weights & Biases or MLflow: log_run.py wandb RUN_DIRECTORY [PROJECT], or log_run.py mlflow ...

Where to is theirs to say: WANDB_MODE=offline keeps it on this machine, MLFLOW_TRACKING_URI names a server.
"""

import json
import sys
import tomllib
from pathlib import Path


def records(run):
    """Steps and numbers; an evaluation has the number of the step that it was made after."""
    for line in (run / "metrics.jsonl").read_text().splitlines():
        record = json.loads(line)
        yield record.pop("step"), {key: value for key, value in record.items() if isinstance(value, (int, float))}


def settings(run):
    tables = tomllib.loads((run / "config.toml").read_text())
    return {f"{section}.{key}": value for section, keys in tables.items() for key, value in keys.items()}


def to_wandb(run, project):
    import wandb

    with wandb.init(project=project, name=run.name, config=settings(run)) as logged:
        for step, numbers in records(run):
            logged.log(numbers, step=step)


def to_mlflow(run, project):
    import mlflow

    mlflow.set_experiment(project)
    with mlflow.start_run(run_name=run.name):
        mlflow.log_params(settings(run))
        for step, numbers in records(run):
            mlflow.log_metrics(numbers, step=step)


if __name__ == "__main__":
    trackers = {"wandb": to_wandb, "mlflow": to_mlflow}
    if len(sys.argv) not in (3, 4) or sys.argv[1] not in trackers:
        sys.exit(__doc__)
    trackers[sys.argv[1]](Path(sys.argv[2]), sys.argv[3] if len(sys.argv) == 4 else "grpo-2048")
