"""Tiny models as transformers saves them, in the variants that decoders.py leaves out, and their logits.

    python families.py [NAME..]       writes families/NAME/{config.json,*.safetensors,expected.safetensors}, all without names

Stretched rotations, tied and untied heads, shards, and weights on disk in 16 bits; the logits are those of the stored
weights in f32. crates/decoder/src/tests/variants.rs loads the directories and must find the same numbers.
"""

import pathlib
import shutil
import sys

import torch
from safetensors.torch import save_file
from transformers import AutoModelForCausalLM, LlamaConfig, MistralConfig, Phi3Config, Qwen2Config, Qwen3Config

OUT = pathlib.Path(__file__).parent / "families"
SIZES = dict(
    vocab_size=32,
    hidden_size=16,
    intermediate_size=24,
    num_hidden_layers=2,
    num_attention_heads=4,
    num_key_value_heads=2,
    max_position_embeddings=64,
)
LLAMA3 = dict(
    rope_type="llama3",
    rope_theta=10000.0,
    factor=8.0,
    low_freq_factor=1.0,
    high_freq_factor=4.0,
    original_max_position_embeddings=32,
)
LINEAR = dict(rope_type="linear", rope_theta=10000.0, factor=4.0)
PLAIN = dict(rope_type="default", rope_theta=1000000.0)
CASES = {
    "llama-stretched-low": (LlamaConfig(**SIZES, rope_parameters=LLAMA3, tie_word_embeddings=True), torch.float32, "5GB"),
    "llama-stretched-all": (LlamaConfig(**SIZES, rope_parameters=LINEAR, tie_word_embeddings=False), torch.bfloat16, "3KB"),
    "qwen2-untied": (Qwen2Config(**SIZES, rope_parameters=PLAIN, tie_word_embeddings=False), torch.float16, "4KB"),
    "qwen3-tied": (Qwen3Config(**SIZES, rope_parameters=PLAIN, head_dim=6, tie_word_embeddings=True), torch.bfloat16, "5GB"),
    "mistral-sees-all": (MistralConfig(**SIZES, rope_parameters=PLAIN, sliding_window=None), torch.bfloat16, "5GB"),
    "phi3-window": (
        Phi3Config(**SIZES, rope_parameters=PLAIN, sliding_window=7, pad_token_id=None, tie_word_embeddings=True),
        torch.bfloat16,
        "5GB",
    ),
}


def write(name: str) -> None:
    config, dtype, shard = CASES[name]
    torch.manual_seed(5)
    model = AutoModelForCausalLM.from_config(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(torch.randn_like(parameter) * 0.2)
    out = OUT / name
    shutil.rmtree(out, ignore_errors=True)
    model.to(dtype).save_pretrained(out, max_shard_size=shard)
    (out / "generation_config.json").unlink()
    loaded = AutoModelForCausalLM.from_pretrained(out, dtype=torch.float32, attn_implementation="eager").eval()
    ids = torch.randint(0, SIZES["vocab_size"], (2, 40))
    with torch.no_grad():
        save_file({"ids": ids, "logits": loaded(input_ids=ids).logits}, out / "expected.safetensors")


for case in sys.argv[1:] or CASES:
    write(case)
