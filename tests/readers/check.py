"""Opens what a run wrote with the tools that people use: check.py RUN_DIRECTORY TABLE.jsonl TABLE.csv

Fails when a file does not open, or when two of them disagree about a number.
"""

import json
import sys
from pathlib import Path

import pandas
import polars
from documents import block
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator


def close(one, other):
    return abs(one - other) <= 1e-6 * max(1, abs(one))


def lines(run):
    return [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]


def check_tensorboard(run):
    """Every number of every line of metrics.jsonl is a scalar of that step."""
    events = EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    compared = 0
    for line in lines(run):
        for name, value in line.items():
            if name == "step":
                continue
            tag = "eval/" + name.removeprefix("eval_") if name.startswith("eval_") else "train/" + name
            found = [scalar.value for scalar in events.Scalars(tag) if scalar.step == line["step"]]
            assert any(close(value, scalar) for scalar in found), (tag, line["step"], value, found)
            compared += 1
    assert compared > 100, compared
    return compared


def check_frames(run):
    """One line of pandas or polars reads metrics and completions."""
    steps = [line for line in lines(run) if "reward" in line]
    by_pandas = pandas.read_json(run / "metrics.jsonl", lines=True)
    by_polars = polars.read_ndjson(run / "metrics.jsonl", infer_schema_length=None)
    rewards = [line["reward"] for line in steps]
    # pandas reads a number to the last digit only when asked for precise_float.
    read = by_pandas["reward"].dropna().tolist()
    assert len(read) == len(rewards) and all(map(close, rewards, read))
    assert by_polars["reward"].drop_nulls().to_list() == rewards
    files = sorted((run / "completions").glob("*.jsonl"))
    assert len(files) == len(steps), files
    completions = pandas.concat(pandas.read_json(file, lines=True) for file in files)
    scanned = polars.scan_ndjson(run / "completions" / "*.jsonl").select("step", "reward").collect()
    assert len(completions) == len(scanned) and len(scanned) >= 2 * len(steps)
    # The same by the lines that docs/runs.md shows.
    by_frames = block("docs/runs.md", "pandas.read_json(").replace("runs/train-001", str(run)).splitlines()
    shown = [eval(line, {"pandas": pandas, "polars": polars}) for line in by_frames]
    assert shown[0].shape == by_pandas.shape and shown[1].shape == by_polars.shape, shown
    assert shown[2]["reward"].to_list() == scanned["reward"].to_list(), shown
    for line in steps:
        mean = scanned.filter(polars.col("step") == line["step"])["reward"].mean()
        assert abs(mean - line["reward"]) < 1e-5, (line["step"], mean, line["reward"])
    return len(scanned)


def check_table(run, jsonl, csv):
    """The exported table is the same in all formats, in TRL's order of columns."""
    one, other = polars.read_ndjson(jsonl, infer_schema_length=None), pandas.read_csv(csv)
    assert one.columns == list(other.columns)
    assert one.columns[:3] == ["step", "prompt", "completion"], one.columns
    assert one["completion"].to_list() == other["completion"].tolist()
    parquet = Path(jsonl).with_suffix(".parquet")
    by_polars = polars.read_parquet(parquet)
    assert by_polars.columns == one.columns
    for name in one.columns:
        if one.schema[name] == polars.Null:
            assert by_polars[name].null_count() == len(one), name
        else:
            assert by_polars[name].to_list() == one[name].to_list(), name
    assert pandas.read_parquet(parquet)["completion"].tolist() == other["completion"].tolist()
    return len(one)


def check_trainer_state(run):
    """log_history has a line a step with the numbers of metrics.jsonl, as transformers writes it."""
    newest = max(run.glob("checkpoint-[0-9]*"), key=lambda path: int(path.name.split("-")[1]))
    state = json.loads((newest / "trainer_state.json").read_text())
    steps = [line for line in lines(run) if "reward" in line]
    logged = [line for line in state["log_history"] if "reward" in line]
    assert state["global_step"] == steps[-1]["step"]
    assert [(line["step"], line["reward"]) for line in logged] == [(line["step"], line["reward"]) for line in steps]
    return len(logged)


if __name__ == "__main__":
    run, jsonl, csv = (Path(argument) for argument in sys.argv[1:])
    print(f"{check_tensorboard(run)} scalars, {check_frames(run)} completions, {check_table(run, jsonl, csv)} rows, "
          f"{check_trainer_state(run)} steps of log_history")
