"""Losses, their gradients and their clip figures, by TRL.

    python losses.py > losses.json

TRL's own `GRPOTrainer._compute_loss` runs on a stub of a trainer, whose model is a table: log-probabilities (those that
gradients are taken by), entropies, and all else that it is given. crates/learn/src/grpo/loss/tests.rs repeats all of it.
"""

import collections
import importlib.metadata
import inspect
import json
import math
import textwrap
import types

import torch
from trl import GRPOConfig, GRPOTrainer

LENGTHS = [6, 3, 8, 1, 5, 4]
LONGEST = 10
FIGURES = ["kl", "clip_ratio/low_mean", "clip_ratio/high_mean", "cispo_clip_ratio"]
VERSIONS = {name: importlib.metadata.version(name) for name in ["torch", "trl"]}

# What differs from TRL's defaults, by its own names.
CASES = {
    "dapo": dict(loss_type="dapo", epsilon_high=0.28),
    "grpo with a penalty": dict(loss_type="grpo", epsilon_high=0.28, beta=0.05),
    "dr_grpo": dict(loss_type="dr_grpo", epsilon_high=0.28),
    "two-sided": dict(loss_type="dapo", epsilon_high=0.28, delta=1.5),
    "two-sided with a penalty": dict(loss_type="grpo", epsilon_high=0.28, delta=1.5, beta=0.05),
    "cispo": dict(loss_type="cispo", epsilon_high=1.4),
    "cispo with a penalty": dict(loss_type="cispo", epsilon_high=5.0, beta=0.05),
    "sapo": dict(loss_type="sapo"),
    "sapo at other temperatures": dict(
        loss_type="sapo", sapo_temperature_pos=2.0, sapo_temperature_neg=3.5, beta=0.05
    ),
    "sapo of sequences": dict(loss_type="sapo", importance_sampling_level="sequence"),
    "gspo": dict(loss_type="grpo", importance_sampling_level="sequence", epsilon=0.03, epsilon_high=0.04),
    "gspo with a penalty": dict(
        loss_type="grpo", importance_sampling_level="sequence", epsilon=3e-4, epsilon_high=4e-4, beta=0.05
    ),
    "gspo, two-sided": dict(
        loss_type="grpo", importance_sampling_level="sequence", epsilon=0.03, epsilon_high=0.04, delta=1.1
    ),
    "sequences by their lengths": dict(
        loss_type="dapo", importance_sampling_level="sequence", epsilon=0.03, epsilon_high=0.04
    ),
    "the most uncertain fifth": dict(loss_type="dapo", epsilon_high=0.28, top_entropy_quantile=0.2),
    "the most uncertain half, with a penalty": dict(
        loss_type="grpo", epsilon_high=0.28, top_entropy_quantile=0.5, beta=0.05
    ),
    "cispo of the most uncertain": dict(loss_type="cispo", epsilon_high=1.4, top_entropy_quantile=0.3),
    # A foreign sampler.
    "truncated tokens": dict(
        loss_type="dapo",
        epsilon_high=0.28,
        vllm_importance_sampling_mode="token_truncate",
        vllm_importance_sampling_clip_max=1.1,
    ),
    "truncated tokens from both sides, with a penalty": dict(
        loss_type="grpo",
        epsilon_high=0.28,
        beta=0.05,
        vllm_importance_sampling_mode="token_truncate",
        vllm_importance_sampling_clip_max=1.2,
        vllm_importance_sampling_clip_min=0.9,
    ),
    "masked tokens": dict(
        loss_type="cispo",
        epsilon_high=1.4,
        vllm_importance_sampling_mode="token_mask",
        vllm_importance_sampling_clip_max=1.15,
        vllm_importance_sampling_clip_min=0.85,
    ),
    "truncated sequences": dict(
        loss_type="dr_grpo",
        epsilon_high=0.28,
        vllm_importance_sampling_mode="sequence_truncate",
        vllm_importance_sampling_clip_max=1.2,
    ),
    "masked sequences": dict(
        loss_type="dapo",
        epsilon_high=0.28,
        vllm_importance_sampling_mode="sequence_mask",
        vllm_importance_sampling_clip_max=1.2,
        vllm_importance_sampling_clip_min=0.5,
    ),
}


class Alone:
    """An accelerator of one process."""

    num_processes = 1
    sync_gradients = True

    def gather(self, tensor):
        return tensor

    def pad_across_processes(self, tensor, dim, pad_index):
        return tensor

    def reduce(self, tensor, reduction):
        return tensor


def foreign(trainer, table):
    """Weights of tokens that a foreign sampler drew: by the lines of TRL that calculate them, cut out of their method."""
    lines = inspect.getsource(GRPOTrainer._generate_and_score_completions).splitlines(keepends=True)
    begin = next(at for at, line in enumerate(lines) if "per_token_logps_diff = (" in line)
    end = next(at for at, line in enumerate(lines) if at > begin and "raise ValueError(" in line)
    names = dict(
        self=trainer,
        torch=torch,
        math=math,
        mask=table["mask"],
        old_per_token_logps=table["old"],
        sampling_per_token_logps=table["sampled"],
    )
    unknown = lines[end].split("raise")[0] + "raise ValueError"
    exec(textwrap.dedent("".join([*lines[begin:end], unknown])), names)
    return names["vllm_importance_sampling_ratio"]


def compute(settings, table):
    """Loss, its gradient by the log-probabilities, and what TRL counts as clipped."""
    arguments = GRPOConfig(output_dir="unused", use_cpu=True, bf16=False, report_to=[], use_bias_correction_kl=False, **settings)
    logp = table["logp"].clone().requires_grad_()
    metrics = {"train": collections.defaultdict(list)}
    trainer = types.SimpleNamespace(
        args=arguments,
        accelerator=Alone(),
        model=types.SimpleNamespace(training=True),
        beta=arguments.beta,
        loss_type=arguments.loss_type,
        epsilon_low=arguments.epsilon,
        epsilon_high=arguments.epsilon if arguments.epsilon_high is None else arguments.epsilon_high,
        importance_sampling_level=arguments.importance_sampling_level,
        top_entropy_quantile=arguments.top_entropy_quantile,
        max_completion_length=LONGEST,
        off_policy_mask_threshold=None,
        use_vllm="vllm_importance_sampling_mode" in settings,
        vllm_importance_sampling_correction=True,
        vllm_importance_sampling_mode=arguments.vllm_importance_sampling_mode,
        vllm_importance_sampling_clip_max=arguments.vllm_importance_sampling_clip_max,
        vllm_importance_sampling_clip_min=arguments.vllm_importance_sampling_clip_min,
        aux_loss_enabled=False,
        current_gradient_accumulation_steps=1,
        _entropy_bonus_enabled=False,
        _metrics=metrics,
        _get_per_token_logps_and_entropies=lambda *_, **__: (logp, table["entropy"], None),
    )
    trainer.args.steps_per_generation = 1
    trainer.get_high_entropy_mask = types.MethodType(GRPOTrainer.get_high_entropy_mask, trainer)
    inputs = {
        "prompt_ids": torch.ones(len(LENGTHS), 2, dtype=torch.long),
        "prompt_mask": torch.ones(len(LENGTHS), 2),
        "completion_ids": torch.ones_like(logp, dtype=torch.long),
        "completion_mask": table["mask"],
        "advantages": table["advantage"],
        "old_per_token_logps": table["old"],
        "ref_per_token_logps": table["reference"],
        "num_items_in_batch": table["mask"].sum(),
    }
    if trainer.use_vllm:
        inputs["importance_sampling_ratio"] = foreign(trainer, table)
    loss = GRPOTrainer._compute_loss(trainer, None, inputs)
    loss.backward()
    return loss.item(), logp.grad, {name: metrics["train"][name][0] for name in FIGURES if name in metrics["train"]}


def flat(tensor):
    """Tokens of one completion after those of another, without padding."""
    return [value for row, length in zip(tensor.tolist(), LENGTHS) for value in row[:length]]


def main():
    torch.set_default_dtype(torch.float64)
    torch.manual_seed(16)
    shape = (len(LENGTHS), max(LENGTHS))
    logp = -3 * torch.rand(shape)
    # Some tokens move far, most little; completions as a whole drift by a few hundredths.
    moved = torch.randn(shape) * 0.35
    moved += torch.tensor([0.2, -0.15, -0.1, 0.4, -0.05, 0.3])[:, None]
    table = {
        "logp": logp,
        "old": logp - moved,
        "reference": logp + 0.3 * torch.randn(shape),
        # As TRL compares them with their quantile.
        "entropy": (2 * torch.rand(shape)).float().double(),
        "advantage": torch.tensor([1.2, -0.7, -1.1, 0.4, 0.2, -0.9]),
        "mask": (torch.arange(max(LENGTHS))[None] < torch.tensor(LENGTHS)[:, None]).double(),
    }
    table["sampled"] = table["old"] + 0.15 * torch.randn(shape)
    cases = []
    for name, settings in CASES.items():
        loss, gradient, figures = compute(settings, table)
        cases.append(dict(name=name, settings=settings, loss=loss, gradient=flat(gradient), figures=figures))
    tokens = {name: flat(table[name]) for name in ["logp", "old", "sampled", "reference", "entropy"]}
    golden = dict(versions=VERSIONS, lengths=LENGTHS, longest=LONGEST, advantages=table["advantage"].tolist())
    print(json.dumps(golden | tokens | dict(cases=cases), indent=1))


main()
