"""Logits, losses and gradients of tiny random models by transformers and torch.

    python decoders.py [FAMILY..]     writes FAMILY/{config.json,model.safetensors,expected.safetensors}, all without names

The weights are drawn here; tests/numbers/policy_goldens.rs loads them and must find the same numbers. Sequences are longer than
sliding windows, heads wider or narrower than the model divided by their number, rotations partial and stretched.
"""

import json
import pathlib
import sys

import torch
from safetensors.torch import save_file
from transformers import (
    Gemma2Config,
    Gemma2ForCausalLM,
    Gemma3ForCausalLM,
    Gemma3TextConfig,
    LlamaConfig,
    LlamaForCausalLM,
    MistralConfig,
    MistralForCausalLM,
    Phi3Config,
    Phi3ForCausalLM,
    Qwen2Config,
    Qwen2ForCausalLM,
    Qwen3Config,
    Qwen3ForCausalLM,
    Qwen3MoeConfig,
    Qwen3MoeForCausalLM,
)

HERE = pathlib.Path(__file__).parent
SIZES = dict(
    vocab_size=32,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
    attn_implementation="eager",
)
GEMMA = dict(
    head_dim=6,
    query_pre_attn_scalar=10,
    sliding_window=5,
    hidden_activation="gelu_pytorch_tanh",
    pad_token_id=None,
)
GEMMA3_ROPE = {
    "full_attention": dict(rope_type="linear", rope_theta=1000000.0, factor=4.0),
    "sliding_attention": dict(rope_type="default", rope_theta=10000.0),
}
LONGROPE = dict(
    rope_type="longrope",
    rope_theta=10000.0,
    partial_rotary_factor=0.5,
    short_factor=[1.5, 2.5],
    long_factor=[3.0, 7.0],
    original_max_position_embeddings=32,
)
FAMILIES = {
    "llama": (LlamaConfig, LlamaForCausalLM, dict(tie_word_embeddings=True, rope_theta=10000.0)),
    "qwen2": (Qwen2Config, Qwen2ForCausalLM, dict(tie_word_embeddings=True, rope_theta=1000000.0)),
    "qwen3": (Qwen3Config, Qwen3ForCausalLM, dict(tie_word_embeddings=False, head_dim=6, rope_theta=1000000.0)),
    "mistral": (
        MistralConfig,
        MistralForCausalLM,
        dict(tie_word_embeddings=False, head_dim=6, rope_theta=10000.0, sliding_window=5),
    ),
    "phi3": (
        Phi3Config,
        Phi3ForCausalLM,
        dict(
            num_attention_heads=2,
            num_key_value_heads=1,
            rope_parameters=LONGROPE,
            original_max_position_embeddings=32,
            pad_token_id=None,
        ),
    ),
    "gemma2": (
        Gemma2Config,
        Gemma2ForCausalLM,
        dict(**GEMMA, attn_logit_softcapping=2.0, final_logit_softcapping=3.0, rope_theta=10000.0),
    ),
    "gemma3": (
        Gemma3TextConfig,
        Gemma3ForCausalLM,
        dict(**GEMMA, num_hidden_layers=3, sliding_window_pattern=2, rope_parameters=GEMMA3_ROPE),
    ),
    "qwen3_moe": (
        Qwen3MoeConfig,
        Qwen3MoeForCausalLM,
        dict(
            tie_word_embeddings=False,
            num_hidden_layers=3,
            head_dim=6,
            rope_theta=1000000.0,
            num_experts=5,
            num_experts_per_tok=2,
            moe_intermediate_size=8,
            norm_topk_prob=True,
            mlp_only_layers=[1],
        ),
    ),
}


def by_expert(tensors: dict[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """Experts one by one, as files of models have them; transformers keeps those of a layer in two tensors."""
    apart = {}
    for name, tensor in tensors.items():
        base, _, last = name.rpartition(".")
        if not base.endswith(".experts"):
            apart[name] = tensor
            continue
        for index, expert in enumerate(tensor):
            parts = dict(zip(["gate_proj", "up_proj"], expert.chunk(2))) if last == "gate_up_proj" else {last: expert}
            apart.update({f"{base}.{index}.{part}.weight": value for part, value in parts.items()})
    return apart


def write(family: str) -> None:
    torch.manual_seed(0)
    config_class, model_class, extra = FAMILIES[family]
    model = model_class(config_class(**{**SIZES, **extra})).float().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    ids = torch.randint(0, SIZES["vocab_size"], (2, 11))
    output = model(input_ids=ids, labels=ids)
    output.loss.backward()
    expected = {"ids": ids, "logits": output.logits.detach(), "loss": output.loss.detach().reshape(1)}
    tied = model.config.tie_word_embeddings
    gradients = by_expert({name: parameter.grad for name, parameter in model.named_parameters()})
    expected.update({f"grad.{name}": gradient for name, gradient in gradients.items()})
    weights = {name: value for name, value in model.state_dict().items() if not (tied and name == "lm_head.weight")}
    weights = by_expert(weights)
    out = HERE / family
    out.mkdir(exist_ok=True)
    (out / "config.json").write_text(json.dumps(model.config.to_diff_dict(), indent=1, default=str) + "\n")
    save_file({k: v.contiguous() for k, v in weights.items()}, out / "model.safetensors", {"format": "pt"})
    save_file({k: v.contiguous() for k, v in expected.items()}, out / "expected.safetensors", {"torch": torch.__version__})


for family in sys.argv[1:] or FAMILIES:
    write(family)
