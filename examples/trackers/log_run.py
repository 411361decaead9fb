"""Puts a run into Weights & Biases or MLflow: log_run.py wandb RUN_DIRECTORY [PROJECT] [--follow], or log_run.py mlflow ...

With --follow it goes on while the run does, and ends with it; it waits for one that has not begun. Where to is theirs to say:
WANDB_MODE=offline keeps it on this machine, MLFLOW_TRACKING_URI names a server. Needs Python 3.11 or newer, whose tomllib reads the
settings.
"""

import fcntl
import json
import os
import re
import sys
import time
import tomllib
from pathlib import Path


def has_ended(run):
    """Whether no process works on the run any more: whoever does holds its lock, which ends with the process, also after a kill -9."""
    try:
        with open(run / ".lock") as lock:
            # Shared, as readers may; it is given back where the file is closed.
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except FileNotFoundError:
        # A copy without the files whose names begin with a dot; nobody works on a copy.
        pass
    return True


def is_replaced(file, path):
    """Whether another file has the name now: a run that is resumed writes its metrics anew, without the steps that it makes again."""
    return os.fstat(file.fileno()).st_ino != os.stat(path).st_ino


def appeared(path, follow, is_over=lambda: False, seconds=2):
    """The path of a file of a run; with `follow` it is waited for, unless the run is over without it."""
    if follow and not path.is_file():
        print(f"waiting for {path}", file=sys.stderr)
    while True:
        is_last = not follow or is_over()
        if path.is_file():
            return path
        if is_last:
            sys.exit(f"error: {path}: no such file" + ("" if follow else "; --follow waits for a run that has not begun"))
        time.sleep(seconds)


def lines(run, follow, seconds=2):
    """The lines of metrics.jsonl; with `follow` those to come as well, each as soon as it is whole. All come again when it is replaced."""
    # Whoever has written the settings holds the lock.
    path = appeared(run / "metrics.jsonl", follow, lambda: has_ended(run))
    file = open(path)
    try:
        line, is_over = "", not follow
        while True:
            line += file.readline()
            if line.endswith("\n"):
                yield line
                line = ""
            elif is_replaced(file, path):
                file.close()
                file, line = open(path), ""
            elif is_over:
                return
            else:
                # What was written before the end is read once more.
                is_over = has_ended(run)
                if not is_over:
                    time.sleep(seconds)
    finally:
        file.close()


def records(run, follow):
    """Steps and numbers, each once; an evaluation has the number of the step that it was made after."""
    logged = set()
    for line in lines(run, follow):
        record = json.loads(line)
        step = record.pop("step")
        known = (step, "eval_samples" in record)
        if known not in logged:
            logged.add(known)
            yield step, {key: value for key, value in record.items() if isinstance(value, (int, float))}


def settings(run, follow):
    tables = tomllib.loads(appeared(run / "config.toml", follow).read_text())
    return {f"{section}.{key}": value for section, keys in tables.items() for key, value in keys.items()}


def name_of(run):
    """The name of its directory, also where it is called `.`"""
    return Path(os.path.abspath(run)).name


def to_wandb(run, project, follow):
    import wandb

    with wandb.init(project=project, name=name_of(run), config=settings(run, follow)) as logged:
        for step, numbers in records(run, follow):
            logged.log(numbers, step=step)


def mlflow_name(key):
    """MLflow refuses other characters, and names that are a path to somewhere else; the ids of tasks and the names of files in them
    are anybody's."""
    parts = re.sub(r"[^/\w.\- ]", "_", key).split("/")
    return "/".join("_" if part in ("", ".", "..") else part for part in parts)


def to_mlflow(run, project, follow):
    import mlflow

    params = settings(run, follow)
    mlflow.set_experiment(project)
    with mlflow.start_run(run_name=name_of(run)):
        mlflow.log_params({mlflow_name(key): value for key, value in params.items()})
        for step, numbers in records(run, follow):
            mlflow.log_metrics({mlflow_name(key): value for key, value in numbers.items()}, step=step)


if __name__ == "__main__":
    trackers = {"wandb": to_wandb, "mlflow": to_mlflow}
    follow = "--follow" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--follow"]
    if len(words) not in (2, 3) or words[0] not in trackers:
        sys.exit(__doc__)
    trackers[words[0]](Path(words[1]), words[2] if len(words) == 3 else "grpo-2048", follow)
