"""Names and defaults of every key that `trl grpo --config` takes, and how TRL counts completions.

    python trl_keys.py     writes trl_keys.json

`crates/config/src/trl/tests.rs` asks that each key has an answer, and that groups are counted as TRL counts them.
"""

import dataclasses
import importlib.metadata
import json
import pathlib

from trl import GRPOConfig, ModelConfig
from trl.scripts.grpo import GRPOScriptArguments
from trl.scripts.utils import DatasetMixtureConfig

HERE = pathlib.Path(__file__).parent
CLASSES = [GRPOScriptArguments, GRPOConfig, ModelConfig, DatasetMixtureConfig]


def default(field):
    if field.default is not dataclasses.MISSING:
        return getattr(field.default, "value", field.default)
    made = field.default_factory()
    return made if isinstance(made, (list, dict, str, int, float, bool, type(None))) else str(made)


keys = {cls.__name__: {field.name: default(field) for field in dataclasses.fields(cls)} for cls in CLASSES}
versions = {name: importlib.metadata.version(name) for name in ["trl", "transformers"]}

# What says how many completions are sampled, and learnt from by an update. Missing ones have TRL's defaults.
BATCHES = [
    {},
    {"num_generations": 4},
    {"per_device_train_batch_size": 16},
    {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 8},
    {"per_device_train_batch_size": 2, "gradient_accumulation_steps": 6, "num_generations": 6},
    {"per_device_train_batch_size": 4, "gradient_accumulation_steps": 4, "generation_batch_size": 16},
    {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 4, "steps_per_generation": 1},
    {"per_device_train_batch_size": 8, "gradient_accumulation_steps": 1, "steps_per_generation": 4},
    {"per_device_train_batch_size": 6, "gradient_accumulation_steps": 1},
    {"generation_batch_size": 8, "steps_per_generation": 1},
]


def counted(batch):
    try:
        config = GRPOConfig(output_dir="unused", report_to="none", use_cpu=True, bf16=False, **batch)
    except ValueError as error:
        return {"given": batch, "refused": str(error)}
    prompts = config.generation_batch_size // config.num_generations
    updates = config.steps_per_generation / config.gradient_accumulation_steps
    return {"given": batch, "prompts": prompts, "generations": config.num_generations, "updates": updates}


batches = [counted(batch) for batch in BATCHES]
text = json.dumps({"versions": versions, "keys": keys, "batches": batches}, indent=1)
(HERE / "trl_keys.json").write_text(text + "\n")
